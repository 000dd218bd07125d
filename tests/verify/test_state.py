"""State: whatever a call can reach is found, put back and seen to have changed."""

import collections
import types

import torch

from stator_verify.comparison import state_differs
from stator_verify.state import ObjectStates

COUNT = 0
TABLE = {"a": [1, 2]}


class Box:
    total = 0

    def __init__(self):
        self.value = torch.zeros(2)
        self.queue = collections.deque([1])
        self.names = {"a"}


BOX = Box()


def bump(kept=[]):  # noqa: B006  # a default that is kept is part of what is restored
    global COUNT
    COUNT += 1
    TABLE["a"].append(3)
    BOX.value.add_(1)
    BOX.queue.append(2)
    BOX.names.add("b")
    BOX.more = 1
    Box.total += 1
    kept.append(0)
    return len(kept)


def outer():
    seen = 0

    def inner():
        nonlocal seen
        seen += 1
        return seen, bump()

    return inner


def test_what_a_function_changes_is_put_back():
    function = outer()
    state = ObjectStates({"": function})
    before = state.now()
    assert function() == (1, 1)
    assert state_differs(before, state.now())
    state.restore()
    assert not state_differs(before, state.now())
    assert (COUNT, TABLE, Box.total) == (0, {"a": [1, 2]}, 0)
    assert (list(BOX.queue), BOX.names, hasattr(BOX, "more")) == ([1], {"a"}, False)
    assert function() == (1, 1)
    state.restore()


def test_tensors_are_put_back_in_place():
    model = torch.nn.BatchNorm1d(2)
    mean, weight = model.running_mean, model.weight
    state = ObjectStates({"": model})
    model(torch.randn(3, 2))  # writes its buffers without telling their version
    with torch.no_grad():
        weight.add_(1)
    weight.grad = torch.ones(2)
    assert state_differs(ObjectStates({"": torch.nn.BatchNorm1d(2)}).now(), state.now())
    state.restore()
    assert model.running_mean is mean
    assert mean.tolist() == [0, 0]
    assert weight.tolist() == [1, 1]
    assert weight.grad is None


def test_a_buffer_that_became_part_of_a_graph_is_none_afterwards():
    model = torch.nn.Module()
    model.register_buffer("last", torch.zeros(2))
    state = ObjectStates({"": model})
    model.last.copy_(torch.ones(2, requires_grad=True) * 2)
    state.restore()
    assert not model.last.requires_grad
    assert model.last.tolist() == [0, 0]


def test_tied_tensors_stay_tied_and_replaced_ones_come_back():
    model = torch.nn.Module()
    model.first = torch.nn.Linear(2, 2)
    model.second = model.first
    weight = model.first.weight
    state = ObjectStates({"": model})
    model.first.weight = torch.nn.Parameter(torch.zeros(2, 2))
    model.second = torch.nn.Linear(2, 2)
    state.restore()
    assert model.second is model.first
    assert model.first.weight is weight


def test_what_gradients_flow_to_is_named_as_in_a_state_dict():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    assert list(ObjectStates({"": model}).learned()) == [".0.weight", ".0.bias"]


def test_objects_that_lead_to_each_other_are_met_once():
    one, other = types.SimpleNamespace(n=1), types.SimpleNamespace()
    one.other, other.one = other, one
    state = ObjectStates({"": one})
    one.n = 2
    state.restore()
    assert one.n == 1
