"""Small functions whose programs docs/architecture.md shows."""

import torch

SCALE = 2


def double(x: torch.Tensor) -> torch.Tensor | None:
    """A tensor on one path, None on the other."""
    if x.sum() > 0:
        return x * 2
    return None


def double_and_add(x: torch.Tensor) -> torch.Tensor:
    """Uses what `double` gives: in eager code, a TypeError where that is None."""
    return double(x) + 1


def grow(x: torch.Tensor) -> torch.Tensor:
    """A size that changes with every iteration."""
    while x.shape[0] < 8:
        x = torch.cat([x, x])
    return x


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Two sizes that meet in one op."""
    return x + y


def keep_positive(x: torch.Tensor) -> list[torch.Tensor]:
    """A list whose length depends on the data."""
    kept = []
    for row in x:
        if row > 0:
            kept.append(row)
    return kept


def halvings(n: torch.Tensor) -> int:
    """A function that calls itself as often as the data says."""
    if n <= 1:
        return 0
    return 1 + halvings(n // 2)


def drift(x: torch.Tensor) -> float:
    """Float arithmetic on Python numbers."""
    total = 0.1
    while x > total:
        total = total + 0.2 + 0.3
    return total


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Reads a global."""
    return x * SCALE


def settle(x: torch.Tensor, limit: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """A loop that can be left early, and a list that it appends to."""
    seen = []
    while x.sum() < 100:
        x = x * 2
        seen.append(x)
        if x.max() > limit:
            break
    return x, seen
