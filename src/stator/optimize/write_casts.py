"""write_casts: autocast as the casts that it makes, for targets that have no such mode.

    stator::set_autocast("cpu", True, float16, ...)
    %y = aten::linear(%x, %w, %b)       ->    %p1 = aten::_to_copy(%x, dtype=float16)
    stator::set_autocast("cpu", False, ...)   ...
                                              %y = aten::addmm(%p3, %p1, %p4)

Torch runs each op on tensors without data, as `decompose` does, with the mode on: what it calls
takes the place of the op. A program whose mode depends on data, or that is not on the processor,
stays as it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace

import torch

from stator.optimize.decompose import FAILURES, Decomposer, OpParts, UndecomposableError
from stator.program.ir import Block, Op, values_in
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.registry import constant_of
from stator.program.types import TensorType
from stator.program.verifier import verify
from stator.torch_private.ops import OpOverload

AUTOCAST = "stator::set_autocast"
DEVICE = "cpu"

Modes = Mapping[str, torch.dtype]  # what each kind of device casts to, where it does


def write_casts(program: Program) -> Program:
    """`program` without autocast, if it can be written out."""
    if not any(op.name == AUTOCAST for op in program.ops()):
        return program
    try:
        made = _CastWriter(program)
        return verify(program.with_blocks(made.block))
    except UndecomposableError:
        return program


class _CastWriter(Decomposer):
    """Rebuilds the blocks of one program; `modes` are those of the ops that come next."""

    def __init__(self, program: Program) -> None:
        super().__init__(program, lambda _name: True, lambda _op: True)
        self.modes: Modes = {}

    def block(self, block: Block) -> Block:
        """`block` with casts; it must end in the modes that it begins in."""
        before, ops = self.modes, list[Op]()
        for op in block.ops:
            if op.name == AUTOCAST:
                self.modes = _after(op)
            elif kind_of(op) == "torch" and self.modes and _is_cast(op):
                ops += self.cast(op)
            else:
                inner = tuple(self.block(one) for one in op.blocks)
                ops.append(replace(op, blocks=inner) if inner else op)
        if self.modes != before:
            raise UndecomposableError
        return Block(block.inputs, ops, block.outputs)

    def cast(self, op: Op) -> list[Op]:
        """`op` with its casts; itself if it has none."""
        try:
            parts = OpParts(self, op).run()
        except FAILURES as error:
            raise UndecomposableError from error
        casts = any(one.name == "aten::_to_copy" for one in parts)
        return parts if casts and op.name != "aten::_to_copy" else [op]

    def keeps(self, op: OpOverload, target: OpOverload) -> bool:  # noqa: ARG002 (of a method)
        """Nothing is taken apart but what torch itself does."""
        return True

    @contextlib.contextmanager
    def context(self) -> Iterator[None]:
        """The mode that the ops are in."""
        with torch.autocast(DEVICE, self.modes[DEVICE], cache_enabled=False):
            yield


def _after(op: Op) -> Modes:
    """The modes after a `set_autocast`."""
    given = [constant_of(arg) for arg in op.args]  # a value is no constant: not known here
    device, enabled = torch.device(given[0]).type, given[1]
    if device != DEVICE or not isinstance(enabled, bool):
        raise UndecomposableError
    found = given[2] if len(given) > 2 else None
    return {device: found or torch.get_autocast_dtype(device)} if enabled else {}


def _is_cast(op: Op) -> bool:
    """Does the op have tensors whose dtypes autocast could change?"""
    return any(
        isinstance(value.type, TensorType) and getattr(torch, value.type.dtype).is_floating_point
        for value in (*values_in(op.args), *op.results)
    )
