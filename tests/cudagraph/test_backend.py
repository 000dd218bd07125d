"""The backend `cudagraph`, on tapes in place of CUDA graphs: what it records and what it gives.

A call runs the ops at first, records them at the second time, and replays from then on.
"""

import gc
import warnings

import pytest
import torch
from torch import nn

import stator
from stator.cudagraph.region import MOST_RECORDINGS
from stator.execute import selection
from stator.optimize import graph_rules
from stator.regions.operators import REGIONS
from tests.cudagraph.tape import BACKEND, TARGET, CpuRules


@pytest.fixture(autouse=True)
def tapes(monkeypatch):
    provider = selection.Provider(lambda: BACKEND)
    monkeypatch.setitem(selection.PROVIDERS, "cudagraph", provider)
    monkeypatch.setattr(graph_rules, "LEAST_OPS", 1)
    TARGET.nodes = []
    with torch.no_grad():
        yield


def recorded(function, *calls, times=3):
    """`function` with graphs, after calls that were each the same as eager's."""
    static = stator.to_static(function, backend="cudagraph")
    for call in calls:
        for _ in range(times):
            check_same(static(*call), function(*call))
    return static


def check_same(found, expected):
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            check_same(one, other)
    elif isinstance(expected, torch.Tensor):
        assert torch.equal(found, expected)
        assert found.stride() == expected.stride()
    else:
        assert (type(found), found) == (type(expected), expected)


def regions():
    gc.collect()  # those of other tests, which may be in cycles
    return stator.compiled()


def newton(a):
    x, step = a * 3, a
    while step.abs() > 1e-4:
        step = (x * x - a) / (2 * x)
        x = x - step
    return x


def test_a_loop_that_a_tensor_ends_is_one_region():
    static = recorded(newton, (torch.tensor(2.0),), (torch.tensor(9.0),), (torch.tensor(0.0),))
    (region,) = [one for one in regions() if one.place.startswith("test_backend")]
    assert region.state == "ready"
    assert TARGET.nodes == ["while"]
    del static


def counted(x):
    n = 0
    while n < 20 and x.sum() < 100:
        x = x * 2 + n
        n += 1
    return x, n


def test_a_counter_stays_on_the_device_and_comes_out_as_a_number():
    recorded(counted, (torch.ones(3),), (torch.ones(3) * 200,), (torch.ones(3) * -1,))
    assert TARGET.nodes == ["while"]


def grown(x, limit):
    cache = torch.zeros(6, 2)
    n = 0
    while n < 6:
        cache[n] = x * n
        x = x + cache.sum()
        n += 1
        if x.sum() > limit:
            break
    return cache[:n]


def test_writes_by_a_counter_go_to_memory_of_the_graph():
    calls = [(torch.ones(2), torch.tensor(n)) for n in (0.0, 10.0, 1e9)]
    recorded(grown, *calls)
    assert TARGET.nodes == ["while"]


def long_branch(x, weight):
    if x.sum() > 0:
        for _ in range(5):
            x = torch.tanh(x @ weight)
    else:
        for _ in range(4):
            x = torch.sin(x) + weight
    return x * 2


def test_a_long_branch_is_a_node_and_a_short_one_is_computed_both_ways():
    calls = [(torch.ones(2, 2) * n, torch.ones(2, 2)) for n in (1.0, -1.0)]
    recorded(long_branch, *calls)
    assert TARGET.nodes == ["if"]
    TARGET.nodes = []
    recorded(lambda x: x * 2 if x.sum() > 0 else x - 1, (torch.ones(2),), (-torch.ones(2),))
    assert TARGET.nodes == []


def guarded_read(x, i):
    found = x.sum()
    if i < x.shape[0]:
        found = found + x[int(i)]
    return found * 2


def test_an_index_is_not_read_on_the_side_that_is_not_taken():
    x = torch.tensor([1.0, 2.0])
    recorded(guarded_read, (x, torch.tensor(1)), (x, torch.tensor(0)))
    static = stator.to_static(guarded_read, backend="cudagraph")
    for i in (1, 1, 1, 5, 1):
        check_same(static(x, torch.tensor(i)), guarded_read(x, torch.tensor(i)))


def passed_through(x):
    while x.sum() < 10:
        x = x * 2
    return x


def test_a_result_that_is_an_argument_in_eager_code_is_that_argument():
    static = stator.to_static(passed_through, backend="cudagraph")
    for _ in range(3):
        large, small = torch.ones(3) * 5, torch.ones(3)
        assert static(large) is large
        assert static(small) is not small
        check_same(static(small), passed_through(small))


def swapped(x, y):
    while x.sum() < 20:
        x, y = y, x + y
    return x, y


def test_what_a_loop_swaps_keeps_its_origin():
    static = stator.to_static(swapped, backend="cudagraph")
    for _ in range(3):
        x, y = torch.ones(2), torch.ones(2) * 100
        first, second = static(x, y)
        assert first is y
        check_same((first, second), swapped(x, y))


def twice(x):
    if x.sum() > 0:
        y = x * 2
        return y, y
    return x + 1, x - 1


def test_results_that_may_be_one_tensor_are_left_to_the_host():
    static = stator.to_static(twice, backend="cudagraph")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(4):
            one, other = static(torch.ones(2))
            assert one.data_ptr() == other.data_ptr()


def test_results_are_the_callers_own():
    static = recorded(newton, (torch.tensor(2.0),))
    first = static(torch.tensor(2.0))
    expected = first.clone()
    static(torch.tensor(7.0))
    assert torch.equal(first, expected)


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        return (x * self.weight + 1).tanh() * 2


def test_parameters_are_read_where_they_are():
    model = Scaled()
    static = stator.to_static(Scaled(), backend="cudagraph")
    for value in (1.0, 1.0, 1.0, 2.0, 3.0):
        for one in (model, static):
            one.weight.fill_(value)
        check_same(static(torch.ones(3)), model(torch.ones(3)))
    static.weight = nn.Parameter(torch.zeros(3))
    for _ in range(3):
        assert torch.equal(static(torch.ones(3)), torch.full((3,), 1.0).tanh() * 2)


def test_gradients_are_those_of_the_ops():
    static, model = stator.to_static(Scaled(), backend="cudagraph"), Scaled()
    with torch.enable_grad():
        for _ in range(3):
            for one in (static, model):
                one.zero_grad()
                one(torch.ones(3)).sum().backward()
            assert torch.equal(static.weight.grad, model.weight.grad)


def test_another_layout_is_recorded_apart_and_old_ones_make_room():
    def f(x):
        return (x * 2 + 1).tanh()

    static = stator.to_static(f, input_spec=[stator.InputSpec([None])], backend="cudagraph")
    for n in range(2, 2 * MOST_RECORDINGS):
        for _ in range(3):
            x = torch.rand(n)
            check_same(static(x), f(x))
    assert max(one.layouts for one in REGIONS.values()) == MOST_RECORDINGS


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x[x > 0] + 1, "gives sizes that depend on values"),
        (
            lambda x: torch.rand_like(x) if x.sum() > 0 else x,
            "holds an op that draws random numbers",
        ),
        (lambda x: x.add_(1), graph_rules.WRITTEN),
        (lambda x: (x * 2).requires_grad_() + 1, "changes what autograd knows of a tensor"),
        (lambda x: x * x.sum().item() ** 0.5, "computes with numbers as a device does not"),
    ],
)
def test_what_is_in_no_graph_says_why(function, reason):
    static = stator.to_static(function, backend="cudagraph")
    static(torch.ones(3))
    body = static.program.body
    rules = CpuRules(static.program, graph_rules.Aliases(static.program))
    assert reason in rules.reasons(body)


def overflow(x):
    n = int(x)
    while n > 0:
        n = n * 3
    return n


def test_integers_that_may_overflow_are_left_to_the_host():
    static = stator.to_static(overflow, backend="cudagraph")
    for _ in range(3):
        with pytest.raises(stator.errors.IntegerOverflow):
            static(torch.tensor(1))


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(12.0).reshape(4, 3))

    def forward(self, x):
        n = 0
        while n < 4:
            x = x + self.weight[n]
            n += 1
            if x.sum() > 20:
                break
        return x @ self.weight.T, self.weight.T


def test_views_of_parameters_are_in_the_graph_and_require_grad_as_in_eager_code():
    model, static = Rows(), stator.to_static(Rows(), backend="cudagraph")
    for value in (0.0, 0.0, 0.0, 30.0):
        found, expected = static(torch.ones(3) * value), model(torch.ones(3) * value)
        check_same(found, expected)
        assert [one.requires_grad for one in found] == [one.requires_grad for one in expected]
    assert TARGET.nodes == ["while"]


def read_before_a_write(x):
    t = (x.sum() * 2).to(torch.float64)
    v = t.item()
    t.mul_(3)
    return x * v, t


def read_before_the_next_value(x):
    t, y = torch.zeros((), dtype=torch.long), x
    while y.sum() < 50:
        n = int(t)
        t = t + 1
        y = y + n + 1
    return y, t


def written_through_two_indices(x, i):
    cost = torch.zeros(3, 3)
    n = int(i)
    cost[n][n] = x.sum()
    return cost * 2


def written_through_a_slice(x, i):
    cost = torch.zeros(3, 3)
    n = int(i)
    cost[n, :2] = x[:2]
    return cost * 2


def view_by_data(x, i):
    return x[int(i)], (x * 2).sum()


@pytest.mark.parametrize("function", [read_before_a_write, read_before_the_next_value])
def test_a_number_is_what_it_was_when_it_was_read(function):
    static = recorded(function, (torch.tensor([0.1, 0.7]),), (torch.tensor([0.4, 0.3]),))
    assert any(region.state == "ready" for region in regions())
    del static


@pytest.mark.filterwarnings("ignore:a region of")
@pytest.mark.parametrize("function", [written_through_two_indices, written_through_a_slice])
def test_no_write_to_a_part_that_only_the_device_knows_is_lost(function):
    recorded(function, *[(torch.tensor([1.0, 2.0, 3.0]), torch.tensor(i)) for i in range(3)])


@pytest.mark.filterwarnings("ignore:a region of")
def test_a_view_at_an_index_from_data_is_a_view():
    static = stator.to_static(view_by_data, backend="cudagraph")
    for i in (0, 1, 1, 1):
        x = torch.tensor([1.0, 2.0])
        static(x, torch.tensor(i))[0].mul_(5)
        assert x[i] == 5 * (i + 1)
