"""The example of docs/debugging.md."""

from collections.abc import Callable

import torch

LIMIT = 10
look = print


class Halving(torch.nn.Module):
    """Three layers, then a loop of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(3)])
        self.clips = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Clip, then halve until the sum is small."""
        for layer in self.layers:
            x = layer(x)
        if self.clips:
            x = clipped(x)
        while x.sum() > LIMIT:
            x = x / 2
        return x


def clipped(x: torch.Tensor) -> torch.Tensor:
    """At most 1 in each place."""
    return torch.clamp(x, max=1)


def watched(x: torch.Tensor) -> torch.Tensor:
    """A function with a debugger's eye in it."""
    doubled = x * 2
    look(doubled)
    return doubled


def call_twice(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    """Call `function` with two sizes."""
    function(x[:2])
    function(x)
