"""Operators and methods of two sets of which only a run knows the items of one.

The order of such a set is not Python's, so nothing may depend on it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from stator.containers import definitions, set_definitions
from stator.containers.runtime_tables import call_table_method, entries, is_captured_item, put_items
from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.containers import in_order
from stator.values.staged import StagedList, StagedSet, is_table

SETS = (set, frozenset)
COMBINED: dict[str, Callable[..., Staged]] = {
    "|": set_definitions.items_of_both, "&": set_definitions.common_items,
    "-": set_definitions.other_items, "^": set_definitions.items_of_one,
}  # fmt: skip
IN_PLACE: dict[str, Callable[..., Staged]] = {
    "&": operator.iand, "-": operator.isub, "^": operator.ixor,
}  # fmt: skip
METHODS = {
    "union": "|", "intersection": "&", "difference": "-", "symmetric_difference": "^",
}  # fmt: skip
UPDATES = {
    "intersection_update": "&", "difference_update": "-", "symmetric_difference_update": "^",
}  # fmt: skip
QUESTIONS = frozenset({"issubset", "issuperset", "isdisjoint"})
NAMES = frozenset({*METHODS, *UPDATES, *QUESTIONS})


def are_sets_of_a_run(left: object, right: object) -> bool:
    """Are both sets, and does only a run know the items of one of them?"""
    are_sets = isinstance(left, SETS) and isinstance(right, SETS)
    return are_sets and (is_table(left) or is_table(right))


def combined(session: Session, left: Staged, sign: str, right: Staged) -> StagedSet:
    """`left SIGN right`."""
    new = StagedSet()
    session.provenance.add_created(new)
    put_items(session, new, _combined_items(session, left, sign, right))
    return new


def is_within(session: Session, left: Staged, right: Staged) -> Staged:
    """`left <= right`."""
    found = session.interpreter.run(definitions.are_in, _items(session, left), right)
    return session.interpreter.truth(found)


def augment(session: Session, left: set[Staged], sign: str, right: Staged) -> Staged:
    """`left SIGN= right`, of a set."""
    if sign == "|":
        session.interpreter.call(left.update, right)
    elif not are_sets_of_a_run(left, right):
        session.note(left)
        return IN_PLACE[sign](left, right)
    elif isinstance(left, StagedSet):
        _combine_in_place(session, left, sign, right)
    else:
        raise UnsupportedCall(f"`{sign}=` of a set with data-dependent items",
                              fix="use `add` and `discard`")  # fmt: skip
    return left


def call_set_method(
    session: Session, owner: set[object], method: Staged, args: Args, kwargs: Keywords
) -> Staged:
    """A method of a set: Python's own while all its items, and those given, are known."""
    name = method.__name__
    given = any(map(is_captured_item, args)) or any(
        isinstance(arg, StagedList | StagedSet) and _holds_captured(arg) for arg in args
    )
    if not is_table(owner) and not given:
        session.note(owner)
        return getattr(owner, name)(*args, **kwargs)
    if not isinstance(owner, StagedSet):
        raise UnsupportedCall("a set is searched for, or given, a captured value", fix="use a list")
    if name in NAMES and not kwargs:
        return _call_with_others(session, owner, name, *args)
    return call_table_method(session, owner, name, args, kwargs)


def _holds_captured(items: Staged) -> bool:
    return items.is_open or any(map(is_captured_item, items))


def _call_with_others(session: Session, owner: StagedSet, name: str, *others: Staged) -> Staged:
    """`owner.name(*others)`: the methods that have operators, and those that ask."""
    if name in UPDATES:
        for other in others:
            _combine_in_place(session, owner, UPDATES[name], _as_set(session, other))
        return None
    if name in QUESTIONS:
        (other,) = others
        return _ask(session, owner, name, _as_set(session, other))
    result = combined(session, owner, "|", owner)
    for other in others:
        _combine_in_place(session, result, METHODS[name], _as_set(session, other))
    return result


def _combine_in_place(session: Session, left: StagedSet, sign: str, right: Staged) -> None:
    """`left SIGN= right`."""
    items = _combined_items(session, left, sign, right)
    session.note(left)
    put_items(session, left, items)


def _ask(session: Session, owner: Staged, name: str, other: Staged) -> Staged:
    if name == "isdisjoint":
        common = _combined_items(session, owner, "&", other)
        return session.interpreter.compare(session.interpreter.call(len, common), "==", 0)
    left, right = (owner, other) if name == "issubset" else (other, owner)
    return is_within(session, left, right)


def _combined_items(session: Session, left: Staged, sign: str, right: Staged) -> StagedList:
    items = [_items(session, one) for one in (left, right)]
    result: StagedList = session.interpreter.run(COMBINED[sign], *items)
    return result


def _items(session: Session, one: Staged) -> StagedList:
    known = one if isinstance(one, StagedSet) else StagedSet(in_order(one))
    return entries(session, known)


def _as_set(session: Session, value: Staged) -> Staged:
    """A set with the items of what a method is given, which may be any iterable."""
    return value if isinstance(value, SETS) else session.interpreter.call(set, value)
