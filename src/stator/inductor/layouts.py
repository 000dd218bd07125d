"""RegionLayout: what compiled code relies on in the tensors and integers of a call.

A size that the program knows is fixed. Any other is dynamic: one compiled region serves all sizes
from 2 on. Sizes 0 and 1 behave differently (they broadcast, or there is nothing to compute), so a
dynamic size that is 1 in a call is fixed for the code that is compiled for that call.

Strides follow from sizes where the memory is dense, in any order of dimensions. Others are fixed if
the sizes are, and dynamic otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from stator.program.sizes import AnySize, Dim
from stator.program.types import TensorType


@dataclass(frozen=True, slots=True)
class DynamicSize:
    """A size or stride that differs between calls, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class StrideAfter:
    """The stride of a dimension outside another one: the other's stride times its size."""

    dimension: int


SizeRule = int | DynamicSize
StrideRule = int | DynamicSize | StrideAfter


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """What is relied on in one tensor."""

    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    sizes: tuple[SizeRule, ...]
    strides: tuple[StrideRule, ...]


@dataclass(frozen=True, slots=True)
class RegionLayout:
    """What is relied on in a call; `examples` are the dynamic sizes of the call it was made for."""

    tensors: tuple[TensorLayout, ...]
    numbers: tuple[SizeRule, ...]
    examples: tuple[int, ...] = field(compare=False)

    @property
    def requires_grad(self) -> bool:
        """Whether the call records gradients."""
        return any(tensor.requires_grad for tensor in self.tensors)

    def dynamic_sizes(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int], *, gradients: bool
    ) -> list[int] | None:
        """The dynamic sizes of another call; None if the layout does not hold for it."""
        found: dict[int, int] = {}
        for tensor, layout in zip(tensors, self.tensors, strict=True):
            if not _holds(tensor, layout, found, gradients=gradients):
                return None
        for number, rule in zip(numbers, self.numbers, strict=True):
            if not _is(number, rule, found):
                return None
        return [found[number] for number in range(len(self.examples))]


def _holds(
    tensor: torch.Tensor, layout: TensorLayout, found: dict[int, int], *, gradients: bool
) -> bool:
    if (gradients and tensor.requires_grad) != layout.requires_grad:
        return False
    if tensor.dtype != layout.dtype or tensor.device != layout.device:
        return False
    sizes, strides = tensor.shape, tensor.stride()
    if len(sizes) != len(layout.sizes):
        return False
    if not all(_is(size, rule, found) for size, rule in zip(sizes, layout.sizes, strict=True)):
        return False
    for size, stride, rule in zip(sizes, strides, layout.strides, strict=True):
        if isinstance(rule, StrideAfter):
            rule = strides[rule.dimension] * sizes[rule.dimension]
        if size != 1 and not _is(stride, rule, found):
            return False
    return True


def _is(value: int, rule: SizeRule, found: dict[int, int]) -> bool:
    """Whether `value` is as the rule has it; one dynamic size is the same wherever it is."""
    if isinstance(rule, DynamicSize):
        return found.setdefault(rule.number, value) == value
    return value == rule


def layout_of(
    types: Sequence[TensorType],
    tensors: Sequence[torch.Tensor],
    numbers: Sequence[int],
    *,
    gradients: bool,
) -> RegionLayout:
    """The layout of a call of a region whose tensors are of these types in the program."""
    making = _LayoutMaking()
    made = []
    for kind, tensor in zip(types, tensors, strict=True):
        sizes = tuple(map(making.size, kind.shape, tensor.shape))
        is_dynamic = any(isinstance(size, DynamicSize) for size in sizes)
        made.append(
            TensorLayout(
                tensor.dtype, tensor.device, gradients and tensor.requires_grad, sizes,
                making.strides(tensor, is_dynamic=is_dynamic),
            )
        )  # fmt: skip
    return RegionLayout(tuple(made), tuple(map(making.number, numbers)), tuple(making.examples))


class _LayoutMaking:
    """Numbers the dynamic sizes of one layout."""

    def __init__(self) -> None:
        self.examples: list[int] = []
        self._known: dict[tuple[Dim, int], DynamicSize] = {}

    def number(self, value: int) -> SizeRule:
        """The rule for an integer or a size."""
        if value < 2:
            return value
        self.examples.append(value)
        return DynamicSize(len(self.examples) - 1)

    def size(self, dim: Dim, value: int) -> SizeRule:
        """The rule for a size; equal ones of the program are one."""
        if isinstance(dim, int):
            return value
        if isinstance(dim, AnySize):
            return self.number(value)
        found = self._known.get((dim, value))
        if found is not None:
            return found
        rule = self.number(value)
        if isinstance(rule, DynamicSize):
            self._known[dim, value] = rule
        return rule

    def strides(self, tensor: torch.Tensor, *, is_dynamic: bool) -> tuple[StrideRule, ...]:
        """The rules for the strides of a tensor, from the innermost dimension outwards."""
        sizes, strides = tensor.shape, tensor.stride()
        rules: list[StrideRule] = [1] * len(sizes)  # of a dimension of size 1 it does not matter
        inner: int | None = None
        for dimension in sorted(range(len(sizes)), key=lambda d: (strides[d], -d)):
            stride = strides[dimension]
            if sizes[dimension] == 1:
                continue
            if inner is not None and stride == strides[inner] * sizes[inner]:
                rules[dimension] = StrideAfter(inner)
            elif is_dynamic:
                rules[dimension] = self.number(stride)
            else:
                rules[dimension] = stride
            inner = dimension if stride else inner
        return tuple(rules)
