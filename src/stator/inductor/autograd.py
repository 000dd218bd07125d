"""RegionStep: a run of compiled code as one step of torch's autograd.

The compiled backward pass serves the usual case: a gradient for every result, and none of its own
wanted. Where a result has no gradient, or the backward pass is itself to be differentiated, the ops
of the region are run again from its inputs, and torch differentiates those: an input that no
gradient reaches gets None and not zeros, as in eager code.

Compiled code may keep a view of an input for the backward pass. Autograd does not see that, so the
versions of the inputs are compared here: a write between the passes is an error, as in eager code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch

from stator.inductor.checking import agree
from stator.inductor.compiling import CompiledBackward, CompiledCode
from stator.regions.gradients import gradients_of_ops
from stator.regions.region import Ops

WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace "
    "operation: an input of a compiled region"
)


class Verdict(Protocol):
    """What is known about the backward pass of compiled code."""

    is_proven: bool

    def reject(self, problem: str) -> None:
        """The compiled code is not to be used any more."""


class RegionStep(torch.autograd.Function):
    """Compiled code with gradients."""

    @staticmethod
    def forward(
        ctx: Any, code: CompiledCode, ops: Ops, verdict: Verdict, *inputs: Any
    ) -> tuple[torch.Tensor, ...]:
        """The results."""
        backward = code.backward
        assert backward is not None
        found = code.forward(list(inputs))
        results = tuple(found[: len(code.differentiable)])
        kept = [found[place] for place in backward.saved if place >= 0]
        tensors = [value for value in kept if isinstance(value, torch.Tensor)]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(one for one, is_open in zip(results, code.differentiable, strict=True) if not is_open)
        )
        ctx.numbers = [value for value in kept if not isinstance(value, torch.Tensor)]
        ctx.is_tensor = [isinstance(value, torch.Tensor) for value in kept]
        ctx.code, ctx.ops, ctx.verdict, ctx.inputs = code, ops, verdict, inputs
        ctx.versions = [one._version for one in inputs if isinstance(one, torch.Tensor)]
        return results

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[Any, ...]:
        """The gradients of the inputs."""
        saved = ctx.saved_tensors  # first: autograd compares versions, and knows what was freed
        versions = [one._version for one in ctx.inputs if isinstance(one, torch.Tensor)]
        if versions != ctx.versions:
            raise RuntimeError(WRITTEN)
        code, verdict = ctx.code, ctx.verdict
        given = [g for g, is_open in zip(gradients, code.differentiable, strict=True) if is_open]
        if torch.is_grad_enabled() or any(gradient is None for gradient in given):
            return (None, None, None, *_of_ops(ctx, gradients))
        found = _compiled(ctx, code.backward, saved, given)
        if not verdict.is_proven:
            expected = _of_ops(ctx, gradients)
            if not agree(found, expected):
                verdict.reject("its gradients differ from those of the ops")
                return (None, None, None, *expected)
            verdict.is_proven = True
        return (None, None, None, *found)


def _compiled(
    ctx: Any, backward: CompiledBackward, saved: Sequence[torch.Tensor], given: Sequence[Any]
) -> list[Any]:
    """The gradients that the compiled backward pass gives."""
    tensors, numbers, tangents = iter(saved), iter(ctx.numbers), iter(given)
    orders, kinds = iter(backward.orders), iter(ctx.is_tensor)
    args = [
        _dense(next(tangents), next(orders))
        if place < 0
        else next(tensors if next(kinds) else numbers)
        for place in backward.saved
    ]
    found = list(backward.run(args))
    return [
        g if needed else None for g, needed in zip(found, ctx.needs_input_grad[3:], strict=True)
    ]


def _dense(gradient: torch.Tensor, order: Sequence[int]) -> torch.Tensor:
    """`gradient` with its dimensions in this order in memory, innermost first, without gaps."""
    strides, stride = [1] * gradient.dim(), 1
    for dimension in order:
        strides[dimension] = stride
        stride *= gradient.shape[dimension]
    if gradient.stride() == tuple(strides):
        return gradient
    return torch.empty_strided(
        gradient.shape, strides, dtype=gradient.dtype, device=gradient.device
    ).copy_(gradient)


def _of_ops(ctx: Any, gradients: Sequence[torch.Tensor | None]) -> list[Any]:
    """The gradients that torch computes for the ops of the region."""
    return gradients_of_ops(ctx.ops, ctx.inputs, ctx.needs_input_grad[3:], gradients)
