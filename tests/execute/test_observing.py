"""An observer is told of every op, block and error of a run, in order; a run does not change."""

import pytest
import torch

import stator
from stator.execute.backend import RunOptions
from stator.execute.interpreter import INTERPRETER, run


class Notes:
    """Writes down what it is told."""

    def __init__(self):
        self.lines = []

    def begin(self, op, values):
        self.lines.append(f"begin {op.name}")

    def enter(self, block, values):
        given = [values[value] for value in block.inputs]
        self.lines.append(f"enter {[int(one) for one in given]}")

    def leave(self, block, values):
        self.lines.append("leave")

    def end(self, op, values, results):
        assert not any(result in values for result in op.results)
        self.lines.append(f"end {op.name}")

    def fail(self, op, error):
        self.lines.append(f"fail {op.name}: {type(error).__name__}")


def observed(function, *args):
    """What a run of the program of `function` gives, and what its observer was told."""
    static, notes = stator.to_static(function), Notes()
    captured = static.capture([stator.InputSpec.from_tensor(arg) for arg in args])
    try:
        outputs = run(captured.program, args, captured.tensors, RunOptions(observer=notes))
        return outputs, notes.lines
    except ValueError:
        return None, notes.lines


def halved(n):
    while n > 2:
        n = n // 2
    return n


def test_a_loop_is_entered_once_for_each_trip():
    (result,), told = observed(halved, torch.tensor(9))
    assert result == 2
    inside = told[told.index("begin stator::while") + 1 : told.index("end stator::while")]
    blocks = [line for line in inside if line.startswith(("enter", "leave"))]
    assert blocks == ["enter [9]", "leave", "enter [4]", "leave"]


def test_a_loop_of_no_trips_begins_and_ends():
    (result,), told = observed(halved, torch.tensor(1))
    assert result == 1
    assert told[-3:] == ["begin stator::while", "end stator::while", "leave"]


def test_a_run_without_checks_enters_the_body():
    _, told = observed(halved, torch.tensor(1))
    assert told[:3] == ["enter []", "begin aten::gt.Scalar", "end aten::gt.Scalar"]


def refused(x):
    if x > 0:
        raise ValueError("no")
    return x


def test_an_op_that_raises_fails_and_so_do_those_around_it():
    result, told = observed(refused, torch.tensor(1))
    assert result is None
    assert told[-5:] == [
        "begin stator::if", "enter []", "begin stator::raise",
        "fail stator::raise: ValueError", "fail stator::if: ValueError",
    ]  # fmt: skip


def fallen(n):
    if n <= 1:
        return 0
    return 1 + fallen(n // 2)


def test_a_function_of_the_program_is_entered_by_each_call():
    (result,), told = observed(fallen, torch.tensor(9))
    assert result == 3
    assert [line for line in told if line.startswith("enter [") and line != "enter []"] == [
        "enter [9]", "enter [4]", "enter [2]", "enter [1]",
    ]  # fmt: skip


class Stop(BaseException):
    """Not for handlers of the program."""


def test_an_observer_stops_a_run_also_inside_a_try():
    def guarded(x):
        try:
            if x > 0:
                raise ValueError("no")
        except Exception:  # noqa: BLE001  # as users write it
            x = x - 1
        return x

    class Stops(Notes):
        def begin(self, op, values):
            super().begin(op, values)
            if op.name == "stator::raise":
                raise Stop

    captured = stator.to_static(guarded).capture([stator.InputSpec([], "float32")])
    with pytest.raises(Stop):
        run(captured.program, [torch.tensor(1.0)], captured.tensors, RunOptions(observer=Stops()))


def test_without_an_observer_a_step_is_the_plain_function():
    captured = stator.to_static(halved).capture([stator.InputSpec([], "int64")])
    body = INTERPRETER.prepare(captured.program).body
    observed = INTERPRETER.prepare(captured.program, RunOptions(observer=Notes())).body
    assert body.observe is None
    assert observed.observe is not None
    plain = body.steps
    assert all(step.run.__module__.startswith("stator") for step in plain)
    assert [step.run.__name__ for step in plain] == ["run_torch", "run_torch", "run_while"]


def test_checks_are_a_block_before_the_body():
    def added(x, y):
        return x + y

    notes = Notes()
    captured = stator.to_static(added).capture([stator.InputSpec([None]), stator.InputSpec([None])])
    inputs, options = [torch.ones(2), torch.ones(2)], RunOptions(observer=notes)
    run(captured.program, inputs, captured.tensors, options)
    first, second = (k for k, line in enumerate(notes.lines) if line == "enter []")
    assert first == 0
    assert notes.lines[second - 1] == "leave"
    assert notes.lines[second - 2] == "end stator::demand"
