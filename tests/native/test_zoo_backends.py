"""Both backends give the same bits for the programs of the zoo: results, effects, gradients.

tests/zoo compares what is run with eager code, within tolerances. Here a value may not differ from
the interpreter's in its last bit.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import stator
from stator.extension import extension
from tests.native.by_file import same
from tests.zoo.comparison import children, compare
from tests.zoo.harness import Outcome, outcomes
from tests.zoo.programs import Program
from tests.zoo.whole import PROGRAMS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(extension() is None, reason="the native runtime is not built"),
]


def needs_python(program: Program) -> bool:
    """Does it do what no file can show? What one can, test_zoo_by_file compares, to the bit."""
    in_a_file = "saved" in program.stages and program.refused_saved is None
    return program.trains or program.watch is not None or not in_a_file


RUN = [
    program
    for program in PROGRAMS
    if "captured" in program.stages
    and not (program.refused or program.pending)
    and needs_python(program)
]


@pytest.mark.parametrize("program", RUN, ids=[program.name for program in RUN])
def test_a_program_gives_the_same_bits(program):
    interpreted, native = (ran(program, name) for name in ("interpreter", "native"))
    for call, want, got in zip(program.calls, interpreted, native, strict=True):
        assert difference(want, got) is None, (program.name, call)


def ran(program: Program, backend: str) -> list[Outcome]:
    """What the calls of `program` did."""
    return outcomes(
        program, lambda target: stator.to_static(target, backend=backend), list(program.calls)
    )


def difference(want: Outcome, got: Outcome) -> str | None:
    """What is not the same in two calls."""
    if (repr(want.error), want.printed, want.shared) != (repr(got.error), got.printed, got.shared):
        return f"{got.error!r}, {got.printed!r}, {got.shared} instead of {want}"
    for part in ("result", "arguments", "state", "watched", "gradients"):
        one, two = getattr(want, part), getattr(got, part)
        if text := compare(one, two, part):
            return text
        if text := inexact(one, two, part):
            return text
    return None


def inexact(want: Any, got: Any, path: str) -> str | None:
    """Where two values that are close differ in a bit."""
    if isinstance(want, torch.Tensor | float):
        return None if same(want, got) else f"{path} is {got!r}, not {want!r}"
    pairs = zip(children(want) or (), children(got) or (), strict=True)
    found = (inexact(one, two, f"{path}[{key!r}]") for (key, one), (_, two) in pairs)
    return next((text for text in found if text), None)


def test_a_difference_in_the_last_bit_is_found():
    one = Outcome({"x": torch.ones(2)}, None, "", (), ({}, {}), None, [], [torch.ones(1)])
    last_bit = torch.nextafter(torch.ones(1), torch.zeros(1))
    for other in (
        Outcome({"x": torch.cat([torch.ones(1), last_bit])}, *_rest(one)),
        Outcome(one.result, *_rest(one)[:-1], [last_bit]),
        Outcome(one.result, None, "a", *_rest(one)[2:]),
    ):
        assert difference(one, other) is not None
    assert difference(one, one) is None


def _rest(outcome: Outcome) -> tuple[Any, ...]:
    return tuple(getattr(outcome, name) for name in list(Outcome.__dataclass_fields__)[1:])
