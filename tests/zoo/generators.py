"""Random numbers of a `torch.Generator`: of the function's own, and of the caller's."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program

OUTSIDE = torch.Generator()
PATHS = ((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(3.0, 0.5),))


@program((i(3), f(0.2)), (i(0), f(0.9)), (i(6), f(0.5)))
def chain_of_samples(count, limit):
    """Drawn in a loop, under a condition, beside the default generator."""
    generator = torch.Generator().manual_seed(3)
    kept = []
    for _ in range(int(count)):
        proposal = torch.normal(0.0, 0.5, (2,), generator=generator)
        if torch.rand(1, generator=generator).item() < limit:
            kept.append(proposal)
    return kept, torch.rand(2), torch.rand(2, generator=generator)


@program(*PATHS)
def one_of_two_generators(x):
    """Which one is drawn from depends on the data; a state is put back."""
    first = torch.Generator()
    second = torch.Generator(device="cpu").manual_seed(int(x[0]) + 5)
    chosen = first if x[0] > 0 else second
    y = torch.rand(2, generator=chosen)
    state = first.get_state()
    drawn = torch.randperm(4, generator=first)
    first.set_state(state)
    again = torch.randperm(4, generator=first)
    return y, drawn, again, torch.empty(3).normal_(generator=second), first.initial_seed()


@program(*PATHS)
def a_draw_that_raises(x):
    """The default generator is as it was."""
    generator = torch.Generator()
    try:
        y = torch.multinomial(x, 1, generator=generator)
    except RuntimeError:
        y = torch.zeros(1)
    return y, torch.rand(2), torch.rand(2, generator=generator)


@program(*PATHS, reset=lambda: OUTSIDE.manual_seed(9),
         watch=lambda: OUTSIDE.get_state(), refused_saved="ST204")  # fmt: skip
def a_generator_of_the_callers(x):
    """Each call continues where the last one stopped."""
    if x[0] > 0:
        x = x + torch.rand(2, generator=OUTSIDE)
    return x + torch.randn(2, generator=OUTSIDE), torch.rand(2)
