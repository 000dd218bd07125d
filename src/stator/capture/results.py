"""Results: a captured value tree -> its structure and flat leaves."""

from __future__ import annotations

import contextlib
import enum
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stator.capture.dereference import (
    dereferenced,
    holds_pooled,
    leaves_of_alternative,
    leaves_of_object,
    pools_in,
)
from stator.capture.flatten import instantiate
from stator.capture.leaving import (
    as_parameter,
    departure_of,
    departure_of_class,
    departure_of_method,
    refuse_bound_function,
)
from stator.capture.recorder import Recorder
from stator.english import with_article
from stator.errors import CaptureError, StatorError, UnsupportedCall
from stator.program import structure as shape
from stator.program.ir import Arg
from stator.program.layout import parts
from stator.program.structure import Structure
from stator.torch_private.fake import FakeTensor
from stator.values.arrays import CapturedArray
from stator.values.containers import (
    DATACLASS,
    DICT,
    LIST,
    NAMED_TUPLE,
    OBJECT,
    TUPLE,
    Containers,
    ContainerType,
    field_names,
    is_plain_object,
    own_attributes,
    record_fields,
)
from stator.values.describe import describe, generalise
from stator.values.exceptions import CaughtCause, exception_of, exception_of_items
from stator.values.kinds import (
    AnyPool,
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    NumberKind,
    TensorKind,
    TextKind,
    UnionKind,
    always,
    leaf_types,
)
from stator.values.pooled import PooledObject, Reference, key_of, pool_of
from stator.values.staged import (
    Columns,
    StagedContainer,
    StagedCounter,
    StagedDefaultDict,
    StagedDeque,
    StagedOrderedDict,
    StagedSet,
)
from stator.values.structures import node_of
from stator.values.symbolic import (
    CannotLeave,
    CapturedComplex,
    CapturedText,
    CaughtError,
    HostObject,
    Number,
    Undefined,
)
from stator.values.union import Union, maybe_absent

SCALARS = (bool, int, float, complex, str, type(None))
# of which Python makes something else
ODD = (StagedDeque, StagedSet, StagedDefaultDict, StagedCounter, StagedOrderedDict)
RETURNED = Containers(NAMED_TUPLE, DATACLASS, LIST, TUPLE, DICT, OBJECT)
REFERENCES = (
    torch.dtype, torch.device, torch.layout, enum.Enum, type, types.FunctionType,
    types.BuiltinFunctionType, types.ModuleType, range, bytes, types.EllipsisType,
)  # fmt: skip


def _refused(name: str) -> CaptureError:
    return CaptureError(
        f"{with_article(name)} is returned or kept outside: a program can return tensors, "
        "numbers, strings, None, and containers of these",
        fix="return the tensors and numbers in it",
    )  # fmt: skip


class Results:
    """Takes values apart; `leaves` are the outputs of the program, `classes` the records' types."""

    def __init__(
        self,
        recorder: Recorder,
        is_outside: Callable[[Any], bool],
        plain: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.recorder, self.is_outside = recorder, is_outside
        self.plain = plain  # a staged list that represents one of the caller's -> the caller's
        self.leaves: list[Arg] = []
        self.containers: dict[int, tuple[Any, Structure]] = {}  # one has one structure, by its id
        self.handles: dict[tuple[int, object], Reference] = {}
        self.left: dict[int, int] = {}  # pool, by its id -> in how many places its entries leave
        self.stays = False  # is what leaves now kept by objects, which a later call may change?
        self.kept: set[int] = set()  # pools of which an entry is kept so
        self.classes: dict[str, type] = {}
        self.names: list[str] = []

    def structure_of(self, value: object) -> Structure:
        """The structure of `value`; its leaves are added to `leaves`.

        A container in two places has one structure there: it is one object, and so it is built.
        """
        if isinstance(value, Reference):  # two handles of one entry are one container
            value = self.handles.setdefault((id(pool_of(value)), key_of(value)), value)
            if id(value) not in self.containers:
                self._leaves(pool_of(value))
        if id(value) in self.containers:
            return self.containers[id(value)][1]
        found = self._structure_of(value)
        if isinstance(value, list | dict | set | BaseException) or is_plain_object(value):
            self.containers[id(value)] = (value, found)
        return found

    def _structure_of(self, value: object) -> Structure:
        if isinstance(value, torch.Tensor | Number | CapturedComplex):
            leaf = self._leaf(self.recorder.arg(value))
            is_new = isinstance(value, FakeTensor) and isinstance(value, torch.nn.Parameter)
            return shape.Conversion("Parameter", as_parameter, (leaf,)) if is_new else leaf
        if isinstance(value, CapturedText | HostObject):
            return self._leaf(value.value)
        if isinstance(value, Union):
            tag = self._leaf(self.recorder.arg(value.tag))
            ways = (self._way(value, k) for k in range(len(value.alternatives)))
            return shape.Choice(tag.position, tuple(ways))
        if isinstance(value, CaughtError):
            raise value.refused()
        if isinstance(value, SCALARS):
            return shape.ConstantValue(value)
        if isinstance(value, StagedContainer) and (
            value.is_live or (value.is_stand_in and self.is_outside(value))
        ):
            return shape.ConstantValue(self.plain(value))
        if isinstance(value, StagedContainer) and not isinstance(value, ODD) and value.is_open:
            columns = value.columns
            assert columns is not None
            for pool in pools_in(columns.item):
                self._leaves(pool, places=2)  # as if each of two items were one entry
            return self._runtime_list(
                columns.form, self._item(dereferenced(self.recorder, columns))
            )
        if isinstance(value, PooledObject):
            kind, args = leaves_of_object(self.recorder, value)
            return self._kind_structure(kind, iter([self._leaf(arg) for arg in args]))
        if isinstance(value, types.FunctionType) and not self.is_outside(value):
            refuse_bound_function(value)
        owner = value.__self__ if isinstance(value, types.MethodType) else value
        if isinstance(value, REFERENCES) or self.is_outside(owner):
            return self._reference(value)
        return self._container(value)

    def _reference(self, value: object) -> Structure:
        """The very object, which a file cannot hold; a method of a captured tensor is the run's."""
        owner = value.__self__ if isinstance(value, types.BuiltinMethodType) else None
        if isinstance(owner, StagedContainer):
            raise _refused("method")
        if not isinstance(owner, FakeTensor):
            return shape.ConstantValue(self.plain(value))
        made = departure_of_method(value)
        return shape.Conversion(made.name, made.convert, (self._structure_of(made.contents),))

    def _way(self, union: Union, index: int) -> Structure:
        """The structure of one alternative; a pooled container in it is there for this one only."""
        value = union.alternatives[index]
        if not holds_pooled(value):
            return self._alternative(value)
        for pool in pools_in(generalise(describe(value, always))):
            self._leaves(pool)
        kind, args = leaves_of_alternative(self.recorder, union.tag, index, value)
        return self._kind_structure(kind, iter([self._leaf(arg) for arg in args]))

    def _leaves(self, pool: AnyPool, places: int = 1) -> None:
        """An entry of `pool` leaves as a copy: refused if it may be kept under two names."""
        self.left[id(pool)] = self.left.get(id(pool), 0) + places
        if self.stays:
            self.kept.add(id(pool))
        if id(pool) in self.kept and self.left[id(pool)] > 1:
            raise UnsupportedCall(
                f"{with_article(pool.form.__name__)} that may have two names is kept after the "
                "call",
                fix="keep a copy of it: `list(...)`",
            )  # fmt: skip

    def _alternative(self, value: object) -> Structure:
        """An alternative that is undefined is never taken: reading it has raised before."""
        return (
            shape.ConstantValue(None) if isinstance(value, Undefined) else self.structure_of(value)
        )

    def _container(self, value: Any) -> Structure:
        if isinstance(value, CapturedArray):
            return self._array(value)
        if isinstance(value, BaseException):
            return self._exception(value)
        found = departure_of(value)
        if found is not None:
            inner = self._structure_of(found.contents)
            return shape.Conversion(found.name, found.convert, (inner,))
        if isinstance(value, CannotLeave):
            raise CaptureError(
                f"{with_article(value.what)} is returned or kept outside",
                fix="return what it produces, such as a list of its items",
            )
        entry = RETURNED.of(value)
        if entry is None:
            raise _refused(type(value).__name__)
        if (
            entry is DATACLASS
            and is_plain_object(value)
            and {*own_attributes(value)} - {*field_names(value)}
        ):
            entry = OBJECT  # it has attributes beyond the fields
        if entry is DICT:
            absent = next((k for k, v in value.items() if maybe_absent(v)), None)
            if absent is not None:
                return self._partial(value, absent)
        keys, items = entry.parts(value)
        if entry is DICT:
            self._check_keys(keys)
        return self._node(entry, type(value), keys, tuple(map(self.structure_of, items)))

    def _array(self, array: Any) -> Structure:
        """An array is made again of its tensor; one without dimensions may be a number."""
        original = self.plain(array)
        if original is not array:
            return shape.ConstantValue(original)
        tensor = array.tensor
        if not tensor.dim():
            raise CaptureError("a numpy scalar is returned or kept outside",
                               fix="return a number: `float(...)`, or a tensor")  # fmt: skip
        leaf = self._leaf(self.recorder.arg(tensor))
        return shape.Conversion("ndarray", torch.Tensor.numpy, (leaf,))

    def _exception(self, error: BaseException) -> Structure:
        """An exception is made again of its parts; one that a run has caught is known there."""
        if isinstance(error, CaughtCause):
            return shape.ConstantValue(error)
        parts = self.recorder.exceptions.parts_of(error)
        if isinstance(error, AttributeError) and self._can_leave(error.obj):
            parts = parts._replace(members={**parts.members, "obj": error.obj})
        inner = self._structure_of(tuple(parts))
        make = functools.partial(exception_of, type(error))
        return shape.Conversion(type(error).__name__, make, (inner,))

    def _can_leave(self, value: object) -> bool:
        """Is there a structure for `value`, which may be anything, without values of a run?"""
        trial = Results(self.recorder, self.is_outside, self.plain)
        with contextlib.suppress(StatorError):
            trial.structure_of(value)
            return value is not None and not trial.leaves
        return False

    def _check_keys(self, keys: tuple[object, ...] | None) -> None:
        """An object that the call makes is another one in each run, and a key is a constant."""
        for key in keys or ():
            inner = key if isinstance(key, tuple) else (key,)
            if any(is_plain_object(one) and not self.is_outside(one) for one in inner):
                raise CaptureError(
                    f"a dict whose key is {with_article(type(key).__name__)} that the call makes "
                    "is returned or kept outside",
                    fix="use a number or a string as the key",
                )  # fmt: skip

    def _partial(self, value: dict[Any, Any], key: object) -> Structure:
        """A dict with a key that may be absent: one form for each case."""
        held: Union = value[key]
        tag = self._leaf(self.recorder.arg(held.tag))
        forms = []
        for index, one in enumerate(held.alternatives):
            if holds_pooled(one):
                kind, args = leaves_of_alternative(self.recorder, held.tag, index, one)
                one = instantiate(self.recorder, kind, iter(args))  # type: ignore[arg-type]
            form = {k: one if k == key else v for k, v in value.items()}
            if isinstance(one, Undefined):
                del form[key]
            forms.append(self._container(form))
        return shape.Choice(tag.position, tuple(forms))

    def _node(
        self,
        entry: ContainerType,
        cls: type,
        keys: tuple[object, ...],
        items: tuple[Structure, ...],
    ) -> Structure:
        """The structure of a container with these parts."""
        structure = node_of(entry, cls, keys, items)
        if isinstance(structure, shape.Record):
            self.classes[structure.type_name] = cls
        return structure

    def _leaf(self, arg: Arg) -> shape.Leaf:
        self.leaves.append(arg)
        return shape.Leaf(len(self.leaves) - 1)

    def _item(self, columns: Columns) -> Structure:
        """The structure of each item of a runtime list."""
        return self._item_structure(
            columns.item, iter([self._leaf(value) for value in columns.values])
        )

    def _item_structure(self, kind: Kind, leaves: Iterator[shape.Leaf]) -> Structure:
        """The structure of each item of a runtime list, whose items are of `kind`."""
        if any(True for _ in leaf_types(kind)):
            return self._kind_structure(kind, leaves)
        count = next(leaves).position  # nothing but the length: one column counts it
        return shape.Choice(count, (self._kind_structure(kind, leaves),))

    def structure_of_kind(self, kind: Kind, leaves: Iterator[shape.Leaf]) -> Structure:
        """The structure of any value of `kind`, whose leaves are these."""
        return self._kind_structure(kind, leaves)

    def _kind_structure(self, kind: Kind, leaves: Iterator[shape.Leaf]) -> Structure:
        """The structure of any value of `kind`, whose leaves are at these positions."""
        if isinstance(kind, Exact):
            return self._alternative(kind.value)
        if isinstance(kind, TensorKind | NumberKind | TextKind):
            return next(leaves)
        if isinstance(kind, ListKind):
            return self._runtime_list(kind.form, self._item_structure(kind.item, leaves))
        tag = next(leaves).position if isinstance(kind, UnionKind) else 0
        items = tuple(self._kind_structure(item, leaves) for item in parts(kind))
        if isinstance(kind, ContainerKind):
            return self._kind_node(kind, items)
        return (
            shape.Choice(tag, items) if isinstance(kind, UnionKind) else shape.ConstantValue(None)
        )

    def _kind_node(self, kind: ContainerKind, items: tuple[Structure, ...]) -> Structure:
        if issubclass(kind.type, Exception):
            whole = self._node(TUPLE, tuple, (), items)
            make = functools.partial(exception_of_items, kind.type, kind.keys or ())
            return shape.Conversion(kind.type.__name__, make, (whole,))
        entry = RETURNED.of_type(kind.type)
        if entry is None:
            raise _refused(kind.type.__name__)
        if entry is DATACLASS and kind.keys != field_names(kind.type):
            entry = OBJECT
        names = record_fields(kind.type, len(items)) if entry is NAMED_TUPLE else kind.keys
        node = self._node(entry, kind.type, names or (), items)
        convert = departure_of_class(kind.type) if entry is DICT else None
        return shape.Conversion(kind.type.__name__, convert, (node,)) if convert else node

    def _runtime_list(self, form: type, item: Structure) -> Structure:
        if form is set:
            return shape.Conversion("set", set, (shape.RuntimeList(item, "list"),))
        kind: Any = form.__name__
        return shape.RuntimeList(item, kind)
