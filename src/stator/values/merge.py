"""merge(): the least kind that covers two others.

Kinds form a lattice, from BOTTOM upwards. Alternatives of a union differ in `signature`, so a value
always finds its one alternative.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from stator.errors import BranchMismatch
from stator.program.layout import map_parts, nodes
from stator.values.containers import is_plain_class
from stator.values.describe import generalise, widen
from stator.values.freezing import (
    freeze_stored_copy,
    not_by_reference,
    shared_object,
    stored_object,
)
from stator.values.kinds import (
    BOTTOM,
    SCALARS,
    Bottom,
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    NumberKind,
    PooledKind,
    TensorKind,
    TextKind,
    UnionKind,
    is_map,
)
from stator.values.pooled import can_be_pooled
from stator.values.sites import Shared, Site, Sites, class_site
from stator.values.staged import (
    StagedContainer,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    is_copied,
)
from stator.values.symbolic import Undefined
from stator.values.union import Union

Key = tuple[Any, ...]
TUPLE_LENGTHS = 3  # a loop that has made tuples of so many lengths will make others
STRINGS = 6  # so many strings are not names of modes: a loop builds a text
MOST_STRINGS = 12  # outside of loops: each operation on more of them would be recorded for each
TEXT: Key = ("other", TextKind)


def signature(kind: Kind) -> Key:
    """Two kinds with one signature join into one kind without a choice."""
    wide = widen(kind)
    match wide:
        case TensorKind():
            return ("tensor", wide.dtype, wide.device, len(wide.sizes))
        case NumberKind():
            return ("number", wide.name)
        case PooledKind():
            return ("pooled", id(wide.pool))
        case ListKind():
            return ("sequence", wide.form, None)
        case ContainerKind(keys=None):
            any_length = wide.type in (list, set, dict)
            return ("sequence", wide.type, None if any_length else len(wide.items))
        case ContainerKind():
            return ("map", wide.type, wide.keys)
        case Exact(value) if isinstance(value, Undefined):
            return ("undefined",)
        case Exact(value) if isinstance(value, SCALARS):
            return ("constant", type(value), value)
        case Exact(value):
            return ("object", id(value))
    return ("other", type(wide))


def merge(a: Kind, b: Kind) -> Kind:
    """The least kind that covers `a` and `b`."""
    if isinstance(a, Bottom) or a == b:
        return _united(b)
    return _united(a) if isinstance(b, Bottom) else _merged((*_alternatives(a), *_alternatives(b)))


def _united(kind: Kind) -> Kind:
    """`kind`; of a union, alternatives that differ as objects alone made one if they are copied."""
    alternatives = _alternatives(kind)
    is_clear = len({signature(one) for one in alternatives}) == len(alternatives)
    return kind if is_clear else _merged(alternatives)


def _merged(alternatives: Sequence[Kind]) -> Kind:
    """The least kind that covers all of them, none of which is a union."""
    found: dict[Key, Kind] = {}
    for alternative in alternatives:
        key = signature(alternative)
        found[key] = _merge_alike(found[key], alternative) if key in found else alternative
    for form in (tuple, dict):
        _absorb(found, form)
    _absorb_strings(found)
    if len(found) == 1:
        return next(iter(found.values()))
    _share_pools(found.values())
    return UnionKind(tuple(generalise(kind) for kind in found.values()))


def merge_all(kinds: Iterable[Kind]) -> Kind:
    """The least kind that covers all of them."""
    every: list[Kind] = [BOTTOM, *kinds]
    return functools.reduce(merge, every)


def _share_pools(kinds: Iterable[Kind]) -> None:
    """Containers that come together, of which one is known by reference: the others must be."""
    by_form: dict[type, list[Sites]] = {}
    pooled: set[type] = set()
    for kind in map(widen, kinds):
        if isinstance(kind, PooledKind):
            pooled.add(kind.pool.form)
            by_form.setdefault(kind.pool.form, []).append(kind.pool.sites)
        elif isinstance(kind, ContainerKind | ListKind) and kind.sites:
            cls = kind.form if isinstance(kind, ListKind) else kind.type
            by_form.setdefault(_form_of(cls), []).append(kind.sites)
        elif (
            isinstance(kind, Exact) and isinstance(kind.value, StagedContainer) and kind.value.sites
        ):
            by_form.setdefault(_form_of(type(kind.value)), []).append(kind.value.sites)
    for form in pooled:
        if len(by_form[form]) > 1:
            sites = frozenset[Any]().union(*by_form[form])
            raise Shared(sites, not_by_reference(form.__name__))


def _form_of(cls: type) -> type:
    return next((form for form in (dict, set, list) if issubclass(cls, form)), cls)


def _absorb(found: dict[Key, Kind], form: type) -> None:
    """A tuple, or a dict, of unknown length covers those whose length is known."""
    whole = ("sequence", form, None)
    if whole not in found:
        return
    for key in [key for key in found if key != whole and _is_one_of(key, form)]:
        found[whole] = _merge_lists(widen(found[whole]), as_pairs(widen(found.pop(key))))


def _absorb_strings(found: dict[Key, Kind]) -> None:
    """A string that only a run knows covers those that are known, and many of these are one."""
    strings = [key for key in found if is_string(key)]
    if (TEXT in found and strings) or len(strings) > MOST_STRINGS:
        found[TEXT] = TextKind()
        for key in strings:
            del found[key]


def _is_one_of(key: Key, form: type) -> bool:
    if form is tuple:
        return key[0] == "sequence" and key[1] is tuple
    return key[0] == "map" and key[1] in (dict, StagedDict)


def widen_growing(kind: Kind) -> Kind:
    """A union of three tuple lengths becomes one tuple of any length, so that loops converge.

    Many strings become one that only a run knows.
    """
    if isinstance(kind, ContainerKind | ListKind):
        return map_parts(widen_growing, kind)
    if not isinstance(kind, UnionKind):
        return kind
    keys = [signature(one) for one in kind.alternatives]
    wide: list[Kind] = []
    if sum(_is_one_of(key, tuple) for key in keys) >= TUPLE_LENGTHS:
        wide.append(ListKind(BOTTOM, tuple))
    if sum(map(is_string, keys)) >= STRINGS:
        wide.append(TextKind())
    return merge_all([*wide, *kind.alternatives]) if wide else kind


def is_string(key: Key) -> bool:
    """Is this the signature of a known string, which a text covers?"""
    return key[0] == "constant" and key[1] is str


def as_pairs(kind: Kind) -> Kind:
    """A dict with known keys as the sequence of its pairs; any other kind as it is."""
    if not is_map(kind):
        return kind
    pairs = [(key, _present(item)) for key, item in kind.named.items()]
    items = tuple(ContainerKind(tuple, (Exact(k), item)) for k, item in pairs if item is not BOTTOM)
    return ContainerKind(dict, items)


def _present(kind: Kind) -> Kind:
    """`kind` of a value that is there: a key that is absent has no pair."""
    return merge_all(one for one in _alternatives(kind) if signature(one) != ("undefined",))


def _alternatives(kind: Kind) -> tuple[Kind, ...]:
    wide = widen(kind) if isinstance(kind, Exact) and isinstance(kind.value, Union) else kind
    return wide.alternatives if isinstance(wide, UnionKind) else (wide,)


def _merge_alike(a: Kind, b: Kind) -> Kind:
    """The join of two kinds with one signature."""
    if a == b:
        return a
    a, b = widen(a), widen(b)
    match a, b:
        case TensorKind(), TensorKind():
            varies = a.grad_varies or b.grad_varies or a.requires_grad != b.requires_grad
            return TensorKind(
                a.dtype, a.device, common_sizes(a, b), a.requires_grad or b.requires_grad, varies
            )
        case (ListKind(), _) | (_, ListKind()):
            return _merge_lists(a, b)
        case ContainerKind(), ContainerKind() if len(a.items) != len(b.items) or a.type is set:
            return _merge_lists(a, b)
        case ContainerKind(), ContainerKind():
            items = tuple(map(merge, a.items, b.items))
            return replace(a, items=items, frozen=a.frozen or b.frozen, sites=a.sites | b.sites)
    return a


def common_sizes(a: TensorKind, b: TensorKind) -> tuple[object, ...]:
    """The sizes of both; None where they differ."""
    return tuple(x if x == y else None for x, y in zip(a.sizes, b.sizes, strict=True))


def _merge_lists(a: Kind, b: Kind) -> ListKind:
    assert isinstance(a, ListKind | ContainerKind)
    assert isinstance(b, ListKind | ContainerKind)
    item: Kind = BOTTOM
    for part in (a, b):
        for kind in (part.item,) if isinstance(part, ListKind) else part.items:
            item = generalise(merge(item, _stored(kind)))
    whole = a if isinstance(a, ListKind) else b
    form = whole.form if isinstance(whole, ListKind) else whole.type
    return ListKind(as_list_item(item), form, a.frozen or b.frozen, a.sites | b.sites)


def as_list_item(kind: Kind) -> Kind:
    """The kind of a list's items: a number in a list is any number."""
    if isinstance(kind, Exact) and isinstance(kind.value, bool | int | float):
        return widen(kind)
    if isinstance(kind, ContainerKind | UnionKind):
        kind = map_parts(as_list_item, kind)
    if isinstance(kind, ContainerKind | ListKind):  # reading an item freezes what is read
        return replace(kind, frozen=None)
    return kind


def _stored(kind: Kind) -> Kind:
    """`kind` for an item of a runtime list, which holds a copy of any list or dict."""
    if isinstance(kind, UnionKind) or (
        isinstance(kind, ContainerKind) and (kind.keys is None or is_map(kind))
    ):
        return map_parts(_stored, kind)
    if not isinstance(kind, Exact):
        return kind
    freeze_stored_copy(kind.value)
    before = kind.fresh
    if isinstance(kind.value, StagedDeque | StagedDefaultDict) and kind.value.sites:
        raise Shared(kind.value.sites, stored_object(kind.value))
    if is_plain_class(type(kind.value)) and before(kind.value):
        raise shared_object(kind.value)
    return Exact(
        kind.value,
        lambda value: (
            is_copied(value) and (isinstance(value, StagedList | StagedDict) or before(value))
        ),
    )


def sites_in(kinds: Iterable[Kind]) -> Sites:
    """The sites of what can be known by reference in values of these kinds."""
    found = set[Site]()
    for one in (one for kind in kinds for one in nodes(kind)):
        if isinstance(one, ContainerKind) and can_be_pooled(one.type):
            found.add(class_site(one.type))
        elif isinstance(one, Exact) and isinstance(one.value, StagedContainer):
            found |= one.value.sites
    return frozenset(found)


def merge_maps(kinds: Sequence[ContainerKind]) -> tuple[ContainerKind, ...]:
    """The same maps with one set of keys; a key that one of them lacks is Undefined there."""
    merged: list[object] = []
    for kind in kinds:
        merged = _merge_order(merged, list(kind.named))
    keys = tuple(merged)
    for kind in kinds:
        own = list(kind.named)
        if [key for key in keys if key in own] != own:
            raise BranchMismatch(
                "the paths set the keys of a dict, or attributes, in different orders: "
                f"{', '.join(map(str, own))}",
                fix="set them in one order, or before the branch",
            )  # fmt: skip
    return tuple(_with_keys(kind, keys) for kind in kinds)


def _merge_order(first: list[object], second: list[object]) -> list[object]:
    """The keys of both: what only `second` has comes after what it follows there."""
    merged = list(first)
    for position, key in enumerate(second):
        if key not in merged:
            before = [other for other in second[:position] if other in merged]
            after = [other for other in second[position:] if other in merged]
            place = merged.index(before[-1]) + 1 if before else len(merged)
            merged.insert(merged.index(after[0]) if after and not before else place, key)
    return merged


def _with_keys(kind: ContainerKind, keys: tuple[object, ...]) -> ContainerKind:
    items = tuple(kind.named.get(key, Exact(Undefined(str(key)))) for key in keys)
    return replace(kind, keys=keys, items=items)
