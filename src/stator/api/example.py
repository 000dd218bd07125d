"""Example: the arguments of one call."""

from __future__ import annotations

from typing import Any, final


@final
class Example:
    """The arguments of one call, positional and by keyword, for `stator.verify`.

    >>> Example(1, mask=None)
    Example(1, mask=None)
    """

    __slots__ = ("args", "kwargs")

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs

    def __repr__(self) -> str:
        named = [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"Example({', '.join([*map(repr, self.args), *named])})"
