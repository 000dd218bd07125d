"""Conditions: a Python bool decides now, a symbolic one in each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import sympy
import torch

from stator.capture.assumptions import answer
from stator.capture.branches import capture_if
from stator.capture.conversions import to_int
from stator.capture.recorder import Recorder
from stator.torch_private.symbols import evaluate
from stator.values.symbolic import raise_for_user
from stator.values.union import Union

Condition = bool | torch.SymBool
Result = TypeVar("Result")


def known(recorder: Recorder, condition: Condition) -> Condition:
    """`condition` as a Python bool where its expression leaves no doubt."""
    if isinstance(condition, bool):
        return condition
    expression = evaluate(recorder.sizes, condition.node.expr)
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    decided = answer(recorder, condition.node.expr)
    return condition if decided is None else decided


def negated(condition: Condition) -> Condition:
    """`not condition`."""
    return not condition if isinstance(condition, bool) else torch.sym_not(condition)


def raise_if(recorder: Recorder, condition: Condition, error: Exception) -> None:
    """The program raises `error` where `condition` holds."""
    condition = known(recorder, condition)
    if condition is True:
        raise_for_user(error)
    if condition is not False:
        capture_if(recorder, condition, lambda: raise_for_user(error), lambda: None)


def refuse_if(recorder: Recorder, condition: Condition, why: str) -> None:
    """A run of the program is refused where `condition` holds."""
    condition = known(recorder, condition)
    if condition is not False:
        recorder.emit("stator::demand", (recorder.arg(negated(condition)), why))


def choose(
    recorder: Recorder,
    condition: Condition,
    yes: Callable[[], Result],
    no: Callable[[], Result],
) -> Result:
    """`yes()` if `condition` holds, else `no()`."""
    condition = known(recorder, condition)
    if isinstance(condition, bool):
        return yes() if condition else no()
    chosen: Result = capture_if(recorder, condition, yes, no)
    return chosen


def select(recorder: Recorder, condition: Condition, yes: Result, no: Result) -> Result:
    """`yes if condition else no`, of two values."""
    return choose(recorder, condition, lambda: yes, lambda: no)


def as_union(recorder: Recorder, condition: torch.SymBool) -> Union:
    """A symbolic bool as one of False and True."""
    return Union(to_int(recorder, condition), (False, True), recorder)
