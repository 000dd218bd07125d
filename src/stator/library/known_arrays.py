"""Arrays whose contents the capture knows: numpy itself computes with them.

A scheduler or a tokenizer computes tables with numpy before a tensor is involved. Such arrays stay
known, and are constants of the program once a tensor is made of them. Nothing known is written to:
a write goes to the tensor of the array, which is not known from then on. Inside a recorded block,
only arrays that the block has made count as known, since a later iteration may write to the others.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy
import torch

from stator.state.callers_arrays import ARRAY_KINDS
from stator.state.session import Session
from stator.values.arrays import ArrayMemory, CapturedArray, KnownArray
from stator.values.staged import StagedList
from stator.values.union import Union

NOT_KNOWN = object()
CAPTURED = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, CapturedArray, Union)


def is_known(session: Session, value: object) -> bool:
    """Can numpy compute with `value` now?"""
    if not isinstance(value, KnownArray) or not value.memory.is_known:
        return False
    recorder = session.recorder
    return not recorder.depth or session.provenance.created_since(recorder.scope)(value.memory)


def has_known(session: Session, obj: object, name: str) -> bool:
    """Is `name` an attribute of a known array, and no method?"""
    return is_known(session, obj) and not isinstance(
        inspect.getattr_static(type(obj), name, None), types.FunctionType
    )


def known_array(session: Session, value: Any, sources: tuple[KnownArray, ...] = ()) -> Any:
    """What numpy gave, in converted code; it may be a view of one of `sources`."""
    if isinstance(value, tuple):
        return tuple(known_array(session, item, sources) for item in value)
    if type(value) is list:
        return StagedList(known_array(session, item, sources) for item in value)
    if not isinstance(value, numpy.ndarray) or value.dtype.kind not in ARRAY_KINDS:
        return value
    for source in sources:
        if value is source.value:
            return source
        if numpy.shares_memory(value, source.value):
            return KnownArray(value, source.memory)
    copy = numpy.array(value, order="C")
    with session.recorder.real():
        constant = torch.from_numpy(copy.copy())
    memory = ArrayMemory(copy, constant.clone())
    session.provenance.add_created(memory)
    return KnownArray(copy, memory)


def compute_known(session: Session, function: Callable[..., Any], *given: Any) -> Any:
    """`function(*given)`, computed by numpy; NOT_KNOWN if something in `given` is captured."""
    sources: list[KnownArray] = []
    plain = [_plain(session, value, sources) for value in given]
    if any(value is NOT_KNOWN for value in plain):
        return NOT_KNOWN
    try:
        result = function(*plain)
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        return NOT_KNOWN
    return known_array(session, result, tuple(sources))


def method_of(name: str) -> Callable[..., Any]:
    """Calls the method `name` of an array."""
    return lambda array, args, kwargs: getattr(array, name)(*args, **kwargs)


def _plain(session: Session, value: Any, sources: list[KnownArray]) -> Any:
    """`value` with numpy's arrays in it; NOT_KNOWN if something in it is captured."""
    if isinstance(value, list | tuple):
        items = [_plain(session, item, sources) for item in value]
        if any(item is NOT_KNOWN for item in items):
            return NOT_KNOWN
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, dict):
        found = {key: _plain(session, item, sources) for key, item in value.items()}
        return NOT_KNOWN if any(item is NOT_KNOWN for item in found.values()) else found
    if is_known(session, value):
        sources.append(value)
        return value.value
    return NOT_KNOWN if isinstance(value, CAPTURED) else value
