"""Modules that are replaced between calls: few captures, and what eager code computes."""

import gc
import weakref

import pytest
import torch

import stator
from stator.state.live_modules import Likeness

X = torch.ones(2, 3)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = torch.nn.Linear(3, 3)
        self.other = torch.nn.Linear(3, 3)
        self.listed = [torch.nn.Linear(3, 3)]
        self.kept = None

    def forward(self, x):
        if x.sum() > 0:
            x = self.part(x)
        return x


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(3))
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.weight * self.calls


def agree(net, static, x=X):
    assert torch.equal(static(x), net(x))


def programs_after(net, static, replace, times=6):
    """How many programs are left after so many calls, each with another module."""
    agree(net, static)
    for _ in range(times):
        replace()
        agree(net, static)
    return len(static.concrete_programs)


def put(net, made):
    net.part = made


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.nn.Linear(3, 3),
        lambda: torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 3)),
        lambda: torch.nn.Conv1d(2, 2, 3, padding=1),
    ],
)
def test_the_third_module_in_a_place_makes_a_program_for_all(make):
    net = Net()
    static = stator.to_static(net.forward)
    with torch.no_grad():
        assert programs_after(net, static, lambda: put(net, make())) == 1


def test_no_module_that_was_replaced_stays_alive():
    net = Net()
    static, old = stator.to_static(net.forward), []
    with torch.no_grad():
        for _ in range(6):
            net.part = torch.nn.Linear(3, 3)
            old.append(weakref.ref(net.part))
            agree(net, static)
    gc.collect()
    assert [one() is not None for one in old] == [False] * 5 + [True]


def test_gradients_go_to_the_module_that_is_there():
    net = Net()
    static = stator.to_static(net.forward)
    for _ in range(5):
        net.part = torch.nn.Linear(3, 3)
        static(X).sum().backward()
        found, net.part.weight.grad = net.part.weight.grad, None
        net(X).sum().backward()
        assert torch.equal(found, net.part.weight.grad)
    assert len(static.concrete_programs) == 1


def test_buffers_of_the_module_that_is_there_are_written():
    net = Net()
    static = stator.to_static(net.forward)
    for k in range(5):
        net.part = torch.nn.BatchNorm1d(3)
        static(X * k + torch.rand(2, 3))
        assert net.part.num_batches_tracked == 1
    assert len(static.concrete_programs) == 1


def test_an_item_of_a_list_and_a_global_are_places_too():
    net = Net()
    static = stator.to_static(lambda x: net.listed[0](x))

    def put_item():
        net.listed[0] = torch.nn.Linear(3, 3)

    with torch.no_grad():
        assert programs_after(lambda x: net.listed[0](x), static, put_item) == 1


def test_a_module_that_is_not_alike_has_a_program_of_its_own():
    net = Net()
    static = stator.to_static(net.forward)
    with torch.no_grad():
        programs_after(net, static, lambda: put(net, torch.nn.Linear(3, 3)))
        for made in (
            torch.nn.Linear(3, 3, bias=False),
            torch.nn.Linear(3, 5),
            torch.nn.Linear(3, 3).double().float().requires_grad_(False),
        ):
            net.part = made
            agree(net, static)
        net.part.register_forward_hook(lambda module, args, out: out + 1)
        agree(net, static)


def test_an_attribute_of_a_new_module_counts():
    net, x = Net(), torch.tensor([[-1.0, 2.0, 3.0]])
    static = stator.to_static(net.forward)
    for k in range(6):
        net.part = torch.nn.LeakyReLU(0.1 * (k % 3))
        agree(net, static, x)


def test_a_class_that_changes_counts():
    class Scaled(torch.nn.Module):
        factor = 2

        def forward(self, x):
            return x * self.factor

    net = Net()
    static = stator.to_static(net.forward)
    programs_after(net, static, lambda: put(net, Scaled()))
    Scaled.factor = 3
    agree(net, static)


def test_a_module_that_counts_its_calls_is_right_each_time():
    net, twin = Net(), Net()
    static = stator.to_static(net.forward)
    for _ in range(5):
        net.part, twin.part = Counting(), Counting()
        twin.part.weight = net.part.weight
        for _ in range(2):
            assert torch.equal(static(X), twin(X))
        assert net.part.calls == 2


def test_modules_that_become_one_are_told_apart_from_two():
    net = Net()

    def same(x):
        y = net.part(x) + net.other(x)
        return y * 2 if net.part is net.other else y

    static = stator.to_static(same)
    with torch.no_grad():
        programs_after(same, static, lambda: put(net, torch.nn.Linear(3, 3)))
        net.part = net.other
        agree(same, static)


def test_a_module_that_the_function_gives_back_is_the_one_that_is_there():
    net = Net()

    def give(x):
        net.kept = net.part
        return net.part(x)

    static = stator.to_static(give)
    with torch.no_grad():
        for _ in range(5):
            net.part = torch.nn.Linear(3, 3)
            agree(net.part, static)
            assert net.kept is net.part


def test_a_dict_that_a_module_shares_is_watched():
    shared = {"factor": 1.0}

    class Configured(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config = shared

        def forward(self, x):
            return x * self.config["factor"]

    net = Net()

    def scaled(x):
        return net.part(x) * shared["factor"]

    static = stator.to_static(scaled)
    programs_after(scaled, static, lambda: put(net, Configured()))
    for factor in (2.0, 3.0):
        shared["factor"] = factor
        agree(scaled, static)
        net.part = Configured()
        agree(scaled, static)


def test_likeness_is_about_form_and_sharing():
    def pair(*, tied):
        one, two = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
        if tied:
            two.weight = one.weight
        return torch.nn.Sequential(one, two)

    assert Likeness(pair(tied=False)).facts == Likeness(pair(tied=False)).facts
    assert Likeness(pair(tied=True)).facts == Likeness(pair(tied=True)).facts
    assert Likeness(pair(tied=True)).facts != Likeness(pair(tied=False)).facts
    assert len(Likeness(pair(tied=True)).tensors) == 3
