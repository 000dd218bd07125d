"""Errors before user code runs: the source cannot be converted."""

from __future__ import annotations

from stator.errors.base import StatorError


class ConversionError(StatorError):
    """An object that cannot be made static, whatever its arguments are.

    `to_static` takes a function, a method, an `nn.Module` or a class of modules, and the options
    that its documentation lists. Anything else is refused before your code runs.

    Fails::

        import stator

        stator.to_static(42)

    Instead::

        import stator

        stator.to_static(lambda x: x * 42)
    """

    code = "ST100"


class SourceUnavailable(ConversionError, OSError):
    r"""There is no source text to convert.

    Stator reads the source of your function and rewrites it. A function made by `exec` or `eval`
    has no source, and neither has one whose file has changed since it was imported. Put the
    function into a file or a notebook cell, or mark it with `stator.not_to_static`: its tensor ops
    are then recorded, and its Python code runs only during the capture.

    Fails::

        import stator
        import torch

        names = {}
        exec("def double(x):\n    return x * 2", names)
        stator.to_static(names["double"])(torch.ones(2))

    Instead::

        import stator
        import torch

        def double(x):
            return x * 2

        stator.to_static(double)(torch.ones(2))
    """

    code = "ST101"


class UnsupportedSyntax(ConversionError, NotImplementedError):
    """A Python construct that Stator does not convert.

    A program runs from start to end, so `async` has no meaning in it. `eval`, `exec` and `locals()`
    would see the rewritten function instead of yours. The error names the line and, if possible,
    the edit that fixes it.

    Fails::

        import stator
        import torch

        @stator.to_static
        def guarded(x):
            try:
                return x / x.sum()
            except* ZeroDivisionError:
                x = x + 1
            return x

        guarded(torch.ones(2))

    Instead::

        import stator
        import torch

        @stator.to_static
        def guarded(x):
            try:
                return x / x.sum()
            except ZeroDivisionError:
                x = x + 1
            return x

        guarded(torch.ones(2))
    """

    code = "ST102"
