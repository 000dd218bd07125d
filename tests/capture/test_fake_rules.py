"""Rules for the shapes of recurrent ops: the same as what torch's kernels give."""

import math

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

import stator
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


# ---- ops whose description needs what tensors hold


def one_hot(x):
    return nn.functional.one_hot(x)


def covariance(x, weights):
    return torch.cov(x, aweights=weights.abs() + 1, fweights=(weights.abs() * 3).long() + 1)


def ctc(scores, targets, lengths, sizes):
    return nn.functional.ctc_loss(scores.log_softmax(-1), targets, lengths, sizes)


def least_squares(a, b):
    found = torch.linalg.lstsq(a, b)
    return found.solution, found.rank


def diagonal(x):
    x = x * 1
    x.fill_diagonal_(5)
    return x


def layout(x):
    return x * 2 if x.t().is_contiguous() else x * 3


def default_generator(x):
    drawn = torch.rand(x.shape[0], generator=None) + torch.randperm(x.shape[0], generator=None)
    return x + torch.randn(x.shape, generator=None) + drawn.sum()


CASES = {
    one_hot: [(torch.tensor(values),) for values in ([1, 2, 0], [4, 0, 1, 1], [0])],
    covariance: [(torch.randn(3, n), torch.randn(n)) for n in (5, 6, 9)],
    ctc: [(torch.randn(6, n, 4), torch.randint(1, 4, (n, 3)), torch.full((n,), 6),
           torch.full((n,), 2)) for n in (2, 3, 1)],
    least_squares: [(torch.randn(n, 3), torch.randn(n, 2)) for n in (15, 13, 19)],
    diagonal: [(torch.ones(n, n + 1),) for n in (2, 3, 1)],
    layout: [(torch.ones(n, 3),) for n in (2, 3, 1)],
    default_generator: [(torch.ones(n),) for n in (2, 3, 4)],
}  # fmt: skip


def seeded(function, args):
    torch.manual_seed(0)
    return function(*args)


def open_spec(calls):
    """A spec of what the calls have in common; sizes that differ are open."""
    specs = []
    for given in zip(*calls, strict=True):
        sizes = zip(*(one.shape for one in given), strict=True)
        shape = [found[0] if len(set(found)) == 1 else None for found in sizes]
        specs.append(stator.InputSpec(shape, given[0].dtype))
    return specs


@pytest.mark.parametrize("function", CASES)
def test_an_op_that_depends_on_data_is_described_for_any_size(function, tmp_path):
    calls = CASES[function]
    static = stator.to_static(function)
    stator.save(stator.to_static(function), tmp_path / "model", open_spec(calls))
    loaded = stator.load(tmp_path / "model")
    for args in calls:
        want = seeded(function, args)
        torch.testing.assert_close(seeded(static, args), want)
        torch.testing.assert_close(seeded(loaded, args), want)
    assert len(static.concrete_programs) == 2


def test_several_least_squares_at_once_are_refused():
    with pytest.raises(stator.StatorError, match="`lstsq` of a batch of matrices is not supported"):
        stator.to_static(lambda a, b: torch.linalg.lstsq(a, b).solution)(
            torch.randn(2, 4, 3), torch.randn(2, 4, 1)
        )


def _padded_to_a_power_of_two(x):
    size = 2 ** math.ceil(math.log2(x.shape[0]))
    return nn.functional.pad(x, (0, size - x.shape[0]))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * torch.linspace(0, 1, x.shape[0]),
        lambda x: x * torch.linspace(0, x.shape[0] / 2, steps=x.shape[0], dtype=torch.float64),
        lambda x: x * torch.linspace(0, 1j, x.shape[0]),
        lambda x: x * torch.logspace(0, 1, x.shape[0]),
        lambda x: x * torch.hann_window(x.shape[0], periodic=False),
        lambda x: x * torch.kaiser_window(x.shape[0], True, 9.0),
        lambda x: torch.tril_indices(x.shape[0], x.shape[0]).sum(1),
        lambda x: torch.triu_indices(x.shape[0], 3, offset=1),
        lambda x: torch.triu_indices(3, 3).sum() + torch.linspace(0, 1, 3).sum() + x,
        _padded_to_a_power_of_two,
    ],
)
def test_tensors_as_long_as_an_open_size(function, tmp_path):
    spec = [stator.InputSpec([None], "float32", "x")]
    stator.save(function, tmp_path / "model", input_spec=spec)
    loaded = stator.load(tmp_path / "model")
    for count in (1, 3, 5, 8):
        x = torch.randn(count)
        got, want = loaded(x), function(x)
        assert got.dtype == want.dtype
        assert torch.equal(got, want)


def test_a_negative_number_of_steps_raises_in_each_run():
    static = stator.to_static(lambda x: torch.linspace(0, 1, x.shape[0] - 3),
                              input_spec=[stator.InputSpec([None])])  # fmt: skip
    assert torch.equal(static(torch.ones(5)), torch.linspace(0, 1, 2))
    with pytest.raises(RuntimeError, match="number of steps must be non-negative"):
        static(torch.ones(1))
