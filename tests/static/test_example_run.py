"""ExampleRun: layers of torch, recorded from one run, against themselves run eagerly."""

import copy
import math

import pytest
import torch
import torch.nn.functional as functional
from torch import nn

from stator import TracedLayer


class Calls(nn.Module):
    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *args):
        return self.function(self, *args)


def dynamic(_, x):
    return x[x > 0], x.nonzero(), torch.unique(x > 0), x.topk(2).values, x.sort(0).values


def masked(_, x):
    mask = torch.triu(torch.ones(x.shape[1], x.shape[1]), 1).bool()
    return x.masked_fill(mask[None, :, : x.shape[2]], -1.0), torch.arange(x.size(1)) + 1


def modes(layer, x):
    with torch.no_grad():
        y = layer.fc(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = layer.fc(x)
    return y + z.float()


def numbers(_, x):
    scale = x.abs().max().item()
    return x / scale + (scale * 2.0 - 1.0), x * 3, x / math.sqrt(4)


def views(_, x):
    y = x.clone()
    y[0] = 5
    y[:, 1] += x[:, 0]
    y.view(-1)[0].mul_(2)
    return y, x.chunk(2, 1), x.unfold(1, 2, 1), torch.einsum("ij->ji", x)


CONV = nn.Sequential(
    nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
)  # fmt: skip
LAYERS = {
    "dropout": (nn.Sequential(nn.Linear(4, 8), nn.Dropout(), nn.Linear(8, 2)), (5, 4), (1, 4)),
    "conv": (CONV, (2, 3, 8, 8), (4, 3, 10, 12)),
    "lstm": (nn.LSTM(4, 6, 2, batch_first=True, dropout=0.1), (3, 5, 4), (2, 7, 4)),
    "encoder": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8), (3, 7, 8)),
    "spectral": (nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), (5, 4), (2, 4)),
    "dynamic": (Calls(dynamic), (5, 4), (7, 4)),
    "masked": (Calls(masked), (2, 5, 5), (3, 7, 7)),
    "modes": (Calls(modes, fc=nn.Linear(4, 4)), (5, 4), (2, 4)),
    "numbers": (Calls(numbers), (5, 4), (2, 6)),
    "views": (Calls(views), (5, 4), (3, 4)),
    "resize": (Calls(lambda _, x: functional.interpolate(x, scale_factor=2)), (2, 3, 4), (3, 3, 6)),
}


def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [one for item in value for one in flat(item)] if isinstance(value, list | tuple) else []


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_gives_the_same_when_traced_and_as_a_program(name):
    layer, first, second = LAYERS[name]
    layer = copy.deepcopy(layer)
    eager, x = copy.deepcopy(layer), torch.randn(first)
    torch.manual_seed(5)
    outputs, made = TracedLayer.trace(layer, [x.clone()])
    torch.manual_seed(5)
    check(flat(outputs), flat(eager(x.clone())), layer, eager)
    torch.manual_seed(6)
    y = torch.randn(second)
    torch.manual_seed(7)
    given = [one for one in made([y.clone()]) if isinstance(one, torch.Tensor)]
    torch.manual_seed(7)
    check(given, flat(eager(y.clone())), layer, eager)


def check(given, wanted, layer, eager):
    """Equal values, and equal gradients, to the bit; and the same state afterwards."""
    assert len(given) == len(wanted)
    assert all(map(torch.equal, given, wanted))
    assert all(map(torch.equal, layer.state_dict().values(), eager.state_dict().values()))
    for results, owner in ((given, layer), (wanted, eager)):
        owner.zero_grad()
        totals = [one.float().sum() for one in results if one.requires_grad]
        if totals:
            sum(totals).backward()
    for one, other in zip(layer.parameters(), eager.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None)
        assert one.grad is None or torch.equal(one.grad, other.grad)
