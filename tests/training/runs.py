"""Training twice from the same seed, eagerly and static: every loss and weight must agree."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

import stator

Step = Callable[[nn.Module, Any], torch.Tensor]


def train(
    model: nn.Module,
    step: Step,
    batches: Callable[[], Iterator[Any]],
    optimizer_of: Callable[..., torch.optim.Optimizer],
    scheduler_of: Callable[..., Any] | None = None,
    clip: float | None = None,
) -> list[float]:
    """The loss of each step, and the learning rate where it is scheduled."""
    torch.manual_seed(5)
    optimizer = optimizer_of(model.parameters())
    scheduler = None if scheduler_of is None else scheduler_of(optimizer)
    losses = []
    for batch in batches():
        loss = step(model, batch)
        optimizer.zero_grad()
        loss.backward()
        if clip is not None:
            losses.append(nn.utils.clip_grad_norm_(model.parameters(), clip).item())
        optimizer.step()
        losses.append(loss.item())
        if scheduler is not None:
            scheduler.step()
            losses.append(scheduler.get_last_lr()[0])
    return losses


def assert_trains_alike(
    model: nn.Module, step: Step, batches: Callable[[], Iterator[Any]], **options: Any
) -> list[float]:
    """Both trainings; gives eager's losses."""
    static = stator.to_static(copy.deepcopy(model))
    eager_losses = train(model, step, batches, **options)
    static_losses = train(static, step, batches, **options)
    assert eager_losses == static_losses
    for (name, one), (_, other) in zip(
        model.state_dict().items(), static.state_dict().items(), strict=True
    ):
        assert torch.equal(one, other), name
    return eager_losses
