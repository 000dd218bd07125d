"""Freezing: a runtime list holds copies, so what is stored in it, or loaded from it, is frozen.

A change of the original after it was stored, or of an item after it was loaded, would be lost;
it is refused instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.values.containers import LIST, TUPLE, Containers, is_plain_class
from stator.values.pooled import Reference, can_be_pooled
from stator.values.sites import Shared, class_site
from stator.values.staged import (
    STAGED_DICT,
    STAGED_LIST,
    StagedContainer,
    StagedDict,
    is_copied,
    python_name,
)
from stator.values.symbolic import CaughtError
from stator.values.union import Union

T = TypeVar("T")
STORED = "it was put into a list of the program, which holds a copy"
LOADED = "it is an item of a list of the program, which would not see the change"
COPIED = Containers(TUPLE, STAGED_LIST, LIST, STAGED_DICT)


def freeze_stored_copy(item: object) -> None:
    """`item` was put into a runtime list: it must not be changed any more."""
    _freeze(item, STORED)


def freeze_loaded_copy(item: T) -> T:
    """`item`, which was read from a runtime list: it must not be changed."""
    _freeze(item, LOADED)
    return item


def _freeze(item: object, reason: str) -> None:
    for one in _all_in(item):
        if isinstance(one, StagedContainer):
            one.frozen = reason


def refuse_stored_objects(item: object) -> None:
    """An error for objects that others may change, and that a copy would not see."""
    for one in _all_in(item):
        if isinstance(one, StagedContainer) and one.sites and (one.is_open or isinstance(one, set)):
            if not isinstance(one, list):
                raise Shared(one.sites, stored_object(one))
        elif isinstance(one, StagedDict):
            len(one)  # raises if only a run knows its keys
        elif isinstance(one, dict | set) or (
            is_plain_class(type(one)) and not isinstance(one, tuple | list)
        ):
            raise shared_object(one)


def stored_object(item: object) -> UnsupportedCall:
    """The error for an object that is put into a runtime list."""
    return UnsupportedCall(
        f"{with_article(python_name(item))} is put into a list of data-dependent length",
        fix="put tensors, numbers, tuples or lists into it",
    )


def shared_object(item: object) -> BaseException:
    """The same; where `item` can be known by reference, in another capture it is."""
    if isinstance(item, CaughtError):
        return item.refused()
    refusal = stored_object(item)
    cls = type(item)
    return Shared(frozenset({class_site(cls)}), refusal) if can_be_pooled(cls) else refusal


def refuse_frozen(obj: object) -> None:
    """An error where `obj` must not be changed any more."""
    if isinstance(obj, StagedContainer) and obj.frozen:
        refusal = UnsupportedCall(
            f"{with_article(python_name(obj))} cannot be changed here: {obj.frozen}",
            fix="finish it before putting it into the list",
        )
        raise Shared(obj.sites, refusal) if obj.sites else refusal


def refuse_copies(*containers: StagedContainer) -> None:
    """An error where `is` compares containers of which a runtime list holds copies."""
    copied = [one for one in containers if one.frozen]
    if copied:
        refusal = UnsupportedCall(
            "`is` between containers that a list of the program holds copies of",
            fix="compare with `==`, or keep a number",
        )
        sites = frozenset[Any]().union(*(one.sites for one in containers))
        raise Shared(sites, refusal) if sites else refusal


def not_by_reference(name: str) -> UnsupportedCall:
    """The error for containers that come together, where not all can be known by reference."""
    return UnsupportedCall(
        f"a list of the program holds and changes {with_article(name)} that is made in several "
        "places, and not in the same way",
        fix="make it in one place, or with the same code",
    )  # fmt: skip


def _all_in(item: object) -> Iterator[object]:
    """`item`, and all that is in it, but for lists of the caller's, which are not copied."""
    if not is_copied(item) or isinstance(item, Reference):
        return
    yield item
    parts = item.alternatives if isinstance(item, Union) else (COPIED.parts(item) or ((), ()))[1]
    for part in parts:
        yield from _all_in(part)
