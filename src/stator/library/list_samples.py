"""Ops over a runtime list (`torch.stack(items)`): traced on samples of two lengths."""

from __future__ import annotations

from collections.abc import Callable

import torch

from stator.capture.recorder import Recorder
from stator.containers import lists
from stator.errors import UnsupportedCall
from stator.values.annotations import Args, Keywords, Staged
from stator.values.containers import has_fields
from stator.values.pooled import PooledList


def call_with_samples(
    recorder: Recorder, function: Callable[..., Staged], args: Args, kwargs: Keywords
) -> Staged:
    """`function(*args, **kwargs)`; a size that differs between two lengths is dynamic."""
    if _makes_named_tuple(function):
        return _handed_through(function, args, kwargs)
    args, kwargs = _read(args), _read(kwargs)
    with recorder.open():  # and dropped: the samples are known nowhere else
        other = function(*_sampled(recorder, args, 3), **_sampled(recorder, kwargs, 3))
        two_args, two_kwargs = _sampled(recorder, args, 2), _sampled(recorder, kwargs, 2)
    result = function(*two_args, **two_kwargs)
    if not isinstance(result, torch.Tensor):
        raise UnsupportedCall(
            f"`{getattr(function, '__name__', function)}` of a list of data-dependent "
            "length is not supported",
            fix="use torch.stack or torch.cat, or a loop",
        )  # fmt: skip
    return _with_varying_sizes(recorder, result, other)


def _makes_named_tuple(function: Staged) -> bool:
    """Is it the class of a named tuple, or its `_replace` or `_make`: do they only hold items?"""
    if isinstance(function, type):
        return has_fields(function) and function.__new__.__module__.startswith("namedtuple_")
    owner = getattr(function, "__self__", None)
    cls = owner if isinstance(owner, type) else type(owner)
    return has_fields(cls) and getattr(function, "__name__", "") in ("_replace", "_make")


def _handed_through(function: Staged, args: Args, kwargs: Keywords) -> Staged:
    """The same with lists of the program among the items, which Python cannot tell from others."""
    held = {id(arg): arg for arg in (*args, *kwargs.values()) if lists.is_captured(arg)}
    marks = {key: object() for key in held}
    values = {id(mark): held[key] for key, mark in marks.items()}
    made = function(
        *(marks.get(id(arg), arg) for arg in args),
        **{name: marks.get(id(arg), arg) for name, arg in kwargs.items()},
    )
    return tuple.__new__(type(made), (values.get(id(item), item) for item in made))


def _with_varying_sizes(
    recorder: Recorder, result: torch.Tensor, other: torch.Tensor
) -> torch.Tensor:
    sizes = [
        a if _same_size(a, b) and _is_seen(recorder, a) else recorder.fresh_size()
        for a, b in zip(result.shape, other.shape, strict=True)
    ]
    value = recorder.tensor_arg(result)
    varying = recorder.new_tensor(result.dtype, sizes, result.device, result.requires_grad)
    recorder.bind(varying, value)
    value.type = recorder.tensor_type(varying)
    return varying


def _same_size(a: object, b: object) -> bool:
    left = a.node.expr if isinstance(a, torch.SymInt) else a
    return bool(left == (b.node.expr if isinstance(b, torch.SymInt) else b))


def _is_seen(recorder: Recorder, size: int | torch.SymInt) -> bool:
    return isinstance(size, int) or recorder.sees(size.node.expr)


def _read(tree: Staged) -> Staged:
    """`tree` with pooled lists as the lists that they are now, read in the current block."""
    if isinstance(tree, dict):
        return {key: _read(value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(map(_read, tree))
    return lists.as_list(tree) if isinstance(tree, PooledList) else tree


def _sampled(recorder: Recorder, tree: Staged, count: int) -> Staged:
    if isinstance(tree, dict):
        return {key: _sampled(recorder, value, count) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_sampled(recorder, value, count) for value in tree)
    return lists.sample(recorder, tree, count) if lists.is_captured(tree) else tree
