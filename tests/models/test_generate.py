"""Generation of text: a plain loop over a model and its cache, and `generate()` of transformers.

Either is one program. The loop stops when every row has said its end token, which only the data
tells; random numbers are those of eager code.
"""

import pytest
import torch
import transformers
from torch import nn

import stator
from stator import InputSpec

pytestmark = pytest.mark.slow

VOCABULARY, MOST = 17, 9
SIZES = ((1, 3), (1, 1), (2, 4), (1, 6), (1, 2), (3, 5))


class Generator(nn.Module):
    """Greedy decoding with the model's own cache."""

    def __init__(self, model, end):
        super().__init__()
        self.model, self.end = model, end

    def forward(self, tokens):
        out = self.model(input_ids=tokens, use_cache=True)
        cache = out.past_key_values
        done = torch.zeros(tokens.shape[0], dtype=torch.bool)
        steps = 0
        while steps < MOST:
            following = out.logits[:, -1].argmax(-1)
            following = torch.where(done, torch.full_like(following, self.end), following)
            tokens = torch.cat([tokens, following[:, None]], dim=1)
            done = done | (following == self.end)
            steps += 1
            if done.all():
                break
            out = self.model(input_ids=following[:, None], past_key_values=cache, use_cache=True)
            cache = out.past_key_values
        return tokens, steps


def gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY, n_positions=64, n_embd=16, n_layer=2, n_head=2, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def llama():
    config = transformers.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=16, intermediate_size=32, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def lively(model):
    """Random weights, large enough that different prompts go different ways."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter))
    return model.eval()


def most_telling_end(language, prompts):
    """The end token that makes the prompts take the most different numbers of steps."""
    said = [Generator(language, -1)(prompt)[0][0, prompt.shape[1] :].tolist() for prompt in prompts]

    def counts(end):
        return len({line.index(end) if end in line else MOST for line in said})

    best = max(range(VOCABULARY), key=counts)
    assert counts(best) > 2, "nearly every prompt takes as many steps: little would be shown"
    return best


@pytest.mark.feature("models", "greedy `generate` as a plain loop with a KV cache: GPT-2, Llama")
@pytest.mark.parametrize("make", [gpt2, llama])
def test_greedy_generation_is_one_program(make):
    prompts = [torch.randint(3, VOCABULARY, size) for size in SIZES]
    with torch.no_grad():
        language = lively(make())
        model = Generator(language, most_telling_end(language, prompts))
        static = stator.to_static(
            Generator(language, model.end), input_spec=[InputSpec([None, None], "int64", "tokens")]
        )
        for prompt in prompts:
            eager, out = model(prompt), static(prompt)
            assert torch.equal(eager[0], out[0])
            assert eager[1] == out[1]
    assert len(static.forward.concrete_programs) == 1


class OwnGenerate(nn.Module):
    """What `generate()` of the model gives."""

    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, tokens):
        return self.model.generate(tokens, max_new_tokens=6, pad_token_id=0, **self.options)


GREEDY = {"do_sample": False}
SAMPLES = {"do_sample": True, "top_k": 5, "temperature": 0.9}
BEAMS = {"num_beams": 3}
PROMPTS = ((1, 3), (2, 5), (1, 1))


@pytest.mark.feature("models", "`generate()` of transformers: greedy, sampling, beam search")
@pytest.mark.parametrize(
    ("make", "options", "stage"),
    [
        pytest.param(gpt2, GREEDY, "static", id="gpt2-greedy-static"),
        pytest.param(gpt2, SAMPLES, "saved", id="gpt2-sampling-saved"),
        pytest.param(gpt2, BEAMS, "saved", id="gpt2-beam-saved"),
    ],
)
def test_generate_of_transformers_is_one_program(make, options, stage, tmp_path):
    spec = [InputSpec([None, None], "int64", "tokens")]
    torch.manual_seed(0)
    language = lively(make())
    eager, static = OwnGenerate(language, **options), OwnGenerate(language, **options)
    if stage == "saved":
        stator.save(static, tmp_path / "model", input_spec=spec)
        static = stator.load(tmp_path / "model")
    else:
        static = stator.to_static(static, input_spec=spec)
    for seed, size in enumerate(PROMPTS):
        prompt = torch.randint(3, VOCABULARY, size)
        torch.manual_seed(seed)
        want, state = eager(prompt), torch.get_rng_state()
        torch.manual_seed(seed)
        assert torch.equal(static(prompt), want)
        assert torch.equal(torch.get_rng_state(), state)
    if stage == "static":
        assert len(static.forward.concrete_programs) == 1
