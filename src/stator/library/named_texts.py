"""Text that torch's own code makes of captured values: a method that is called by name, or a leak.

x.__repr__()   dist.__str__()   x.sum().__format__(".2f")     as `repr(x)`, `str(dist)` and so on
torch._tensor_str._str(x)                                     refused: it has a name of Stator's
"""

from __future__ import annotations

from typing import TypeVar

from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.library.python_text import no_text
from stator.library.text import format_value, is_text_symbolic
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged

STR = "__str__"
CONVERSIONS = {"__repr__": "r", STR: "s", "__format__": None}
NAMES = ("<captured ", "FakeTensor(")  # in the text of what exists only during a capture
Result = TypeVar("Result")


def text_by_name(session: Session, function: Staged, args: Args, kwargs: Keywords) -> Staged:
    """What a method that makes text gives; None where it is another one, or text of Python's."""
    name, owner = getattr(function, "__name__", ""), getattr(function, "__self__", None)
    if name not in CONVERSIONS or kwargs or len(args) != (name == "__format__"):
        return None
    if isinstance(owner, type) or not is_text_symbolic(owner):
        return None
    if getattr(owner, name) != function:  # that of a base class, which `super()` gives
        return _of_base(session, owner, function) if isinstance(owner, BaseException) else None
    return format_value(session, owner, CONVERSIONS[name], *(args or ("",)))


def _of_base(session: Session, error: BaseException, function: Staged) -> Staged:
    """What `super().__str__()` gives in an exception that holds captured values."""
    if getattr(function, "__objclass__", None) is not BaseException or function.__name__ != STR:
        raise no_text(error)
    if not error.args:
        return ""
    return format_value(session, error.args[0] if len(error.args) == 1 else error.args, "s", "")


def without_names(function: object, result: Result) -> Result:
    """`result` of a function of torch; an error if it is text that names a captured value."""
    if isinstance(result, str) and any(name in result for name in NAMES):
        raise UnsupportedCall(
            f"`{getattr(function, '__name__', 'a function of torch')}` builds a string from "
            "captured values, which Stator cannot record",
            at=current_place(), fix="use `repr(x)`, `str(x)` or an f-string",
        )  # fmt: skip
    return result
