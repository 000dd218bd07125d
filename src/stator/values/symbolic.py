"""Symbolic values: what a program computes, where neither a tensor nor a torch number can say it.

Undefined        a name that is not bound
CapturedText     a string made when the program runs
CapturedComplex  a complex number that the program computes: torch has no symbolic one
CaughtError      the exception that a recorded handler has caught
Diverged         raised through a recorded block that always raises
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch

from stator.errors import DataDependent, UnsupportedCall
from stator.program.ir import Value
from stator.program.types import NumberKind as NumberName

Number = torch.SymInt | torch.SymFloat | torch.SymBool


def kind_of_number(number: object) -> NumberName:
    """`bool`, `int`, `float` or `complex`: what Python would call it."""
    if isinstance(number, bool | torch.SymBool):
        return "bool"
    if isinstance(number, int | torch.SymInt):
        return "int"
    if isinstance(number, float | torch.SymFloat):
        return "float"
    return "complex"


class Diverged(BaseException):
    """This block raises at run time: nothing after this point in it is ever reached."""


def raise_for_user(error: Exception) -> None:
    """Raise what the user's own code would have raised here."""
    raise error


class StandIn:
    """What user code has in the place of a Python object, during a capture only.

    An error that names a subclass of it is one that eager code does not raise.
    """


class CannotLeave(StandIn):
    """A value of user code that no program can give back; `what` names it."""

    what: ClassVar[str]

    def given(self) -> tuple[str, Callable[[Any], Any], Any] | None:
        """What Python makes it of at the end of a run: a name, a function and its argument."""
        return None


class Moving(CannotLeave):
    """An iterator of converted code; it may represent `native`, one of the caller's."""

    native: Any = None

    def moved(self) -> Any:
        """How many items were taken."""
        raise NotImplementedError


class Undefined:
    """The value of a name that is not bound."""

    def __init__(self, name: str) -> None:
        self.name = name

    def error(self) -> UnboundLocalError:
        """What Python raises where the name is read."""
        return UnboundLocalError(
            f"cannot access local variable '{self.name}' where it is not associated with a value"
        )

    def error_inside(self) -> NameError:
        """What Python raises where a nested function reads the name."""
        return NameError(
            f"cannot access free variable '{self.name}' where it is not associated with a value "
            "in enclosing scope"
        )

    def __repr__(self) -> str:
        return f"<undefined {self.name}>"


class CapturedText:
    """A string that only a run of the program makes."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __str__(self) -> str:
        raise needs_a_value("a string made from captured values")

    def __repr__(self) -> str:
        return "<captured text>"

    def __eq__(self, other: object) -> bool:
        raise needs_a_value("to compare a string made from captured values")

    __bool__ = __hash__ = __iter__ = __str__  # type: ignore[assignment]
    __int__ = __float__ = __index__ = __str__

    def __getitem__(self, index: object) -> str:
        return str(self)

    def __contains__(self, text: object) -> bool:
        return bool(str(self))


class HostObject(StandIn):
    """An object that a host call of the run gives: only other host calls can use it."""

    def __init__(self, value: Value, name: str) -> None:
        self.value = value
        self.name = name  # of the call that gives it

    def __repr__(self) -> str:
        return f"<what {self.name} gives>"

    def refused(self) -> UnsupportedCall:
        """The error for a use that needs the object itself."""
        return UnsupportedCall(
            f"the result of `{self.name}` is used, but it exists only at run time",
            fix="call its methods only, in the block that made it",
        )

    def __bool__(self) -> bool:
        raise self.refused()

    def __eq__(self, other: object) -> bool:
        raise self.refused()

    __hash__ = __bool__


class CapturedComplex:
    """A complex number that only a run of the program computes."""

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "<captured complex>"

    def __complex__(self) -> complex:
        raise needs_a_value("a captured complex number")

    def __eq__(self, other: object) -> bool:
        raise needs_a_value("to compare a captured complex number")

    __bool__ = __hash__ = __complex__  # type: ignore[assignment]


OF_EVERY_EXCEPTION = frozenset(dir(Exception))


class CaughtError(StandIn):
    """The exception that a recorded handler has caught: only a run has it."""

    def __init__(
        self,
        name: CapturedText,
        text: CapturedText,
        ask: Callable[[Any], Any],
        arguments: Callable[[CapturedText], Any],
        attribute: Callable[[str, bool], Any],
        exception: Callable[[], Any],
    ) -> None:
        self.__dict__.update(_name=name, _text=text, _ask=ask)
        self.__dict__.update(_arguments=arguments, _attribute=attribute, _exception=exception)
        self.__dict__.update(known=None)  # the exception itself, once the handler has asked for it

    def __repr__(self) -> str:
        return "<the caught exception>"

    def text(self, is_seen: Callable[[Value], bool]) -> CapturedText:
        """`str(error)`."""
        if not is_seen(self._text.value):
            raise self.refused()
        found: CapturedText = self._text
        return found

    def is_a(self, names: tuple[str, ...]) -> Any:
        """Is it of one of these classes?"""
        return self._ask(names)

    def arguments(self) -> Any:
        """`error.args`."""
        return self._arguments(self._text)

    def attribute(self, name: str) -> Any:
        """`error.name`, of an attribute that the user's code has given it."""
        if name.startswith("__") or name in OF_EVERY_EXCEPTION:
            raise self.refused()
        return self._attribute(name, True)

    def held(self, name: str) -> Any:
        """The same; Undefined where it has none."""
        return self._attribute(name, False)

    def know(self, exception: Any) -> None:
        """Its handler has `exception` in its place."""
        self.__dict__.update(known=exception, first=_contents(exception))

    def refuse_changed(self) -> None:
        """An error where the handler has changed the exception: what a run has caught is as it was.

        A run raises that again, and has it as the cause and the context of others.
        """
        if self.known is not None and not _same(self.first, _contents(self.known)):
            raise refused_exception()

    def exception(self) -> Any:
        """The exception, or a union of the exceptions, that the body of the `try` may raise."""
        return self._exception()

    def class_name(self) -> CapturedText:
        """`type(error).__name__`."""
        found: CapturedText = self._name
        return found

    def __getattr__(self, name: str) -> Any:
        raise self.refused()

    def refused(self) -> UnsupportedCall:
        """The error for any other use; where its handler is recorded, it asks for all of it."""
        self._exception()
        return refused_exception()


def _contents(exception: Any) -> list[Any]:
    every = getattr(exception, "alternatives", (exception,))
    return [item for one in every for item in (*one.args, *vars(one).items())]


def _same(one: list[Any], other: list[Any]) -> bool:
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(
        a is b or (isinstance(a, tuple) and isinstance(b, tuple) and a[1] is b[1]) for a, b in pairs
    )


def refuse_caught(left: object, right: object) -> None:
    """An error where `is` asks whether a caught exception is one that code of the capture knows."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, CaughtError) and isinstance(other, BaseException):
            raise one.refused()


def refused_exception() -> UnsupportedCall:
    """The error for the use of an exception that exists only at run time."""
    return UnsupportedCall(
        "the caught exception is inspected, but it exists only at run time",
        fix="use its text (`str(error)`) or its class (`isinstance`) inside the handler",
    )


def refused_arguments() -> UnsupportedCall:
    """The error for arguments of an exception that a called function, or Python, may raise."""
    return UnsupportedCall(
        "the arguments of an exception that a recursive function or a host call may raise are used",
        fix="use its text: `str(error)`",
    )


class CaughtType:
    """`type(error)` of an exception that only a run has: its name is known then."""

    def __init__(self, error: CaughtError) -> None:
        self.error = error

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return self.error.class_name()
        raise self.error.refused()

    def __eq__(self, other: object) -> bool:
        raise self.error.refused()

    __hash__ = None  # type: ignore[assignment]


def needs_a_value(what: str) -> DataDependent:
    """The error for Python code that needs `what`, which only a run has."""
    return DataDependent(
        f"Python code needs {what}",
        fix="let converted code use it (an `if`, a loop, a comparison), or use tensors",
    )
