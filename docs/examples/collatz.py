"""The example that docs/architecture.md follows through every stage."""

import torch


def collatz(n: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Halve an even number, else triple it and add one, until it is 1; count the steps."""
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return n, steps
