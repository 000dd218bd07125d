"""`torch.Generator` in converted code: a state of its own, which every run carries.

An op draws from torch's default generator. So one that is given a generator draws while the default
generator has that generator's state:

    torch.rand(2, generator=g)      before = torch.get_rng_state()
                                    torch.set_rng_state(g.state)
                                    result = torch.rand(2)
                                    g.state = torch.get_rng_state()
                                    torch.set_rng_state(before)
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from stator.values.annotations import Args, Keywords, Staged
from stator.values.symbolic import CannotLeave

FIRST_SEED = 67280421310721  # of a generator that no one has seeded


class CapturedGenerator(CannotLeave, torch.Generator):
    """A generator that converted code creates."""

    what = "torch.Generator"

    first_seed: Staged
    state: Staged  # a tensor of bytes

    def manual_seed(self, seed: Staged) -> Staged:
        """Start again from `seed`."""
        before = torch.get_rng_state()
        torch.manual_seed(seed)
        self.first_seed = seed
        self.state = torch.get_rng_state()
        torch.set_rng_state(before)
        return self

    def initial_seed(self) -> Staged:
        """The seed that it was given last."""
        return self.first_seed

    def get_state(self) -> Staged:
        """Its state, as a tensor of bytes."""
        return self.state.clone()

    def set_state(self, new_state: Staged) -> Staged:
        """Go on from `new_state`."""
        self.state = new_state.clone()
        return self


def draw(function: Staged, generator: Staged, args: Args, kwargs: Keywords) -> Staged:
    """`function(*args, generator=generator, **kwargs)` of a captured generator."""
    before = torch.get_rng_state()
    torch.set_rng_state(generator.state)
    try:
        return function(*args, **kwargs)
    finally:
        generator.state = torch.get_rng_state()
        torch.set_rng_state(before)


def draw_outside(
    function: Staged,
    seed_of: Callable[[], int],
    load: Callable[[], None],
    store: Callable[[], None],
    args: Args,
    kwargs: Keywords,
) -> Staged:
    """The same for a generator of the caller's, whose state each run reads and writes.

    A program that uses its seed cannot be saved without it.
    """
    before = torch.get_rng_state()
    torch.manual_seed(seed_of())
    load()
    try:
        return function(*args, **kwargs)
    finally:
        store()
        torch.set_rng_state(before)
