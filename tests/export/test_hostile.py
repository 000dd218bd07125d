"""No file that was made to do harm ends the process that runs it, or reaches memory not its own."""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import torch

import stator
from stator.errors import FormatError
from stator.extension import command
from tests.export.crafted import Call, craft, real, value, weight
from tests.export.hostile_cases import CASES, Case

SECONDS = 20
ADDRESS_SPACE = 12 * 2**30
INTS = ("int_pow_bomb", "list_repeat_bomb", "format_bomb", "lshift_bomb", "format_attr")
NUMBERS = {"a": {"number": "int"}, "b": {"number": "int"}}


def written(folder: Path, name: str, case: Case) -> Path:
    stem = folder / name.replace(".", "-")
    types = NUMBERS if name in INTS else {}
    craft(stem, case.calls, case.tensors(), gives=case.gives, types=types)
    return stem


def loaded_and_run(stem: Path) -> str:
    """What a process that trusts the file sees."""
    try:
        model = stator.load(stem)
    except FormatError:
        return "refused"
    try:
        model(torch.ones(3))
    except Exception as error:  # noqa: BLE001  # any error is an answer
        return f"raised {type(error).__name__}"
    return "gave a result"


def in_child(stem: Path) -> int:
    """0, or the signal that ended the process."""
    child = os.fork()
    if not child:
        code = 3
        try:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            signal.alarm(SECONDS)
            loaded_and_run(stem)
            code = 0
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return 0 if code == -signal.SIGALRM else code  # it may go on for ever


def ended_by() -> dict[str, int]:
    """The files that end the process that runs them, and how."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # all that the children need is imported
        loaded_and_run(written(folder, "warm", CASES["gather"]))
        ended = {name: in_child(written(folder, name, case)) for name, case in CASES.items()}
    return {name: code for name, code in ended.items() if code}


@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
@pytest.mark.slow
def test_no_crafted_file_ends_the_process():
    assert ended_by() == {}


def norm(folder: Path, **tensors: torch.Tensor) -> Path:
    """A file that normalizes `a`, with a bias, a mean and a variance."""
    numbers = [False, real(0.1), real(1e-5)]
    args = [weight("a"), None, weight("bias"), weight("mean"), weight("var"), *numbers]
    stem = folder / "norm"
    craft(stem, [Call("aten::native_batch_norm", args, gives=["y", "s", "t"])], tensors)
    return stem


CHANNELS = 4096
SHORT = {
    "a": torch.zeros(1, CHANNELS),
    "bias": torch.full((1,), 7.0),
    "mean": torch.zeros(CHANNELS),
    "var": torch.ones(CHANNELS),
}
PROBLEM = "aten::native_batch_norm needs numel(bias) == size(input, 1), and has 1 and 4096"


def test_a_bias_that_is_too_short_shows_nothing_of_the_heap(tmp_path):
    model = stator.load(norm(tmp_path, **SHORT))
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(3))
    assert str(caught.value) == PROBLEM


def test_the_same_call_with_a_whole_bias_gives_its_result(tmp_path):
    model = stator.load(norm(tmp_path, **SHORT | {"bias": torch.full((CHANNELS,), 7.0)}))
    assert torch.equal(model(torch.ones(3))[0], torch.full((1, CHANNELS), 7.0))


def error_of(stem: Path, backend: str) -> str:
    """What a run of the file raises."""
    model = stator.load(stem, backend=backend)
    with pytest.raises(RuntimeError) as caught:
        model(torch.ones(3))
    return str(caught.value)


CHECKED = (
    "native_batch_norm", "_native_batch_norm_legit", "_weight_norm_empty", "ctc_loss_public",
    "segment_reduce_lengths", "segment_reduce_checked", "_sobol_engine_draw",
    "_sobol_engine_draw_generated", "repeat_interleave_output_size", "div_int_min",
)  # fmt: skip


@pytest.mark.skipif(command() is None, reason="the native runtime is not built")
@pytest.mark.parametrize("name", CHECKED)
def test_the_native_runtime_has_the_same_conditions(name, tmp_path):
    stem = written(tmp_path, name, CASES[name])
    problem = error_of(stem, "interpreter")
    assert " needs " in problem
    assert error_of(stem, "native") == problem


def test_an_op_that_is_not_in_the_list_is_refused_by_name(tmp_path):
    craft(tmp_path / "m", [Call("aten::from_file", ["/etc/passwd", False, 100])], {})
    with pytest.raises(FormatError) as caught:
        stator.load(tmp_path / "m")
    assert "calls aten::from_file, which a saved model may not" in caught.value.problem


def test_a_function_that_calls_itself_for_ever_is_a_recursion_error(tmp_path):
    vector = {"tensor": {"dtype": "float32", "shape": ["n"], "device": "cpu"}}
    body = Call("stator::call", [value("gx")], {"function": "g"}, ["gy"]).encoded({})
    inputs = [{"name": "gx", "type": vector}]
    function = {"inputs": inputs, "ops": [body], "outputs": [value("gy")]}
    calls = [Call("stator::call", [value("x")], {"function": "g"})]
    craft(tmp_path / "m", calls, {}, functions={"g": function})
    with pytest.raises(RecursionError):
        stator.load(tmp_path / "m")(torch.ones(3))
