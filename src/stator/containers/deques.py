"""Deques: a StagedDeque runs as a list does; its own methods are written out in Python."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from stator.containers import definitions, lists
from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.staged import StagedDeque, StagedList


def new_deque(session: Session, items: object = (), maxlen: object = None) -> StagedDeque:
    """`collections.deque(items, maxlen)`."""
    if maxlen is not None and not isinstance(maxlen, int):
        raise UnsupportedCall("a deque with a data-dependent `maxlen` is not supported",
                              fix="give `maxlen` as a Python number")  # fmt: skip
    new = StagedDeque(
        maxlen=collections.deque(maxlen=maxlen).maxlen
    )  # which raises for less than 0
    _changed(session, new, definitions.deque_extend, session.interpreter.call(list, items))
    return new


def call_deque_method(session: Session, owner: StagedDeque, name: str, args: Args) -> Staged:
    """`owner.name(*args)`."""
    if name == "copy":
        return new_deque(session, owner, owner.maxlen)
    if name not in METHODS:
        raise UnsupportedCall(f"`deque.{name}` is not supported", fix="use a list")
    if name in ("count", "index"):
        return session.interpreter.run(METHODS[name], _list_of(owner), *args)
    return _changed(session, owner, METHODS[name], *args)


def _list_of(owner: StagedDeque) -> StagedList:
    return lists.as_list(owner) if owner.is_open else StagedList(owner)


def _changed(session: Session, owner: StagedDeque, change: Staged, *args: Staged) -> Staged:
    """`change(items, maxlen, *args)`; the deque then holds what that leaves."""
    session.note(owner)
    items = _list_of(owner)
    bounded = (items, owner.maxlen) if change in BOUNDED else (items,)
    result = session.interpreter.run(change, *bounded, *args)
    lists.replace_contents(owner, items)
    return result


BOUNDED = (
    definitions.deque_append, definitions.deque_appendleft, definitions.deque_extend,
    definitions.deque_extendleft,
)  # fmt: skip
METHODS: dict[str, Callable[..., Any]] = {
    "append": definitions.deque_append, "appendleft": definitions.deque_appendleft,
    "extend": definitions.deque_extend, "extendleft": definitions.deque_extendleft,
    "pop": definitions.deque_pop, "popleft": definitions.deque_popleft,
    "clear": definitions.deque_clear, "reverse": definitions.deque_reverse,
    "rotate": definitions.deque_rotate, "count": definitions.count_of,
    "index": definitions.index_of, "remove": definitions.remove_from,
}  # fmt: skip
