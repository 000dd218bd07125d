"""for_test: the training behaviour of ops is turned off."""

import copy

import pytest
import torch
from torch import nn

from stator import TracedLayer
from stator.execute.interpreter import run
from stator.optimize.for_test import for_test
from stator.program.verifier import verify

IMAGE, LINE = torch.randn(2, 4, 5, 5), torch.randn(3, 6, 4)


class Attention(nn.Module):
    def forward(self, x):
        rate = 0.3 if self.training else 0.0
        return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=rate)


LAYERS = [
    (nn.Dropout(0.5), LINE),
    (nn.Dropout2d(0.5), IMAGE),
    (nn.AlphaDropout(0.5), LINE),
    (nn.FeatureAlphaDropout(0.5), IMAGE),
    (nn.RReLU(), LINE),
    (nn.BatchNorm2d(4), IMAGE),
    (nn.BatchNorm1d(6, track_running_stats=False), LINE),
    (nn.InstanceNorm2d(4, track_running_stats=True), IMAGE),
    (nn.InstanceNorm2d(4), IMAGE),
    (nn.LSTM(4, 3, 2, dropout=0.5), LINE),
    (nn.GRU(4, 3, 2, dropout=0.5), LINE),
    (nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), LINE),
    (Attention(), LINE),
]


@pytest.mark.parametrize(("layer", "x"), LAYERS, ids=lambda one: type(one).__name__)
def test_a_layer_traced_in_training_gives_what_it_gives_in_evaluation(layer, x):
    layer = copy.deepcopy(layer).train()
    _, traced = TracedLayer.trace(layer, [x])
    program = verify(for_test(traced.program))
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    stored = {item.name: traced._tensor(item) for item in program.stored}
    state = torch.get_rng_state()
    given = run(program, [x], stored)
    assert torch.equal(torch.get_rng_state(), state)
    wanted = layer.eval()(x)
    assert torch.equal(given[0], wanted[0] if isinstance(wanted, tuple) else wanted)
    after = layer.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_the_program_that_is_given_stays_as_it_is():
    _, traced = TracedLayer.trace(nn.Dropout(0.5), [LINE])
    text = str(traced.program)
    for_test(traced.program)
    assert str(traced.program) == text
