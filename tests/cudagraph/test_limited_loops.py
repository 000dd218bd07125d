"""Loops that data may end before a limit and whose tensors grow, on tapes in place of graphs."""

import gc

import pytest
import torch
from torch import nn

import stator
from stator.execute import selection
from stator.optimize import graph_rules
from tests.cudagraph.tape import BACKEND, FUSED, TARGET


@pytest.fixture(autouse=True, params=[BACKEND, FUSED], ids=["plain", "fused"])
def tapes(request, monkeypatch, small_heap):
    provider = selection.Provider(lambda: request.param)
    monkeypatch.setitem(selection.PROVIDERS, "cudagraph", provider)
    monkeypatch.setattr(graph_rules, "LEAST_OPS", 1)
    gc.collect()  # the regions of other tests
    TARGET.nodes = []
    with torch.no_grad():
        yield


def check(function, *calls, times=4):
    """Each call gives what eager code gives: values, types, memory."""
    static = stator.to_static(function, backend="cudagraph")
    for call in calls:
        for _ in range(times):
            found, expected = static(*call), function(*call)
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
            if isinstance(expected, tuple):
                assert [type(one) for one in found] == [type(one) for one in expected]
    assert not [one for one in stator.compiled() if one.state == "failed"]
    assert [one for one in stator.compiled() if one.state == "ready"]
    return static


class Decoder(nn.Module):
    """Greedy search over tokens that grow, until a token or a limit."""

    def __init__(self, end):
        super().__init__()
        self.words, self.out, self.end = nn.Embedding(12, 8), nn.Linear(8, 12), end

    def forward(self, tokens):
        n = 0
        while n < 10:
            states = torch.cumsum(self.words(tokens), 1)
            best = self.out(states[:, -1]).argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, best], 1)
            n += 1
            if bool((best == self.end).all()):
                break
        return tokens, n


@pytest.mark.parametrize("end", [0, 5, 8, 11])
def test_a_greedy_search_is_one_recording(end):
    torch.manual_seed(0)
    model = Decoder(end).eval()
    calls = [(torch.tensor([[1, 2, 3]]),), (torch.tensor([[4]]),), (torch.tensor([[5]]),)]
    check(model, *calls)
    assert "if" in TARGET.nodes
    assert "while" not in TARGET.nodes


def flags(x, limit):
    done, n = x.sum() > 100, 0
    while n < 6 and not done:
        x = torch.cat([x, x[-1:] * 2])
        done = x.sum() > limit
        n += 1
    return x, n, x.shape[0]


def test_a_flag_of_the_device_ends_it():
    calls = [(torch.ones(2), torch.tensor(v)) for v in (1e9, 20.0, 3.0)]
    check(flags, *calls, (torch.full((2,), 100.0), torch.tensor(1.0)))


def test_no_iteration_gives_the_argument_itself():
    static = stator.to_static(flags, backend="cudagraph")
    for _ in range(4):
        x = torch.full((2,), 100.0)
        assert static(x, torch.tensor(1.0))[0] is x
        static(torch.ones(2), torch.tensor(9.0))


def from_range(x, limit):
    for i in range(7):
        x = torch.cat([x, x[-1:] + i])
        if x[-1] > limit:
            break
    else:
        x = torch.cat([x, x])
    return x * 2


def test_a_for_loop_with_break_and_else():
    check(from_range, *((torch.ones(2), torch.tensor(v)) for v in (0.0, 5.0, 1e9)))


def with_cache(x, limit):
    keys, score, n = x[:0], 0.0, 0
    while n < 8:
        keys = torch.cat([keys, (x + n)[None].mean(1)]) if x.dim() == 1 else keys
        x = torch.tanh(x) + keys.sum() * 0.1
        score = score + x.mean().item()
        n = n + 2
        if x.sum() > limit:
            break
    return x, keys, score, n


def test_numbers_that_are_read_from_tensors_are_carried():
    check(with_cache, *((torch.full((3,), 0.5), torch.tensor(v)) for v in (3.0, 4.0, 1e9)))


def branch_inside(x, limit):
    n = 0
    while n < 5:
        if x.mean() > 1:
            x = torch.cat([x, torch.sin(x[:1]) * 3])
        else:
            x = torch.cat([x, torch.cos(x[:1]) + 2])
        n += 1
        if x.sum() > limit:
            break
    return x


def test_a_branch_inside_that_the_device_decides():
    check(branch_inside, *((torch.ones(2), torch.tensor(v)) for v in (5.0, 8.0, 1e9)))


def no_limit(x, limit):
    while x.sum() < limit:
        x = torch.cat([x, x[-1:] * 2])
    return x


def test_a_loop_without_a_limit_is_left_to_the_host():
    static = stator.to_static(no_limit, backend="cudagraph")
    for value in (3.0, 50.0, 3.0, 50.0):
        call = torch.ones(2), torch.tensor(value)
        assert torch.equal(static(*call), no_limit(*call))
    assert not TARGET.nodes


def long(x, limit):
    n = 0
    while n < 100000:
        x = torch.cat([x, x[-1:] * 2])
        n += 1
        if x.sum() > limit:
            break
    return x


def test_a_limit_that_is_too_high_is_left_to_the_host():
    static = stator.to_static(long, backend="cudagraph")
    call = torch.ones(2), torch.tensor(50.0)
    for _ in range(2):  # the second call tries to record it
        assert torch.equal(static(*call), long(*call))
    with pytest.warns(UserWarning, match="more than 512 iterations"):
        assert torch.equal(static(*call), long(*call))


def printed(x, limit):
    n = 0
    while n < 5:
        x = torch.cat([x, x[-1:] * 2])
        n += 1
        if x.sum() > limit:
            break
    print("after", n)
    return x


def test_what_comes_after_the_loop_comes_after_it(capsys):
    check(printed, *((torch.ones(2), torch.tensor(v)) for v in (5.0, 1e9)), times=3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[::2] == lines[1::2]
