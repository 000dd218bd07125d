"""DeviceNumber: a number of a program that is on the device, and what is computed with it.

A number is a tensor without dimensions: bool, int64 or float64, as Python computes. `graph_rules`
lets only that into a graph which a device computes as Python does.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from stator.program.types import NumberKind

DTYPES: Mapping[NumberKind, torch.dtype] = MappingProxyType(
    {"bool": torch.bool, "int": torch.int64, "float": torch.float64}
)


@dataclass(frozen=True, slots=True)
class DeviceNumber:
    """A number on the device."""

    tensor: torch.Tensor
    kind: NumberKind

    def to(self, kind: NumberKind) -> torch.Tensor:
        """The tensor, with the dtype of that kind."""
        return self.tensor if kind == self.kind else self.tensor.to(DTYPES[kind])


Number = DeviceNumber | bool | int | float
Operation = Callable[..., torch.Tensor]


def kind_of_number(number: Number) -> NumberKind:
    """The kind of a number, wherever it is."""
    if isinstance(number, DeviceNumber):
        return number.kind
    return "bool" if isinstance(number, bool) else "int" if isinstance(number, int) else "float"


def read(tensor: torch.Tensor, kind: NumberKind) -> DeviceNumber:
    """The only element of a tensor."""
    number = tensor.reshape(())
    if number.dtype == DTYPES[kind]:
        return DeviceNumber(number, kind)
    return DeviceNumber(number != 0 if kind == "bool" else number.to(DTYPES[kind]), kind)


def tensor_of(number: Number, kind: NumberKind, device: torch.device) -> torch.Tensor:
    """The tensor for a number."""
    if isinstance(number, DeviceNumber):
        return number.to(kind)
    return torch.full((), number, dtype=DTYPES[kind], device=device)


def host_tensor(number: bool | int | float) -> torch.Tensor:
    """The tensor, on the host, for a number that the host has: as exact as the number."""
    return torch.tensor(number, dtype=DTYPES[kind_of_number(number)])


def chosen(condition: torch.Tensor, then: Number, orelse: Number, kind: NumberKind) -> DeviceNumber:
    """One of two numbers, by a condition on the device."""
    if kind == "bool" and (then is True or orelse is False):
        other = orelse if then is True else then
        join = torch.logical_or if then is True else torch.logical_and
        if isinstance(other, DeviceNumber):
            return DeviceNumber(join(condition, other.tensor), kind)
        return DeviceNumber(condition, kind)  # `True if c else False`
    device = condition.device
    first, second = (tensor_of(one, kind, device) for one in (then, orelse))
    return DeviceNumber(torch.where(condition, first, second), kind)


def compute(name: str, given: Sequence[Number], kind: NumberKind) -> DeviceNumber:
    """A number op of a program, some of whose operands are on the device."""
    kinds = {kind_of_number(one) for one in given}
    common: NumberKind = "float" if "float" in kinds or name == "truediv" else "int"
    if name in ("and", "or", "not", "bool") or (name in ("eq", "ne") and kinds == {"bool"}):
        common = "bool"
    if name == "bool":
        (number,) = given
        assert isinstance(number, DeviceNumber)
        return read(number.tensor, "bool")
    if name in ("int", "float"):
        (number,) = given
        assert isinstance(number, DeviceNumber)
        return DeviceNumber(number.to(kind), kind)
    operands = [one.to(common) if isinstance(one, DeviceNumber) else one for one in given]
    return DeviceNumber(OPERATIONS[name](*operands), kind)


def _tensors(*operands: Any) -> tuple[torch.Tensor, ...]:
    """Constants as tensors, where torch computes something else with a constant."""
    like = next(one for one in operands if isinstance(one, torch.Tensor))
    return tuple(
        one if isinstance(one, torch.Tensor) else torch.full_like(like, one) for one in operands
    )


def _joined(join: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Operation:
    """All operands, from the first on, by a function of two."""
    return lambda *operands: functools.reduce(join, _tensors(*operands))


def _compared(function: Operation) -> Operation:
    def compare(first: Any, second: Any) -> torch.Tensor:
        if isinstance(first, torch.Tensor):
            return function(first, second)
        return function(*_tensors(first, second))

    return compare


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "add": torch.add,
        "sub": lambda a, b: torch.sub(*_tensors(a, b)) if not _is_tensor(a) else torch.sub(a, b),
        "mul": torch.mul,
        "truediv": lambda a, b: torch.div(*_tensors(a, b)),
        "floordiv": torch.floor_divide,
        "mod": torch.remainder,
        "neg": torch.neg,
        "abs": torch.abs,
        "min": _joined(lambda a, b: torch.where(b < a, b, a)),  # the first of equals, as in Python
        "max": _joined(lambda a, b: torch.where(b > a, b, a)),
        "and": _joined(torch.logical_and),
        "or": _joined(torch.logical_or),
        "not": torch.logical_not,
        "eq": _compared(torch.eq),
        "ne": _compared(torch.ne),
        "lt": _compared(torch.lt),
        "le": _compared(torch.le),
        "gt": _compared(torch.gt),
        "ge": _compared(torch.ge),
    }
)


def _is_tensor(value: object) -> bool:
    return isinstance(value, torch.Tensor)
