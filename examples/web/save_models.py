"""Saves the ONNX models that the page and the script for Node.js run.

    python examples/web/save_models.py FOLDER

`FOLDER/digits.onnx` reads a digit that was drawn; `FOLDER/decoder.onnx` is the decoder of the
README, which stops when every row has produced the end token. Both need no Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

import stator
from stator import InputSpec

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
INK = 0.2  # what counts as drawn


class DigitReader(nn.Module):
    """Cuts the margins off a drawing of 16 by 16, and says which digit it is."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))

    def cut(self, image: torch.Tensor) -> torch.Tensor:
        """What is drawn, as 8 by 8."""
        top, left, bottom, right = 0, 0, 15, 15
        while top < 15 and image[top].max() < INK:
            top += 1
        while bottom > top and image[bottom].max() < INK:
            bottom -= 1
        while left < 15 and image[:, left].max() < INK:
            left += 1
        while right > left and image[:, right].max() < INK:
            right -= 1
        steps = torch.arange(8)
        rows = top + steps * (bottom - top + 1) // 8
        columns = left + steps * (right - left + 1) // 8
        return image[rows][:, columns]

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """How likely each digit is."""
        return self.layers(self.cut(image).flatten()).softmax(-1)


def trained_reader() -> DigitReader:
    """A reader that has learned from the digits of scikit-learn."""
    torch.manual_seed(0)
    reader = DigitReader()
    found = load_digits()
    small = torch.tensor(found.images, dtype=torch.float32) / 16
    large = small.repeat_interleave(2, 1).repeat_interleave(2, 2)
    inputs = torch.stack([reader.cut(image) for image in large]).flatten(1)
    targets = torch.tensor(found.target)
    optimizer = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        noisy = inputs + 0.15 * torch.randn_like(inputs)
        nn.functional.cross_entropy(reader.layers(noisy), targets).backward()
        optimizer.step()
    return reader.eval()


def main() -> None:
    """Save both, with their weights inside."""
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(EXAMPLES))
    torch.manual_seed(0)
    decoder = __import__("decoder").Decoder().eval()
    with torch.no_grad():
        decoder.out.bias[1] += 0.8  # random weights would hardly ever say the end token
    for name, model, spec in (
        ("digits", trained_reader(), InputSpec([16, 16], "float32", "image")),
        ("decoder", decoder, InputSpec([None, 32], "float32", "state")),
    ):
        stator.save(model, folder / name, input_spec=[spec], onnx=True, embed=True, opset=20)


if __name__ == "__main__":
    main()
