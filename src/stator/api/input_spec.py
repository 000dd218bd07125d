"""InputSpec: what an argument may be, said before there is one."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy
import torch

from stator.capture.inputs import ScalarSpec, SizeRange, TensorSpec
from stator.errors import SpecMismatch
from stator.frames import user_facing

Size = int | str | None
Range = tuple[int | None, int | None]
NO_RANGES: Mapping[str, Range] = MappingProxyType({})


class InputSpec:
    """The shape, dtype and name of a tensor argument; a size of None (or -1) is dynamic.

    A size may also be a name: it is dynamic too, and sizes with the same name must be equal in all
    arguments of a call. `ranges` maps such names to the smallest and the largest size, or None for
    no bound. Each run checks both. `stop_gradient=False` means that the program is captured for a
    tensor that requires gradients.

    >>> InputSpec(["batch", 784], "float32", "image", ranges={"batch": (1, 64)})
    InputSpec(['batch', 784], 'float32', name='image', ranges={'batch': (1, 64)})

    `InputSpec.int()`, `.float()`, `.bool()` and `.str()` are specs for Python values.
    """

    @user_facing
    def __init__(
        self,
        shape: Sequence[Size],
        dtype: builtins.str | torch.dtype = "float32",
        name: builtins.str | None = None,
        stop_gradient: builtins.bool = True,
        *,
        ranges: Mapping[builtins.str, Range] = NO_RANGES,
    ) -> None:
        self.shape = tuple(_size(size) for size in _sequence(shape))
        self.ranges = {name: _range(name, given, self.shape) for name, given in ranges.items()}
        self.dtype = _dtype(dtype)
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: torch.Tensor, name: builtins.str | None = None) -> InputSpec:
        """A spec with the shape and dtype of `tensor`; all sizes are fixed."""
        return cls(tuple(tensor.shape), tensor.dtype, name, not tensor.requires_grad)

    @classmethod
    def from_numpy(
        cls, array: numpy.ndarray[Any, Any], name: builtins.str | None = None
    ) -> InputSpec:
        """A spec with the shape and dtype of `array`; all sizes are fixed."""
        return cls(array.shape, str(array.dtype), name)

    @staticmethod
    def int(name: builtins.str | None = None, *, optional: builtins.bool = False) -> ScalarSpec:
        """A spec for a Python int (of 64 bits); with `optional=True`, None is accepted, too.

        >>> InputSpec.int("n")
        InputSpec.int('n')
        """
        return ScalarSpec("int", name, optional)

    @staticmethod
    def float(name: builtins.str | None = None, *, optional: builtins.bool = False) -> ScalarSpec:
        """A spec for a Python float; with `optional=True`, None is accepted, too."""
        return ScalarSpec("float", name, optional)

    @staticmethod
    def bool(name: builtins.str | None = None, *, optional: builtins.bool = False) -> ScalarSpec:
        """A spec for a Python bool; with `optional=True`, None is accepted, too."""
        return ScalarSpec("bool", name, optional)

    @staticmethod
    def str(name: builtins.str | None = None, *, optional: builtins.bool = False) -> ScalarSpec:
        """A spec for a Python string; with `optional=True`, None is accepted, too."""
        return ScalarSpec("str", name, optional)

    def batch(self, size: Size) -> InputSpec:
        """A copy of this spec with `size` as an additional first dimension."""
        return self._with_shape((size, *self.shape))

    @user_facing
    def unbatch(self) -> InputSpec:
        """A copy of this spec without its first dimension."""
        if not self.shape:
            raise SpecMismatch(f"{self!r} has no dimension to remove",
                               fix="unbatch a spec with at least one dimension")  # fmt: skip
        return self._with_shape(self.shape[1:])

    def _with_shape(self, shape: Sequence[Size]) -> InputSpec:
        ranges = {name: given for name, given in self.ranges.items() if name in shape}
        return InputSpec(shape, self.dtype, self.name, self.stop_gradient, ranges=ranges)

    def tensor_spec(self, device: torch.device | None = None) -> TensorSpec:
        """The spec as the capture reads it."""
        where = device or torch.get_default_device()
        sizes = tuple(size if isinstance(size, int) else None for size in self.shape)
        names = tuple(size if isinstance(size, str) else None for size in self.shape)
        return TensorSpec(
            sizes, self.dtype, where, not self.stop_gradient, self.name,
            size_names=names if any(names) else (),
            ranges=tuple(SizeRange(name, *given) for name, given in self.ranges.items()),
        )  # fmt: skip

    def __repr__(self) -> builtins.str:
        name = f", name={self.name!r}" if self.name else ""
        ranges = f", ranges={self.ranges}" if self.ranges else ""
        dtype = str(self.dtype).removeprefix("torch.")
        return f"InputSpec({list(self.shape)}, {dtype!r}{name}{ranges})"

    def __eq__(self, other: object) -> builtins.bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> builtins.int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        ranges = tuple(sorted(self.ranges.items()))
        return (self.shape, self.dtype, self.name, self.stop_gradient, ranges)


def _sequence(shape: object) -> Sequence[Size]:
    if isinstance(shape, str) or not isinstance(shape, Sequence):
        raise SpecMismatch(f"{shape!r} is not a shape", fix="give a list of sizes: [None, 8]")
    return shape


def _size(size: Size) -> Size:
    if size is None or size == -1:
        return None
    if isinstance(size, str) and size.isidentifier():
        return size
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise SpecMismatch(
            f"{size!r} is not a size",
            fix='give a number >= 0, a name such as "batch", or None for any size',
        )
    return size


def _range(name: str, given: Range, shape: Sequence[Size]) -> Range:
    if name not in shape:
        raise SpecMismatch(f"no size of the spec has the name {name!r}",
                           fix=f"give it to a size: InputSpec([{name!r}, ...])")  # fmt: skip
    pair = given if isinstance(given, tuple | list) and len(given) == 2 else (-1, -1)
    bounds = [bound for bound in pair if bound is not None]
    if not all(type(one) is int and one >= 0 for one in bounds):
        raise SpecMismatch(f"{given!r} is not a range of sizes",
                           fix="give the least and the greatest size, or None for no bound"
                           )  # fmt: skip
    if sorted(bounds) != bounds:
        raise SpecMismatch(f"the range {given!r} of {name!r} is empty",
                           fix="give the least size first")  # fmt: skip
    return (given[0], given[1])


def _dtype(dtype: str | torch.dtype) -> torch.dtype:
    found = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
    if not isinstance(found, torch.dtype):
        raise SpecMismatch(f"{dtype!r} is not a dtype", fix='give one such as "float32" or "int64"')
    return found
