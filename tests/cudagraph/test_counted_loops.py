"""Loops whose iterations the host can count: a recording holds one after the other."""

import pytest
import torch

import stator
from stator.cudagraph import recorder
from stator.execute import selection
from stator.regions.operators import REGIONS
from tests.cudagraph.tape import BACKEND, FUSED, TARGET
from tests.cudagraph.test_backend import check_same


@pytest.fixture(autouse=True, params=[BACKEND, FUSED], ids=["plain", "fused"])
def tapes(request, monkeypatch):
    provider = selection.Provider(lambda: request.param)
    monkeypatch.setitem(selection.PROVIDERS, "cudagraph", provider)
    TARGET.nodes = []
    REGIONS.clear()
    with torch.no_grad():
        yield


def recorded(function, *calls, spec=None):
    """`function` with graphs, after calls that were each the same as eager's; its regions."""
    static = stator.to_static(function, backend="cudagraph", input_spec=spec)
    for call in calls * 2:
        for _ in range(3):
            check_same(static(*call), function(*call))
    regions = list(dict.fromkeys(REGIONS.values()))
    assert not [one.failure for one in regions if one.failure]
    return static, regions


def kept(x, count):
    items = [x]
    n, i = int(count), 0
    while i < n:
        x = x * 0.5 + 1.0
        items.append(x)
        i += 1
    return torch.stack(items)


def test_a_list_grows_in_a_graph():
    _, (region,) = recorded(
        kept, (torch.ones(4), torch.tensor(3)), (torch.ones(4), torch.tensor(0)),
        (torch.ones(4), torch.tensor(7)),
    )  # fmt: skip
    assert region.layouts == 3
    assert TARGET.nodes == []


def rnn(xs, weight):
    h, items = xs.new_zeros(xs.shape[1:]), []
    for t in range(xs.shape[0]):
        h = torch.tanh(xs[t] + h @ weight) * 0.5 + 0.1
        items.append(h)
    return torch.stack(items), h


def test_a_loop_over_a_dynamic_size():
    spec = [stator.InputSpec([None, 2, 4]), stator.InputSpec([4, 4])]
    calls = [(torch.randn(n, 2, 4), torch.randn(4, 4)) for n in (5, 2, 9)]
    _, regions = recorded(rnn, *calls, spec=spec)
    assert [one.layouts for one in regions] == [3]


def growing(x, count):
    for _ in range(int(count)):
        x = torch.cat([x, x.sum(0, keepdim=True) * 0.25])
    return x


def test_a_tensor_may_grow():
    recorded(growing, (torch.ones(2, 3), torch.tensor(3)), (torch.ones(2, 3), torch.tensor(1)))


def counting(x, count):
    for i in range(int(count)):
        x = x * 1.5 + i
        if x.sum() > 20:
            x = x - 3.0 * i
    return x


def test_the_counter_is_a_number_and_branches_are_in_it():
    recorded(counting, (torch.ones(3), torch.tensor(4)), (torch.ones(3), torch.tensor(9)))


def needed_outside(x, count):
    items = []
    for _ in range(int(count)):
        x = x * 0.5 + 1.0
        items.append(x)
    return torch.stack(items), len(items)


def given_back(x, count):
    items = []
    for _ in range(int(count)):
        x = x * 0.5 + 1.0
        items.append(x)
    return items


def changed_meanwhile(x, count):
    items, total = [], 0.0
    for _ in range(int(count)):
        x = x * 0.5 + 1.0
        items.append(x)
        total += float(x.sum())
    return torch.stack(items), total


def picked(x, count):
    items = []
    for _ in range(int(count)):
        x = x * 0.5 + 1.0
        items.append(x)
    return items[0] + items[-1], torch.cat(items[1:])


@pytest.mark.parametrize("function", [needed_outside, given_back, changed_meanwhile, picked])
def test_lists_that_are_needed_elsewhere_are_right(function):
    calls = [(torch.ones(3), torch.tensor(n)) for n in (2, 5)]
    static = stator.to_static(function, backend="cudagraph")
    for call in calls * 3:
        found, expected = static(*call), function(*call)
        if isinstance(expected, list):
            found, expected = tuple(found), tuple(expected)
        check_same(found, expected)


def written(x, count):
    table = torch.zeros(4, 3)
    for i in range(int(count)):
        table[i] = x * 2.0
        x = table.sum(0) + 1.0
    return table, x


def test_writes_in_a_counted_loop():
    calls = [(torch.ones(3), torch.tensor(n)) for n in (2, 4)]
    recorded(written, *calls)


def rows_of_a_table(x, index, count):
    n, items = int(count), []
    table = x * 1.0
    for _ in range(n):
        items.append(table[int(index)])
        table[0] = table[0] + 1.0
    return torch.stack(items)


@pytest.mark.filterwarnings("ignore:a region of .rows_of_a_table. runs without a graph")
def test_a_list_holds_views_of_what_is_written_to():
    static = stator.to_static(rows_of_a_table, backend="cudagraph")
    for index in (0, 1, 0, 1):
        for _ in range(3):
            call = (torch.ones(2, 3), torch.tensor(index), torch.tensor(3))
            check_same(static(*call), rows_of_a_table(*call))


def test_a_long_loop_is_left_out(monkeypatch):
    monkeypatch.setattr(recorder, "MOST_ITERATIONS", 5)
    static = stator.to_static(kept, backend="cudagraph")
    call = (torch.ones(4), torch.tensor(7))
    check_same(static(*call), kept(*call))
    check_same(static(*call), kept(*call))  # is to be recorded
    with pytest.warns(UserWarning, match="a loop has more than 5 iterations"):
        static(*call)
    check_same(static(*call), kept(*call))
