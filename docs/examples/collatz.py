"""The example that docs/architecture.md follows through every stage."""

import torch


def collatz(n: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Halve an even number, triple an odd one and add one, until it is 1; count the steps."""
    steps, total = 0, n
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        total = total + n  # not read after the loop: see what becomes of it
        steps += 1
    return n, steps
