"""Integers of a program have 64 bits: one that does not fit is an error, never another value."""

import pytest
import torch

import stator
from stator.errors import IntegerOverflow, UnsupportedCall


def squared(n, times):
    k = int(n)
    for _ in range(times):
        k = k * k
    return k


def test_an_integer_that_leaves_64_bits_in_a_run_is_an_error():
    static = stator.to_static(squared)
    assert static(torch.tensor(3), torch.tensor(3)) == 3**8
    with pytest.raises(IntegerOverflow) as error:
        static(torch.tensor(3), torch.tensor(7))
    assert error.value.problem == (
        "3433683820292512484657849089281 does not fit into 64 bits "
        "with a sign, which the integers of a program have"
    )
    assert error.value.at.file == __file__
    assert static(torch.tensor(2), torch.tensor(5)) == 2**32


@pytest.mark.parametrize(
    "function",
    [
        lambda n: int(n) + 1, lambda n: int(n) * 2, lambda n: -int(n) - 2, lambda n: int(n) << 1,
        lambda n: int(n) ** 2, lambda n: round(float(n) * 4), lambda n: int(float(n) * 4),
    ],
)  # fmt: skip
def test_every_op_is_checked(function):
    largest = torch.tensor(2**63 - 1)
    assert abs(function(largest)) > 2**63 - 1
    with pytest.raises(IntegerOverflow):
        stator.to_static(function)(largest)


def test_an_element_of_an_unsigned_tensor_may_not_fit():
    static = stator.to_static(lambda x: int(x) // 2)
    assert static(torch.tensor(8, dtype=torch.uint64)) == 4
    with pytest.raises(IntegerOverflow):
        static(torch.tensor(2**63, dtype=torch.uint64))


def test_a_try_does_not_catch_it():
    @stator.to_static
    def guarded(n):
        try:
            return int(n) * 2
        except OverflowError:
            return 0

    with pytest.raises(IntegerOverflow):
        guarded(torch.tensor(2**62))


@pytest.mark.parametrize(
    "function", [lambda n: int(n) + 2**64, lambda n: n * (2**64 if n > 0 else 1)]
)
def test_a_constant_that_does_not_fit_is_refused(function):
    with pytest.raises(UnsupportedCall, match="18446744073709551616 does not fit into 64 bits"):
        stator.to_static(function)(torch.tensor(1))


def test_a_large_integer_that_only_python_uses_is_fine():
    static = stator.to_static(lambda n: (n + 1, 2**100 // 2**90))
    assert static(torch.tensor(1)) == (torch.tensor(2), 1024)
