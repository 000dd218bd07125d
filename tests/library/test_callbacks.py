"""Library functions that call user code, and the Python of torch behind a callable."""

import contextlib

import torch
from torch import nn

import stator
from stator.library.callbacks import calls_back, python_of


@torch.no_grad()
def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x


@contextlib.contextmanager
def nothing():
    yield


@nothing()
def doubled(x):
    if x.sum() > 0:
        return x * 2
    return x


def test_a_decorated_function_is_known_by_its_wrapper():
    assert calls_back(halved)
    assert calls_back(doubled)
    assert not calls_back(nn.functional.normalize)


def test_a_decorated_function_is_converted_with_what_it_wraps():
    for function in (halved, doubled):
        static = stator.to_static(lambda x, function=function: function(x))
        for x in (torch.ones(3), -torch.ones(3), torch.ones(3) * 9):
            assert torch.equal(static(x), function(x))
        assert "stator::" in str(static.program)


def test_the_python_of_torch_is_found_behind_modules_methods_and_classes():
    layer = nn.Linear(2, 2)
    assert python_of(layer) == (nn.Linear.forward, (layer,))
    assert python_of(torch.distributions.Normal) == (torch.distributions.Normal.__init__, ())
    assert python_of(nn.functional.normalize) == (nn.functional.normalize, ())


def test_what_is_not_python_of_torch_is_left():
    assert python_of(torch.relu) is None
    assert python_of(halved.__wrapped__) is None
    assert python_of(len) is None


def test_the_error_of_a_wrong_parameter_comes_when_the_program_runs():
    def eager(p):
        return torch.distributions.Bernoulli(probs=p).log_prob(p.round())

    torch.distributions.Distribution.set_default_validate_args(True)  # torch.compile sets it off
    static = stator.to_static(eager)
    assert torch.equal(static(torch.tensor([0.25])), eager(torch.tensor([0.25])))
    for function in (static, lambda p: torch.distributions.Bernoulli(probs=p)):
        try:
            function(torch.tensor([2.0]))
        except ValueError as error:
            assert "Expected parameter probs" in str(error)
        else:
            raise AssertionError("2 is no probability")
