"""fits(): may a value, or a constant, be used where a type is expected? The subtyping rule.

- A static size fits a dynamic one: `f32[3]` fits `f32[s0]`. A dynamic size fits any other dynamic
  one: symbols of two blocks cannot be compared.
- `T` and None fit `T?`; `list<S>` fits `list<T>` if `S` fits `T`.
- `bool` fits `int`, as in Python.
- A value of type `T?` may be used where `T` is expected: the program has tested before that it is
  there, and a run in which it is absent fails. This holds for the value itself, not for the items
  of a list.
"""

from __future__ import annotations

from collections.abc import Sequence

from stator.program.ir import Arg, Value
from stator.program.sizes import Dim
from stator.program.types import (
    ListType,
    NumberKind,
    NumberType,
    OptionalType,
    TensorType,
    TextType,
    Type,
)

NUMBERS: dict[type, NumberKind] = {bool: "bool", int: "int", float: "float", complex: "complex"}


def fits(arg: Arg, wanted: Type) -> bool:
    """Whether `arg` may be used where a value of type `wanted` is expected."""
    if isinstance(arg, Value):
        return type_fits(
            arg.type if isinstance(wanted, OptionalType) else present(arg.type), wanted
        )
    if isinstance(wanted, OptionalType):
        return arg is None or fits(arg, wanted.element)
    if isinstance(wanted, TextType):
        return isinstance(arg, str)
    if isinstance(wanted, NumberType):
        return number_fits(NUMBERS.get(type(arg)), wanted.kind)
    return False


def is_bool(arg: Arg) -> bool:
    """Whether `arg` is a bool of the program."""
    return isinstance(arg, Value) and arg.type == NumberType("bool")


def present(given: Type) -> Type:
    """The type of a value that is known to be there."""
    return given.element if isinstance(given, OptionalType) else given


def type_fits(given: Type, wanted: Type) -> bool:
    """Whether a value of type `given` may be used where `wanted` is expected."""
    if isinstance(wanted, OptionalType):
        return type_fits(present(given), wanted.element)
    if isinstance(given, TensorType) and isinstance(wanted, TensorType):
        same = given.dtype == wanted.dtype and given.device == wanted.device
        return same and shape_fits(given.shape, wanted.shape)
    if isinstance(given, ListType) and isinstance(wanted, ListType):
        return type_fits(given.element, wanted.element)
    if isinstance(given, NumberType) and isinstance(wanted, NumberType):
        return number_fits(given.kind, wanted.kind)
    return isinstance(given, TextType) and isinstance(wanted, TextType)


def shape_fits(given: Sequence[Dim], wanted: Sequence[Dim]) -> bool:
    """Whether sizes may be used where `wanted` are expected."""
    return len(given) == len(wanted) and all(map(dim_fits, given, wanted))


def dim_fits(given: Dim, wanted: Dim) -> bool:
    """Whether one size may be used where `wanted` is expected."""
    return not isinstance(wanted, int) or given == wanted


def number_fits(given: str | None, wanted: str) -> bool:
    """Whether a number of kind `given` may be used where one of kind `wanted` is expected."""
    return given == wanted or (given == "bool" and wanted == "int")


def described(arg: Arg) -> str:
    """An argument's type in an error message; constants as they are printed."""
    if isinstance(arg, Value):
        return f"%{arg.name}: {arg.type}"
    return repr(arg)[:60]
