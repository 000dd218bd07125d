"""SharedDefinitions: searches and comparisons that a program has once, as functions of its own.

    place = place_in(pairs, key)      ->   %7: int = stator::call(%keys, %key, function='find_0')

Code that works with dicts, sets, heaps or tuples of any length searches and compares in every other
line, and each time by a loop. Where the arguments are plain data (numbers, strings, tuples and
lists of them), the loop is recorded once for each kind of arguments, and every use calls it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from stator.capture.blocks import outputs, record_block
from stator.capture.flatten import flatten, instantiate, list_of, new_leaves
from stator.capture.loop_memory import LoopMemory
from stator.capture.modes import Modes
from stator.capture.recorder import Recorder
from stator.capture.scope import Scope
from stator.containers import definitions
from stator.program.ir import Block
from stator.program.layout import map_parts, nodes
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.describe import describe, generalise
from stator.values.kinds import (
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    NumberKind,
    TextKind,
    UnionKind,
    leaf_types,
)
from stator.values.merge import as_list_item
from stator.values.staged import Columns, StagedList

Definition = Callable[..., Staged]
Inline = Callable[[Any, Args, Keywords], Staged]
SHARED = frozenset({
    definitions.place_in, definitions.find, definitions.contains, definitions.are_equal,
    definitions.is_less, definitions.is_at_most,
})  # fmt: skip


@dataclass(frozen=True)
class SharedForm:
    """A definition as a function of the program."""

    definition: Definition
    takes: ContainerKind
    gives: Kind
    name: str


class SharedDefinitions:
    """The definitions that one capture has recorded as functions."""

    def __init__(self, session: Session, inline: Inline) -> None:
        self._recorder, self._inline = session.recorder, inline
        self._forms: list[SharedForm] = []

    def run(self, function: Definition, args: Args, kwargs: Keywords) -> Staged:
        """`function(*args, **kwargs)`: inline, or as a call of a function of the program."""
        if function in SHARED and not kwargs:
            return self._call(function, args)
        return self._inline(function, args, kwargs)

    def _call(self, definition: Definition, args: Args) -> Staged:
        if definition is definitions.place_in:
            keys = _first_parts(args[0])
            if keys is not None:
                definition, args = definitions.find, (keys, *args[1:])
        takes = _plain_kind(args)
        if takes is None:
            return self._inline(definition, args, {})
        form = self._form(definition, takes)
        given, recorder = flatten(self._recorder, args, takes), self._recorder
        results = new_leaves(recorder, form.gives)
        recorder.emit("stator::call", given, results, attributes={"function": form.name})
        return instantiate(recorder, form.gives, iter(results))

    def _form(self, definition: Definition, takes: ContainerKind) -> SharedForm:
        for form in self._forms:
            if form.definition is definition and form.takes == takes:
                return form
        name = f"{definition.__name__}_{len(self._forms)}"
        with _apart(self._recorder):
            gives = _record(
                self._recorder, name, takes, lambda args: self._inline(definition, args, {})
            )
        self._forms.append(SharedForm(definition, takes, gives, name))
        return self._forms[-1]


def _record(recorder: Recorder, name: str, takes: Kind, body: Callable[[Args], Staged]) -> Kind:
    """Record `body` as the function `name`; the kind of what it gives."""
    inputs = new_leaves(recorder, takes)
    recorded = record_block(
        recorder, lambda: body(instantiate(recorder, takes, iter(inputs))), is_function=True
    )
    gives = generalise(describe(recorded.value))
    block = recorded.scope.block
    block.inputs = tuple(inputs)
    block.outputs = tuple(outputs(recorder, recorded.scope, [recorded.value], [gives]))
    recorder.functions[name] = _without_places(block)
    return gives


def _without_places(block: Block) -> Block:
    """`block`, whose ops are on no line: those that use it are on many."""
    ops = [
        replace(op, place=None, blocks=tuple(map(_without_places, op.blocks))) for op in block.ops
    ]
    return Block(block.inputs, ops, block.outputs)


@contextmanager
def _apart(recorder: Recorder) -> Iterator[None]:
    """What is recorded inside sees nothing of the blocks, loops and `try`s around it."""
    before = recorder.listeners, recorder.attempts, recorder.loops
    recorder.listeners, recorder.attempts, recorder.loops = [], [], LoopMemory()
    try:
        with recorder.inside(Scope(None, Modes.current())):
            yield
    finally:
        recorder.listeners, recorder.attempts, recorder.loops = before


def _first_parts(pairs: StagedList) -> StagedList | None:
    """The keys of a list of pairs of the program; None where no column has them."""
    columns = pairs.columns
    if columns is None or not isinstance(columns.item, ContainerKind):
        return None
    key = columns.item.items[0]
    count = len(list(leaf_types(key)))
    return list_of(Columns(key, columns.values[:count])) if count else None


def _plain_kind(args: Sequence[object]) -> ContainerKind | None:
    """The kind of `args` if they are plain data, and one of them has no known form."""
    kind = _as_argument(generalise(describe(tuple(args), _is_data)))
    every: list[Any] = list(nodes(kind))
    is_open = any(isinstance(one, ListKind | UnionKind) for one in every)
    return kind if is_open and all(map(_is_plain, every)) else None


def _is_data(value: object) -> bool:
    return isinstance(value, list | tuple | dict | set)


def _as_argument(kind: Kind) -> Any:
    """`kind` with any number and any string in the place of one."""
    if isinstance(kind, Exact) and type(kind.value) is str:
        return TextKind()
    if isinstance(kind, ContainerKind):
        return replace(map_parts(_as_argument, kind), frozen=None, sites=frozenset())
    if isinstance(kind, ListKind):
        return replace(kind, frozen=None, sites=frozenset())
    return as_list_item(kind)


def _is_plain(kind: Kind) -> bool:
    if isinstance(kind, ContainerKind):
        return kind.type in (tuple, list) and kind.keys is None
    if isinstance(kind, ListKind):
        return kind.form in (tuple, list)
    if isinstance(kind, Exact):
        return kind.value is None or type(kind.value) is str
    return isinstance(kind, NumberKind | TextKind | UnionKind)
