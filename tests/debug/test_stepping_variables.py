"""A watched capture notes which values of the program each name is made of."""

import sys

import torch

import stator
from stator.capture.inputs import TensorSpec
from stator.debug.stepping.variables import ComputedNumber, ForeignValue, VariableListener
from stator.program.ir import Value, ops_in
from stator.staging.trace import trace

SPEC = TensorSpec((2,), torch.float32, torch.device("cpu"), False, "x")


def scenes_of(function):
    watch = VariableListener()
    captured = trace(function, (SPEC,), {}, name="f", listening=watch.listening)
    return captured.program, watch.scenes


def shown(scenes, op):
    """What the names of the innermost function are made of, just before `op`."""
    return {
        name: variable.leaves or variable.structure.value
        for name, variable in scenes.at[op][-1].variables.items()
        if variable.leaves or hasattr(variable.structure, "value")
    }


def test_a_capture_is_the_same_with_a_watch_and_without():
    def f(x):
        scale = x.sum()
        while x.sum() > 1:
            x = x / 2
            scale = x.mean()
            if scale > 3:
                x = x - scale
        return x

    watched, _ = scenes_of(f)
    assert str(watched) == str(trace(f, (SPEC,), {}, name="f").program)


def test_what_an_earlier_iteration_may_have_left_is_not_shown():
    def f(x):
        part = x * 3
        y = part + 1
        while y.sum() > 1:
            y = y / 2
            part = y * 5
            y = y - part
        return y

    program, scenes = scenes_of(f)
    loop = program.body.ops[-1]
    half, times, minus = loop.blocks[0].ops[:3]
    assert "part" not in shown(scenes, half)
    assert "part" not in shown(scenes, times)
    assert shown(scenes, minus)["part"] == times.results


def test_each_op_has_the_names_as_they_are_before_it():
    def f(x):
        scale = 3
        y = x * scale
        return y + 1

    program, scenes = scenes_of(f)
    first, second = program.body.ops
    (x,) = program.inputs
    assert shown(scenes, first) == {"x": (x,), "scale": 3}
    assert shown(scenes, second) == {"x": (x,), "scale": 3, "y": first.results}


def test_a_number_without_a_value_is_an_expression_of_those_that_have_one():
    def f(x):
        rows = int(x.sum()) + 1
        return x * rows

    program, scenes = scenes_of(f)
    *_, last = program.body.ops
    (rows,) = shown(scenes, last)["rows"]
    assert isinstance(rows, Value | ComputedNumber)


def test_what_is_not_of_the_program_is_named():
    def f(x):
        layer = torch.nn.functional.relu
        return layer(x)

    program, scenes = scenes_of(f)
    held = shown(scenes, program.body.ops[0])["layer"]
    assert held == ForeignValue("function relu")
    assert repr(held) == "<function relu>"


def test_a_branch_has_the_names_from_before_both_sides():
    def f(x):
        y = x
        if x.sum() > 0:
            y = x * 2
        else:
            y = x * 3
        return y

    program, scenes = scenes_of(f)
    branch = next(op for op in ops_in(program.body) if op.name == "stator::if")
    assert shown(scenes, branch)["y"] == program.inputs
    then, orelse = branch.blocks
    assert shown(scenes, orelse.ops[0])["y"] == program.inputs
    assert scenes.ends[then][-1].variables["y"].leaves == then.ops[0].results


def test_the_profile_function_of_the_user_is_put_back():
    calls = []

    def profile(frame, event, given):
        calls.append(event)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        with stator.debug.step(lambda x: x * 2, lambda frame: None) as stepper:
            stepper(torch.ones(2))
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)
