"""The model of `tests/data/version_*`: `python -m tests.data.settle FOLDER` saves it once more.

A folder is written once, by the Stator that first writes that version of the format, and then
never again: it is what proves that old files keep loading.
"""

import json
import sys
from pathlib import Path

import torch

import stator
from stator import InputSpec


class Settle(torch.nn.Module):
    """Both modes differ; weights are tied; a loop, a branch and a nested result."""

    def __init__(self):
        super().__init__()
        self.step = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.again = torch.nn.Linear(3, 3, bias=False)
        self.again.weight = self.step.weight
        self.register_buffer("limit", torch.tensor(0.9), persistent=False)

    def forward(self, x, scale):
        steps = 0
        x = self.norm(x) * scale
        while x.abs().max() > self.limit:
            x = torch.tanh(self.step(x)) * 0.8
            steps += 1
        kind = "calm" if steps == 0 else "wild"
        return {"state": self.again(x), "facts": (steps, kind, None)}


class Remember(Settle):
    """The same, with state: a count, and what was seen last, which is None at first."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.last = None

    def forward(self, x, scale):
        result = super().forward(x, scale)
        moved = 0.0 if self.last is None else float((x - self.last).abs().sum())
        self.calls += 1
        self.last = x + self.calls
        result["facts"] = (*result["facts"], self.calls, moved)
        return result


X = torch.tensor([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0], [0.0, 1.5, 2.0]])


def results(model):
    """What the model gives, as JSON can hold it; evaluation first, as training changes it."""
    found = {}
    for mode in ("eval", "train"):
        with torch.no_grad():
            result = model.train(mode == "train")(X, 2.0)
        found[mode] = {"state": result["state"].tolist(), "facts": list(result["facts"])}
    found["running_mean"] = model.norm.running_mean.tolist()
    return found


def main(folder):
    torch.manual_seed(0)
    model = Remember().eval()  # of versions 1 to 3: Settle
    folder.mkdir(parents=True)
    stator.save(model, folder / "model", [InputSpec([None, 3], name="x"), 2.0])
    (folder / "results.json").write_text(json.dumps(results(model), indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
