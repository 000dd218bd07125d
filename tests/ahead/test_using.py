"""Libraries beside a saved model: used where they fit, and only if the caller trusts them."""

import copy
import hashlib
import json
import logging
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import stator
from stator import InputSpec
from stator.ahead import libraries
from stator.ahead.folder import MANIFEST
from stator.errors import FormatError, UnknownOption
from stator.extension import command, extension

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(extension() is None, reason="the native runtime is not built"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]


class Walk(torch.nn.Module):
    """A loop and a branch, each with a region."""

    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(32, 32)

    def forward(self, x):
        steps, state = 0, torch.zeros_like(x)
        while steps < 5 and state.abs().mean() < 0.9:
            state = torch.tanh(self.inner(x) + state) * torch.sigmoid(state - x) + state.exp() * 0.1
            steps += 1
        if x.sum() > 0:
            state = (state.exp() + 1).log().tanh() * state.sigmoid()
        return state, steps


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("saved") / "walk"
    model = Walk().eval()
    stator.save(model, path, [InputSpec([None, 32])], compiled="cpu")
    return model, path


@pytest.fixture
def copied(saved, tmp_path):
    """The files, for a test to change."""
    _, path = saved
    for ending in (".stator", ".safetensors"):
        shutil.copy(f"{path}{ending}", tmp_path)
    shutil.copytree(f"{path}.compiled", tmp_path / "walk.compiled")
    return tmp_path / "walk"


def rows(count, seed=0):
    return torch.randn(count, 32, generator=torch.Generator().manual_seed(seed))


def counted(call):
    """What `call` gives, and how many regions libraries have run."""
    before = extension().counts()["compiled"]
    with torch.no_grad():
        result = call()
    return result, extension().counts()["compiled"] - before


def assert_same(want, got):
    torch.testing.assert_close(got[0], want[0], rtol=1e-3, atol=1e-4)
    assert got[1] == want[1]


def refusal(path, caplog):
    """What a load that trusts the folder says; no library has run, and the results are right."""
    with caplog.at_level(logging.WARNING, "stator"):
        loaded = stator.load(path, trust_compiled=True)
    (record,) = caplog.records
    want = stator.load(path, backend="interpreter")
    got, count = counted(lambda: loaded(rows(6)))
    assert count == 0
    with torch.no_grad():
        assert torch.equal(got[0], want(rows(6))[0])
    return record.getMessage().partition("without its libraries: ")[2]


def rewrite_manifest(path, change):
    """Change the list, and give it a digest that fits."""
    file = path.with_suffix(".compiled") / MANIFEST
    data = json.loads(file.read_bytes())
    change(data)
    head = {name: data.pop(name) for name in ("format", "version", "digest")}
    text = json.dumps(data, separators=(",", ":")).encode()[1:] + b"\n"
    digest = hashlib.sha256(text).hexdigest()
    begin = f'{{"format":"{head["format"]}","version":{head["version"]},"digest":"{digest}",'
    file.write_bytes(begin.encode() + text)


@pytest.mark.parametrize("count", [1, 2, 3, 40])
def test_loop_and_branch_run_by_libraries_for_any_number_of_rows(saved, count):
    model, path = saved
    loaded = stator.load(path, trust_compiled=True)
    for x in (rows(count).abs(), -rows(count).abs()):
        got, regions = counted(lambda x=x: loaded(x))
        with torch.no_grad():
            assert_same(model(x), got)
        assert regions == got[1] + (1 if x.sum() > 0 else 0)


def test_other_layouts_run_the_ops_and_no_rows_do_too(saved):
    model, path = saved
    loaded = stator.load(path, trust_compiled=True)
    for x in (rows(64).t()[:, :32].contiguous().t(), torch.zeros(0, 32)):
        got, regions = counted(lambda x=x: loaded(x))
        with torch.no_grad():
            want = model(x)
        assert regions < 1 + got[1]
        assert_same(want, got)


def test_gradients_are_those_of_the_ops(saved):
    model, path = saved
    loaded = stator.load(path, trust_compiled=True)
    x = rows(4).abs()
    before = extension().counts()["compiled"]
    loaded(x)[0].sum().backward()
    assert extension().counts()["compiled"] == before
    model(x)[0].sum().backward()
    assert torch.equal(loaded.inner.weight.grad, model.inner.weight.grad)
    model.zero_grad()


def test_autocast_and_modes_of_torch_run_the_ops(saved):
    _, path = saved
    loaded = stator.load(path, trust_compiled=True)
    with torch.autocast("cpu", torch.bfloat16):
        _, regions = counted(lambda: loaded(rows(4)))
    assert regions == 0


def test_threads_and_inference_mode(saved):
    _, path = saved
    loaded = stator.load(path, trust_compiled=True)
    with torch.inference_mode():
        assert loaded(rows(3))[0].is_inference()
    inputs = [rows(count).abs() for count in (2, 3, 17, 64)]
    with torch.no_grad():
        wanted = [loaded(x)[0] for x in inputs]

    def work(index):
        with torch.no_grad():  # of this thread
            return torch.equal(loaded(inputs[index % 4])[0], wanted[index % 4])

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(400)))


def test_no_library_is_loaded_unless_the_caller_trusts_it(copied, caplog):
    library = copied.with_suffix(".compiled") / "0.so"
    library.write_bytes(b"not even code")  # it would be refused if it were looked at
    with caplog.at_level(logging.INFO, "stator"):
        loaded = stator.load(copied)
    assert any(
        "are not used: they are loaded with trust_compiled=True" in m for m in caplog.messages
    )
    assert counted(lambda: loaded(rows(4)))[1] == 0


def test_a_changed_library_is_not_loaded(copied, caplog):
    library = copied.with_suffix(".compiled") / "0.so"
    data = bytearray(library.read_bytes())
    data[len(data) // 2] ^= 1
    library.write_bytes(data)
    assert refusal(copied, caplog) == (
        f"{library} is damaged, or was changed: it does not have its digest"
    )


def test_a_missing_library_is_named(copied, caplog):
    library = copied.with_suffix(".compiled") / "0.so"
    library.unlink()
    assert refusal(copied, caplog) == f"there is no {library}"


def test_a_changed_list_is_not_read(copied, caplog):
    file = copied.with_suffix(".compiled") / MANIFEST
    file.write_bytes(file.read_bytes().replace(b'"target":"cpu"', b'"target":"CPU"'))
    assert refusal(copied, caplog) == (
        f"{file} is damaged: its text does not have the digest it names"
    )


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("torch", "2.0.0", "it was made for torch 2.0.0, and this is "),
        ("machine", "vax", "it was made for processors of the type vax, and this is "),
        ("processor", "0" * 64, "it was made for another processor than this one"),
        ("capability", "AVX4096", "it was made for processors with AVX4096, and this one has "),
        ("model", "0" * 64, "it was made of another model than the one beside it"),
    ],
)
def test_libraries_for_something_else_are_not_loaded(copied, caplog, key, value, said):
    rewrite_manifest(copied, lambda data: data.update({key: value}))
    assert refusal(copied, caplog).startswith(said)


def test_a_list_names_no_file_elsewhere(copied, caplog):
    def elsewhere(data):
        for program in data["programs"].values():
            for region in program["regions"]:
                for code in region:
                    code["library"] = "../evil.so"

    rewrite_manifest(copied, elsewhere)
    assert refusal(copied, caplog).endswith("is no name of a library")


def test_a_model_that_is_saved_again_has_no_libraries(saved, copied, caplog):
    model, _ = saved
    stator.save(model, copied, [InputSpec([None, 32])])
    assert not copied.with_suffix(".compiled").exists()
    assert refusal(copied, caplog).startswith("there is no ")


def test_a_copy_or_a_pickle_has_no_trust(saved):
    _, path = saved
    loaded = stator.load(path, trust_compiled=True)
    for other in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert counted(lambda other=other: other(rows(4).abs()))[1] == 0


def test_another_backend_runs_no_libraries(saved):
    with pytest.raises(UnknownOption, match="the backend 'interpreter' runs no libraries"):
        stator.load(saved[1], backend="interpreter", trust_compiled=True)


@pytest.mark.parametrize("trusted", [True, False])
def test_stator_run_calls_libraries_that_are_trusted(saved, tmp_path, trusted):
    model, path = saved
    x = rows(7).abs()
    save_file({"x": x}, tmp_path / "in.safetensors")
    words = [str(command()), str(path), "--inputs", str(tmp_path / "in.safetensors")]
    words += ["--outputs", str(tmp_path / "out.safetensors")]
    done = subprocess.run(
        [*words, *(["--trust-compiled"] if trusted else [])],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    got = load_file(tmp_path / "out.safetensors")["output.0"]
    with torch.no_grad():
        want = model(x)[0]
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-4)
    if not trusted:
        assert torch.equal(got, want)


def test_stator_run_says_why_it_does_not_call_them(copied, tmp_path):
    (copied.with_suffix(".compiled") / "0.so").unlink()
    given, written = str(tmp_path / "in.safetensors"), str(tmp_path / "out.safetensors")
    save_file({"x": rows(2)}, given)
    words = [str(copied), "--trust-compiled", "--inputs", given, "--outputs", written]
    done = subprocess.run([str(command()), *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert done.stderr.startswith(f"stator-run: {copied} runs without its libraries: there is no ")


def repeated(x, count):
    rows = count.item()
    wide = (x.exp() + 1).tanh().sigmoid().unsqueeze(0).expand(rows, -1)
    return wide * 2 + wide.cos()


def test_integers_that_only_a_run_knows_are_given_to_libraries(tmp_path):
    x = torch.linspace(-1, 1, 300)
    stator.save(repeated, tmp_path / "repeated", [x, torch.tensor(3)], compiled="cpu")
    loaded = stator.load(tmp_path / "repeated", trust_compiled=True)
    for count in (2, 3, 7):
        got, regions = counted(lambda count=count: loaded(x, torch.tensor(count)))
        assert regions == 1
        torch.testing.assert_close(got, repeated(x, torch.tensor(count)), rtol=1e-3, atol=1e-4)


def test_a_region_that_no_example_reaches_is_a_warning_at_its_line(tmp_path):
    def seldom(x):
        if x.sum() > 1e30:
            x = (x.exp() + 1).tanh().sigmoid() * x
        return x

    with pytest.warns(UserWarning, match="is not compiled: no example input reaches it") as caught:
        stator.save(seldom, tmp_path / "seldom", [InputSpec([512])], compiled="cpu")
    file = Path(__file__)
    assert caught[0].filename == file.name  # as the saved model has it
    assert "x.exp()" in file.read_text().splitlines()[caught[0].lineno - 1]
    loaded = stator.load(tmp_path / "seldom", trust_compiled=True)
    assert torch.equal(loaded(torch.ones(512)), torch.ones(512))


def test_a_library_that_gives_other_results_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(libraries, "agree", lambda *_: False)
    with pytest.warns(UserWarning, match="its results differ from those of the ops"):
        stator.save(
            lambda x: (x.exp() + 1).tanh().sigmoid() * x, tmp_path / "chain",
            [torch.ones(512)], compiled="cpu",
        )  # fmt: skip
    assert not list((tmp_path / "chain.compiled").glob("*.so"))


def test_a_model_file_itself_has_no_regions(copied, tmp_path):
    """A file that no writer makes: it names libraries without the caller's trust."""
    manifest = json.loads((copied.with_suffix(".compiled") / MANIFEST).read_bytes())
    file = copied.with_suffix(".stator")
    data = json.loads(file.read_bytes())
    data["programs"] = {name: one["program"] for name, one in manifest["programs"].items()}
    head = {name: data.pop(name) for name in ("format", "version", "digest")}
    text = json.dumps(data, separators=(",", ":")).encode()[1:] + b"\n"
    head["digest"] = hashlib.sha256(text).hexdigest()
    file.write_bytes(json.dumps(head, separators=(",", ":")).encode()[:-1] + b"," + text)
    with pytest.raises(FormatError, match="stator::region"):
        stator.load(copied)
    for words in ((), ("--trust-compiled",)):
        done = subprocess.run(
            [str(command()), str(copied), "--describe", *words],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 1
        assert "stator::region is only for programs that are beside libraries" in done.stderr


def test_the_c_api_runs_libraries_and_says_why_not(saved, tmp_path):
    """In a process of its own, as the library brings a runtime that this process has, too."""
    library = command().parent / "libstator.so.0"
    code = """
import ctypes, sys, torch
api = ctypes.CDLL(sys.argv[1])
api.stator_load_compiled.restype = api.stator_load.restype = ctypes.c_void_p
model, problem = ctypes.c_void_p(), ctypes.c_char_p()
error = api.stator_load_compiled(sys.argv[2].encode(), ctypes.byref(model), ctypes.byref(problem))
assert error is None and model.value
print((problem.value or b"none").decode())
"""
    for ending in (".stator", ".safetensors"):
        shutil.copy(f"{saved[1]}{ending}", tmp_path)
    for path, said in ((saved[1], "none"), (tmp_path / "walk", "there is no ")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(library), str(path)],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.stdout.startswith(said), done.stderr
