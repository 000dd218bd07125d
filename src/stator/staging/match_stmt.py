"""Patterns of `match`: the questions that `if` alone cannot put."""

from __future__ import annotations

import collections
from collections.abc import Mapping

import torch

from stator.containers.lists import is_captured
from stator.errors import UnsupportedCall
from stator.staging.access import getitem
from stator.staging.attributes import get
from stator.staging.logic import and_, compare
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.staged import StagedList
from stator.values.union import over_unions

SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


@over_unions("value", undefined=True)
def is_sequence(session: Session, value: object, size: int, starred: bool) -> Staged:
    """Is `value` a list or tuple with `size` items (or more, with a star)?"""
    if not isinstance(value, list | tuple | range | collections.deque) or isinstance(
        value, torch.Size
    ):
        return isinstance(value, torch.Size) and (
            len(value) >= size if starred else len(value) == size
        )
    return compare(session, session.interpreter.call(len, value), ">=" if starred else "==", size)


@over_unions("value", undefined=True)
def rest_of_sequence(session: Session, value: Staged, before: int, after: int) -> Staged:
    """The items between the first `before` and the last `after`, as a list."""
    if is_captured(value):
        raise UnsupportedCall("`*name` takes a data-dependent number of items",
                              fix="index the list instead")  # fmt: skip
    taken = getitem(session, value, slice(before, len(value) - after, None))
    return StagedList(taken)


@over_unions("value", undefined=True)
def has_keys(session: Session, value: object, keys: tuple[object, ...]) -> Staged:
    """Is `value` a mapping with all of `keys`?"""
    if not isinstance(value, Mapping):
        return False
    tests = [lambda key=key: compare(session, key, "in", value) for key in keys]
    return and_(session, True, *tests)


def is_instance(session: Session, value: object, cls: object, names: tuple[str, ...]) -> Staged:
    """Is `value` a `cls` that has the attributes `names`?"""
    call = session.interpreter.call
    tests = [lambda name=name: call(hasattr, value, name) for name in names]
    return and_(session, call(isinstance, value, cls), *tests)


def match_argument(session: Session, value: Staged, cls: Staged, position: int) -> Staged:
    """The attribute that is at `position` of a class pattern; a builtin matches itself."""
    if cls in SELF_MATCHING:
        return value
    return get(session, value, cls.__match_args__[position])
