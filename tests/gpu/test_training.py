"""Training steps and random numbers in CUDA graphs, next to eager code on the same GPU."""

import copy
import gc

import pytest
import torch
from torch import nn
from torch.nn import functional

import stator
from stator.cudagraph.cuda import why_not_here

pytestmark = pytest.mark.skipif(bool(why_not_here()), reason=why_not_here())


@pytest.fixture(autouse=True)
def no_other_regions():
    stator.compiled(wait=True)
    gc.collect()


def check_recorded():
    """Something was recorded, and nothing has failed."""
    states = [one.state for one in stator.compiled()]
    assert "ready" in states
    assert "failed" not in states


class Encoder(nn.Module):
    """A small transformer with dropout and a classifier."""

    def __init__(self, dropout):
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 128, dropout, batch_first=True, norm_first=True)
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(3))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean(1))


class Halting(nn.Module):
    """A cell that runs until its scores say so."""

    def __init__(self):
        super().__init__()
        self.cell, self.halt = nn.GRUCell(32, 32), nn.Linear(32, 1)

    def forward(self, x):
        state, n = torch.zeros_like(x), 0
        while n < 12:
            state = self.cell(x, state)
            n += 1
            if torch.sigmoid(self.halt(state)).mean() > 0.6 - n * 0.01:
                break
        return state.sum(-1) * n


def trained(run, model, size, steps=8):
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = run(torch.randn(size, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    grads = [parameter.grad for parameter in model.parameters()]
    return losses, grads, torch.cuda.get_rng_state()


@pytest.mark.parametrize(
    ("make", "size"),
    [(lambda: Encoder(0.0), (4, 9, 64)), (lambda: Encoder(0.2), (4, 9, 64)), (Halting, (5, 32))],
    ids=["encoder", "dropout", "halting"],
)
def test_a_training_loop_gives_the_losses_and_gradients_of_eager_code(make, size):
    torch.manual_seed(1)
    eager = make().cuda()
    model = copy.deepcopy(eager)
    run = stator.to_static(model, backend="cudagraph")
    found, expected = trained(run, model, size), trained(eager, eager, size)
    torch.testing.assert_close(found, expected, rtol=2e-4, atol=1e-5)
    check_recorded()


def test_two_calls_before_one_backward_pass():
    torch.manual_seed(1)
    eager = Encoder(0.0).cuda()
    run = stator.to_static(copy.deepcopy(eager), backend="cudagraph")
    for _ in range(3):
        run(torch.randn(4, 9, 64, device="cuda")).sum().backward()
    inputs = [torch.randn(4, 9, 64, device="cuda") for _ in range(3)]
    grads = []
    for target in (run, eager):
        given = [one.clone().requires_grad_() for one in inputs]
        results = [target(one).square().sum() for one in given]
        for result in results[::-1]:
            result.backward()
        grads.append([one.grad for one in given])
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-5)


def noisy(x):
    kept = functional.dropout(x.sin(), 0.3)
    noise = torch.randn_like(x) + torch.rand(x.shape, device="cuda")
    return (kept + noise).cumsum(0) + torch.bernoulli(torch.full_like(x, 0.5))


def test_random_numbers_are_those_of_eager_code():
    run = stator.to_static(noisy, backend="cudagraph")
    outcomes = []
    with torch.no_grad():
        for target in (run, noisy):
            torch.manual_seed(5)
            seen = [target(torch.ones(1000, device="cuda")) for _ in range(6)]
            outcomes.append((torch.stack(seen), torch.cuda.get_rng_state()))
            stator.compiled(wait=True)
    torch.testing.assert_close(*outcomes, rtol=1e-5, atol=1e-5)
    check_recorded()


class Convolutions(nn.Module):
    """Convolutions with batch normalization, whose statistics training updates."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.BatchNorm2d(8),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 5),
        )  # fmt: skip

    def forward(self, x):
        return self.layers(x)


def test_training_with_batch_normalization_is_one_region():
    torch.manual_seed(1)
    eager = Convolutions().cuda()
    model = copy.deepcopy(eager)
    run = stator.to_static(model, backend="cudagraph")
    size = (4, 3, 16, 16)
    found, expected = trained(run, model, size), trained(eager, eager, size)
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=1e-4)
    buffers = [dict(one.named_buffers()) for one in (model, eager)]
    torch.testing.assert_close(*buffers, rtol=1e-3, atol=1e-4)
    check_recorded()


class CachedDecoder(nn.Module):
    """Steps over a cache that is a buffer, until the data says so."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 16)
        self.register_buffer("cache", torch.zeros(4, 20, 16))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        n = 0
        self.calls += 1
        while n < 20:
            self.cache[:, n] = x
            x = torch.tanh(self.project(x)) + self.cache.mean(1)
            n += 1
            if x.mean() > 0.5:
                break
        return x, n


def test_a_cache_that_is_a_buffer_is_written_to_by_a_graph():
    torch.manual_seed(1)
    eager = CachedDecoder().cuda()
    model = copy.deepcopy(eager)
    exact = stator.static.BuildStrategy(fuse_ops=False)
    run = stator.to_static(model, backend="cudagraph", build_strategy=exact)
    with torch.no_grad():
        for scale in (0.1, 0.1, 0.1, 1.0, 0.5, 0.1):
            x = torch.randn(4, 16, device="cuda") * scale
            torch.testing.assert_close(run(x), eager(x), rtol=0, atol=0)
            buffers = [dict(one.named_buffers()) for one in (model, eager)]
            torch.testing.assert_close(*buffers, rtol=0, atol=0)
    check_recorded()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_mixed_precision_trains_in_graphs(dtype):
    def trained_with_scaler(run, model):
        torch.manual_seed(0)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
        scaler = torch.amp.GradScaler("cuda", enabled=dtype == torch.float16)
        losses = []
        for _ in range(8):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype):
                loss = run(torch.randn(4, 9, 64, device="cuda")).float().square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.detach())
        return losses, list(model.parameters())

    torch.manual_seed(1)
    eager = Encoder(0.1).cuda()
    model = copy.deepcopy(eager)
    run = stator.to_static(model, backend="cudagraph")
    found, expected = trained_with_scaler(run, model), trained_with_scaler(eager, eager)
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-3)
    check_recorded()
