"""The example of docs/verifying.md."""

import torch


class Router(torch.nn.Module):
    """Sends its input through one of two layers, and calms what comes out."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.small = torch.nn.Linear(3, 3)
        self.large = torch.nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        """The result, and how often it was halved."""
        if x.norm() > 100:
            y = self.large(x)
        else:
            y = self.small(x)
        steps = 0
        while y.abs().max() > 1:
            y = y / 2
            steps += 1
        assert steps < 50, f"{steps} steps"
        return y, steps
