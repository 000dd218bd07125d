"""Arithmetic of captured Python values is Python's."""

import math

import pytest
import torch

from tests.capture.oracle import check

ONE, TWO, LESS = torch.tensor([1.0, 2.0]), torch.tensor([3.5]), torch.tensor([-1.7])


def test_a_truth_value_counts_as_a_number():
    def f(x):
        flag = bool(x.sum() > 0)
        return flag + 1, flag * 2.5, 3 - flag, flag * x, flag == 1, flag is True

    check(f, (ONE,), (LESS,))


def test_division_of_floats_rounds_as_python_does():
    def f(x):
        v = x.sum().item()
        return v // 0.7, v % 0.7, v // -0.7, v % -0.7, divmod(v, 0.3)

    check(f, (ONE,), (TWO,), (LESS,))


def test_a_division_by_zero_raises_though_its_result_is_not_used():
    def f(x):
        k = int(x.sum())
        10 // k
        return x

    check(f, (ONE,), (torch.tensor([0.2]),))


def test_powers_of_captured_numbers():
    def f(x):
        k, v = int(x.sum()), x.sum().item()
        return 2**k, k**2, v**2, v**0.5

    check(f, (ONE,), (TWO,))


def test_lists_are_joined_and_repeated_by_captured_numbers():
    def f(x):
        k = int(x.sum())
        return [0] * k, [x] * 2 + [x * 2], k * [1]

    check(f, (ONE,), (LESS,))


def test_text_grows_by_captured_values():
    def f(x):
        text = "sum "
        text += str(x.sum().item())
        return text + "!"

    check(f, (ONE,), (LESS,))


def test_in_place_arithmetic_of_a_tensor_writes_the_tensor():
    def f(x):
        y = x
        y += 1
        y *= 2
        return x

    check(f, (ONE,))


class Money:
    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        if self.amount.sum() > 0:
            return Money(self.amount + other.amount)
        return Money(other.amount)


def test_an_operator_that_a_user_wrote_is_converted():
    def f(x):
        return (Money(x) + Money(x * 2)).amount

    check(f, (ONE,), (LESS,))


@pytest.mark.parametrize("name", ["sqrt", "log", "exp"])
def test_functions_of_math_take_captured_numbers_and_raise_as_they_do(name):
    function = getattr(math, name)

    def f(x):
        return function(x.sum().item())

    check(f, (ONE,), (LESS,), (torch.tensor([800.0]),))
