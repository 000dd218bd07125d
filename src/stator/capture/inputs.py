"""Inputs: the arguments of a call as specifications, and as symbolic values to capture with."""

from __future__ import annotations

import copy
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.recorder import Recorder
from stator.capture.values import StagedList
from stator.program import structure as shape
from stator.program.ir import Value
from stator.program.structure import Structure


@dataclass(frozen=True)
class TensorSpec:
    """A tensor argument; a size that may be anything is None."""

    shape: tuple[int | None, ...]
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool
    name: str | None = None
    strides: tuple[int, ...] | None = None  # where they are not those of a contiguous tensor
    is_parameter: bool = False


@dataclass
class Inputs:
    """The captured form of a call's arguments."""

    values: list[Value]
    structure: Structure
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    containers: dict[int, tuple[Any, tuple[Any, ...]]]  # id -> (copy, path into the call)
    objects: list[Any]  # the caller's own, given as they are


@dataclass(frozen=True)
class Argument:
    """A container that every call is given: the path to it in the call's arguments."""

    path: tuple[Any, ...]

    def find(self, call: tuple[Any, ...]) -> Any:
        """The one of this call."""
        return functools.reduce(lambda tree, key: tree[key], self.path, call)


class InputReader:
    """Builds symbolic arguments from a tree with `TensorSpec` leaves."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.values: list[Value] = []
        self.objects: list[Any] = []
        self.containers: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
        """The symbolic form of a call with these arguments."""
        structures, symbolic = self._items(args, (0,))
        named_structures, named = self._items(tuple(kwargs.values()), (1,), tuple(kwargs))
        whole = shape.Sequence("tuple", (
            shape.Sequence("tuple", structures),
            shape.Mapping(tuple(kwargs), named_structures),
        ))  # fmt: skip
        return Inputs(
            self.values, whole, tuple(symbolic), dict(zip(kwargs, named, strict=True)),
            self.containers,
            self.objects,
        )  # fmt: skip

    def _items(
        self, items: tuple[Any, ...], path: tuple[Any, ...], keys: tuple[Any, ...] | None = None
    ) -> tuple[tuple[Structure, ...], list[Any]]:
        pairs = [
            self._one(item, (*path, key))
            for key, item in zip(keys or range(len(items)), items, strict=True)
        ]
        return tuple(structure for structure, _ in pairs), [value for _, value in pairs]

    def _one(self, value: Any, path: tuple[Any, ...]) -> tuple[Structure, Any]:
        if isinstance(value, TensorSpec):
            return self._tensor(value, path)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            structures, items = self._items(tuple(value), path)
            name = f"{type(value).__module__}:{type(value).__qualname__}"
            return shape.Record("namedtuple", name, value._fields, structures), type(value)(*items)
        if isinstance(value, list | tuple):
            structures, items = self._items(tuple(value), path)
            if isinstance(value, tuple):
                return shape.Sequence("tuple", structures), tuple(items)
            return shape.Sequence("list", structures), self._owned(StagedList(items), path)
        if isinstance(value, dict):
            structures, items = self._items(tuple(value.values()), path, tuple(value))
            copy = self._owned(dict(zip(value, items, strict=True)), path)
            return shape.Mapping(tuple(value), structures), copy
        if value is None or isinstance(value, bool | int | float | complex | str):
            return shape.Fixed(value), value
        if dataclasses.is_dataclass(value) and _holds_specs(value):
            return self._dataclass(value, path)
        self.objects.append(value)  # an object of the caller's: the cache key watches it
        return shape.Fixed(value), value

    def _dataclass(self, value: Any, path: tuple[Any, ...]) -> tuple[Structure, Any]:
        names = tuple(field.name for field in dataclasses.fields(value))
        structures, items = self._items(tuple(getattr(value, name) for name in names), path, names)
        made = copy.copy(value)
        for name, item in zip(names, items, strict=True):
            object.__setattr__(made, name, item)  # also where the class is frozen
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        return shape.Record("dataclass", kind, names, structures), made

    def _owned(self, copy: Any, path: tuple[Any, ...]) -> Any:
        self.containers[id(copy)] = (copy, path)
        return copy

    def _tensor(self, spec: TensorSpec, path: tuple[Any, ...]) -> tuple[Structure, torch.Tensor]:
        recorder = self.recorder
        sizes = [recorder.fresh_size() if size is None else size for size in spec.shape]
        strides = spec.strides if all(isinstance(size, int) for size in sizes) else None
        tensor = recorder.new_tensor(
            spec.dtype, sizes, spec.device, spec.requires_grad, strides=strides
        )
        if spec.is_parameter:
            tensor._is_param = True  # what `isinstance` asks
        value = recorder.new_value(recorder.tensor_type(tensor))
        value.name = self._name(spec, path)
        recorder.bind(tensor, value)
        self.values.append(value)
        return shape.Leaf(len(self.values) - 1), tensor

    def _name(self, spec: TensorSpec, path: tuple[Any, ...]) -> str:
        taken = {value.name for value in self.values}
        name = spec.name or "_".join(["arg", *map(str, path[1:])])
        while name in taken:
            name += "_"
        return name


def _holds_specs(tree: Any) -> bool:
    if isinstance(tree, TensorSpec):
        return True
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return any(_holds_specs(getattr(tree, f.name)) for f in dataclasses.fields(tree))
    items = tree.values() if isinstance(tree, dict) else tree
    return isinstance(tree, list | tuple | dict) and any(map(_holds_specs, items))
