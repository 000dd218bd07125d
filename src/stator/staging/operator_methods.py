"""Operators that users have written: `__add__`, `__radd__`, `__lt__`, in the order Python asks.

The class of the right operand is asked first where it is a subclass of the left one's and has a
method of its own; a method that gives NotImplemented leaves the answer to the other operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from stator.errors import UnsupportedCall
from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.slotted import HEAP_TYPE
from stator.values.union import Union

NOT_WRITTEN = object()
ARITHMETIC = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
COMPARISONS = {
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"), "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
}  # fmt: skip


class Question(NamedTuple):
    """A method that may compute the result, and its arguments."""

    owner: object
    name: str
    other: object


def written_arithmetic(session: Session, left: object, sign: str, right: object) -> Staged:
    """`left SIGN right` by methods of the user's; NOT_WRITTEN where there are none."""
    if not (_may_have(left) or _may_have(right)):
        return NOT_WRITTEN
    name, reflected = f"__{ARITHMETIC[sign]}__", f"__r{ARITHMETIC[sign]}__"
    first, second = Question(left, name, right), Question(right, reflected, left)
    if type(left) is type(right):
        asked = [first]
    elif _overrides(type(right), type(left), reflected):
        asked = [second, first]
    else:
        asked = [first, second]
    found = _answer(session, asked)
    if found is not NotImplemented:
        return found
    power = "** or pow()" if sign == "**" else sign
    names = f"'{type(left).__name__}' and '{type(right).__name__}'"
    raise TypeError(f"unsupported operand type(s) for {power}: {names}")


def written_comparison(
    session: Session, left: object, sign: str, right: object, negate: Callable[[Staged], Staged]
) -> Staged:
    """The same for comparisons; an `__eq__` answers `!=` as well, by what `negate` makes of it."""
    if sign not in COMPARISONS or not (_may_have(left) or _may_have(right)):
        return NOT_WRITTEN
    name, reflected = COMPARISONS[sign]
    first, second = Question(left, name, right), Question(right, reflected, left)
    is_subclass = type(right) is not type(left) and issubclass(type(right), type(left))
    found = _answer(session, [second, first] if is_subclass else [first, second], negate)
    if found is not NotImplemented:
        return found
    if sign in ("==", "!="):
        same = session.stand_ins.original(left) is session.stand_ins.original(right)
        return same if sign == "==" else not same
    names = f"'{type(left).__name__}' and '{type(right).__name__}'"
    raise TypeError(f"'{sign}' not supported between instances of {names}")


def _may_have(value: object) -> bool:
    """Is it of a class that a `class` statement has made?"""
    return bool(type(value).__flags__ & HEAP_TYPE)


def _overrides(cls: type, base: type, name: str) -> bool:
    if not issubclass(cls, base):
        return False
    return getattr(cls, name, None) is not getattr(base, name, None)


def _answer(
    session: Session, asked: list[Question], negate: Callable[[Staged], Staged] | None = None
) -> Staged:
    """What the first of `asked` gives that knows; NOT_WRITTEN where none of them is a user's."""
    if not any(_written(one) for one in asked):
        return NOT_WRITTEN
    for result in (_ask(session, one, negate) for one in asked):
        if isinstance(result, Union) and any(one is NotImplemented for one in result.alternatives):
            raise UnsupportedCall(
                "an operator returns NotImplemented on some paths only",
                fix="return it under a condition that is known during the capture",
            )
        if result is not NotImplemented:
            return result
    return NotImplemented


def _written(question: Question) -> bool:
    if user_method(question.owner, question.name) is not None:
        return True
    return _by_equality(question) is not None


def _by_equality(question: Question) -> Staged:
    """The `__eq__` of the user's that answers `!=`, where the class has no `__ne__` of its own."""
    cls = type(question.owner)
    if question.name != "__ne__" or cls.__ne__ is not object.__ne__:
        return None
    return user_method(question.owner, "__eq__")


def _ask(session: Session, question: Question, negate: Callable[[Staged], Staged] | None) -> Staged:
    owner, name, other = question
    call = session.interpreter.call_method
    method = user_method(owner, name)
    if method is not None:
        return call(method, owner, other)
    equal = _by_equality(question)
    if equal is not None and negate is not None:
        result = call(equal, owner, other)
        return result if result is NotImplemented else negate(result)
    method = getattr(type(owner), name, None)
    return NotImplemented if method is None else method(owner, other)
