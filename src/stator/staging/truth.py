"""truth(): what a condition is, a Python bool or a symbolic one; and numbers from tensors."""

from __future__ import annotations

from typing import Any

import sympy
import torch

from stator.capture.arrays import CapturedArray
from stator.capture.numbers import Number
from stator.capture.recorder import Recorder
from stator.capture.values import CapturedComplex, StagedList, Variant, is_table
from stator.program.types import NumberKind, NumberType
from stator.staging.lists import list_length

Condition = bool | torch.SymBool


def truth(recorder: Recorder, value: Any) -> Condition:
    """`bool(value)`, symbolic where only a run knows it."""
    if isinstance(value, CapturedArray):
        value = value.tensor
    if isinstance(value, torch.Tensor):
        _one_element(value, "Boolean value of Tensor with {} is ambiguous")
        answer: Any = _number_op(recorder, "aten::is_nonzero", value, "bool")
        return answer
    if isinstance(value, torch.SymBool):
        return known(recorder, value)
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return known(recorder, value != 0)
    if isinstance(value, CapturedComplex):
        zero = recorder.emit_number("stator::ne", (value.value, 0), "bool")
        return recorder.number("bool", zero)
    if isinstance(value, Variant):
        return truth(recorder, recorder.apply(value, lambda one: truth(recorder, one)))
    if (isinstance(value, StagedList) and value.columns is not None) or is_table(value):
        return known(recorder, list_length(recorder, value) != 0)
    return bool(value)


def known(recorder: Recorder, value: Any) -> Condition:
    """`value` as a Python bool where its expression leaves no doubt."""
    if isinstance(value, bool):
        return value
    expression = recorder.sizes._maybe_evaluate_static(value.node.expr)
    if expression in (sympy.true, sympy.false):
        return bool(expression)
    return value


def item(recorder: Recorder, tensor: torch.Tensor) -> Any:
    """`tensor.item()`: a symbolic number."""
    _one_element(tensor, "a Tensor with {} cannot be converted to Scalar")
    return _number_op(recorder, "aten::item", tensor, number_kind(tensor.dtype))


def index(recorder: Recorder, value: Any) -> Any:
    """`operator.index(value)` for what is captured; anything else as it is."""
    if isinstance(value, CapturedArray):
        value = value.tensor
    if isinstance(value, torch.SymBool):
        return to_int(recorder, value)
    if not isinstance(value, torch.Tensor):
        return value
    if value.dtype.is_floating_point or value.dtype.is_complex or value.numel() != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    number = item(recorder, value)
    return to_int(recorder, number)


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


def _number_op(recorder: Recorder, name: str, tensor: torch.Tensor, kind: NumberKind) -> Number:
    value = recorder.new_value(NumberType(kind))
    recorder.emit(name, (recorder.arg(tensor),), [value])
    return recorder.number(kind, value)


def _one_element(tensor: torch.Tensor, message: str) -> None:
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
        raise RuntimeError(message.format(elements))


def number_kind(dtype: torch.dtype) -> NumberKind:
    """The kind of Python number that an item of a tensor is."""
    if dtype == torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "float" if dtype.is_floating_point else "int"
