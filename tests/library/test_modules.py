"""Calls of nn.Module: hooks in torch's order, with and without keywords."""

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

X = torch.ones(1)


class Inner(torch.nn.Module):
    def forward(self, x, scale=1):
        return x * scale if x.sum() > 0 else x


class Outer(torch.nn.Module):
    def __init__(self, *register):
        super().__init__()
        self.inner = Inner()
        for one in register:
            one(self.inner)

    def forward(self, x):
        return self.inner(x, scale=3)


HOOKS = {
    "pre": lambda m: m.register_forward_pre_hook(lambda m, args: (args[0] + 1,)),
    "pre, one value": lambda m: m.register_forward_pre_hook(lambda m, args: args[0] + 1),
    "pre with keywords": lambda m: m.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"scale": kwargs["scale"] + 1}), with_kwargs=True),
    "post": lambda m: m.register_forward_hook(
        lambda m, args, out: out * 2 if out.sum() > 0 else out),
    "post with keywords": lambda m: m.register_forward_hook(
        lambda m, args, kwargs, out: out + kwargs["scale"], with_kwargs=True),
    "none": lambda m: m.register_forward_hook(lambda m, args, out: None),
}  # fmt: skip


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_runs_through_staging(name):
    check(Outer(HOOKS[name]), (X,), (-X,), (-X * 5,))


def test_hooks_run_in_the_order_they_were_registered():
    check(Outer(*HOOKS.values()), (X,), (-X,), (-X * 5,))


def test_a_hook_on_a_library_module_runs():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)
            self.linear.register_forward_hook(lambda m, args, out: out * 2)

        def forward(self, x):
            return self.linear(x)

    check(Net(), (X,))


def test_backward_hooks_are_refused_by_their_text():
    model = Outer(lambda m: m.register_backward_hook(lambda m, i, o: None))
    error = refusal(UnsupportedCall, model, X)
    assert error.problem == "Inner has backward hooks of the deprecated kind"


def test_a_users_module_in_a_sequential_is_converted():
    check(torch.nn.Sequential(torch.nn.ReLU(), Inner(), torch.nn.Tanh()), (X,), (-X,))


def test_a_module_that_is_not_initialised_yet_may_be_given_to_library_code(monkeypatch):
    """Dynamo, once it has compiled something, puts a function around `Module.__init__`."""
    init = torch.nn.Module.__init__

    def patched(self, *args, **kwargs):
        init(self, *args, **kwargs)

    class Checked(type):
        def __call__(cls, *args):
            made = cls.__new__(cls, *args)
            cls.__init__(made, *args)
            return made

    class Scaled(torch.nn.Module, metaclass=Checked):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    monkeypatch.setattr(torch.nn.Module, "__init__", patched)
    x = torch.tensor([3.0])
    assert stator.to_static(lambda x: Scaled(x + 1)(x))(x) == 12
