"""shrunk(): a smaller, plainer input that still differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from stator.api.example import Example
from stator_verify.drawing import SizeRule, resized
from stator_verify.examples import ExampleLeaf, leaves_of, replaced


def shrunk(
    example: Example, fails: Callable[[Example], bool], may_change: SizeRule, budget: int
) -> Example:
    """The smallest input that was found with so many runs; `example` itself if there is none."""
    left = budget
    progress = True
    while progress and left > 0:
        progress = False
        for simpler in _simpler(example, may_change):
            left -= 1
            if fails(simpler):
                example, progress = simpler, True
                break
            if left <= 0:
                break
    return example


def _simpler(example: Example, may_change: SizeRule) -> Iterator[Example]:
    for leaf in leaves_of(example):
        if isinstance(leaf.value, torch.Tensor) and type(leaf.value) is torch.Tensor:
            for made in _simpler_tensors(leaf, may_change):
                made = made.requires_grad_() if leaf.value.requires_grad else made
                yield replaced(example, {leaf.path: made})
        elif type(leaf.value) in (int, float) and leaf.value not in (0, 1):
            yield replaced(example, {leaf.path: type(leaf.value)(1)})


def _simpler_tensors(leaf: ExampleLeaf, may_change: SizeRule) -> Iterator[torch.Tensor]:
    value = leaf.value.detach()
    for dim, size in enumerate(value.shape):
        if may_change(leaf.path, dim):
            for to in dict.fromkeys((1, size // 2, size - 1)):
                if 0 < to < size:
                    yield resized(value, dim, to)
    if value.numel() == 0:
        return
    for plain in (torch.zeros_like(value), torch.ones_like(value)):
        if not torch.equal(plain, value) and not torch.equal(value, torch.zeros_like(value)):
            yield plain
    if value.is_floating_point():
        rounded = value.round()
        if not torch.equal(rounded, value):
            yield rounded
    yield from _fewer_numbers(value)


def _fewer_numbers(value: torch.Tensor) -> Iterator[torch.Tensor]:
    """Zeros in place of half of the numbers that are not, then of each of a few."""
    places = value.flatten().nonzero().flatten()
    if len(places) < 2:
        return
    half = len(places) // 2
    for some in (places[:half], places[half:], *places[:8].split(1)):
        made = value.clone().contiguous()
        made.view(-1)[some] = 0
        yield made
