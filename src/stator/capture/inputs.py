"""Inputs: the arguments of a call as specifications, and as symbolic values to capture with."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from stator.capture.flatten import ValueBuilder, list_of, new_leaves
from stator.capture.recorder import Recorder
from stator.errors import UnsupportedCall
from stator.program import structure as shape
from stator.program.ir import InputFacts, Value
from stator.program.structure import Structure
from stator.program.types import ListType, NumberType, TextType, Type
from stator.torch_private.fake import FakeTensor
from stator.values.containers import (
    DATACLASS,
    GIVEN_DICT,
    LIST,
    NAMED_TUPLE,
    TUPLE,
    Containers,
    ContainerType,
    Path,
)
from stator.values.kinds import Exact, NumberKind, TensorKind, TextKind, UnionKind, column_types
from stator.values.staged import Columns, StagedList
from stator.values.structures import node_of
from stator.values.symbolic import CapturedText

CALLERS = "_callers_attributes"  # on a tensor of the capture that is an argument
Untagged = tuple[int, str]  # the position of a tensor argument, and an attribute it has not


@dataclass(frozen=True)
class CallersAttributes:
    """What the caller has set on a tensor that is an argument, and what was found absent there."""

    names: tuple[str, ...]
    position: int  # among the inputs of the program
    untagged: dict[Untagged, None]


def read_callers_attribute(obj: object, name: str) -> None:
    """`name` of a tensor is read: an error where the caller has set it on a tensor argument.

    Where the caller has not, the program holds for calls with tensors without it.
    """
    callers = vars(obj).get(CALLERS) if isinstance(obj, FakeTensor) else None
    if callers is None:
        return
    if name in callers.names:
        raise UnsupportedCall(
            f"`.{name}` is read, which the caller has set on a tensor that is an argument",
            fix="pass it as an argument of its own",
        )
    if not hasattr(obj, name):
        callers.untagged[callers.position, name] = None


@dataclass(frozen=True)
class SizeRange:
    """What a size with this name may be: `low <= size <= high`, as far as they are given."""

    name: str
    low: int | None
    high: int | None

    def checks(self) -> Iterator[tuple[str, int, str]]:
        """For each bound: the op that compares a size with it, the bound, and the op in words."""
        if self.low is not None:
            yield "stator::ge", self.low, ">="
        if self.high is not None:
            yield "stator::le", self.high, "<="


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
    attributes: tuple[str, ...] = ()  # that the caller has set on the tensor itself
    identity: int | None = field(default=None, compare=False)  # of the tensor, where one is given
    size_names: tuple[str | None, ...] = ()  # the user's, of the sizes that may be anything
    ranges: tuple[SizeRange, ...] = ()  # of sizes with a name

    def size_name(self, dimension: int) -> str | None:
        """The user's name of a size; sizes of one name are equal."""
        return self.size_names[dimension] if self.size_names else None

    def __str__(self) -> str:
        sizes = [
            (self.size_name(k) or "any") if size is None else str(size)
            for k, size in enumerate(self.shape)
        ]
        return f"{str(self.dtype).removeprefix('torch.')}[{', '.join(sizes)}]"


ScalarKind = Literal["int", "float", "bool", "str"]


@dataclass(frozen=True)
class ScalarSpec:
    """A Python number or string among the arguments that may be any of its type, or None."""

    kind: ScalarKind
    name: str | None = None
    optional: bool = False  # a call may give None

    @property
    def type(self) -> Type:
        """What the program calls it."""
        return TextType() if self.kind == "str" else NumberType(self.kind)

    def __str__(self) -> str:
        return f"{self.kind} or None" if self.optional else self.kind

    def __repr__(self) -> str:
        name = [repr(self.name)] if self.name else []
        optional = ["optional=True"] if self.optional else []
        return f"InputSpec.{self.kind}({', '.join([*name, *optional])})"


@dataclass(frozen=True)
class ListSpec:
    """A list among the arguments that may have any length, of items of one kind."""

    item: TensorKind | NumberKind
    name: str | None = None

    @property
    def type(self) -> ListType:
        """What the program calls it."""
        (element,) = column_types(self.item)
        return ListType(element)

    def __str__(self) -> str:
        return str(self.type)


SPEC_TYPES = (TensorSpec, ScalarSpec, ListSpec)
FIELDS = dataclasses.replace(
    DATACLASS, covers=lambda cls: DATACLASS.covers(cls) and cls not in SPEC_TYPES
)


def _given_list(value: list[Any], items: Sequence[Any]) -> list[Any]:
    """A list as converted code has it; one of another class stays of that class."""
    return StagedList(items) if type(value) is list else LIST.like(value, items)


GIVEN = Containers(TUPLE, dataclasses.replace(LIST, like=_given_list), GIVEN_DICT, FIELDS)


@dataclass
class Inputs:
    """The captured form of a call's arguments."""

    values: list[Value]
    structure: Structure
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    containers: dict[int, tuple[Any, tuple[Any, ...]]]  # id -> (copy, path into the call)
    objects: list[Any]  # the caller's own, given as they are
    untagged: dict[Untagged, None]  # attributes of tensors that were asked for, and are not there


@dataclass(frozen=True)
class Argument:
    """A container that every call is given: the path to it in the call's arguments."""

    path: tuple[Any, ...]

    def find(self, call: tuple[Any, ...]) -> Any:
        """The one of this call."""
        return functools.reduce(lambda tree, key: tree[key], self.path, call)


class InputReader:
    """Builds symbolic arguments from a tree whose leaves are specs, or values that stay fixed."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.values: list[Value] = []
        self.objects: list[Any] = []
        self.untagged: dict[Untagged, None] = {}
        self.containers: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self._seen: dict[int, Any] = {}  # by id: what is given twice is one object
        self._named: dict[str, tuple[Value, int]] = {}  # by the name of a size: where it is first

    def read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Inputs:
        """The symbolic form of a call with these arguments."""
        ops = self.recorder.scope.block.ops
        begin = len(ops)
        structure, symbolic = self._one((args, kwargs), ())
        for op in ops[begin:]:
            op.place = None  # checks of the arguments: no line of the function makes them
        self.containers.pop(id(symbolic[1]))  # each call has a dict of its own
        return Inputs(
            self.values, structure, symbolic[0], symbolic[1], self.containers, self.objects,
            self.untagged,
        )  # fmt: skip

    def _one(self, value: object, path: Path) -> tuple[Structure, Any]:
        structure, symbolic = self._new(value, path)
        if isinstance(value, TensorSpec | list | dict):
            known = getattr(value, "identity", None)
            first = self._seen.setdefault(id(value) if known is None else known, symbolic)
            if first is not symbolic:
                self.containers.pop(id(symbolic), None)
            symbolic = first
        return structure, symbolic

    def _new(self, value: object, path: Path) -> tuple[Structure, Any]:
        if isinstance(value, TensorSpec):
            return self._tensor(value, path)
        if isinstance(value, ScalarSpec):
            return self._scalar(value, path)
        if isinstance(value, ListSpec):
            return self._list(value, path)
        entry = GIVEN.of(value)
        if entry is not None and (entry is not FIELDS or _holds_specs(value)):
            return self._container(entry, value, path)
        if value is not None and not isinstance(value, bool | int | float | complex | str):
            self.objects.append(value)  # an object of the caller's: the cache key watches it
        return shape.ConstantValue(value), value

    def _container(self, entry: ContainerType, value: object, path: Path) -> tuple[Structure, Any]:
        keys, items = entry.parts(value)
        pairs = [self._one(item, (*path, key)) for key, item in zip(keys, items, strict=True)]
        symbolic = entry.like(value, [part for _, part in pairs])
        if isinstance(symbolic, list | dict):
            self._owned(symbolic, path)
        structures = tuple(structure for structure, _ in pairs)
        if hasattr(value, "_fields"):  # an argument is found by position, also in a named tuple
            entry, keys = NAMED_TUPLE, value._fields
        return node_of(entry, type(value), keys, structures), symbolic

    def _owned(self, copy: object, path: Path) -> None:
        self.containers[id(copy)] = (copy, path)

    def _tensor(self, spec: TensorSpec, path: tuple[Any, ...]) -> tuple[Structure, torch.Tensor]:
        recorder = self.recorder
        sizes = [self._size(spec, dimension) for dimension in range(len(spec.shape))]
        strides = None if None in spec.shape else spec.strides
        tensor = recorder.new_tensor(
            spec.dtype, sizes, spec.device, spec.requires_grad, strides=strides
        )
        if spec.is_parameter:
            tensor._is_param = True  # what `isinstance` asks
        callers = CallersAttributes(spec.attributes, len(self.values), self.untagged)
        setattr(tensor, CALLERS, callers)
        value = recorder.new_value(recorder.tensor_type(tensor))
        value.name = self._name(spec, path)
        recorder.input_facts[value] = InputFacts(
            spec.requires_grad, "contiguous" if spec.strides is None else strides
        )
        recorder.bind(tensor, value)
        self.values.append(value)
        for dimension in range(len(sizes)):
            self._check_named(spec.size_name(dimension), value, dimension)
        for one in spec.ranges:
            self._check_range(one, value, spec.size_names.index(one.name))
        return shape.Leaf(len(self.values) - 1), tensor

    def _size(self, spec: TensorSpec, dimension: int) -> int | torch.SymInt:
        """A size to capture with; those of one name are one symbol."""
        size, name = spec.shape[dimension], spec.size_name(dimension)
        if size is not None:
            return size
        return self.recorder.sizes.named_size(name, self.recorder.fresh_size)

    def _check_named(self, name: str | None, value: Value, dimension: int) -> None:
        """Each run checks that sizes of one name are equal: the types alone only say so."""
        if name is None:
            return
        first, known = self._named.setdefault(name, (value, dimension))
        if (first, known) == (value, dimension):
            return
        one, two = (
            self.recorder.emit_number("aten::sym_size.int", place, "int")
            for place in ((first, known), (value, dimension))
        )
        equal = self.recorder.emit_number("stator::eq", (one, two), "bool")
        text = f"{first.name}.shape[{known}] == {value.name}.shape[{dimension}]"
        self.recorder.emit("stator::demand", (equal, f"this needs {text}: both are `{name}`"))

    def _check_range(self, given: SizeRange, value: Value, dimension: int) -> None:
        """Each run checks that the size is in its range."""
        size = self.recorder.emit_number("aten::sym_size.int", (value, dimension), "int")
        for op, bound, words in given.checks():
            holds = self.recorder.emit_number(op, (size, bound), "bool")
            text = f"{value.name}.shape[{dimension}] {words} {bound}"
            message = f"this needs {text}: the range of `{given.name}`"
            self.recorder.emit("stator::demand", (holds, message))

    def _scalar(self, spec: ScalarSpec, path: tuple[Any, ...]) -> tuple[Structure, Any]:
        if spec.optional:
            return self._optional(spec, path)
        value = self.recorder.new_value(spec.type)
        value.name = self._name(spec, path)
        self.values.append(value)
        structure = shape.Leaf(len(self.values) - 1)
        if spec.kind == "str":
            return structure, CapturedText(value)
        return structure, self.recorder.number(spec.kind, value)

    def _list(self, spec: ListSpec, path: Path) -> tuple[Structure, Any]:
        """A list of the program, which the function knows as the caller's."""
        value = self.recorder.new_value(spec.type)
        value.name = self._name(spec, path)
        self.values.append(value)
        symbolic = list_of(Columns(spec.item, (value,)))
        symbolic.is_given = True
        self._owned(symbolic, path)
        return shape.Leaf(len(self.values) - 1), symbolic

    def _optional(self, spec: ScalarSpec, path: tuple[Any, ...]) -> tuple[Structure, Any]:
        """None or a value: a tag says which, and the value is absent where it is None."""
        given = TextKind() if spec.kind == "str" else NumberKind(spec.kind)
        kind = UnionKind((Exact(None), given))
        tag, value = leaves = new_leaves(self.recorder, kind)
        value.name = self._name(spec, path)
        tag.name = f"{value.name}.tag"
        place = len(self.values)
        self.values += leaves
        symbolic = ValueBuilder(self.recorder, iter(leaves)).build(kind)
        return shape.Choice(place, (shape.ConstantValue(None), shape.Leaf(place + 1))), symbolic

    def _name(self, spec: TensorSpec | ScalarSpec | ListSpec, path: tuple[Any, ...]) -> str:
        taken = {value.name for value in self.values}
        is_keyword = str(path[1]).isidentifier()  # a number is the place of a positional one
        name = spec.name or "_".join([*(() if is_keyword else ("arg",)), *map(str, path[1:])])
        while name in taken:
            name += "_"
        return name


def _holds_specs(tree: object) -> bool:
    return any(isinstance(leaf, SPEC_TYPES) for leaf in GIVEN.leaves(tree))


def note_distinct(recorder: Recorder, *tensors: torch.Tensor) -> None:
    """Those of `tensors` that are inputs are different ones; a saved program checks it."""
    facts = recorder.input_facts
    found = [value for value in map(recorder.find, tensors) if value in facts]
    for value in found if len(found) > 1 else ():
        facts[value] = dataclasses.replace(facts[value], distinct=True)
