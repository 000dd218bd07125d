"""Every expression of the table gives on captured values what it gives in eager PyTorch."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import itertools
import math

import pytest
import torch

import stator
from tests.seeds import seed
from tests.zoo.comparison import compare
from tests.zoo.expressions import GROUPS, PENDING, REFUSED

AROUND = {
    "torch": torch,
    "math": math,
    "functools": functools,
    "itertools": itertools,
}
CASES = [
    (setup, expression, values)
    for setup, expressions, values in GROUPS
    for expression in expressions
]

EVERY = 3  # of so many expressions, `make check` tries one


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """One file with a function for each expression: a conversion reads source text."""
    file = tmp_path_factory.mktemp("expressions") / "expressions_as_functions.py"
    pieces = [
        f"def f{k}(t):\n    {setup}\n    return ({expression})\n"
        for k, (setup, expression, _) in enumerate(CASES)
    ]
    file.write_text("\n".join(pieces))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    vars(module).update(AROUND)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{k}") for k in range(len(CASES))]


def outcome(function, value):
    """(result, error class, printed) of one call."""
    seed(0)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            return function(torch.tensor(value)), None, printed.getvalue()
        except Exception as error:  # noqa: BLE001  # whatever eager raises is the answer
            return None, error, printed.getvalue()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(
            number, id=f"{setup[0]}: {expression}",
            marks=() if number % EVERY == 0 else (pytest.mark.slow,),
        )
        for number, (setup, expression, _) in enumerate(CASES)
    ],
)  # fmt: skip
def test_an_expression_gives_what_eager_gives(number, functions, request):
    setup, expression, values = CASES[number]
    if (setup, expression) in PENDING:
        reason = PENDING[setup, expression]
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    function = functions[number]
    static = stator.to_static(function)
    if (setup, expression) in REFUSED:
        with pytest.raises(stator.StatorError) as caught:
            static(torch.tensor(values[0]))
        assert caught.value.code == REFUSED[setup, expression]
        assert caught.value.at is not None
        return
    for value in values:
        result, error, printed = outcome(static, value)
        wanted, wanted_error, wanted_printed = outcome(function, value)
        if error is not None and wanted_error is None:
            raise error
        assert type(error) is type(wanted_error), (value, wanted_error)
        assert compare(wanted, result) is None, value
        assert printed == wanted_printed, value
