"""State that a function both reads and writes: eager's values at every call, and few captures."""

import pytest
import torch
from torch import nn

import stator

COUNT, RATE, TOTAL = 0, 1.0, torch.zeros(2)
TABLE = {"steps": 0}


def values(tree):
    """What can be compared with ==."""
    if isinstance(tree, torch.Tensor):
        return tree.tolist(), tree.dtype
    if isinstance(tree, tuple | list):
        return [values(item) for item in tree]
    return repr(tree)


def alike(make, inputs, state, captures):
    """A static and an eager object, called alike, give and hold the same at every step."""
    eager, static = make(), stator.to_static(make())
    for x in inputs:
        assert values(static(x)) == values(eager(x))
        assert values(state(static)) == values(state(eager))
    assert len(static.forward.concrete_programs) == captures


INPUTS = [torch.full((2,), float(k)) for k in range(6)]


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps, self.rate = 0, 1.0

    def forward(self, x):
        self.steps += 1
        self.rate = self.rate * 0.5
        return x * self.steps + self.rate, self.steps


def test_an_int_and_a_float_on_self_are_captured_twice():
    alike(Counter, INPUTS, lambda m: (m.steps, m.rate), captures=2)


def test_a_counter_set_from_outside_is_followed_without_a_capture():
    eager, static = Counter(), stator.to_static(Counter())
    for k, x in enumerate(INPUTS):
        if k == 3:
            eager.steps = static.steps = 100
        assert values(static(x)) == values(eager(x))
    assert len(static.forward.concrete_programs) == 2


def test_a_counter_that_becomes_a_float_is_captured_again():
    eager, static = Counter(), stator.to_static(Counter())
    for k, x in enumerate(INPUTS):
        if k == 3:
            eager.steps = static.steps = 0.5
        assert values(static(x)) == values(eager(x))
    assert len(static.forward.concrete_programs) == 3


class EveryThird(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        if self.steps % 3 == 0:
            x = x * 10
        elif self.steps > 4:
            x = x - 1
        return x


def test_a_branch_on_a_counter_takes_the_side_of_each_call():
    alike(EveryThird, INPUTS, lambda m: m.steps, captures=2)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = None

    def forward(self, x):
        self.hidden = x if self.hidden is None else torch.tanh(x + self.hidden)
        return self.hidden * 2


def test_a_hidden_state_on_self_is_captured_twice():
    alike(Recurrent, INPUTS, lambda m: m.hidden, captures=2)


def test_gradients_go_through_a_hidden_state():
    grads = []
    for model in (Recurrent(), stator.to_static(Recurrent())):
        x = torch.ones(2, requires_grad=True)
        sum(model(x * k).sum() for k in range(4)).backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1]


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x
        return x - self.mean


def test_a_buffer_that_is_replaced_is_captured_twice():
    alike(Average, INPUTS, lambda m: m.mean, captures=2)


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(0, 2)

    def forward(self, x):
        self.cache = torch.cat([self.cache, x[None]])
        return self.cache.sum(0) / self.cache.shape[0]


def test_a_cache_that_grows_on_self_settles():
    alike(Growing, INPUTS, lambda m: m.cache, captures=2)


class Tabled(nn.Module):
    def __init__(self):
        super().__init__()
        self.stats = {"steps": 0, "sum": 0.0}

    def forward(self, x):
        self.stats["steps"] += 1
        self.stats["sum"] = self.stats["sum"] + 0.5
        return x * self.stats["steps"]


def test_items_of_a_dict_on_self_are_captured_twice():
    alike(Tabled, INPUTS, lambda m: list(m.stats.items()), captures=2)


def test_a_global_counter_is_captured_twice(monkeypatch):
    def count(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    monkeypatch.setitem(globals(), "COUNT", 0)
    static = stator.to_static(count)
    for k, x in enumerate(INPUTS):
        assert values(static(x)) == values(x * (k + 1))
        assert k + 1 == COUNT
    assert len(static.concrete_programs) == 2


def test_an_item_of_a_global_dict_is_captured_twice(monkeypatch):
    def count(x):
        TABLE["steps"] += 1
        return x * TABLE["steps"]

    monkeypatch.setitem(TABLE, "steps", 0)
    static = stator.to_static(count)
    for k, x in enumerate(INPUTS):
        assert values(static(x)) == values(x * (k + 1))
    assert len(static.concrete_programs) == 2


def test_a_closure_counter_is_captured_twice():
    steps = 0

    def count(x):
        nonlocal steps
        steps += 1
        return x * steps

    static = stator.to_static(count)
    for k, x in enumerate(INPUTS):
        assert values(static(x)) == values(x * (k + 1))
        assert steps == k + 1
    assert len(static.concrete_programs) == 2


class Toggle(nn.Module):
    def __init__(self):
        super().__init__()
        self.flip = False

    def forward(self, x):
        self.flip = not self.flip
        return -x if self.flip else x


def test_a_flag_that_flips_has_two_programs():
    alike(Toggle, INPUTS, lambda m: m.flip, captures=2)


class Named(nn.Module):
    """Uses the counter where only a plain number will do."""

    def __init__(self):
        super().__init__()
        self.steps = 0
        self.table = {0: 2.0, 1: 3.0, 2: 4.0}

    def forward(self, x):
        name = {0: "zero", 1: "one"}.get(self.steps, "many")
        self.steps += 1
        return x * len(name)


def test_a_counter_that_must_be_a_plain_number_is_captured_for_each():
    eager, static = Named(), stator.to_static(Named())
    for x in INPUTS:
        assert values(static(x)) == values(eager(x))


class LastSeen(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        self.last = x * 2
        return self.last + 1


def test_what_is_only_written_needs_no_second_capture():
    alike(LastSeen, INPUTS, lambda m: m.last, captures=1)


def test_state_is_as_before_while_the_capture_fails():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.steps = 0

        def forward(self, x):
            self.steps += 1
            if self.steps > 1:
                raise ValueError("enough")
            return x

    static = stator.to_static(Broken())
    static(INPUTS[0])
    for _ in range(3):
        with pytest.raises(ValueError, match="enough"):
            static(INPUTS[0])
        assert type(static.steps) is int


@pytest.mark.parametrize(
    "function",
    [
        lambda x, kept: kept,
        lambda x, kept: kept[1],
        lambda x, kept: (kept[1].append(5), kept[1])[1],
        lambda x, kept: (kept[1].append(5), (kept, kept[1]))[1],
        lambda x, kept: (kept.__setitem__(0, kept[0] + 1), x * kept[0])[1],
    ],
)
def test_a_list_from_outside_is_given_back_as_it_is_and_as_it_has_become(function):
    mine, its = [1, [2, 3]], [1, [2, 3]]
    static = stator.to_static(lambda x: function(x, its))
    for x in INPUTS:
        expected, got = function(x, mine), static(x)
        assert type(got) is type(expected)
        assert values(got) == values(expected)
        assert values(its) == values(mine)
        assert (got is its) == (expected is mine)
        assert (got is its[1]) == (expected is mine[1])


class Settings:
    """Attributes that are looked up plainly, around methods of the class's own."""

    def __init__(self):
        self.kind, self.steps = None, 0

    def __getattribute__(self, name):
        return super().__getattribute__({"mode": "kind"}.get(name, name))

    def __setattr__(self, name, value):
        if super().__getattribute__("__dict__").get("is_closed"):
            raise AttributeError(name)
        super().__setattr__({"mode": "kind"}.get(name, name), value)

    def plain_kind(self):
        return super().__getattribute__("kind")

    def kind_of_dict(self):
        return super().__getattribute__("__dict__")["kind"]

    def kind_of_object(self):
        return object.__getattribute__(self, "kind")


class Chooses(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings()

    def forward(self, x):
        settings = self.settings
        if settings.kind is None:
            settings.kind = "sum" if x.dtype == torch.float32 else "mean"
        settings.steps += 1
        if settings.mode == "sum":
            return x.sum() + settings.steps
        if settings.mode == "mean":
            return x.double().mean() * settings.steps
        if settings.mode == "max":
            return x.max() - settings.steps
        raise ValueError(f"no such mode: {settings.mode}")


def test_a_string_that_the_call_sets_where_there_is_none_is_that_of_eager():
    eager, static = Chooses(), stator.to_static(Chooses())
    kinds = [None, "sum", "max", "mean", None, "max", "sum", None, "mean"]
    for k, kind in enumerate([*kinds, *kinds]):
        if k % 2:  # between the others the value is that which the call before has left
            eager.settings.kind = static.settings.kind = kind
        x = INPUTS[k % 6] if k < 12 else INPUTS[k % 6].double()
        assert values(static(x)) == values(eager(x))
        assert vars(static.settings) == vars(eager.settings)
    for model in (eager, static):
        model.settings.kind = "none"
        with pytest.raises(ValueError, match="no such mode: none"):
            model(INPUTS[0])
    assert vars(static.settings) == vars(eager.settings)


@pytest.mark.parametrize(
    "read", [Settings.plain_kind, Settings.kind_of_dict, Settings.kind_of_object]
)
def test_what_is_looked_up_plainly_is_that_of_each_call(read):
    settings = Settings()
    static = stator.to_static(lambda x: x * read(settings))
    for kind in (2.0, 3.0, 3, 4.0, 5, -1.0):
        settings.kind = kind
        assert values(static(INPUTS[1])) == values(INPUTS[1] * kind)


def test_what_is_looked_up_plainly_and_was_not_there_is_found_later():
    settings = Settings()

    def scaled(x):
        try:
            return x * object.__getattribute__(settings, "scale")
        except AttributeError:
            return x - 1

    static = stator.to_static(scaled)
    assert values(static(INPUTS[1])) == values(INPUTS[1] - 1)
    settings.scale = 3.0
    assert values(static(INPUTS[1])) == values(INPUTS[1] * 3.0)
    del settings.scale
    assert values(static(INPUTS[1])) == values(INPUTS[1] - 1)


def test_state_is_as_before_where_it_cannot_become_an_input():
    holder = Settings()
    same = vars(holder)  # one place, by two names

    def counted(x):
        same["steps"] += 1
        holder.steps += 1
        return x * holder.steps

    static = stator.to_static(counted)
    for k in range(1, 5):
        assert values(static(INPUTS[1])) == values(INPUTS[1] * 2 * k)
        assert holder.steps == 2 * k
        assert type(holder.steps) is int
