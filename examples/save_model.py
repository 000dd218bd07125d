"""Saves the model that the examples in C++, C and Rust load.

python examples/save_model.py FOLDER/model
"""

from __future__ import annotations

import sys

import torch

import stator
from stator import InputSpec


class Classifier(torch.nn.Module):
    """Refines its input until it is small enough: how often depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of the rows of `x`."""
        if x.sum() < 0:
            raise ValueError("the input is negative")
        while x.abs().max() > 0.5:
            x = torch.tanh(x) * 0.9
        return torch.softmax(self.layer(x), dim=-1) * x.sum()


def main() -> None:
    """Save it."""
    torch.manual_seed(0)
    stator.save(Classifier().eval(), sys.argv[1], input_spec=[InputSpec([None, 4], torch.float32)])


if __name__ == "__main__":
    main()
