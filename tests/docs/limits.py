"""The limits that the README lists: code that meets each, and the error code that it raises."""

import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy
import torch

import stator
from stator import InputSpec

ONES = torch.ones(3)


def inner_backward(x):
    (x * x).sum().backward()
    return x.grad


def with_backward_hook(x):
    model = torch.nn.Linear(3, 3)
    model.register_backward_hook(lambda *gradients: None)
    return stator.to_static(lambda x: model(x))(x)


def numpy_fit(x):
    return torch.from_numpy(numpy.polyfit(x.numpy(), x.numpy(), 1))


def numpy_result(x):
    return numpy.sin(x.numpy())


def python_random(x):
    return x * random.random()


def save_python_random() -> None:
    stator.save(python_random, "drawn", input_spec=[InputSpec([3], "float32")])


def coroutine(x):
    async def later():
        return x

    return later()


def set_in_order(x):
    items, count = set(), 0
    while x.sum() > count:
        items.add(count)
        count += 1
    return list(items)


def add(x, y):
    return x + y


class Counter(torch.nn.Module):
    calls = 0

    def forward(self, x):
        Counter.calls += 1
        return x * 2


def convert_and_call(function: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: stator.to_static(function)(*args)


def view_by_the_size_of_one(x, y):
    return (x + y).view(x.shape[0], -1)


def broadcast_what_is_taken_for_equal() -> Any:
    spec = InputSpec([None], "float32")
    static = stator.to_static(view_by_the_size_of_one, input_spec=[spec, spec])
    return static(torch.ones(1), ONES)


def save_numpy_result() -> None:
    stator.save(numpy_result, "result", input_spec=[InputSpec([None], "float32")])


def save_a_counter() -> None:
    stator.save(Counter(), "counter", input_spec=[InputSpec([None], "float32")])


def another_backend() -> Any:
    return stator.to_static(add, backend="xla")


LIMITS: Mapping[str, tuple[str, Callable[[], Any]]] = {
    "`backward()` and `.grad` inside the function; use `torch.autograd.grad`": (
        "ST204", convert_and_call(inner_backward, ONES.clone().requires_grad_())),
    "the deprecated `register_backward_hook` on modules inside": (
        "ST204", lambda: with_backward_hook(ONES)),
    "numpy functions without a counterpart in torch, such as `numpy.polyfit`": (
        "ST204", convert_and_call(numpy_fit, ONES)),
    "saving a function that returns a numpy array": (
        "ST400", save_numpy_result),
    "saving a function that draws random numbers from Python or numpy": (
        "ST204", save_python_random),
    "`async`": (
        "ST102", convert_and_call(coroutine, ONES)),
    "the iteration order of a set with data-dependent items": (
        "ST204", convert_and_call(set_in_order, ONES)),
    "code that uses a dynamic size in place of the size that it is broadcast to, if that size is "
    "1: `(x + y).view(x.shape[0], -1)`": (
        "ST302", broadcast_what_is_taken_for_equal),
    "saving a model whose call changes Python objects that are not its own": (
        "ST200", save_a_counter),
    'a `backend` other than those above and, for `load`, `"onnxruntime"`': (
        "ST303", another_backend),
}  # fmt: skip
