"""Leaves: tensors of the capture that require gradients because code said so, not an op.

    w = nn.Parameter(torch.ones(3))    ->    %2 = aten::detach(%1)
                                             aten::requires_grad_(%2, True)

torch does not dispatch `requires_grad_`. Where converted code calls it, it is recorded at once;
where torch's own code does, by the first op that is given the tensor.
"""

from __future__ import annotations

from typing import Any

import torch

from stator.capture.block_writer import BlockWriter
from stator.capture.scope import Scope
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Value
from stator.torch_private.trees import WeakTensorKeyDictionary


class Leaves:
    """Which tensors of one capture are known to be leaves, and by which op."""

    def __init__(self) -> None:
        self._recorded: Any = WeakTensorKeyDictionary()  # tensor -> scope, place of the op, op

    def record(self, recorder: BlockWriter, tensor: torch.Tensor, value: Value, flag: Arg) -> None:
        """`tensor.requires_grad` is `flag` from here on; the tensor of the capture has it."""
        result = recorder.new_value(value.type)
        op = recorder.emit("aten::requires_grad_", (value, flag), [result])
        self._recorded[tensor] = (recorder.scope, len(recorder.scope.block.ops) - 1, op)

    def follow(self, recorder: BlockWriter, tensor: torch.Tensor, value: Value) -> None:
        """Record what code of torch has made of `tensor`, if anything."""
        base = tensor._base
        if base is not None and base.requires_grad:  # without grad, a view is as its base
            return
        if not (tensor.requires_grad or self._recorded) or not tensor.is_leaf:
            return
        scope, is_recorded = self._last(tensor)
        if is_recorded == tensor.requires_grad:
            return
        owner = next((one for one in recorder.scope.chain() if tensor in one.tensors), None)
        if owner is None:  # a real tensor, whose place each run reads
            return
        if scope is not None and scope is not recorder.scope:
            raise UnsupportedCall(
                "`requires_grad` of a tensor is changed in a branch or a loop by torch code",
                fix="change it before, or call `requires_grad_` of the tensor",
            )
        with recorder.inside(owner):
            self.record(recorder, tensor, value, tensor.requires_grad)

    def _last(self, tensor: torch.Tensor) -> tuple[Scope | None, bool]:
        """Where `requires_grad` was last recorded, and what; an op that was undone says nothing."""
        if tensor not in self._recorded:
            return None, False
        scope, place, op = self._recorded[tensor]
        is_there = len(scope.block.ops) > place and scope.block.ops[place] is op
        return (scope, bool(op.args[1])) if is_there else (None, False)
