"""Writes to buffers in graphs, on tapes in place of CUDA graphs."""

import contextlib
import copy
import gc

import pytest
import torch
from torch import nn

import stator
from stator.execute import selection
from stator.optimize import graph_rules
from stator.regions.operators import REGIONS
from tests.cudagraph.tape import BACKEND, FUSED


@pytest.fixture(autouse=True, params=[BACKEND, FUSED], ids=["plain", "fused"])
def tapes(request, monkeypatch, small_heap):
    provider = selection.Provider(lambda: request.param)
    monkeypatch.setitem(selection.PROVIDERS, "cudagraph", provider)
    monkeypatch.setattr(graph_rules, "LEAST_OPS", 1)
    gc.collect()  # the regions of other tests


def check(model, *calls, gradients=False, regions=1):
    """Calls give what eager code gives, and leave the buffers as it does."""
    before = set(REGIONS)
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    for call in calls:
        for target in (model, run):
            for parameter in target.parameters():
                parameter.grad = None
        with torch.set_grad_enabled(gradients):
            found, expected = run(*call), model(*call)
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
        if gradients:
            found.square().sum().backward()
            expected.square().sum().backward()
            grads = [[p.grad for p in one.parameters()] for one in (static, model)]
            torch.testing.assert_close(*grads, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(dict(static.named_buffers()), dict(model.named_buffers()))
    states = [one.state for number, one in REGIONS.items() if number not in before]
    assert states.count("ready") == regions
    assert "failed" not in states


class Cache(nn.Module):
    """A decoder step over a cache at a place that a buffer counts."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)
        self.register_buffer("cache", torch.zeros(2, 6, 4))
        self.register_buffer("n", torch.zeros((), dtype=torch.long))

    def forward(self, x):
        h = self.project(x)
        self.cache[:, self.n] = h
        self.n += 1
        y = torch.tanh(self.cache.sum(1)) * 2
        self.cache.mul_(0.9)
        return y, self.cache[:, 0] + 1


def test_a_cache_and_its_counter_are_in_one_graph():
    check(Cache(), *((torch.randn(2, 4),) for _ in range(6)))


class Looped(Cache):
    """All steps in a loop that data ends."""

    def forward(self, x):
        n = 0
        while n < 6:
            self.cache[:, n] = x
            x = torch.tanh(self.project(x)) + self.cache.sum(1)
            n += 1
            if x.sum() > 3:
                break
        return x, n


def test_a_loop_that_data_ends_writes_to_a_buffer():
    check(Looped(), *((torch.randn(2, 4),) for _ in range(6)))


class Counts(nn.Module):
    """Parts of a buffer that only the device knows are written to."""

    def __init__(self):
        super().__init__()
        self.register_buffer("counts", torch.zeros(5, 3))

    def forward(self, x, n):
        i = n.item()
        self.counts[i] += x
        self.counts[i].mul_(2)
        return self.counts.sum(0) * x, self.counts[i] + 1


def test_a_part_that_only_the_device_knows_is_written_to():
    calls = [(torch.randn(3), torch.tensor(n, dtype=torch.int32)) for n in (0, 1, 4, 1, 1)]
    check(Counts(), *calls)


class Observed(nn.Module):
    """What happens between the writes to a buffer can be told."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, limit):
        self.total.add_(x.exp())
        before = self.total * 2
        if x.sum() > limit:
            raise ValueError("too large")
        self.total.mul_(0.5)
        return before, self.total + 1


def test_an_error_comes_after_the_writes_before_it():
    model = Observed()
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    for value in (0.1, 0.2, 0.3, 2.0, 0.1, 3.0, 0.2):
        call = torch.full((3,), value), torch.tensor(4.0)
        outcomes = []
        for target in (run, model):
            outcomes.append(None)
            with contextlib.suppress(ValueError), torch.no_grad():
                outcomes[-1] = target(*call)
        torch.testing.assert_close(*outcomes)
        assert torch.equal(static.total, model.total)


class Viewed(nn.Module):
    """Views of a buffer before and after it is written to, one of which is given back."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.zeros(4, 3))

    def forward(self, x):
        row, flat = self.table[1], self.table.view(-1)
        first = row * 2 + x
        self.table[1] = x
        row.add_(1)
        second = row * 2 + flat[3:6]
        return first, second, row


def test_views_see_what_is_written_later_and_stay_views():
    model = Viewed()
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(3)
            found, expected = run(x), model(x)
            torch.testing.assert_close(found, expected)
            assert found[2].data_ptr() == static.table[1].data_ptr()
            assert torch.equal(static.table, model.table)


def test_an_argument_that_is_the_buffer_is_seen_by_no_graph():
    model = Observed()
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    with torch.no_grad():
        for _ in range(4):
            x = torch.full((3,), 0.1)
            torch.testing.assert_close(run(x, torch.tensor(9.0)), model(x, torch.tensor(9.0)))
        for _ in range(2):
            found = run(static.total, torch.tensor(9e9))
            torch.testing.assert_close(found, model(model.total, torch.tensor(9e9)))
            assert torch.equal(static.total, model.total)


def test_autograd_learns_of_the_writes_of_a_replay():
    model = Observed()
    run = stator.to_static(model, backend="cudagraph")
    with torch.no_grad():
        for _ in range(4):
            run(torch.zeros(3), torch.tensor(9.0))
        version = model.total._version
        run(torch.zeros(3), torch.tensor(9.0))
        assert model.total._version > version


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 4), nn.BatchNorm1d(4)
        )

    def forward(self, x):
        return self.layers(x)


def test_training_with_batch_normalization_is_one_graph():
    check(Normed().train(), *((torch.randn(8, 5),) for _ in range(5)), gradients=True)


def test_a_second_derivative_updates_the_statistics_once():
    model = Normed().train()
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    for _ in range(4):
        x = torch.randn(8, 5)
        for target in (run, model):
            given = x.clone().requires_grad_()
            total = target(given).pow(3).sum()
            (first,) = torch.autograd.grad(total, given, create_graph=True)
            first.square().sum().backward()
        buffers = [dict(one.named_buffers()) for one in (static, model)]
        torch.testing.assert_close(*buffers)


class Averaged(nn.Module):
    """A buffer that gradients depend on is written to: no graph holds that in training."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        y = (x - self.mean) * self.weight
        self.mean.mul_(0.5).add_(x.mean(0) * 0.5)
        return y * self.weight.exp()


def test_a_buffer_that_gradients_depend_on_is_left_to_the_host():
    model = Averaged()
    static = copy.deepcopy(model)
    run = stator.to_static(static, backend="cudagraph")
    for _ in range(5):
        x, grads = torch.randn(4, 3), []
        for target, owner in ((run, static), (model, model)):
            owner.weight.grad = None
            target(x).square().sum().backward()
            grads.append((owner.weight.grad, owner.mean.clone()))
        torch.testing.assert_close(*grads)


class Checked(nn.Module):
    """What the host checks, and reads, does not depend on what a graph computes."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, n):
        self.total.add_(x.exp() * 2)
        if n > 3:
            raise ValueError("too large")
        if n > 2:
            self.total.mul_(3)
        return self.total.sin() + 1


def test_what_the_host_decides_comes_after_the_writes_before_it():
    model = Checked()
    static = copy.deepcopy(model)
    spec = [stator.InputSpec([3]), stator.InputSpec.int()]
    run = stator.to_static(static, input_spec=spec, backend="cudagraph")
    for n in (1, 1, 1, 3, 1, 4, 3, 3, 5):
        outcomes = []
        for target in (run, model):
            outcomes.append(None)
            with contextlib.suppress(ValueError), torch.no_grad():
                outcomes[-1] = target(torch.full((3,), 0.1), n)
        torch.testing.assert_close(*outcomes)
        assert torch.equal(static.total, model.total)
    assert [one for one in stator.compiled() if one.state == "ready"]


class Shared(nn.Module):
    """Two buffers in the same memory, both of which are written to."""

    def __init__(self):
        super().__init__()
        memory = torch.zeros(4)
        self.register_buffer("low", memory[:3])
        self.register_buffer("high", memory[1:])

    def forward(self, x, n):
        self.low.add_(x.exp())
        if n > 2:
            self.high.mul_(2)
        return self.low.sin() + self.high


def test_buffers_that_share_memory_are_seen_by_no_graph():
    model, static = Shared(), Shared()
    spec = [stator.InputSpec([3]), stator.InputSpec.int()]
    run = stator.to_static(static, input_spec=spec, backend="cudagraph")
    before = set(REGIONS)
    with torch.no_grad():
        for n in (1, 1, 3, 3, 1):
            x = torch.full((3,), 0.1)
            torch.testing.assert_close(run(x, n), model(x, n))
            assert torch.equal(static.low, model.low)
    states = [one.state for number, one in REGIONS.items() if number not in before]
    assert "ready" not in states
