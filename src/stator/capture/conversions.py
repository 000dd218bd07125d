"""Numbers from symbolic values: `.item()`, `operator.index`, `int`, `float`."""

from __future__ import annotations

from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.program.types import NumberKind, NumberType
from stator.values.arrays import CapturedArray
from stator.values.symbolic import CapturedComplex, Number, kind_of_number, raise_for_user


def item(recorder: Recorder, tensor: torch.Tensor) -> Any:
    """`tensor.item()`: a symbolic number."""
    check_one_element(tensor, "a Tensor with {} cannot be converted to Scalar")
    return read_number(recorder, "aten::item", tensor, number_kind(tensor.dtype))


NO_INTEGER = "'{}' object cannot be interpreted as an integer"


def index(recorder: Recorder, value: object, message: str = NO_INTEGER) -> Any:
    """`operator.index(value)` of a symbolic value; any other value unchanged.

    `message` is that of the TypeError for a number that is no integer.
    """
    if isinstance(value, CapturedArray):
        value = value.tensor
    if isinstance(value, torch.SymBool):
        return to_int(recorder, value)
    if isinstance(value, torch.SymFloat | CapturedComplex):
        raise_for_user(TypeError(message.format(kind_of_number(value))))
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype.is_floating_point or value.dtype.is_complex or value.numel() != 1:
        raise_for_user(
            TypeError("only integer tensors of a single element can be converted to an index")
        )
    return to_int(recorder, item(recorder, value))


def position(recorder: Recorder, value: object, message: str) -> Any:
    """A position in a sequence; `message` is that of the TypeError for what is no integer."""
    found = index(recorder, value, message)
    if not isinstance(found, torch.SymInt) and not hasattr(type(found), "__index__"):
        raise_for_user(TypeError(message.format(type(found).__name__)))
    return found


def to_int(recorder: Recorder, number: Any) -> Any:
    """`int(number)` of a number, symbolic or not."""
    if isinstance(number, torch.SymBool | torch.SymFloat):
        value = recorder.emit_number("stator::int", (recorder.arg(number),), "int")
        return recorder.number("int", value)
    return number if isinstance(number, Number) else int(number)


def to_float(recorder: Recorder, number: Any) -> Any:
    """`float(number)` of a number, symbolic or not."""
    if isinstance(number, torch.SymBool | torch.SymInt):
        value = recorder.emit_number("stator::float", (recorder.arg(number),), "float")
        return recorder.number("float", value)
    return number if isinstance(number, Number) else float(number)


def read_number(recorder: Recorder, name: str, tensor: torch.Tensor, kind: NumberKind) -> Any:
    """The number that the op `name` reads from `tensor`."""
    value = recorder.new_value(NumberType(kind))
    recorder.emit(name, (recorder.arg(tensor),), [value])
    return recorder.number(kind, value)


def check_one_element(tensor: torch.Tensor, message: str) -> None:
    """Raise as eager does, where the number of elements is known and is not one."""
    count = 1
    for size in tensor.shape:
        if isinstance(size, torch.SymInt):
            return
        count *= size
    if count != 1:
        elements = "no values" if count == 0 else "more than one value"
        if "Scalar" in message:
            elements = f"{count} elements"
        raise_for_user(RuntimeError(message.format(elements)))


def number_kind(dtype: torch.dtype) -> NumberKind:
    """The kind of Python number that an item of a tensor is."""
    if dtype == torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"
