"""Results: a captured value tree -> its structure and flat leaves."""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stator.capture.arrays import CapturedArray
from stator.capture.kinds import (
    Bottom,
    Exact,
    Kind,
    ListKind,
    MapKind,
    NumberKind,
    ObjectKind,
    SequenceKind,
    TensorKind,
    TextKind,
    UnionKind,
    is_plain_object,
    leaf_types,
)
from stator.capture.numbers import Number
from stator.capture.places import current_place
from stator.capture.recorder import Recorder
from stator.capture.values import (
    CapturedComplex,
    CapturedText,
    CaughtError,
    Columns,
    StagedDeque,
    StagedList,
    StagedSet,
    Undefined,
    Variant,
    is_table,
)
from stator.errors import CaptureError
from stator.program import structure as shape
from stator.program.ir import Arg
from stator.program.structure import Structure, size_fields

SCALARS = (bool, int, float, complex, str, type(None))
REFERENCES = (torch.dtype, torch.device, torch.layout, enum.Enum, type, types.FunctionType)


def _name(value: Any) -> str:
    return "set" if isinstance(value, StagedSet) else type(value).__name__


def maybe_absent(value: Any) -> bool:
    """Is there a path on which it is not set?"""
    return isinstance(value, Variant) and any(isinstance(v, Undefined) for v in value.alternatives)


class Results:
    """Takes values apart; `leaves` are the outputs of the program, `classes` the records' types."""

    def __init__(
        self,
        recorder: Recorder,
        is_outside: Callable[[Any], bool],
        plain: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.recorder, self.is_outside = recorder, is_outside
        self.plain = plain  # a staged list that stands for one of the caller's -> the caller's
        self.leaves: list[Arg] = []
        self.containers: dict[int, tuple[Any, Structure]] = {}  # one has one structure, by its id
        self.classes: dict[str, type] = {}
        self.names: list[str] = []

    def structure_of(self, value: Any) -> Structure:
        """The structure of `value`; its leaves are added to `leaves`.

        A container in two places has one structure there: it is one object, and so it is built.
        """
        if id(value) in self.containers:
            return self.containers[id(value)][1]
        found = self._structure_of(value)
        if isinstance(value, list | dict) or is_plain_object(value):
            self.containers[id(value)] = (value, found)
        return found

    def _structure_of(self, value: Any) -> Structure:
        if isinstance(value, torch.Tensor | Number | CapturedComplex):
            return self._leaf(self.recorder.arg(value))
        if isinstance(value, CapturedText):
            return self._leaf(value.value)
        if isinstance(value, Variant):
            tag = self._leaf(self.recorder.arg(value.tag))
            return shape.Variant(tag.position, tuple(map(self._alternative, value.alternatives)))
        if isinstance(value, CaughtError):
            raise value.refused()
        if isinstance(value, SCALARS):
            return shape.Fixed(value)
        if isinstance(value, StagedDeque):
            raise CaptureError("a deque leaves the program, which can give lists and dicts",
                               at=current_place(), fix="return `list(...)` of it")  # fmt: skip
        if isinstance(value, StagedList) and value.is_live:
            return shape.Fixed(self.plain(value))
        if isinstance(value, StagedList) and value.columns is not None:
            return self._columns(value.columns.form, self._column_structure(value.columns))
        if is_table(value):
            return self._columns(value.columns.form, self._column_structure(value.columns))
        if isinstance(value, REFERENCES) or self.is_outside(value):
            return shape.Fixed(self.plain(value))  # the very object; a file cannot hold it
        return self._container(value)

    def _alternative(self, value: Any) -> Structure:
        """An alternative that is undefined is never taken: reading it has raised before."""
        return shape.Fixed(None) if isinstance(value, Undefined) else self.structure_of(value)

    def _container(self, value: Any) -> Structure:
        if isinstance(value, CapturedArray):
            raise CaptureError("a numpy array leaves the program", at=current_place(),
                               fix="return a tensor: `torch.from_numpy(...)`")  # fmt: skip
        if hasattr(type(value), "stator_kind"):
            raise CaptureError(f"a {value.stator_kind} leaves the program", at=current_place(),
                               fix="return a list of its items")  # fmt: skip
        if isinstance(value, torch.Size):
            return self._record("namedtuple", value, size_fields(len(value)), list(value))
        if type(value).__module__ == "torch.return_types":
            return self._record("namedtuple", value, type(value).__match_args__, list(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = tuple(field.name for field in dataclasses.fields(value))
            if is_plain_object(value) and {*vars(value)} - {*names}:  # attributes beyond the fields
                return self._record("object", value, tuple(vars(value)), list(vars(value).values()))
            return self._record("dataclass", value, names, [getattr(value, n) for n in names])
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return self._record("namedtuple", value, value._fields, list(value))
        if isinstance(value, list | tuple):
            kind: Any = "list" if isinstance(value, list) else "tuple"
            return shape.Sequence(kind, tuple(map(self.structure_of, value)))
        if isinstance(value, dict):
            absent = next((k for k, v in value.items() if maybe_absent(v)), None)
            if absent is not None:
                return self._partial(value, absent)
            return shape.Mapping(tuple(value), tuple(map(self.structure_of, value.values())))
        if is_plain_object(value):
            attributes = vars(value)
            return self._record("object", value, tuple(attributes), list(attributes.values()))
        raise CaptureError(
            f"a {_name(value)} leaves the program, which can give tensors, numbers, "
            "strings, None, and containers of these",
            at=current_place(), fix="return the tensors and numbers in it",
        )  # fmt: skip

    def _partial(self, value: dict[Any, Any], key: Any) -> Structure:
        """A dict with a key that may be absent: one form for each way."""
        held: Variant = value[key]
        tag = self._leaf(self.recorder.arg(held.tag))
        forms = []
        for one in held.alternatives:
            form = {k: one if k == key else v for k, v in value.items()}
            if isinstance(one, Undefined):
                del form[key]
            forms.append(self._container(form))
        return shape.Variant(tag.position, tuple(forms))

    def _record(self, kind: Any, value: Any, names: tuple[str, ...], items: list[Any]) -> Structure:
        cls = type(value)
        name = f"{cls.__module__}:{cls.__qualname__}"
        self.classes[name] = cls
        return shape.Record(kind, name, names, tuple(map(self.structure_of, items)))

    def _leaf(self, arg: Arg) -> shape.Leaf:
        self.leaves.append(arg)
        return shape.Leaf(len(self.leaves) - 1)

    def _column_structure(self, columns: Columns) -> Structure:
        positions = iter([self._leaf(value) for value in columns.values])
        if not list(leaf_types(columns.item)):  # nothing but the length: one column counts it
            return shape.Variant(
                next(positions).position, (self._kind_structure(columns.item, positions),)
            )
        return self._kind_structure(columns.item, positions)

    def _kind_structure(self, kind: Kind, leaves: Iterator[shape.Leaf]) -> Structure:
        match kind:
            case Exact():
                return self._alternative(kind.value)
            case TensorKind() | NumberKind() | TextKind():
                return next(leaves)
            case SequenceKind():
                items = tuple(self._kind_structure(item, leaves) for item in kind.items)
                return self._kind_sequence(kind, items)
            case MapKind():
                items = tuple(self._kind_structure(item, leaves) for item in kind.items)
                return shape.Mapping(kind.keys, items)
            case ObjectKind():
                items = tuple(self._kind_structure(item, leaves) for item in kind.items)
                name = f"{kind.type.__module__}:{kind.type.__qualname__}"
                self.classes[name] = kind.type
                record: Any = "dataclass" if dataclasses.is_dataclass(kind.type) else "object"
                return shape.Record(record, name, kind.keys, items)
            case ListKind():
                return self._columns(kind.form, self._kind_structure(kind.item, leaves))
            case UnionKind():
                tag = next(leaves).position
                return shape.Variant(
                    tag, tuple(self._kind_structure(item, leaves) for item in kind.alternatives)
                )
            case Bottom():
                return shape.Fixed(None)

    def _columns(self, form: type, item: Structure) -> Structure:
        if form is set:
            raise CaptureError("a set leaves the program, which can give lists and dicts",
                               at=current_place(), fix="return `sorted(...)` of it")  # fmt: skip
        kind: Any = form.__name__
        return shape.Columns(item, kind)

    def _kind_sequence(self, kind: SequenceKind, items: tuple[Structure, ...]) -> Structure:
        fields = getattr(kind.type, "_fields", None)
        if fields is None:
            return shape.Sequence("list" if kind.type is list else "tuple", items)
        name = f"{kind.type.__module__}:{kind.type.__qualname__}"
        self.classes[name] = kind.type
        return shape.Record("namedtuple", name, fields, items)
