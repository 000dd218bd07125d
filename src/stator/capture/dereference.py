"""Dereference: runtime lists that hold numbers of pool entries, as lists that hold the contents.

A program gives values, so what leaves it is a copy of each entry (`containers/pools.py`).
"""

from __future__ import annotations

from stator.capture.flatten import flatten, flatten_held, list_of
from stator.capture.recorder import Recorder
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.program.ir import Arg
from stator.program.layout import map_parts, nodes
from stator.values.describe import STAGED, describe, generalise
from stator.values.kinds import AnyPool, Kind, ListKind, PooledKind, always
from stator.values.pooled import PooledObject, Reference, pool_of
from stator.values.staged import Columns, StagedContainer
from stator.values.union import Union


def dereferenced(recorder: Recorder, columns: Columns) -> Columns:
    """`columns` with the contents of pooled containers in the place of their numbers."""
    kind = _plain(columns.item, ())
    if kind is columns.item:
        return columns
    values = flatten(recorder, list_of(columns), ListKind(kind))
    return Columns(kind, tuple(values), columns.form)  # type: ignore[arg-type]  # all are values


def holds_pooled(value: object) -> bool:
    """Is there a pooled container in `value`, or a runtime list that holds some?"""
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, Reference):
            return True
        if id(one) in seen:  # an object may hold itself
            continue
        seen.add(id(one))
        if isinstance(one, Union):
            waiting.extend(one.alternatives)
        elif isinstance(one, StagedContainer) and one.columns is not None:
            if any(isinstance(kind, PooledKind) for kind in nodes(one.columns.item)):
                return True
        elif (parts := STAGED.parts(one)) is not None:
            waiting.extend(parts.items)
    return False


def pools_in(kind: Kind) -> list[AnyPool]:
    """The pools that a value of `kind` refers to, each as often as it does."""
    return [one.pool for one in nodes(kind) if isinstance(one, PooledKind)]


def leaves_of_alternative(
    recorder: Recorder, tag: object, index: int, value: object
) -> tuple[Kind, list[Arg]]:
    """The kind and the leaves of one alternative of a union, read where a run has it."""
    kind = _plain(generalise(describe(value, always)), ())
    return kind, flatten_held(recorder, tag, [(index, value)], kind)


def leaves_of_object(recorder: Recorder, handle: PooledObject) -> tuple[Kind, list[Arg]]:
    """The kind and the leaves of a copy of the object that `handle` refers to."""
    kind = _plain(PooledKind(pool_of(handle)), ())
    return kind, flatten(recorder, handle, kind)


def _plain(kind: Kind, inside: tuple[AnyPool, ...]) -> Kind:
    """The kind of what a value of `kind` is a reference to."""
    if not isinstance(kind, PooledKind):
        return map_parts(lambda part: _plain(part, inside), kind)
    pool = kind.pool
    if any(pool is outer for outer in inside):
        raise UnsupportedCall(
            f"{with_article(pool.form.__name__)} that may hold itself, or others made by the "
            "same code, is returned or kept outside",
            fix="return the tensors and numbers in it",
        )  # fmt: skip
    return pool.kind_of_copies(_plain(pool.item, (*inside, pool)))
