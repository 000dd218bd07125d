"""trace(): a program, and what a call does to Python objects outside."""

import pytest
import torch

import stator
from stator.capture.inputs import TensorSpec
from stator.staging.trace import trace
from stator.state.slots import Slot
from tests.capture.oracle import check

SPEC = TensorSpec((2,), torch.float32, torch.device("cpu"), False, "x")
LOG = []
TABLE = {}
counter = 0


class State:
    def __init__(self):
        self.last = None


def three_calls(function):
    """What `function` and its static form leave behind in three calls, one after another."""
    for k in (1.0, -2.0, 3.0):
        function(torch.full((2,), k))


def test_a_trace_gives_a_program_with_named_inputs():
    captured = trace(lambda x: x + 1, (SPEC,), {}, name="more")
    assert captured.program.name == "more"
    assert [value.name for value in captured.program.inputs] == ["x"]
    assert captured.effects == ()


def test_a_state_input_that_cannot_be_made_leaves_the_others_as_they_were():
    state = State()
    state.last = 3
    live = (Slot(state, "last"), Slot(state, "missing"))
    with pytest.raises(KeyError):
        trace(lambda x: x * state.last, (SPEC,), {}, name="f", live=live)
    assert type(state.last) is int


def test_a_trace_changes_nothing_outside():
    state, items = State(), []

    def f(x):
        state.last = x
        items.append(x)
        return x

    trace(f, (SPEC,), {}, name="f")
    assert state.last is None
    assert items == []


def test_decisions_are_kept_with_their_place():
    def f(x):
        return x + 1 if x.sum() > 0 else x

    decisions = trace(f, (SPEC,), {}, name="f").decisions
    assert ("if", "recorded") in [(one.what, one.choice) for one in decisions]


def test_attributes_are_set_by_every_call():
    state = State()

    def f(x):
        state.last = x.sum() if x.sum() > 0 else None
        return x

    static = stator.to_static(f)
    for k, want in ((1.0, 2.0), (-1.0, None), (4.0, 8.0)):
        static(torch.full((2,), k))
        assert (None if state.last is None else state.last.item()) == want


def test_a_counter_on_a_module_counts_every_call():
    class Count(torch.nn.Module):
        calls = 0

        def forward(self, x):
            self.calls += 1
            return x * self.calls

    model = stator.to_static(Count())
    assert [model(torch.ones(1)).item() for _ in range(4)] == [1, 2, 3, 4]
    assert model.calls == 4


def test_a_closure_variable_counts_every_call():
    count = 0

    def f(x):
        nonlocal count
        count += 1
        return x * count

    static = stator.to_static(f)
    assert [static(torch.ones(1)).item() for _ in range(3)] == [1, 2, 3]
    assert count == 3


def test_a_global_counts_every_call(monkeypatch):
    monkeypatch.setitem(globals(), "counter", 0)

    def f(x):
        global counter
        counter += 1
        return x * counter

    static = stator.to_static(f)
    assert [static(torch.ones(1)).item() for _ in range(3)] == [1, 2, 3]


def test_a_dict_outside_is_changed_by_every_call():
    TABLE.clear()

    def f(x):
        TABLE["calls"] = TABLE.get("calls", 0) + 1
        TABLE["last"] = x.sum().item()
        return x

    three_calls(stator.to_static(f))
    assert TABLE == {"calls": 3, "last": 6.0}


def test_a_list_outside_grows_with_every_call():
    LOG.clear()

    def f(x):
        LOG.append(x.sum().item())
        return x

    three_calls(stator.to_static(f))
    assert LOG == [2.0, -4.0, 6.0]


def test_a_list_attribute_grows_with_every_call():
    class Remember(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.seen = []

        def forward(self, x):
            self.seen.append(x.sum())
            return x

    model = stator.to_static(Remember())
    three_calls(model)
    assert [one.item() for one in model.seen] == [2.0, -4.0, 6.0]


def test_list_and_dict_arguments_are_changed_as_in_eager():
    def f(x, items, table):
        items.append(x.sum())
        table["inner"][0] = x
        del table["gone"]
        return len(items)

    check(f, *((torch.full((2,), k), [k], {"inner": [0], "gone": 1}) for k in (1.0, 2.0)))


def test_an_effect_under_a_condition_happens_where_the_run_goes():
    def f(x, items):
        if x.sum() > 0:
            items.append(x)
        return x

    check(f, (torch.ones(2), []), (-torch.ones(2), []))


def test_an_attribute_deleted_by_the_call_is_deleted():
    def f(x, state):
        del state.last
        return x

    static = stator.to_static(f)
    for _ in range(2):
        state = State()
        static(torch.ones(1), state)
        assert not hasattr(state, "last")


def test_an_attribute_is_set_on_some_paths_only():
    def f(x, state):
        if x.sum() > 0:
            state.new = x
        return hasattr(state, "new")

    static, mine, its = stator.to_static(f), State(), State()
    for x in (-torch.ones(1), torch.ones(1), -torch.ones(1) * 2):
        assert static(x, its) == f(x, mine)
        assert getattr(its, "new", None) == getattr(mine, "new", None)


def test_an_attribute_deleted_on_some_paths_only_is_deleted_on_those():
    def f(x, state):
        if x.sum() > 0:
            del state.last
        return x

    static = stator.to_static(f)
    for sign in (-1, 1):
        state = State()
        state.last = 1
        static(sign * torch.ones(1), state)
        assert hasattr(state, "last") == (sign < 0)


def test_a_set_of_the_callers_is_changed_by_every_run():
    seen = set()

    def f(x):
        seen.add(len(seen))
        return x

    static = stator.to_static(f)
    for _ in range(3):
        static(torch.ones(1))
    assert seen == {0, 1, 2}


def test_an_attribute_written_then_read_is_captured_once():
    class Remember(torch.nn.Module):
        def forward(self, x):
            self.last = x.sum()
            return self.last * 2

    model = stator.to_static(Remember())
    three_calls(model)
    assert len(model.forward.concrete_programs) == 1


def test_a_raise_at_the_end_comes_after_what_stands_before_it():
    def f(x):
        print("before")
        if x.sum() > 0:
            raise ValueError("first")
        raise KeyError("second")

    check(f, (torch.ones(1),), (-torch.ones(1),))


def test_an_error_about_a_stand_in_is_a_refusal_before_any_op_too():
    def hashed(x):
        return {1: 2}.__contains__(int(x[0]))

    with pytest.raises(stator.StatorError):
        stator.to_static(hashed)(torch.ones(2))
