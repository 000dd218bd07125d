"""numpy in converted code: captured arrays, and the same memory."""

import numpy
import pytest
import torch

from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = ((torch.tensor([1.0, 2.0]),), (torch.tensor([-3.0, 1.0]),))


@pytest.mark.parametrize(
    "function",
    [
        lambda a: numpy.sum(a), lambda a: numpy.exp(a), lambda a: a.sum(), lambda a: a + 1,
        lambda a: numpy.maximum(a, 0), lambda a: numpy.where(a > 0, a, -a),
        lambda a: a.astype(numpy.int64), lambda a: numpy.stack([a, a]), lambda a: a.reshape(2, 1),
        lambda a: numpy.concatenate([a, numpy.zeros(2, dtype=numpy.float32)]),
        lambda a: a.mean(axis=0), lambda a: a > 0, lambda a: a.T, lambda a: numpy.clip(a, 0, 1),
    ],
)  # fmt: skip
def test_a_function_of_an_array_gives_what_numpy_gives(function):
    check(lambda x: torch.as_tensor(function(x.numpy())), *CALLS)


def test_an_array_shares_memory_with_its_tensor():
    def f(x):
        x = x.clone()
        a = x.numpy()
        a[0] = 9
        return x

    check(f, *CALLS)


def test_a_tensor_of_an_array_shares_its_memory():
    def f(x):
        a = x.clone().numpy()
        torch.from_numpy(a).add_(1)
        return torch.as_tensor(a)

    check(f, *CALLS)


def test_a_condition_on_an_array_is_recorded():
    check(lambda x: x + 1 if x.numpy().sum() > 0 else x, *CALLS)


def test_item_and_tolist_of_an_array_are_numbers():
    check(lambda x: (x.numpy().tolist(), x.numpy()[0].item()), *CALLS)


def test_an_array_is_looped_over():
    def f(x):
        total = 0.0
        for value in x.numpy():
            total = total + float(value)
        return total

    check(f, *CALLS)


def test_an_array_from_outside_is_read_at_every_run():
    table = numpy.array([1.0, 2.0], dtype=numpy.float32)

    def f(x):
        return x * torch.from_numpy(table)

    static = check(f, *CALLS)
    table[0] = 7
    assert torch.equal(static(torch.ones(2)), f(torch.ones(2)))


def test_a_tensor_that_requires_grad_has_no_array():
    def f(x):
        return torch.as_tensor((x * 1).numpy())

    x = torch.ones(2, requires_grad=True)
    check(f, (x,))
    check(lambda x: torch.as_tensor(x.numpy(force=True)), (x,))


def test_random_numbers_of_numpy_are_refused():
    error = refusal(UnsupportedCall, lambda x: x * numpy.random.rand(), torch.ones(1))
    assert error.problem == (
        "numpy draws random numbers while the function is captured, not when it runs"
    )
    assert error.fix == "use torch's random functions"


def test_random_numbers_of_a_numpy_generator_are_refused():
    generator = numpy.random.default_rng(0)
    error = refusal(UnsupportedCall, lambda x: x * generator.random(), torch.ones(1))
    assert error.fix == "use torch's random functions"


def test_a_function_without_a_counterpart_is_refused():
    error = refusal(UnsupportedCall, lambda x: numpy.unwrap(x.numpy()), torch.ones(2))
    assert error.problem == "`numpy.unwrap` has no counterpart on captured tensors"
    assert error.fix == "use the torch function"
