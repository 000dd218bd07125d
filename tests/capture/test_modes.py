"""Modes: which ops turn one into another."""

import torch

from stator.capture.modes import Modes
from stator.program.ir import Literal


def test_the_current_modes_are_those_of_torch():
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert Modes.current() == Modes(False, ("cpu", "bfloat16"))


def test_equal_modes_need_no_op():
    assert Modes(True, None).changes_from(Modes(True, None)) == []


def test_grad_mode_is_set():
    assert Modes(False, None).changes_from(Modes(True, None)) == [("stator::set_grad", (False,))]


def test_autocast_is_switched_on_and_off():
    on, off = Modes(True, ("cpu", "bfloat16")), Modes(True, None)
    args = Literal("dtype", "bfloat16")
    assert on.changes_from(off) == [("stator::set_autocast", ("cpu", True, args))]
    assert off.changes_from(on) == [("stator::set_autocast", ("cpu", False, args))]
