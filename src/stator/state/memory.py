"""Memory: words of objects, read all at once: the fastest way to see that nothing has changed.

    dict       the number of its version
    object     where its class is
    function   where its code and its defaults are
    tensor     where its class and its TensorImpl are; in that, rank, sizes, strides, dtype, device,
               dispatch keys and where its AutogradMeta is; in that, requires_grad and grad_fn

To ask for each of them, even from C++, takes 10 to 60 ns; a word takes one or two. A word that is
as it was says that nothing has changed. One that is not says "perhaps", and the caller compares
the long way, by public means.

NOTE: why no memory is read that has been given back. The first words are those of Python objects,
which the check keeps. If they are the same, each tensor has the TensorImpl that it had, which is
its own, and so is there; if the words of that are the same, so is its AutogradMeta.

NOTE: why the layouts are not taken on trust. They are those of CPython 3.11 and torch 2.13 on
Linux, and elsewhere nothing is read. Each word with a public twin (a version, an address, a size)
must equal it when it is noted. Before the first use, every kind of change is made once, to objects
made for that, and must be seen (`state.memory_trial`). Where one of these fails, there is no
check by memory, and `state.snapshot` uses torch's.
"""

from __future__ import annotations

import ctypes
import platform
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from stator.state.native_checks import version_of
from stator.torch_private.checks import dispatch_keys

WORD = 8
OBJECT_CLASS = 8  # offsets in bytes: CPython 3.11, Include/
DICT_VERSION = 24
FUNCTION_CODE, FUNCTION_DEFAULTS, FUNCTION_KEYWORD_DEFAULTS = 48, 56, 64
TENSOR_IMPL = 16  # torch 2.13, torch/csrc/autograd/python_variable.h
IMPL_AUTOGRAD, IMPL_RANK, IMPL_SIZES, IMPL_STRIDES = 24, 56, 64, 104  # c10/core/TensorImpl.h
IMPL_DTYPE_AND_DEVICE, IMPL_KEYS = 160, 168
AUTOGRAD_FUNCTION, AUTOGRAD_REQUIRES_GRAD = 48, 128  # torch/csrc/autograd/variable.h
RANK_LIMIT = 5  # the sizes of others are elsewhere

Check = Callable[[], bool]
Word = tuple[int, int]  # its address, and what it must hold


@dataclass(frozen=True, slots=True)
class Watched:
    """Objects to be watched; tensors are those that `is_plain` says yes to."""

    dicts: Sequence[dict[Any, Any]] = ()
    owners: Sequence[Any] = ()  # of which the class counts
    functions: Sequence[types.FunctionType] = ()
    tensors: Sequence[torch.Tensor] = ()


def has_known_layouts() -> bool:
    """Is this the Python, and the torch, whose memory is described here?"""
    return (
        sys.implementation.name == "cpython"
        and sys.version_info[:2] == (3, 11)
        and sys.platform == "linux"
        and platform.architecture()[0] == "64bit"
        and torch.__version__.split(".")[:2] == ["2", "13"]
    )


def is_plain(tensor: torch.Tensor) -> bool:
    """Does its TensorImpl hold all that is to know of it?"""
    is_own = type(tensor) in (torch.Tensor, torch.nn.Parameter) and not tensor.is_nested
    return is_own and tensor.layout is torch.strided and tensor.dim() <= RANK_LIMIT


def memory_check(watched: Watched) -> Check | None:
    """Has none of these been changed since now? None where a word is not what it should be.

    Only where `has_known_layouts`.
    """
    objects = _noted(_object_words(watched), _parts(watched))
    if objects is None or not watched.tensors:
        return objects
    impls, metas = _noted(_impl_words(watched.tensors)), _noted(_autograd_words(watched.tensors))
    if impls is None or metas is None or not _agree_on_gradients(watched.tensors):
        return None
    return lambda: objects() and impls() and metas()


def _parts(watched: Watched) -> list[object]:
    """What the words are of, and what they point to."""
    parts: list[object] = [*watched.dicts, *watched.owners, *watched.functions, *watched.tensors]
    parts += [type(one) for one in (*watched.owners, *watched.tensors)]
    for one in watched.functions:
        parts += [one.__code__, one.__defaults__, one.__kwdefaults__]
    return parts


# ---- which words, and what they must hold


def _object_words(watched: Watched) -> Iterable[Word]:
    for one in watched.dicts:
        yield id(one) + DICT_VERSION, version_of(one)
    for owner in (*watched.owners, *watched.tensors):
        yield id(owner) + OBJECT_CLASS, id(type(owner))
    for function in watched.functions:
        yield id(function) + FUNCTION_CODE, id(function.__code__)
        yield id(function) + FUNCTION_DEFAULTS, _address(function.__defaults__)
        yield id(function) + FUNCTION_KEYWORD_DEFAULTS, _address(function.__kwdefaults__)
    for tensor in watched.tensors:
        yield id(tensor) + TENSOR_IMPL, tensor._cdata


def _address(obj: object) -> int:
    return 0 if obj is None else id(obj)


def _impl_words(tensors: Sequence[torch.Tensor]) -> Iterable[Word]:
    for tensor in tensors:
        impl = tensor._cdata
        yield impl + IMPL_RANK, tensor.dim()
        for place, (size, stride) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
            yield impl + IMPL_SIZES + WORD * place, size
            yield impl + IMPL_STRIDES + WORD * place, stride
        yield impl + IMPL_KEYS, dispatch_keys(tensor)
        for offset in (IMPL_DTYPE_AND_DEVICE, IMPL_AUTOGRAD):
            yield impl + offset, _read(impl + offset)


def _autograd_words(tensors: Sequence[torch.Tensor]) -> Iterable[Word]:
    for tensor in tensors:
        meta = _read(tensor._cdata + IMPL_AUTOGRAD)
        for offset in (AUTOGRAD_FUNCTION, AUTOGRAD_REQUIRES_GRAD) if meta else ():
            yield meta + offset, _read(meta + offset)


def _agree_on_gradients(tensors: Sequence[torch.Tensor]) -> bool:
    return all(tensor.requires_grad == _requires_grad(tensor) for tensor in tensors)


def _requires_grad(tensor: torch.Tensor) -> bool:
    meta = _read(tensor._cdata + IMPL_AUTOGRAD)
    if not meta:
        return False
    return bool(_read(meta + AUTOGRAD_FUNCTION) or _read(meta + AUTOGRAD_REQUIRES_GRAD) & 1)


# ---- reading them


def _read(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _noted(words: Iterable[Word], kept: object = None) -> Check | None:
    """Do all words hold what they must? None where they do not even now.

    `kept` lives as long as the check: no address that it compares is ever another object's.
    """
    pairs = tuple(words)
    if not pairs:
        return lambda: True
    addresses, expected = zip(*pairs, strict=True)
    # one array from the first to the last of them, of which only these words are ever touched
    first, last = min(addresses), max(addresses)
    span = (ctypes.c_char * (last - first + WORD)).from_address(first)
    take = numpy.ndarray(((last - first) // WORD + 1,), numpy.uint64, span).take
    where = numpy.array([(address - first) // WORD for address in addresses], numpy.intp)
    wanted = numpy.array(expected, numpy.uint64).tobytes()

    def are_unchanged(_kept: object = kept) -> bool:
        return take(where).tobytes() == wanted  # a new array each time: threads share none

    return are_unchanged if are_unchanged() else None
