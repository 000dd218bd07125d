"""gradients_of_ops: the gradients of a region, computed by torch from the ops of the region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stator.regions.region import Ops


def gradients_of_ops(
    ops: Ops,
    given: Sequence[Any],
    needed: Sequence[bool],
    gradients: Sequence[torch.Tensor | None],
) -> list[Any]:
    """The gradients of the inputs that need one, for the gradients of the results.

    The ops run again. Where the backward pass is itself differentiated, so is what they give.
    """
    is_differentiated = torch.is_grad_enabled()
    with torch.enable_grad():
        # an alias each: the history of one input may lead through another
        inputs = [
            (one.view_as(one) if is_differentiated else one.detach().requires_grad_())
            if wanted
            else one
            for one, wanted in zip(given, needed, strict=True)
        ]
        results = ops(inputs)
    pairs = [(r, g) for r, g in zip(results, gradients, strict=True) if g is not None]
    pairs = [(r, g) for r, g in pairs if r.requires_grad]
    wanted = [one for one, is_wanted in zip(inputs, needed, strict=True) if is_wanted]
    if not pairs:
        return [None] * len(inputs)
    found = iter(
        torch.autograd.grad(
            [r for r, _ in pairs], wanted, [g for _, g in pairs],
            create_graph=is_differentiated, allow_unused=True,
        )
    )  # fmt: skip
    return [next(found) if is_wanted else None for is_wanted in needed]
