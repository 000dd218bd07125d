"""A process that has only the saved files: loads a model, predicts, and fine-tunes it.

    python predict.py FOLDER NAME

reads FOLDER/digits.safetensors (`x`, `y`) and the saved model FOLDER/NAME, writes the logits to
FOLDER/NAME.predicted.safetensors, and prints the fine-tuning losses as JSON. The class of the
model is nowhere to be found here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import stator

FINE_TUNING_STEPS = 5


def logits_of(out: Tensor | tuple[Tensor, int]) -> Tensor:
    """The logits, from a model that may also tell its number of looks."""
    return out[0] if isinstance(out, tuple) else out


def fine_tune(model: nn.Module, x: Tensor, y: Tensor) -> list[float]:
    """The loss of each of a few steps on one batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(FINE_TUNING_STEPS):
        loss = nn.functional.cross_entropy(logits_of(model(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main(folder: Path, name: str) -> None:
    """Load, predict, fine-tune."""
    digits = load_file(folder / "digits.safetensors")
    model = stator.load(folder / name)
    with torch.no_grad():
        logits = logits_of(model(digits["x"]))
    save_file({"logits": logits.contiguous()}, folder / f"{name}.predicted.safetensors")
    sys.stdout.write(json.dumps(fine_tune(model, digits["x"], digits["y"])))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
