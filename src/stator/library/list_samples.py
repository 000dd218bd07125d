"""Ops over a runtime list (`torch.stack(items)`): traced on samples of two lengths."""

from __future__ import annotations

from collections.abc import Callable

import torch

from stator.capture.recorder import Recorder
from stator.containers import lists
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.values.annotations import Args, Keywords, Staged
from stator.values.pooled import PooledList


def call_with_samples(
    recorder: Recorder, function: Callable[..., Staged], args: Args, kwargs: Keywords
) -> torch.Tensor:
    """`function(*args, **kwargs)`; a size that differs between two lengths is dynamic."""
    args, kwargs = _read(args), _read(kwargs)
    with recorder.open():  # and dropped: the samples are known nowhere else
        other = function(*_sampled(recorder, args, 3), **_sampled(recorder, kwargs, 3))
        two_args, two_kwargs = _sampled(recorder, args, 2), _sampled(recorder, kwargs, 2)
    result = function(*two_args, **two_kwargs)
    if not isinstance(result, torch.Tensor):
        raise UnsupportedCall(
            f"`{getattr(function, '__name__', function)}` of a list of data-dependent "
            "length is not supported",
            at=current_place(), fix="use torch.stack or torch.cat, or a loop",
        )  # fmt: skip
    return _with_varying_sizes(recorder, result, other)


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
