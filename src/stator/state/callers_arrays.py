"""Arrays of the caller's: numpy memory that converted code reads and writes.

A small one that is only read is a constant for Python, and a guard compares what it holds. A large
one, one that the program writes to, and one beside captured values is *live*: a captured array over
the same memory, which every run reads and writes. Whether the program writes to one is known when
it does: the capture then starts again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, get_args

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.program.ir import Op
from stator.program.opset.queries import written_by
from stator.state.holding import reference
from stator.state.session import Session, error_modes
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray
from stator.values.sites import Shared, outside_site
from stator.values.symbolic import Number

ARRAY_KINDS = "biufc"  # bool, int, unsigned, float, complex
QUIET = frozenset({"ignore", "warn"})  # modes in which numpy raises no errors
MOST_COMPARED = 1 << 14  # bytes
CAPTURED = (CapturedArray, torch.Tensor, *get_args(Number))
WRITING = frozenset({"fill", "sort", "put", "partition", "resize", "itemset", "setfield"})


def is_callers_array(session: Session, value: object) -> bool:
    """Is it an array from outside, and not what represents one?"""
    return type(value) is numpy.ndarray and session.provenance.is_external(value)


def used_array(session: Session, value: Staged, *beside: Staged) -> Staged:
    """`value`, whose items are used; an array of the caller's as the program knows it.

    Beside captured values it is live.
    """
    if not isinstance(value, numpy.ndarray) or not session.provenance.is_external(value):
        return value
    is_read = value.nbytes <= MOST_COMPARED and not session.is_written(value)
    is_alone = is_read and not any(isinstance(one, CAPTURED) for one in beside)
    if is_alone or type(value) is not numpy.ndarray:
        return _read_array(session, value)
    live = live_array(session, value)
    return live if live is not value else _read_array(session, value)


def _read_array(session: Session, array: numpy.ndarray[Any, Any]) -> Staged:
    """A constant for Python; each call compares what it holds."""
    of = reference(array)
    session.stand_ins.read_arrays[id(array)] = array
    session.reads.watch(
        array, ("array",), lambda: _contents(of()), _contents(array), "what an array holds"
    )
    return array


def indexed_array(session: Session, value: Staged, key: Staged) -> Staged:
    """`value`, of which `key` takes a part."""
    if type(value) is not numpy.ndarray:
        return value
    parts = key if isinstance(key, tuple) else (key,)
    slices = [one for one in parts if isinstance(one, slice)]
    bounds = [bound for one in slices for bound in (one.start, one.stop, one.step)]
    return used_array(session, value, *parts, *bounds)


def write_array(session: Session, value: Staged) -> Staged:
    """An array of the caller's that is written to: live from the start of the capture on."""
    if not is_callers_array(session, value):
        if isinstance(value, numpy.ndarray) and session.provenance.is_external(value):
            raise _unwritable(value)
        return value
    if not session.is_written(value):
        raise Shared(frozenset({outside_site(value)}), _unwritable(value))
    live = live_array(session, value)
    if live is value:
        raise _unwritable(value)
    return live


@contextlib.contextmanager
def unchanged_arrays(session: Session, values: Iterable[Any], name: str) -> Iterator[None]:
    """Code that is not converted runs inside: it must not write to an array of the caller's."""
    arrays = [value for value in values if is_callers_array(session, value)]
    copies = [array.copy() for array in arrays]
    yield
    for array, copy in zip(arrays, copies, strict=True):
        if array.tobytes() != copy.tobytes():
            array[...] = copy
            raise UnsupportedCall(
                f"library code, `{name}`, writes to an ndarray from outside, which would "
                "happen only during the capture",
                fix="write to its items: `a[k] = ...`",
            )  # fmt: skip


def live_array(session: Session, array: numpy.ndarray[Staged, Staged]) -> Staged:
    """An array of the caller's: the program reads and writes its memory."""
    if not _can_be_tensor(array):
        return array
    refuse_errors(session)
    if id(array) not in session.stand_ins.arrays:
        with session.recorder.real():
            session.stand_ins.arrays[id(array)] = (array, CapturedArray(torch.from_numpy(array)))
    return session.stand_ins.arrays[id(array)][1]


def _can_be_tensor(array: numpy.ndarray[Any, Any]) -> bool:
    """Can a tensor be over its memory?"""
    is_known = array.dtype.kind in ARRAY_KINDS and array.dtype.isnative and array.flags.writeable
    return is_known and all(one >= 0 and one % array.itemsize == 0 for one in array.strides)


def refuse_errors(session: Session) -> None:
    """An error where numpy raises for what the ops of a program compute without an error."""
    session.reads.watch_call(error_modes, (), session.error_modes)
    if not QUIET.issuperset(numpy.geterr().values()):
        raise UnsupportedCall(
            "`numpy.errstate` turns numpy's warnings into errors, which a program does not raise",
            fix="check the values: `if (x == 0).any(): ...`",
        )


def settle_arrays(session: Session, ops: Iterable[Op]) -> None:
    """Start again where Python has read memory that the program may write to: it is live then."""
    stored = session.recorder.stored_tensors.values()
    tensors = [one for one in stored if one.device.type == "cpu" and one.layout is torch.strided]
    arrays = session.stand_ins.read_arrays.values()
    shared = [array for array in arrays if any(_share_memory(array, one) for one in tensors)]
    if shared and any(map(written_by, ops)):
        raise Shared(frozenset(map(outside_site, shared)), _unwritable(shared[0]))


def _share_memory(array: Any, tensor: torch.Tensor) -> bool:
    while isinstance(array.base, numpy.ndarray):
        array = array.base
    start, memory = array.__array_interface__["data"][0], tensor.untyped_storage()
    return bool(
        start < memory.data_ptr() + memory.nbytes() and memory.data_ptr() < start + array.nbytes
    )


def _contents(array: Any) -> tuple[object, ...]:
    if array is None:
        return ()
    mask = (
        numpy.ma.getmaskarray(array).tobytes() if isinstance(array, numpy.ma.MaskedArray) else b""
    )
    return (str(array.dtype), array.shape, numpy.asarray(array).tobytes(), mask)


def _unwritable(_array: object) -> UnsupportedCall:
    return UnsupportedCall(
        "an ndarray from outside is written to, which would happen only during the capture",
        fix="use a list, a dict or a tensor",
    )
