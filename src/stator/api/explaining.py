"""explain(): a report on what became of a function or a model."""

from __future__ import annotations

from typing import Any

import torch

from stator.api.static_function import StaticFunction
from stator.debug.report import Report
from stator.english import with_article
from stator.errors import ConversionError
from stator.frames import user_facing


@user_facing
def explain(function: Any, *args: Any, **kwargs: Any) -> Report:
    """Report how each source line of `function` was converted.

    `function` is a function, a method or an nn.Module, static or not. With `args` and `kwargs`, the
    arguments of a call, it is captured for them but not run; without, the report covers its
    existing captures. Print the report, or use its `to_html()` or `to_dict()`:
    `print(stator.explain(model, torch.ones(3)))`.
    """
    return _static(function).explain(*args, **kwargs)


def _static(function: Any) -> StaticFunction:
    if isinstance(function, torch.nn.Module):
        function = function.forward
    if isinstance(function, StaticFunction):
        return function
    if not callable(function):
        raise ConversionError(
            f"{with_article(type(function).__name__)} cannot be explained",
            fix="pass a function, a method or an nn.Module",
        )
    return StaticFunction(function)
