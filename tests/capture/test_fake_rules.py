"""Rules for the shapes of recurrent ops: the same as what torch's kernels give."""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from stator.capture.fake_rules import FAKE_RULES

LAYERS = {
    "aten::gru.input": (nn.GRU, torch.gru),
    "aten::rnn_tanh.input": (nn.RNN, torch.rnn_tanh),
    "aten::rnn_relu.input": (nn.RNN, torch.rnn_relu),
}


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_a_rule_gives_the_shapes_and_gradients_of_the_kernel(name, both):
    make, kernel = LAYERS[name]
    layer = make(3, 4, num_layers=2, bidirectional=both)
    x, state = torch.randn(5, 2, 3), torch.randn(4 if both else 2, 2, 4)
    rest = (True, 2, 0.0, True, both, False)
    real = kernel(x, state, list(layer.parameters()), *rest)
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        tensors = [mode.from_tensor(t) for t in (x, state, *layer.parameters())]
        made = FAKE_RULES[name](lambda: 0, tensors[0], tensors[1], tensors[2:], *rest)
    for one, other in zip(real, made, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert one.requires_grad == other.requires_grad


def test_every_rule_is_for_an_op_of_torch():
    for name in FAKE_RULES:
        space, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        getattr(getattr(getattr(torch.ops, space), base), overload or "default")
