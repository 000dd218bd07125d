"""Modes: which ops turn one into another."""

import dataclasses

import torch

from stator.capture.modes import Cast, Modes
from stator.program.ir import Literal

PLAIN = Modes.current()
BFLOAT16 = Literal("dtype", "bfloat16")


def casting(enabled, nesting=1):
    cpu = Cast("cpu", enabled, "bfloat16")
    return dataclasses.replace(PLAIN, casts=(cpu, *PLAIN.casts[1:]), nesting=nesting)


def test_the_current_modes_are_those_of_torch():
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert Modes.current() == dataclasses.replace(casting(True), grad=False, inherited=False)
    with torch.inference_mode():
        assert Modes.current() == dataclasses.replace(
            PLAIN, grad=False, inherited=False, inference=True
        )


def test_equal_modes_need_no_op():
    assert PLAIN.changes_from(PLAIN) == []


def test_grad_mode_is_set():
    changed = dataclasses.replace(PLAIN, grad=False, inherited=False)
    assert changed.changes_from(PLAIN) == [("stator::set_grad", (False,), {})]


def test_inference_mode_is_set_before_the_grad_mode_that_it_changes():
    changed = dataclasses.replace(PLAIN, grad=False, inherited=False, inference=True)
    assert changed.changes_from(PLAIN) == [
        ("stator::set_inference", (True,), {}),
        ("stator::set_grad", (False,), {}),
    ]
    assert PLAIN.changes_from(changed) == [
        ("stator::set_inference", (False,), {}),
        ("stator::set_grad", (True,), {"inherited": True}),
    ]


def test_gradients_that_the_program_turns_on_are_not_those_of_its_caller():
    own = Modes.current(turns_on=True)
    assert own.changes_from(PLAIN) == [("stator::set_grad", (True,), {})]
    assert PLAIN.changes_from(own) == [("stator::set_grad", (True,), {"inherited": True})]


def test_autocast_is_switched_on_and_off():
    on, off = casting(True), casting(False, nesting=0)
    assert on.changes_from(off) == [("stator::set_autocast", ("cpu", True, BFLOAT16, True, 1), {})]
    assert off.changes_from(on) == [
        ("stator::set_autocast", ("cpu", False, BFLOAT16, True, -1), {})
    ]


def test_an_autocast_context_inside_another_like_it_is_counted():
    assert casting(True, nesting=2).changes_from(casting(True)) == [
        ("stator::set_autocast", ("cpu", True, BFLOAT16, True, 1), {})
    ]
