"""with_conditions(): a call of an op that first checks the conditions of its row."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from stator.program.opset.conditions import Condition, Quantity
from stator.program.opset.queries import row_of
from stator.program.registry import argument_names

Number = int | float | None  # None: there is nothing to measure
LARGEST = 2**63 - 1
LOWEST = MappingProxyType({torch.int64: -(2**63), torch.int32: -(2**31)})


def with_conditions(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which the op `name` calls, with the conditions on its arguments."""
    conditions = row_of(name).conditions
    if not conditions:
        return function

    def call(*args: object, **attributes: object) -> Any:
        check_arguments(name, conditions, args, attributes)
        return function(*args, **attributes)

    return call


def check_arguments(
    name: str,
    conditions: Sequence[Condition],
    args: Sequence[object],
    attributes: Mapping[str, object],
) -> None:
    """RuntimeError if a call of the op `name` breaks one of its conditions."""
    given = {**dict(zip(argument_names(name), args, strict=False)), **attributes}
    for condition in conditions:
        left, right = _measured(condition.left, given), _measured(condition.right, given)
        if left is None or right is None:
            continue
        if not RELATIONS[condition.relation](left, right):
            raise RuntimeError(f"{name} needs {condition.text}, and has {left} and {right}")


def _measured(quantity: Quantity, given: Mapping[str, object]) -> Number:
    if quantity.measure == "number":
        return int(quantity.arguments[0])
    first, *others = (_argument(name, given) for name in quantity.arguments)
    return None if first is None else MEASURES[quantity.measure](first, *others)


def _argument(name: str, given: Mapping[str, object]) -> object:
    return given.get(name) if name.isidentifier() else int(name)


def _elements(items: object) -> torch.Tensor | None:
    """What a tensor or a list of numbers holds; None if it has nothing that can be read."""
    if isinstance(items, int | float | list | tuple):
        items = torch.tensor(items)
    if not isinstance(items, torch.Tensor) or items.is_meta or not items.numel():
        return None
    if type(items) not in (torch.Tensor, torch.nn.Parameter):  # a stand-in without values
        return None
    return items.detach()


def _numel(tensor: object) -> Number:
    return tensor.numel() if isinstance(tensor, torch.Tensor) else None


def _dim(tensor: object) -> Number:
    return tensor.dim() if isinstance(tensor, torch.Tensor) else None


def _size(tensor: object, dim: object) -> Number:
    if not isinstance(tensor, torch.Tensor):
        return None
    position = 0 if dim is None else dim
    assert isinstance(position, int)
    count = tensor.dim()
    return tensor.shape[position] if -count <= position < count else -1


def _side(tensor: object, dim: object) -> Number:
    return None if isinstance(dim, int) and dim < 0 else _size(tensor, dim)


def _given(*items: object) -> Number:
    return sum(item is not None and item is not False for item in items)


def _total(*numbers: object) -> Number:
    return sum(number for number in numbers if isinstance(number, int | float))


def _least(items: object) -> Number:
    elements = _elements(items)
    return None if elements is None else elements.min().item()


def _most(items: object) -> Number:
    elements = _elements(items)
    return None if elements is None else elements.max().item()


def _sum(items: object) -> Number:
    """The sum; one that integers do not have is taken for the largest."""
    elements = _elements(items)
    if elements is None:
        return 0
    return LARGEST if abs(elements.double().sum().item()) > 2.0**62 else elements.sum().item()


def _sums(items: object) -> torch.Tensor | None:
    elements = _elements(items)
    return None if elements is None or not elements.dim() else elements.sum(-1)


def _steps(items: object) -> torch.Tensor | None:
    elements = _elements(items)
    return None if elements is None or not elements.dim() else elements.diff(dim=-1)


def _first_of(items: object, counts: object) -> torch.Tensor | None:
    """The elements at the start of each row that `counts` has; all of them in one dimension."""
    elements, lengths = _elements(items), _elements(counts)
    if elements is None or lengths is None or elements.dim() != 2:
        return elements
    places = torch.arange(elements.shape[1], device=elements.device)
    return elements[places < lengths.to(elements.device).reshape(-1, 1)]


def _repeated(repeats: object, tensor: object, dim: object) -> Number:
    """The sum of `repeats`; one number is for each element of `tensor` along `dim`."""
    total, count = _sum(repeats), _numel(repeats)
    if total is None or count != 1:
        return total
    size = _numel(tensor) if dim is None else _size(tensor, dim)
    return None if size is None else total * size


def _infinite(items: object) -> Number:
    """Whether an element is infinite or NaN."""
    elements = _elements(items)
    return 0 if elements is None else int(not elements.isfinite().all())


def _lowest(*tensors: object) -> Number:
    """Whether an element has no opposite."""
    return int(any(_has_lowest(tensor) for tensor in tensors))


def _has_lowest(tensor: object) -> bool:
    return isinstance(tensor, torch.Tensor) and _least(tensor) == LOWEST.get(tensor.dtype, 0.5)


def _overflows(dividend: object, divisor: object, mode: object) -> Number:
    """Whether an integer that has no opposite is divided by -1."""
    if mode != "trunc" or not isinstance(dividend, torch.Tensor):
        return 0
    lowest = LOWEST.get(torch.result_type(dividend, divisor))  # type: ignore[call-overload]  # checked by the schema
    if lowest is None or _least(divisor) is None or _least(dividend) != lowest:
        return 0
    return int(bool((torch.as_tensor(divisor) == -1).any()))


MEASURES: Mapping[str, Callable[..., Number]] = MappingProxyType(
    {
        "numel": _numel,
        "dim": _dim,
        "size": _size,
        "side": _side,
        "given": _given,
        "value": _total,
        "total": _total,
        "least": _least,
        "most": _most,
        "sum": _sum,
        "least_sum": lambda items: _least(_sums(items)),
        "most_sum": lambda items: _most(_sums(items)),
        "least_step": lambda items: _least(_steps(items)),
        "least_of": lambda items, counts: _least(_first_of(items, counts)),
        "most_of": lambda items, counts: _most(_first_of(items, counts)),
        "repeated": _repeated,
        "infinite": _infinite,
        "lowest": _lowest,
        "overflows": _overflows,
    }
)
RELATIONS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "<=": operator.le,
        ">=": operator.ge,
        "<": operator.lt,
        ">": operator.gt,
    }
)
