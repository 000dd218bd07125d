"""FirstUse: an attribute that is computed when it is first read.

`functools.cached_property` does the same, but in Python 3.11 it holds a lock of the class while it
computes. Where another thread computes one at a fork, the child would wait for the lock forever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class FirstUse(Generic[Result]):
    """A decorator of a method without arguments; two threads may both compute what it gives."""

    def __init__(self, function: Callable[[Any], Result]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, obj: Any, owner: type | None = None) -> Result:
        if obj is None:
            raise AttributeError("it is an attribute of the objects, not of the class")
        value = self._function(obj)
        vars(obj)[self._function.__name__] = value  # Python finds it there from now on
        return value
