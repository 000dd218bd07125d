"""The example of docs/cli.md."""

import torch

import stator


class Settle(torch.nn.Module):
    """Takes steps until the state is calm, at most `most`."""

    def __init__(self, width: int = 4, most: int = 8) -> None:
        super().__init__()
        self.step = torch.nn.Linear(width, width)
        self.most = most

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The calm state, and how many steps it took."""
        steps = 0
        while x.abs().max() > 0.5:
            x = torch.tanh(self.step(x)) / 2
            steps += 1
            if steps == self.most:
                break
        return x, steps


@stator.to_static
def clip(x: torch.Tensor) -> torch.Tensor:
    """At most 1 in each place, and their mean taken away if it is not small."""
    x = torch.clamp(x, max=1)
    if x.mean() > 0.1:
        x = x - x.mean()
    return x
