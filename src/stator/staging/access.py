"""Attributes and items: read and written by converted code."""

from __future__ import annotations

import collections
import operator
import types

import numpy
import torch

from stator.capture.branches import defined
from stator.capture.conditions import as_union, raise_if, select
from stator.capture.conversions import index as as_index
from stator.capture.conversions import position
from stator.capture.numbers import either
from stator.capture.text_ops import as_captured, text_item, text_slice
from stator.containers import definitions, lists, runtime_tables
from stator.containers.dict_calls import (
    get_or_make,
    is_captured_key,
    lookup,
    makes_defaults,
    refused_key,
    set_key,
)
from stator.containers.iteration import CapturedRange
from stator.containers.tensor_index import (
    plain_key,
    positions,
    read_tensor,
    refuse_none,
    write_tensor,
)
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library.known_arrays import NOT_KNOWN, compute_known
from stator.library.number_calls import users_index
from stator.library.user_keys import check_keys
from stator.library.user_methods import user_method
from stator.state.callers_arrays import indexed_array, live_array, write_array
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray, ReversedArray, array_item, is_reversed
from stator.values.kinds import Kind, ListKind, NumberKind
from stator.values.staged import (
    StagedCounter,
    StagedDefaultDict,
    StagedDeque,
    StagedList,
    is_table,
    python_name,
)
from stator.values.symbolic import CapturedText, Number, Undefined
from stator.values.union import Union, distribute, maybe_absent

MAX_CHOICES = 64  # a sequence longer than this is not chosen from item by item
LIST_LIKE = (
    list,
    tuple,
    str,
    range,
    CapturedRange,
    CapturedText,
    torch.nn.ModuleList,
    torch.nn.Sequential,
    torch.nn.ParameterList,
)
NO_BOUND = "slice indices must be integers or None or have an __index__ method"


def shadowed(session: Session, value: object) -> Staged:
    """A plain list or array from outside, as what represents it during this capture."""
    if isinstance(value, numpy.ndarray):
        return live_array(session, value)
    return session.stand_in(value) if session.has_stand_in(value) else value


def getitem(session: Session, obj: Staged, key: Staged) -> Staged:
    """`obj[key]`."""
    obj = indexed_array(session, session.staged(obj), key)
    key = _each_truth(session, obj, session.seen(key))
    if isinstance(obj, Union) or _has_variant(key):
        return _each_way(session, lambda o, k: getitem(session, o, k), obj, key)
    method = user_method(obj, "__getitem__")
    if method is not None:
        return session.interpreter.call_method(method, obj, key)
    if isinstance(obj, CapturedArray):
        return _array_item(session, obj, key)
    if isinstance(obj, torch.Tensor):
        return read_tensor(obj, _tensor_index(session, key), key)
    if isinstance(obj, LIST_LIKE):
        return _list_item(session, obj, key)
    check_keys(session, key)
    makes_missing = hasattr(type(obj), "__missing__")
    if runtime_tables.is_read_as_table(obj, makes_missing, is_captured_key(key)):
        return runtime_tables.get_key(session, obj, key)
    if isinstance(obj, StagedDefaultDict) and obj.default_factory is not None:
        return get_or_make(session, obj, key)
    if isinstance(obj, dict | collections.abc.Mapping | torch.nn.ModuleDict) and (
        is_captured_key(key)
    ):
        if makes_missing:
            raise refused_key(session, obj, "an item is read by")
        return lookup(session, obj, key)
    if isinstance(obj, dict) and makes_missing:
        return _read_or_missing(session, obj, key)
    value = _without_undefined(session, obj[key], KeyError(key))
    session.reads.read_item(obj, key, value)
    return shadowed(session, value)


def _array_item(session: Session, obj: Staged, key: Staged) -> Staged:
    done = compute_known(session, operator.getitem, obj, key)
    if done is not NOT_KNOWN:
        return done
    if is_reversed(obj, key):
        return ReversedArray(obj, key)
    return array_item(getitem(session, obj.tensor, positions(key)), key)


def _read_or_missing(session: Session, obj: dict[Staged, Staged], key: object) -> Staged:
    """`obj[key]` of a dict with `__missing__`, which may insert the key."""
    if makes_defaults(obj) and (key not in obj or maybe_absent(obj[key])):
        return get_or_make(session, obj, key)
    missing = types.MethodType(type(obj).__missing__, obj)  # type: ignore[attr-defined]
    held = obj.get(key, Undefined(str(key)))
    if maybe_absent(held):
        return session.recorder.apply_all(
            held,
            lambda one: (
                session.interpreter.call(missing, key) if isinstance(one, Undefined) else one
            ),
        )
    if isinstance(held, Undefined):
        session.note(obj)
        return shadowed(session, session.interpreter.call(missing, key))
    session.reads.read_item(obj, key, held)
    return shadowed(session, held)


def _range_item(session: Session, obj: CapturedRange, key: Staged) -> Staged:
    """`range(...)[key]`, where only a run knows the bounds."""
    if isinstance(key, slice):
        raise UnsupportedCall("a range with data-dependent bounds is sliced",
                              fix="make a list of it first: `list(...)`")  # fmt: skip
    key, count = as_index(session.recorder, key), obj.length()
    outside = either(key >= count, key < -count)
    raise_if(session.recorder, outside, IndexError("range object index out of range"))
    return obj.item(select(session.recorder, key < 0, key + count, key))


def _list_item(session: Session, obj: Staged, key: Staged) -> Staged:
    recorder = session.recorder
    if isinstance(obj, CapturedText):
        return _text_item(session, obj, key)
    if isinstance(obj, CapturedRange):
        return _range_item(session, obj, key)
    if isinstance(obj, StagedDeque):
        _check_deque_index(session, obj, key)
    if isinstance(key, slice):
        key = _slice_of(session, key)
        symbolic = any(map(_is_symbolic, (key.start, key.stop, key.step)))
        if symbolic and not isinstance(obj, list):
            return _choose_slice(session, obj, key)
        if lists.is_captured(obj) or symbolic:
            return lists.list_slice(recorder, obj, key)
        taken = obj[key]
        return StagedList(taken) if isinstance(obj, list) else taken
    key = position(recorder, key, _no_position(obj))
    if lists.is_captured(obj):
        return lists.list_get(recorder, obj, key)
    if isinstance(key, torch.SymInt) and isinstance(obj, str):
        return text_item(recorder, as_captured(recorder, obj), key)
    if isinstance(key, torch.SymInt):
        return _choose_item(session, list(obj), key, lists.sequence_name(obj))
    value = obj[key]
    session.reads.read_item(obj, key, value)
    return shadowed(session, value)


def _text_item(session: Session, obj: CapturedText, key: Staged) -> Staged:
    """`text[key]` of a data-dependent string."""
    if isinstance(key, slice):
        return text_slice(session.recorder, obj, _slice_of(session, key))
    key = position(session.recorder, key, _no_position(obj))
    if not isinstance(key, torch.SymInt):
        key = operator.index(key) if hasattr(key, "__index__") else "a"[key]  # Python's error
    return text_item(session.recorder, obj, key)


def _no_position(obj: Staged) -> str:
    """Python's message for a position that is no integer."""
    if isinstance(obj, str | CapturedText):
        return "string indices must be integers, not '{}'"
    name = "tuple" if lists.is_captured(obj) and obj.is_tuple else python_name(obj)
    return f"{name} indices must be integers or slices, not {{}}"


def _check_deque_index(session: Session, obj: StagedDeque, key: object) -> None:
    if isinstance(key, slice):
        raise TypeError("sequence index must be integer, not 'slice'")
    key, count = as_index(session.recorder, key), session.interpreter.call(len, obj)
    outside = either(key >= count, key < -count)
    raise_if(session.recorder, outside, IndexError("deque index out of range"))


def _choose_slice(session: Session, obj: Staged, key: slice) -> Staged:
    """A slice of a sequence of known length, by captured bounds: one of those there can be."""
    if isinstance(key.step, torch.SymInt) or len(obj) > MAX_CHOICES:
        if isinstance(obj, str):
            return text_slice(session.recorder, obj, key)
        raise UnsupportedCall(
            f"{with_article(type(obj).__name__)} is sliced by a captured "
            "number",
            fix="slice a list or a tensor",
        )  # fmt: skip
    if isinstance(key.start, torch.SymInt):
        return _for_each_bound(
            session, key.start, len(obj),
            lambda start: _list_item(session, obj, slice(start, key.stop, key.step)),
        )  # fmt: skip
    return _for_each_bound(
        session, key.stop, len(obj), lambda stop: obj[slice(key.start, stop, key.step)]
    )


def _for_each_bound(session: Session, bound: Staged, length: int, function: Staged) -> Staged:
    """`function(bound)`, for each bound of a slice that makes a difference."""
    at = torch.sym_max(0, select(session.recorder, bound < 0, bound + length, bound))
    position = torch.sym_min(at, length)
    choices = Union(position, tuple(range(length + 1)), session.recorder)
    return session.recorder.apply_all(choices, function)


def _choose_item(session: Session, items: list[object], key: torch.SymInt, what: str) -> Staged:
    """One of several Python values, by a captured number: bounds are checked as Python does."""
    recorder, count = session.recorder, len(items)
    outside = either(key >= count, key < -count)
    raise_if(session.recorder, outside, IndexError(f"{what} index out of range"))
    if not items:
        return None
    position = key % count  # negative numbers count from the end
    return recorder.apply_all(Union(position, tuple(items), recorder), lambda one: one)


def setitem(session: Session, obj: Staged, key: Staged, value: Staged) -> None:
    """`obj[key] = value`."""
    obj = write_array(session, session.staged(obj))
    key = _each_truth(session, obj, key)
    if isinstance(obj, Union) or _has_variant(key):
        _each_way(session, lambda o, k: setitem(session, o, k, value), obj, key)
    elif (method := user_method(obj, "__setitem__")) is not None:
        session.interpreter.call_method(method, obj, key, value)
    elif isinstance(obj, CapturedArray):
        if isinstance(obj, ReversedArray):
            obj.refuse_write()
        setitem(session, obj.tensor, positions(key), plain_key(value))
    elif isinstance(obj, torch.Tensor):
        _set_tensor_item(session, obj, key, value)
    elif isinstance(obj, StagedList):
        _refuse_tuple(obj, "assignment")
        session.note(obj)
        _set_list_item(session, obj, key, value)
    elif is_table(obj) or (is_captured_key(key) and runtime_tables.can_become_table(obj)):
        check_keys(session, key)
        runtime_tables.set_key(session, obj, key, value)
    elif is_captured_key(key) or isinstance(key, torch.Tensor):
        raise refused_key(session, obj, "an item is set by")
    elif isinstance(obj, dict):
        check_keys(session, key)
        session.wrote(session.provenance.owner_of(obj), key)
        set_key(session, obj, key, value)
    elif isinstance(obj, Number | CapturedText):
        raise TypeError(f"'{python_name(obj)}' object does not support item assignment")
    else:
        _note_container(session, obj)
        obj[key] = value


def _set_tensor_item(session: Session, obj: torch.Tensor, key: object, value: object) -> None:
    if isinstance(value, Union):
        distribute(lambda v: setitem(session, obj, key, v), (value,), {})
        return
    write_tensor(obj, _tensor_index(session, key), value)


def _refuse_tuple(obj: StagedList, what: str) -> None:
    if obj.is_tuple:
        verb = "doesn't" if what == "deletion" else "does not"
        raise TypeError(f"'tuple' object {verb} support item {what}")


def _set_list_item(session: Session, obj: StagedList, key: Staged, value: Staged) -> None:
    recorder = session.recorder
    if isinstance(key, slice):
        _set_slice(session, obj, _slice_of(session, key), session.interpreter.call(list, value))
        return
    key = position(recorder, key, _no_position(obj))
    if lists.is_captured(obj):
        lists.set_item(recorder, obj, key, value)
    elif isinstance(key, torch.SymInt):
        _set_chosen_item(session, obj, key, value)
    else:
        list.__setitem__(obj, key, value)


def _slice_of(session: Session, key: slice) -> slice:
    bounds = (key.start, key.stop, key.step)
    return slice(*(as_index(session.recorder, bound, NO_BOUND) for bound in bounds))


def _is_open(obj: StagedList, key: slice) -> bool:
    """Does only a run know which items of `obj` the slice has?"""
    return lists.is_captured(obj) or any(map(_is_symbolic, (key.start, key.stop, key.step)))


def _set_slice(session: Session, obj: StagedList, key: slice, value: Staged) -> None:
    """`obj[start:stop:step] = value`."""
    if not _is_open(obj, key) and not lists.is_captured(value):
        list.__setitem__(obj, key, value)
        return
    if key.step not in (None, 1):
        raise UnsupportedCall("a slice with a step of a list of data-dependent length is assigned",
                              fix="assign the items in a loop")  # fmt: skip
    new = session.interpreter.run(definitions.with_slice, obj, key.start, key.stop, value)
    lists.replace_contents(obj, new)


def _delete_slice(session: Session, obj: StagedList, key: slice) -> None:
    """`del obj[start:stop:step]`."""
    if not _is_open(obj, key):
        list.__delitem__(obj, key)
        return
    if key.step is not None and not (isinstance(key.step, int) and key.step > 0):
        raise UnsupportedCall("a slice with a captured or negative step is deleted",
                              fix="delete it forwards, or build a new list")  # fmt: skip
    step = 1 if key.step is None else key.step
    lists.replace_contents(
        obj, session.interpreter.run(definitions.without_slice, obj, key.start, key.stop, step)
    )


def _set_chosen_item(session: Session, obj: StagedList, key: torch.SymInt, value: object) -> None:
    """Write one of several items, by a captured number."""
    count = len(obj)
    raise_if(
        session.recorder,
        either(key >= count, key < -count),
        IndexError("list assignment index out of range"),
    )
    position = key % count
    for k in range(count):
        kept = obj[k]
        list.__setitem__(obj, k, select(session.recorder, position == k, value, kept))


def delitem(session: Session, obj: Staged, key: Staged) -> None:
    """`del obj[key]`."""
    obj = session.staged(obj)
    if isinstance(obj, Union) or _has_variant(key):
        _each_way(session, lambda o, k: delitem(session, o, k), obj, key)
        return
    method = user_method(obj, "__delitem__")
    if method is not None:
        session.interpreter.call_method(method, obj, key)
        return
    if isinstance(obj, StagedList):
        _refuse_tuple(obj, "deletion")
        session.note(obj)
        if isinstance(key, slice):
            _delete_slice(session, obj, _slice_of(session, key))
            return
        key = position(session.recorder, key, _no_position(obj))
        if lists.is_captured(obj) or isinstance(key, torch.SymInt):
            lists.delete_item(session.recorder, obj, key)
        else:
            list.__delitem__(obj, key)
        return
    check_keys(session, key)
    if is_table(obj) or (is_captured_key(key) and runtime_tables.can_become_table(obj)):
        runtime_tables.delete_key(session, obj, key)
        return
    if is_captured_key(key):
        raise refused_key(session, obj, "an item is deleted by")
    _note_container(session, obj)
    if isinstance(obj, dict) and not isinstance(obj, StagedCounter | collections.Counter):
        _without_undefined(session, dict.get(obj, key), KeyError(key))
    del obj[key]


def _note_container(session: Session, obj: object) -> None:
    if isinstance(obj, list | dict | collections.deque | torch.nn.Module):
        session.note(obj)
    elif session.recorder.depth or session.provenance.is_external(obj):
        what = " from outside is written to, which would happen only during the capture"
        if session.recorder.depth:
            what = " is written to inside a branch or a loop of the program"
        raise UnsupportedCall(f"{with_article(type(obj).__name__)}{what}",
                              fix="use a list, a dict or a tensor")  # fmt: skip


def _tensor_index(session: Session, key: object) -> Staged:
    """An index torch can record: 0-d integer tensors become numbers, as eager reads them."""
    if isinstance(key, CapturedArray):
        key = key.tensor
    if isinstance(key, tuple):
        return tuple(_tensor_index(session, part) for part in key)
    if isinstance(key, slice):
        return _slice_of(session, key)
    if isinstance(key, torch.Tensor) and key.dim() == 0 and _is_integer(key):
        return as_index(session.recorder, key)
    if isinstance(key, StagedList) and not key.is_tuple and _is_data(key):
        refuse_none(key)
        return _index_of_list(session, key)
    return list(key) if isinstance(key, StagedList) else key


def _is_data(items: StagedList) -> bool:
    return items.is_open or any(isinstance(item, torch.SymBool | torch.SymInt) for item in items)


def _index_of_list(session: Session, items: StagedList) -> Staged:
    """A list of data as an index: of positions, or of truth values; empty, of positions."""
    found: Kind | None = items.columns.item if items.columns is not None else None
    while isinstance(found, ListKind):
        found = found.item
    is_mask = isinstance(found, NumberKind) and found.name == "bool"
    if not items.is_open:
        is_mask = all(isinstance(item, bool | torch.SymBool) for item in items)
    dtype = torch.bool if is_mask else torch.long
    return session.interpreter.call(torch.tensor, items, dtype=dtype)


def _is_integer(tensor: torch.Tensor) -> bool:
    """Is it a position? A byte is a mask for torch, as a bool is."""
    dtype = tensor.dtype
    return not (dtype.is_floating_point or dtype.is_complex or dtype in (torch.bool, torch.uint8))


def _is_symbolic(key: object) -> bool:
    return isinstance(key, torch.Tensor | torch.SymInt | torch.SymFloat | torch.SymBool)


def _each_way(session: Session, function: Staged, obj: Staged, key: Staged) -> Staged:
    """`function(obj, key)` for each object, and each key, that there can be."""
    if isinstance(obj, Union):
        return session.recorder.apply(obj, lambda one: function(one, key))
    return distribute(lambda parts: function(obj, _with_slices(parts)), (_without_slices(key),), {})


def _each_truth(session: Session, obj: object, key: object) -> Staged:
    """A captured bool in the index of a tensor: False and True add dimensions of other sizes.

    What has an `__index__` of the user's is the number that this gives.
    """
    own = any(user_method(obj, name) for name in ("__getitem__", "__setitem__", "__delitem__"))
    if isinstance(obj, (*LIST_LIKE, torch.Tensor)) and not own:
        key = users_index(session, key)
    if not isinstance(obj, torch.Tensor | CapturedArray):
        return key
    if isinstance(key, tuple):
        return tuple(_each_truth(session, obj, part) for part in key)
    return as_union(session.recorder, key) if isinstance(key, torch.SymBool) else key


def _has_variant(key: object) -> bool:
    if isinstance(key, slice):
        return any(isinstance(bound, Union) for bound in (key.start, key.stop, key.step))
    return isinstance(key, Union) or (isinstance(key, tuple) and any(map(_has_variant, key)))


def _without_slices(key: Staged) -> Staged:
    """An index in which each slice is a tuple of its bounds, so that unions in them are found."""
    if isinstance(key, tuple):
        return tuple(map(_without_slices, key))
    return (slice, key.start, key.stop, key.step) if isinstance(key, slice) else key


def _with_slices(key: Staged) -> Staged:
    """The inverse of `_without_slices`."""
    if isinstance(key, tuple):
        return slice(*key[1:]) if key and key[0] is slice else tuple(map(_with_slices, key))
    return key


def _without_undefined(session: Session, value: Staged, error: Exception) -> Staged:
    return defined(session.recorder, value, error) if maybe_absent(value) else value
