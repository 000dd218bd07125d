"""Tensors that depend on nothing captured: what they hold is known while they are recorded.

`torch.arange(2, x.dim()).tolist()` gives the axes to reduce over, as Python numbers. The ops that
made such a tensor have constants for arguments, and nothing has been written to it since.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from stator.capture.recorder import Recorder
from stator.program.ir import Arg, Op, Value, operands_of, used_by, with_inner_ops
from stator.program.opset.queries import is_pure, written_by
from stator.program.registry import constant_of, resolve


def known_tensor(recorder: Recorder, tensor: torch.Tensor) -> torch.Tensor | None:
    """What `tensor` holds in every run; None if only a run knows."""
    value, ops = recorder.find(tensor), recorder.scope.block.ops
    if value is None:
        return None
    makers = _makers(value, ops)
    if makers is None or _is_written(makers, ops):
        return None
    held: dict[Value, torch.Tensor] = {}
    with recorder.real(), torch.no_grad():
        for op in makers:
            args = [_filled(arg, held) for arg in op.args]
            options = {key: _filled(arg, held) for key, arg in op.attributes.items()}
            held[op.results[0]] = resolve(op.name)(*args, **options)
    return held[value]


def _makers(value: Value, ops: Sequence[Op]) -> list[Op] | None:
    """The ops of this block that `value` is made by, in order; None if one takes anything else."""
    wanted, makers = {value}, []
    for op in reversed(ops):
        if wanted.isdisjoint(op.results):
            continue
        if not op.name.startswith("aten::") or len(op.results) != 1 or not is_pure(op):
            return None
        makers.append(op)
        wanted -= set(op.results)
        wanted |= {*operands_of(op)}
    return None if wanted else makers[::-1]


def _is_written(makers: Sequence[Op], ops: Sequence[Op]) -> bool:
    """Has an op written to one of the tensors, or to what may share its memory?"""
    shared = {result for op in makers for result in op.results}
    for op in ops:
        if shared.isdisjoint(used_by(op)):
            continue
        steps = tuple(with_inner_ops([op]))
        if any(written_by(step) for step in steps):
            return True
        shared |= set(op.results)
    return False


def _filled(arg: Arg, held: dict[Value, torch.Tensor]) -> object:
    if isinstance(arg, tuple):
        return [_filled(item, held) for item in arg]
    return held[arg] if isinstance(arg, Value) else constant_of(arg)
