"""Patterns of `match`: the questions that `if` alone cannot put."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import torch

from stator.capture.places import current_place
from stator.capture.values import StagedList, Variant
from stator.errors import UnsupportedCall
from stator.staging.access import get, getitem
from stator.staging.lists import is_captured
from stator.staging.logic import and_, compare
from stator.staging.session import Session

SELF_MATCHING = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)


def is_sequence(session: Session, value: Any, size: int, starred: bool) -> Any:
    """Is `value` a list or tuple with `size` items (or more, with a star)?"""
    if isinstance(value, Variant):
        return session.recorder.apply_all(value, lambda v: is_sequence(session, v, size, starred))
    if not isinstance(value, list | tuple | range | collections.deque) or isinstance(
        value, torch.Size
    ):
        return isinstance(value, torch.Size) and (
            len(value) >= size if starred else len(value) == size
        )
    return compare(session, session.call(len, value), ">=" if starred else "==", size)


def rest_of_sequence(session: Session, value: Any, before: int, after: int) -> Any:
    """The items between the first `before` and the last `after`, as a list."""
    if is_captured(value):
        raise UnsupportedCall("`*name` takes a number of items that only a run knows",
                              at=current_place(), fix="index the list instead")  # fmt: skip
    taken = getitem(session, value, slice(before, len(value) - after, None))
    return StagedList(taken)


def has_keys(session: Session, value: Any, keys: tuple[Any, ...]) -> Any:
    """Is `value` a mapping with all of `keys`?"""
    if isinstance(value, Variant):
        return session.recorder.apply_all(value, lambda v: has_keys(session, v, keys))
    if not isinstance(value, Mapping):
        return False
    tests = [lambda key=key: compare(session, key, "in", value) for key in keys]
    return and_(session, True, *tests)


def match_argument(session: Session, value: Any, cls: Any, position: int) -> Any:
    """The attribute that stands at `position` of a class pattern; a builtin matches itself."""
    if cls in SELF_MATCHING:
        return value
    return get(session, value, cls.__match_args__[position])
