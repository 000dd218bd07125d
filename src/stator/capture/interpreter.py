"""PythonInterpreter: Python's constructs on staged values, as the rooms below staging see them.

`staging.operators.Staging` implements it. What a container, a library call or a state input needs
of Python (call a user's method, read an item, compare) it does through this protocol, so that none
of them imports a construct.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from stator.capture.conditions import Condition


class PythonInterpreter(Protocol):
    """Does what converted code would do."""

    def close(self) -> None:
        """The capture has ended: let go of what it has met."""

    # ---- calls

    def call(self, function: object, /, *args: object, **kwargs: object) -> Any:
        """`function(*args, **kwargs)`."""

    def call_method(self, method: object, /, *args: object, **kwargs: object) -> Any:
        """A method that the class of the first argument has; that it has it is guarded."""

    def call_library(self, function: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of code that is not converted."""

    def run(self, definition: Callable[..., Any], /, *args: object, **kwargs: object) -> Any:
        """A function that is written out in Python (see `containers.definitions`), converted."""

    def machine(self, what: str, *args: object) -> Any:
        """A step of a generator whose items are taken one by one."""

    # ---- attributes and items

    def get(self, obj: object, name: str) -> Any:
        """`obj.name`."""

    def get_plainly(self, obj: object, name: str) -> Any:
        """`object.__getattribute__(obj, name)`."""

    def set(self, obj: object, name: str, value: object) -> None:
        """`obj.name = value`."""

    def getitem(self, obj: object, key: object) -> Any:
        """`obj[key]`."""

    def setitem(self, obj: object, key: object, value: object) -> None:
        """`obj[key] = value`."""

    # ---- operators

    def truth(self, value: object) -> Condition:
        """`bool(value)`, symbolic where it is data-dependent."""

    def arithmetic(self, left: object, sign: str, right: object) -> Any:
        """`left SIGN right`."""

    def compare(self, left: object, sign: str, right: object) -> Any:
        """`left SIGN right`, a comparison."""

    def same(self, left: object, right: object) -> Any:
        """`left is right or left == right`: how Python looks for an item."""

    # ---- literals

    def spread(self, values: object) -> Any:
        """`*values` in a literal."""

    def new_list(self, items: Sequence[object]) -> Any:
        """`[...]`."""
