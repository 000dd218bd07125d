"""Watch: what Python does with a symbolic tensor besides calling ops."""

import numpy
import pytest
import torch
from torch import nn

from stator import TracedLayer, static
from stator.errors import DataDependent, UnsupportedCall


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return x * 2

    @staticmethod
    def backward(_, gradient):
        return gradient * 5


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function, self.weight = function, nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.function(self, x)


def traced(function):
    return TracedLayer.trace(Calls(function), [torch.ones(3)])


def written(function):
    layer = Calls(function)
    with static.program_guard(static.Program()):
        return layer(static.data("x", [3]))


def gradient(layer, x):
    return torch.autograd.grad((layer.weight * x).sum(), layer.weight)[0]


NOT_RECORDED = [
    (lambda _, x: Doubled.apply(x), "a custom `autograd.Function` has its own backward"),
    (gradient, "gradients are taken"),
    (lambda _, x: torch.vmap(torch.sin)(x), "`torch.func` transforms the ops"),
    (lambda _, x: x.data * 2, "`.data` is read"),
    (lambda layer, x: layer.weight.grad, "`.grad` is read"),
    (lambda _, x: (x * 2).register_hook(print), "a hook on a gradient is registered"),
]


@pytest.mark.parametrize("record", [traced, written])
@pytest.mark.parametrize(("function", "problem"), NOT_RECORDED)
def test_what_would_lose_its_gradient_is_refused_with_the_line(record, function, problem):
    with pytest.raises(UnsupportedCall) as refusal:
        record(function)
    assert refusal.value.problem == f"{problem} here, which cannot be recorded"
    assert refusal.value.fix == "do it outside of the program, or write it with plain ops"
    assert refusal.value.at.file == __file__


@pytest.mark.parametrize("record", [traced, written])
@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda _, x: x.numpy(), "`.numpy()`"),
        (lambda _, x: numpy.asarray(x), "a numpy array of a tensor"),
        (lambda _, x: x.data_ptr(), "`.data_ptr()`"),
        (lambda _, x: x.untyped_storage(), "the storage of a tensor"),
    ],
)
def test_what_reads_values_is_refused_with_the_line(record, function, what):
    with pytest.raises(DataDependent) as refusal:
        record(function)
    assert refusal.value.problem == (f"Python code needs {what}, which is known only at run time")
    assert refusal.value.at.file == __file__


def test_a_traced_tensor_prints_as_the_real_one(capsys):
    def show(_, x):
        print(x, f"{x.sum():.2f}")
        return x

    traced(show)
    assert capsys.readouterr().out == "tensor([1., 1., 1.]) 3.00\n"


def read(_, x):
    return x[x.argmax()] + x[x.argmin(), None]


def write(_, x):
    y = x.clone()
    y[x.argmax()] = -1.0
    return y


@pytest.mark.parametrize("function", [read, write])
def test_a_tensor_that_is_an_index_is_taken_from_each_run(function):
    _, made = TracedLayer.trace(Calls(function), [torch.tensor([1.0, 3.0, 2.0])])
    for x in (torch.tensor([5.0, 1.0, 2.0]), torch.tensor([1.0, 2.0, 3.0, 4.0])):
        assert torch.equal(made([x])[0], function(None, x))
