"""Flatten: values in and out of blocks.

`flatten` takes a value apart into program args by its kind; `instantiate` builds a value of a kind
around program values.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch

from stator.capture.errors.boundary import internal
from stator.capture.recorder import Recorder
from stator.capture.union_tags import retagged
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Block, Value
from stator.program.layout import map_parts, parts
from stator.program.types import ListType, NumberType, OptionalType, TensorType
from stator.program.typing_rules import present, shape_fits
from stator.torch_private.fake import FakeTensor
from stator.values.arrays import CapturedArray
from stator.values.containers import EXCEPTION, Entries, in_order, own_attributes
from stator.values.describe import STAGED, describe, widen
from stator.values.dims import expression_of
from stator.values.kinds import (
    Bottom,
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    NumberKind,
    PooledKind,
    Size,
    TensorKind,
    TextKind,
    UnionKind,
    always,
    column_types,
    is_map,
    leaf_types,
    optional,
)
from stator.values.merge import TEXT, is_string, signature
from stator.values.pooled import Reference, entry_of, pool_of
from stator.values.staged import (
    Columns,
    StagedContainer,
    StagedDict,
    StagedList,
    StagedSet,
    python_name,
)
from stator.values.symbolic import CapturedComplex, CapturedText, Number, Undefined
from stator.values.union import Union

Path = tuple[Any, ...]
NOTHING = object()  # the value of a path that never gets here


@internal
def new_leaves(recorder: Recorder, kind: Kind) -> list[Value]:
    """Fresh program values for every leaf of `kind`."""
    return [recorder.new_value(leaf_type) for leaf_type in recorder.own_unions(leaf_types(kind))]


@internal
def flatten(recorder: Recorder, value: Any, kind: Kind) -> list[Arg]:
    """The args that make `value` a value of `kind`, built in the current block."""
    if value is NOTHING:
        return [None for _ in leaf_types(kind)]
    if isinstance(value, Union) and isinstance(
        kind, ListKind | ContainerKind | PooledKind | TextKind
    ):
        return _flatten_each(recorder, value.tag, list(enumerate(value.alternatives)), kind)
    match kind:
        case Exact() | Bottom():
            return []
        case TensorKind():
            recorder.layouts_vary |= is_permuted(value)  # what comes out has strides of its own
            return [_with_learned_sizes(recorder, recorder.arg(value), kind)]
        case NumberKind():
            return [recorder.arg(value)]
        case PooledKind():
            return [recorder.arg(entry_of(value))]
        case TextKind():
            return [value if isinstance(value, str) else value.value]
        case ContainerKind():
            pairs = zip(_parts_of(value, kind), kind.items, strict=True)
            return [arg for part, item in pairs for arg in flatten(recorder, part, item)]
        case ListKind():
            return list(_columns_of(recorder, value, kind))
    return _flatten_union(recorder, value, kind)


def is_permuted(value: object) -> bool:
    """Is it a tensor whose strides may not be those of a new one?"""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    expected = sympy.Integer(1)
    for size, stride in zip(reversed(value.shape), reversed(value.stride()), strict=True):
        is_one = isinstance(size, int) and size == 1
        if not is_one and sympy.expand(expression_of(stride) - expected) != 0:
            return True
        expected = expected * expression_of(size)
    return False


def _with_learned_sizes(recorder: Recorder, arg: Arg, kind: TensorKind) -> Arg:
    """A tensor of which a later check has found a size: `x` of `s0`, after `x[two_rows]`."""
    if not (isinstance(arg, Value) and isinstance(arg.type, TensorType)):
        return arg
    shape = tuple(
        old
        if isinstance(old, int) or not isinstance(learned, int | sympy.Integer)
        else int(learned)
        for old, learned in zip(arg.type.shape, kind.sizes, strict=True)
    )
    if shape_fits(arg.type.shape, shape):
        return arg
    value = recorder.new_value(dataclasses.replace(arg.type, shape=shape))
    recorder.emit("aten::alias", (arg,), [value])
    return value


def _parts_of(value: Any, kind: ContainerKind) -> tuple[Any, ...]:
    """What `value` has in the places that `kind` names."""
    if kind.keys is None:
        return _items_of(value)
    if isinstance(value, CapturedArray):
        return (value.tensor,)
    if isinstance(value, Exception):
        contents = dict(zip(*EXCEPTION.parts(value), strict=True))
    else:
        contents = value if is_map(kind) else own_attributes(value)
    return tuple(contents[key] for key in kind.keys)


def _flatten_union(recorder: Recorder, value: object, kind: UnionKind) -> list[Arg]:
    """The tag, then the leaves of every alternative, absent but for the one that holds."""
    slots = {signature(alternative): k for k, alternative in enumerate(kind.alternatives)}
    if len(slots) != len(kind.alternatives):  # two containers of one form, made by two recordings
        held = value.alternatives if isinstance(value, Union) else (value,)
        raise _made_inside(next((one for one in held if isinstance(one, StagedContainer)), value))
    if not isinstance(value, Union):
        slot = _slot(value, slots)
        return [slot, *_one_slot(recorder, kind, {slot: value})]
    table = tuple(_slot(item, slots) for item in value.alternatives)
    tag = recorder.arg(value.tag)
    if table != tuple(range(len(table))):
        tag = retagged(recorder, tag, table)
    args: list[Arg] = [tag]
    for index, alternative in enumerate(kind.alternatives):
        held = [(k, value.alternatives[k]) for k, slot in enumerate(table) if slot == index]
        args += flatten_held(recorder, value.tag, held, alternative)
    return args


def _one_slot(recorder: Recorder, kind: UnionKind, held: dict[int, object]) -> list[Arg]:
    """The leaves of a value that is known to be this alternative."""
    return [
        arg
        for index, alternative in enumerate(kind.alternatives)
        for arg in flatten(recorder, held.get(index, NOTHING), alternative)
    ]


def flatten_held(
    recorder: Recorder, tag: object, held: list[tuple[int, object]], kind: Kind
) -> list[Arg]:
    """The leaves of one alternative, as one of several values: where `tag` says none, absent.

    Two lists that were told apart where they were made may share an alternative outside. What has
    to be built is built only where the run has that value: the leaves of any other are absent.
    """
    if not held:
        return flatten(recorder, NOTHING, kind)
    (index, value), *rest = held
    with recorder.open() as scope:
        scope.block.outputs = tuple(flatten(recorder, value, kind))
    if not rest and not scope.block.ops:
        return list(scope.block.outputs)
    with recorder.open() as other:
        other.block.outputs = tuple(flatten_held(recorder, tag, rest, kind))
    leaves = recorder.own_unions(leaf_types(kind))
    results: list[Value] = [recorder.new_value(optional(leaf)) for leaf in leaves]
    condition = recorder.arg(tag == index)
    recorder.emit("stator::if", (condition,), results, blocks=[scope.block, other.block])
    return list(results)


def _flatten_each(
    recorder: Recorder, tag: Any, held: list[tuple[int, object]], kind: Kind
) -> list[Arg]:
    """The leaves of one of several values that all are of `kind`."""
    (index, value), *rest = held
    if not rest:
        return flatten(recorder, value, kind)
    with recorder.open() as scope:
        scope.block.outputs = tuple(flatten(recorder, value, kind))
    with recorder.open() as other:
        other.block.outputs = tuple(_flatten_each(recorder, tag, rest, kind))
    results: list[Value] = new_leaves(recorder, kind)
    condition = recorder.arg(tag == index)
    recorder.emit("stator::if", (condition,), results, blocks=[scope.block, other.block])
    return list(results)


def _slot(value: object, slots: dict[tuple[object, ...], int]) -> int:
    """The alternative that `value` is: itself where it is known as an object, else by its form."""
    found = slots.get(signature(describe(value)))
    if found is not None:
        return found
    form = signature(describe(value, always))
    if is_string(form) and TEXT in slots:
        return slots[TEXT]
    if form not in slots:  # one of unknown length covers it
        cls = pool_of(value).form if isinstance(value, Reference) else form[1]
        form = ("sequence", dict if form[0] == "map" else cls, None)
    if form not in slots:  # a body that is recorded twice has made another one
        raise _made_inside(value)
    return slots[form]


def _made_inside(value: object) -> UnsupportedCall:
    return UnsupportedCall(
        f"{with_article(python_name(value))} is made in a `try` or a loop, and may be used after "
        "it",
        fix="make it before",
    )  # fmt: skip


@internal
def settle(recorder: Recorder, kind: Kind) -> Kind:
    """`kind` with exact values only where the current block can see them."""
    if isinstance(kind, Exact) and _is_visible(recorder, kind.value):
        return kind
    wide = widen(kind)
    if isinstance(wide, NumberKind) and isinstance(kind, Exact):
        return wide if isinstance(kind.value, Number | CapturedComplex) else kind
    if not isinstance(wide, ContainerKind):
        return wide
    return map_parts(functools.partial(settle, recorder), wide)


def _is_visible(recorder: Recorder, value: object) -> bool:
    if isinstance(value, FakeTensor):
        return recorder.find(value) is not None
    if isinstance(value, Number):
        return recorder.sees(value.node.expr)
    return isinstance(value, torch.Tensor)


def columns_of_items(recorder: Recorder, items: Sequence[object], kind: Kind) -> tuple[Arg, ...]:
    """The leaves of each item, one tuple of args for each column."""
    rows = [flatten(recorder, item, kind) or [0] for item in items]
    return tuple(tuple(row[k] for row in rows) for k in range(len(column_types(kind))))


def make_columns(recorder: Recorder, items: Sequence[object], kind: Kind) -> Columns:
    """A list of the program with `items` in it."""
    columns = columns_of_items(recorder, items, kind)
    values = []
    elements = recorder.own_unions(column_types(kind))
    for element, column in zip(elements, columns, strict=True):
        value = recorder.new_value(ListType(element))
        recorder.emit("stator::list_make", column, [value])  # type: ignore[arg-type]
        values.append(value)
    return Columns(kind, tuple(values))


def _columns_of(recorder: Recorder, value: object, kind: ListKind) -> tuple[Arg, ...]:
    columns = value if isinstance(value, Columns) else getattr(value, "columns", None)
    if columns is None and isinstance(value, dict) and any(map(_may_be_absent, value.values())):
        return _present_pairs(recorder, value, kind.item)
    if columns is None:
        return make_columns(recorder, _items_of(value), kind.item).values
    if _same_layout(columns.item, kind.item):
        values: tuple[Arg, ...] = columns.values
        return values
    if isinstance(columns.item, Bottom):
        return make_columns(recorder, (), kind.item).values
    return _rebuilt(recorder, columns, kind.item)


def _items_of(value: Any) -> tuple[Any, ...]:
    """The items of a list, tuple or set; the pairs of a dict."""
    if isinstance(value, set | frozenset):
        return tuple(in_order(value))
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(list.__iter__(value) if isinstance(value, list) else value)


def _may_be_absent(item: object) -> bool:
    parts = item.alternatives if isinstance(item, Union) else (item,)
    return any(isinstance(part, Undefined) for part in parts)


def _present_pairs(recorder: Recorder, table: Any, kind: Kind) -> tuple[Arg, ...]:
    """The pairs of a dict with keys that may be absent: those that are there."""
    columns = make_columns(recorder, (), kind).values
    for key, item in table.items():
        if not isinstance(item, Union):
            ways = [] if isinstance(item, Undefined) else [(None, item)]
        else:
            ways = [(item.tag == k, one) for k, one in enumerate(item.alternatives)
                    if not isinstance(one, Undefined)]  # fmt: skip
        for condition, one in ways:
            columns = _appended(recorder, columns, (key, one), kind, condition)
    return columns


def _appended(
    recorder: Recorder, columns: tuple[Value, ...], item: object, kind: Kind, condition: object
) -> tuple[Value, ...]:
    """`columns` with `item` at the end, where `condition` holds."""
    with recorder.open() as scope:
        longer = []
        for column, leaf in zip(columns, flatten(recorder, item, kind) or [0], strict=True):
            longer.append(recorder.new_value(column.type))
            recorder.emit("stator::list_append", (column, leaf), [longer[-1]])
    scope.block.outputs = tuple(longer)
    results = [recorder.new_value(column.type) for column in columns]
    test = True if condition is None else recorder.arg(condition)
    blocks = [scope.block, Block(outputs=columns)]
    recorder.emit("stator::if", (test,), results, blocks=blocks)
    return tuple(results)


def _rebuilt(recorder: Recorder, columns: Columns, kind: Kind) -> tuple[Arg, ...]:
    """The same list with items of the wider `kind`: a loop of the program takes each over."""
    length = recorder.new_value(NumberType("int"))
    recorder.emit("stator::list_length", (columns.values[0],), [length])
    made = make_columns(recorder, (), kind).values
    at = recorder.new_value(NumberType("int"))
    inputs = [recorder.new_value(value.type) for value in made]
    with recorder.open() as scope:
        leaves = [_item_leaf(recorder, column, at) for column in columns.values]
        item = instantiate(recorder, columns.item, iter(leaves))
        outputs = []
        for column, leaf in zip(inputs, flatten(recorder, item, kind) or [0], strict=True):
            outputs.append(recorder.new_value(column.type))
            recorder.emit("stator::list_append", (column, leaf), [outputs[-1]])
        following = recorder.emit_number("stator::add", (at, 1), "int")
        again = recorder.emit_number("stator::lt", (following, length), "bool")
    scope.block.inputs = (at, *inputs)
    scope.block.outputs = (again, following, *outputs)
    results = [recorder.new_value(value.type) for value in (at, *made)]
    begins = recorder.emit_number("stator::gt", (length, 0), "bool")
    recorder.emit("stator::while", (begins, 0, *made), results, blocks=[scope.block])
    return tuple(results[1:])


def list_type(column: Value) -> ListType:
    """The type of a list value; one that may be absent is there where it is used."""
    kind = present(column.type)
    assert isinstance(kind, ListType)
    return kind


def _item_leaf(recorder: Recorder, column: Value, at: Value) -> Value:
    leaf = recorder.new_value(list_type(column).element)
    recorder.emit("stator::list_get", (column, at), [leaf])
    return leaf


def _same_layout(a: Kind, b: Kind) -> bool:
    """Do items of `a` and of `b` have the same leaves in the same places?"""
    if isinstance(a, UnionKind) and isinstance(b, UnionKind):
        return len(a.alternatives) == len(b.alternatives) and all(
            signature(x) == signature(y) and (isinstance(x, Exact) or _same_layout(x, y))
            for x, y in zip(a.alternatives, b.alternatives, strict=True)
        )
    if isinstance(a, ContainerKind | ListKind) and isinstance(b, type(a)):
        return len(parts(a)) == len(parts(b)) and all(map(_same_layout, parts(a), parts(b)))
    return a == b or (
        isinstance(a, type(b)) and signature(a) == signature(b) and not isinstance(a, Exact)
    )


def _ignore(*_: object) -> None:
    """Do nothing."""


@dataclass
class ValueBuilder:
    """Builds values of kinds around the program values `leaves`."""

    recorder: Recorder
    leaves: Iterator[Value]
    made: Callable[[Any, Path], None] = _ignore  # gets each container and its path
    is_joined: bool = True  # may a tensor be the same object as another?

    def build(self, kind: Kind, path: Path = ()) -> Any:
        """A value of `kind`, built from the next leaves."""
        match kind:
            case Exact():
                return kind.value
            case TensorKind():
                return self._tensor(kind, next(self.leaves))
            case NumberKind():
                return self.recorder.number(kind.name, next(self.leaves))
            case TextKind():
                return CapturedText(next(self.leaves))
            case PooledKind():
                return kind.pool.handle(self.recorder.number("int", next(self.leaves)))
            case UnionKind():
                tag = self.recorder.number("int", next(self.leaves))
                return Union(tag, tuple(map(self.build, kind.alternatives)), self.recorder)
            case Bottom():
                return NOTHING
        new = self._list(kind) if isinstance(kind, ListKind) else self._container(kind, path)
        if kind.frozen is not None:
            new.frozen = kind.frozen  # may be changed only where what it represents may
        if isinstance(new, StagedContainer):
            new.sites = kind.sites
        self.made(new, path)
        return new

    def _list(self, kind: ListKind) -> StagedList | StagedDict | StagedSet:
        values = tuple(next(self.leaves) for _ in column_types(kind.item))
        return container_of(Columns(kind.item, values, kind.form))

    def _container(self, kind: ContainerKind, path: Path) -> Any:
        items = {key: self.build(item, (*path, key)) for key, item in kind.named.items()}
        entry = STAGED.of_type(kind.type)
        assert entry is not None
        new = entry.new(kind.type, Entries(tuple(items), tuple(items.values())))
        if self.is_joined and entry.name == "tuple":
            self.recorder.joined_tuples[id(new)] = new
        if not isinstance(new, tuple | StagedContainer):  # which say themselves when they were made
            self.recorder.provenance.add_created(new)
        return new

    def _tensor(self, kind: TensorKind, value: Value) -> torch.Tensor:
        recorder = self.recorder
        sizes = [_new_size(recorder, size) for size in kind.sizes]
        tensor = recorder.new_tensor(kind.dtype, sizes, kind.device, kind.requires_grad)
        recorder.bind(tensor, value)
        if self.is_joined:
            recorder.joined[tensor] = True
        recorder.grad_varies |= kind.grad_varies
        if not isinstance(value.type, OptionalType):
            value.type = recorder.tensor_type(tensor)
        return tensor


@internal
def instantiate(recorder: Recorder, kind: Kind, leaves: Iterator[Value]) -> Any:
    """A value of `kind` around the program values `leaves`."""
    return ValueBuilder(recorder, leaves).build(kind)


def list_of(columns: Columns) -> StagedList:
    """A list, or a tuple, of the program that holds `columns`."""
    new = StagedList()
    new.columns = columns
    return new


def container_of(columns: Columns) -> StagedList | StagedDict | StagedSet:
    """The list, tuple, set or dict of the program that holds `columns`."""
    if columns.form in (list, tuple):
        return list_of(columns)
    new: StagedDict | StagedSet = StagedDict() if columns.form is dict else StagedSet()
    new.columns = columns
    return new


def _new_size(recorder: Recorder, size: Size) -> Any:
    if isinstance(size, int):
        return size
    if isinstance(size, sympy.Basic) and recorder.sees(size):
        return recorder.sizes.create_symintnode(size, hint=None)
    return recorder.fresh_size()
