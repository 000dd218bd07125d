"""GPT-2 and its decoding loop in one ONNX file: greedy, sampled, beams; the tokens of eager."""

import runpy
from pathlib import Path

import onnxruntime
import pytest
import torch

import stator

pytest.importorskip("transformers")
pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[3] / "examples" / "generate_onnx.py"
SIZES = ((1, 3), (2, 4), (1, 1), (3, 2))
MOST = 8


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


def more_inputs(name, seed):
    return (torch.tensor(seed), torch.tensor(0.7)) if name == "sampled" else ()


def most_telling_end(search, prompts, name):
    """The end token that makes the prompts stop after the most different numbers of steps."""

    def counts(end):
        search.end = end
        outs = [search(prompt, *more_inputs(name, 3)) for prompt in prompts]
        tokens = [out[0] if isinstance(out, tuple) else out for out in outs]
        return len({t.shape[1] - p.shape[1] for t, p in zip(tokens, prompts, strict=True)})

    best = max(range(17), key=counts)
    assert counts(best) > 1, "every prompt takes as many steps: early stop would not be shown"
    return best


@pytest.mark.parametrize("name", ["greedy", "sampled", "beams"])
def test_the_tokens_are_those_of_eager(name, example, tmp_path):
    search = example["searches"](most=MOST)[name].eval()
    generator = torch.Generator().manual_seed(1)
    prompts = [torch.randint(3, 17, size, generator=generator) for size in SIZES]
    with torch.no_grad():
        search.end = most_telling_end(search, prompts, name)
        (report,) = stator.save(
            search, tmp_path / name, input_spec=example["specs_of"](search), onnx=True
        )
        assert report.runs
        loaded = stator.load(tmp_path / name, backend="onnxruntime")
        for prompt in prompts:
            for seed in (3, 12345678901) if name == "sampled" else (0,):
                more = more_inputs(name, seed)
                wanted, found = search(prompt, *more), loaded(prompt, *more)
                if name == "beams":
                    torch.testing.assert_close(found[1], wanted[1], rtol=1e-4, atol=1e-4)
                    wanted, found = wanted[0], found[0]
                assert torch.equal(found, wanted)
    assert sorted(file.suffix for file in tmp_path.glob("*.onnx")) == [".onnx"]


def test_the_file_alone_decodes_until_the_end_token(example, tmp_path):
    search = example["searches"](most=MOST)["greedy"].eval()
    prompt = torch.tensor([[5, 3, 8]])
    with torch.no_grad():
        search.end = int(search(prompt)[0, 5])
        wanted = search(prompt)
        assert wanted.shape[1] < 3 + MOST
        spec = example["specs_of"](search)
        stator.save(search, tmp_path / "m", input_spec=spec, onnx=True, embed=True)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    tokens, status = session.run(None, {"tokens": prompt.numpy()})
    assert status == 0
    assert torch.equal(torch.from_numpy(tokens), wanted)


def test_the_noise_is_even_and_another_for_each_seed_and_step(example):
    noise = example["noise"]
    draws = noise(torch.tensor(7), 0, 100, 1000)
    assert abs(draws.mean() - 0.5) < 0.005
    counts = torch.histc(draws.float(), 20, 0, 1)
    assert ((counts - 5000).abs() < 350).all()  # five standard deviations
    steps = torch.stack([noise(torch.tensor(s), k, 1, 1000)[0] for s in (7, 8) for k in (0, 1)])
    assert (torch.corrcoef(steps) - torch.eye(4)).abs().max() < 0.16
    assert draws.unique().numel() > 99_000
