"""The random generators that ops in graphs draw from: torch's default one of each device.

A graph draws from it as eager code does: a replay begins at the offset of the generator, and moves
it by what its ops have drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch


def default_generator(device: torch.device) -> torch.Generator:
    """The generator that ops on `device` draw from, if they are given none."""
    if device.type == "cpu":
        return torch.default_generator
    index = device.index if device.index is not None else torch.cuda.current_device()
    generator: torch.Generator = torch.cuda.default_generators[index]
    return generator


@dataclass(frozen=True)
class RandomState:
    """The state of a generator at some moment."""

    generator: torch.Generator
    state: torch.Tensor

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        """The state of the generator of `device`, now."""
        generator = default_generator(device)
        return cls(generator, generator.get_state())

    def restore(self) -> None:
        """Put the generator back into this state."""
        self.generator.set_state(self.state)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Inside, the generator begins in this state; afterwards it is as it was before."""
        after = RandomState(self.generator, self.generator.get_state())
        self.restore()
        try:
            yield
        finally:
            after.restore()
