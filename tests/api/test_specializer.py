"""Specializer: what changes between calls becomes open, or an input; what cannot stays fixed."""

import functools
import gc
import sys
import types
import warnings
import weakref

import pytest
import torch
from torch import nn

import stator
from bench.growth import elifs, function_of

ONES = torch.ones(3)
RATE = 0.5
OPTIONS = {"rate": 0.5}
FEW = 3  # captures

pytestmark = pytest.mark.usefixtures("small_heap")  # it asks for collections


def alike(function, calls, captures=2):
    """A static function gives what the eager one gives, with so many captures."""
    static = stator.to_static(function)
    for args in calls:
        got, want = static(*args), function(*args)
        assert type(got) is type(want)
        assert torch.equal(got, want) if isinstance(want, torch.Tensor) else got == want
    assert len(static.concrete_programs) == captures
    return static


# ---- numbers and strings among the arguments


def scale(x, n):
    return x * n


def repeated(x, n):
    for _ in range(n):
        x = x + 1
    return x


def expanded(x, n):
    return x.expand(n, 3)


def sliced(x, n):
    return x[:n] if n > 1 else x[n:]


def chosen(x, n):
    return x * 2 if n > 5 else x - n


@pytest.mark.parametrize("function", [scale, repeated, expanded, sliced, chosen])
def test_an_int_that_changes_is_an_input(function):
    alike(function, [(ONES, n) for n in range(1, 20)])


def test_a_float_that_changes_is_an_input():
    values = [0.5, 0.25, -0.0, float("inf"), 3.0, 1e300]
    alike(lambda x, lr: x * lr, [(ONES, value) for value in values])
    alike(lambda x, lr: lr, [(ONES, value) for value in values])


def test_numbers_by_keyword_and_in_containers_are_inputs():
    def step(x, options, *, k=1):
        return x * options["lr"] + options["pair"][1] * k

    static = stator.to_static(step)
    for n in range(10):
        options = {"lr": n / 3, "pair": (1, n)}
        assert torch.equal(static(ONES, options, k=n), step(ONES, options, k=n))
    assert len(static.concrete_programs) == 2


def test_the_type_of_a_number_is_guarded():
    alike(lambda x, n: x.long() * n, [(ONES, n) for n in (1, 2, 3, 0.5, 1.5, True, 2.5, 4)], 5)


def test_an_int_of_more_than_64_bits_has_a_program_of_its_own():
    alike(lambda x, n: n + 1, [(ONES, n) for n in (2**70, 3, 2**70, 4, 2**63 - 2)], 3)


def test_a_string_becomes_an_input_at_its_third_value():
    def reduced(x, mode):
        if mode == "mean":
            return x.mean()
        return x.sum() if mode == "sum" else x

    static = stator.to_static(reduced)
    modes = ("mean", "sum", "none", "other", "mean", "sum", "") * 2
    for mode in modes:
        assert torch.equal(static(ONES, mode), reduced(ONES, mode))
    assert len(static.concrete_programs) == FEW


def test_a_number_that_python_needs_has_a_program_for_each_value():
    named = types.SimpleNamespace(**{f"n{k}": k for k in range(9)})
    alike(lambda x, k, lr: x * getattr(named, f"n{k}") * lr,
          [(ONES, k, k / 2) for k in range(5)], captures=5)  # fmt: skip


def test_a_number_that_can_be_open_is_so_beside_one_that_cannot():
    named = types.SimpleNamespace(n1=1, n2=2)
    calls = [(ONES, 1 + k % 2, k / 7) for k in range(20)]
    alike(lambda x, k, lr: x * getattr(named, f"n{k}") * lr, calls, captures=FEW)


def test_a_thousand_numbers_take_two_captures():
    static = stator.to_static(scale)
    for n in range(1000):
        assert static(ONES, n / 7)[0] == ONES[0] * (n / 7)
    assert len(static.concrete_programs) == 2


def test_a_number_beside_an_input_spec_is_an_input():
    static = stator.to_static(scale, input_spec=[stator.InputSpec([None])])
    for n in range(1, 9):
        assert torch.equal(static(torch.ones(n), n), torch.ones(n) * n)
    assert len(static.concrete_programs) == 2


# ---- numbers and strings that are read


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.rate, self.name = 1.0, "a"

    def forward(self, x):
        return x * self.rate if self.name != "skip" else x


def test_a_number_on_self_is_an_input():
    static = stator.to_static(Scaled())
    for n in range(20):
        static.rate = n / 7
        assert torch.equal(static(ONES), ONES * (n / 7))
    assert len(static.forward.concrete_programs) == 2


def test_a_string_on_self_is_an_input_at_its_third_value():
    static = stator.to_static(Scaled())
    for name in ("a", "b", "skip", "c", "skip", "d"):
        static.name, static.rate = name, 3.0
        assert torch.equal(static(ONES), ONES * (1 if name == "skip" else 3))
    assert len(static.forward.concrete_programs) == FEW


def test_a_global_an_item_a_variable_and_an_attribute_are_inputs():
    config, local = types.SimpleNamespace(rate=0.5), 0.5

    def read(x):
        return x * RATE, x * OPTIONS["rate"], x * config.rate, x * local

    static = stator.to_static(read)
    for n in range(12):
        globals()["RATE"], OPTIONS["rate"], config.rate, local = n / 3, n / 5, n / 7, n / 9
        assert [one[0] for one in static(ONES)] == [one[0] for one in read(ONES)]
    assert len(static.concrete_programs) == 2


def test_a_number_that_library_code_reads_has_a_program_for_each_value_or_is_an_input():
    static = stator.to_static(nn.LayerNorm(4))
    x = torch.randn(2, 4)
    for n in range(1, 5):
        static.eps = 1.0 / n
        want = nn.functional.layer_norm(x, (4,), static.weight, static.bias, 1.0 / n)
        assert torch.equal(static(x), want)


# ---- tensors that are replaced


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4, bias=False)
        self.register_buffer("buffer", torch.ones(4))
        self.mask, self.items, self.pair = torch.ones(4), [torch.ones(4), 1], (torch.ones(4), 2)
        self.table = {"a": torch.ones(4)}

    def forward(self, x):
        x = self.linear(x) * self.mask + self.buffer * self.items[0] + self.pair[0]
        return x * self.table["a"] + self.mask.shape[0] if x.sum() > 0 else -x


def assign_attribute(model, new):
    model.mask = new


def assign_buffer(model, new):
    model.buffer = new


def assign_item(model, new):
    model.items[0] = new


def assign_list(model, new):
    model.items = [new, 1]


def assign_tuple(model, new):
    model.pair = (new, 2)


def assign_key(model, new):
    model.table["a"] = new


def assign_parameter(model, new):
    model.linear.weight = nn.Parameter(new.expand(4, 4).clone())


def load_assigned(model, new):
    model.load_state_dict({"buffer": new, "linear.weight": new.expand(4, 4)}, assign=True)


CHANGES = [
    assign_attribute, assign_buffer, assign_item, assign_list, assign_tuple, assign_key,
    assign_parameter, load_assigned,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_tensor_that_is_replaced_is_an_input_and_no_old_one_is_kept(change):
    eager, static = Masked(), stator.to_static(Masked())
    static.load_state_dict(eager.state_dict())
    x, old = torch.ones(2, 4), []
    for k in range(12):
        new = torch.rand(4) + k
        change(eager, new)
        change(static, new.clone())
        assert torch.equal(static(x), eager(x))
        old.append(weakref.ref(new))
        del new
        if k == 5:  # a replaced tensor is watched in place, too
            eager.mask.mul_(2), static.mask.mul_(2)
    assert len(static.forward.concrete_programs) <= FEW
    change(eager, torch.ones(4))
    gc.collect()
    assert not any(one() is not None for one in old)


def test_no_old_tensor_is_kept_by_the_program():
    static, x, old = stator.to_static(Masked()), torch.ones(2, 4), []
    for k in range(20):
        static.mask = torch.rand(4) + k
        static.linear.weight = nn.Parameter(torch.rand(4, 4))
        old += [weakref.ref(static.mask), weakref.ref(static.linear.weight)]
        static(x)
    static.mask, static.linear.weight = torch.ones(4), nn.Parameter(torch.ones(4, 4))
    gc.collect()
    assert sum(one() is not None for one in old) == 0
    assert static.forward._captures <= FEW


def test_functional_call_takes_the_weights_it_is_given():
    static, x = stator.to_static(nn.Sequential(nn.Linear(4, 4), nn.ReLU())), torch.ones(2, 4)
    plain = static(x)
    for _ in range(10):
        weights = {"0.weight": torch.rand(4, 4)}
        want = torch.relu(nn.functional.linear(x, weights["0.weight"], static[0].bias))
        assert torch.equal(torch.func.functional_call(static, weights, (x,)), want)
        assert torch.equal(static(x), plain)
    assert len(static.forward.concrete_programs) <= FEW


def test_a_replaced_tensor_has_its_gradient():
    static, x = stator.to_static(Masked()), torch.ones(2, 4)
    for _ in range(4):
        static.linear.weight = nn.Parameter(torch.rand(4, 4))
        static(x).sum().backward()
        assert static.linear.weight.grad is not None


def test_a_replaced_tensor_of_another_size_has_an_open_size():
    class Shaped(nn.Module):
        def forward(self, x):
            return x.sum() + self.mask.sum() * self.mask.shape[0]

    static = stator.to_static(Shaped())
    for n in (2, 3, 5, 1, 0):
        static.mask = torch.rand(n)
        assert torch.equal(static(ONES), ONES.sum() + static.mask.sum() * n)
    assert len(static.forward.concrete_programs) <= FEW


def test_places_that_come_to_hold_one_tensor_are_told_apart():
    class Pair(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = torch.ones(3), torch.ones(3)

        def forward(self, x):
            return x * 2 if self.one is self.two else x * self.one + self.two

    eager, static = Pair(), stator.to_static(Pair())
    for k in range(9):
        for model in (eager, static):
            model.one = torch.full((3,), float(k))
            model.two = model.one if k % 3 == 0 else torch.full((3,), 2.0)
        assert torch.equal(static(ONES), eager(ONES))


def test_two_places_that_held_one_tensor_are_read_each():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = self.two = torch.ones(3)

        def forward(self, x):
            return x * self.one - self.two

    eager, static = Tied(), stator.to_static(Tied())
    for k in range(9):
        for model in (eager, static):
            model.one = torch.full((3,), float(k))
            if k % 2 == 0:
                model.two = model.one
        assert torch.equal(static(ONES), eager(ONES))


def test_what_is_found_by_a_tensor_is_found_by_the_new_one():
    class Keyed(nn.Module):
        def __init__(self):
            super().__init__()
            self.keys = [torch.zeros(1) for _ in range(4)]
            self.values = {key: float(k) for k, key in enumerate(self.keys)}
            self.key = self.keys[0]

        def forward(self, x):
            return x + self.values[self.key] + self.key

    eager, static = Keyed(), stator.to_static(Keyed())
    for k in (0, 1, 2, 3, 1):
        eager.key, static.key = eager.keys[k], static.keys[k]
        assert torch.equal(static(ONES), eager(ONES))


def test_an_attribute_of_a_replaced_tensor_is_read_from_the_new_one():
    class Tagged(nn.Module):
        def forward(self, x):
            return x * self.mask * self.mask.factor

    static = stator.to_static(Tagged())
    for k in range(5):
        static.mask = torch.ones(3)
        static.mask.factor = k
        assert torch.equal(static(ONES), ONES * k)


# ---- sizes that cannot be open


def by_size(x):
    return x * getattr(types.SimpleNamespace(n2=2, n3=3, n4=4, n5=5), f"n{x.shape[0]}")


def test_code_that_needs_a_size_has_a_program_for_each():
    alike(by_size, [(torch.ones(n, 2),) for n in (2, 3, 4, 5, 2)], captures=4)


def test_a_size_that_can_be_open_is_so_beside_one_that_cannot():
    calls = [(torch.ones(2 + k % 2, k + 1),) for k in range(12)]
    alike(by_size, calls, captures=3)


def test_an_error_of_the_user_s_is_raised_as_it_is():
    static = stator.to_static(by_size)
    for n in (2, 3, 7, 4, 7):
        if n == 7:
            with pytest.raises(AttributeError, match="n7"):
                static(torch.ones(n))
        else:
            assert torch.equal(static(torch.ones(n)), by_size(torch.ones(n)))


def test_the_least_recently_used_programs_are_dropped():
    named = types.SimpleNamespace(**{f"n{k}": k for k in range(200)})
    static = stator.to_static(lambda x, k: x * getattr(named, f"n{k}"))
    with warnings.catch_warnings(action="ignore"):
        for k in range(100):
            assert static(ONES, k)[0] == k
            assert static(ONES, 0)[0] == 0  # it is used again and again
    assert len(static.concrete_programs) == 64
    assert static.concrete_programs[0].sizes[1] == (0,)
    assert static._captures == 100


def test_past_the_limit_a_function_that_may_falls_back_to_eager():
    named = types.SimpleNamespace(**{f"n{k}": k for k in range(200)})
    static = stator.to_static(lambda x, k: x * getattr(named, f"n{k}"), full_graph=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(100):
            assert static(ONES, k)[0] == k
    assert len(static.concrete_programs) == 64
    assert str(caught[-1].message) == (
        "<lambda> runs eagerly, as full_graph=False allows: it has been captured 64 times"
    )
    assert len(caught) == 2


def test_a_choice_among_very_many_values_has_a_program_for_each():
    table = {k: 2 * k for k in range(200)}
    static = stator.to_static(lambda x, k: x * table[k])
    for k in range(4):
        assert static(ONES, k)[0] == 2 * k


def test_a_long_chain_of_elifs_is_captured(tmp_path, request):
    request.addfinalizer(functools.partial(sys.setrecursionlimit, sys.getrecursionlimit()))
    static = stator.to_static(function_of(elifs(90), tmp_path))
    sys.setrecursionlimit(500)  # fewer than the frames that it takes
    for value in (5.0, -1.0, -30.0, -1000.0):
        x = torch.full((3,), value)
        assert torch.equal(static(x), static.dygraph_function(x))
