"""Eager as the oracle: the same calls of a function as it is, and made static."""

from __future__ import annotations

import contextlib
import copy
import io
import linecache
from typing import Any

import pytest

import stator
from stator import StatorError
from tests.seeds import seed
from tests.zoo.comparison import compare


def outcomes(function: Any, calls: tuple[Any, ...]) -> list[Any]:
    """What each call gives or raises, prints, and leaves in its arguments."""
    found = []
    for call in calls:
        arguments, printed = copy.deepcopy(call), io.StringIO()
        seed(1)
        with contextlib.redirect_stdout(printed):
            try:
                result = function(*arguments)
            except StatorError:
                raise
            except Exception as error:  # noqa: BLE001  # whatever eager raises is the answer
                result = (type(error), str(error))
        found.append((result, printed.getvalue(), arguments))
    return found


def check(function: Any, *calls: tuple[Any, ...], spec: Any = None) -> Any:
    """Fail where the static form of `function` differs from it on a call; gives the static form."""
    static = stator.to_static(function, input_spec=spec)
    eager = outcomes(function, calls)
    for want, got, call in zip(eager, outcomes(static, calls), calls, strict=True):
        difference = compare(want, got)
        assert difference is None, f"{call}: {difference}"
    return static


def refusal(error: type[StatorError], function: Any, *call: Any, spec: Any = None) -> StatorError:
    """The error that a first call ends with."""
    with pytest.raises(error) as caught:
        stator.to_static(function, input_spec=spec)(*call)
    assert type(caught.value) is error, str(caught.value)
    return caught.value


def line_of(error: StatorError) -> str:
    """The line of code that the error points at."""
    assert error.at is not None, str(error)
    return linecache.getline(error.at.file, error.at.line).strip()
