"""`f(*items)` where only a run knows how many there are."""

import math
from types import SimpleNamespace

import pytest
import torch

import stator
from stator.errors import SizeCheckFailed, UnsupportedCall
from tests.capture.oracle import check, refusal

COUNTS = tuple((torch.tensor(k),) for k in (3, 2, 5))


def grown(n):
    items = []
    for k in range(n):
        items.append(k)
    return items


def joined(first, *rest):
    return first, len(rest), rest


def test_named_parameters_take_the_first_items():
    check(lambda n: (joined(*grown(n)), joined(7, *grown(n)), joined(*grown(n), 9)), *COUNTS)


def test_a_wrapper_passes_them_on():
    def wrapper(*args, **kwargs):
        return joined(*args, **kwargs)

    check(lambda n: wrapper(1.5, *grown(n)), *COUNTS)


def test_a_lambda_and_the_extremes_take_them():
    check(lambda n: ((lambda *a: sum(a))(*grown(n)), max(*grown(n)), min(*grown(n))), *COUNTS)


def test_a_function_of_two_needs_two():
    static = stator.to_static(lambda n: (lambda a, b: a - b)(*grown(n)))
    assert static(torch.tensor(2)) == -1
    with pytest.raises(SizeCheckFailed, match="this needs a list of 2 items"):
        static(torch.tensor(3))


def test_too_few_items_for_the_named_ones_are_refused_by_the_run():
    static = stator.to_static(lambda n: joined(*grown(n)))
    static(torch.tensor(2))
    with pytest.raises(SizeCheckFailed, match="this needs a list of 1 items or more"):
        static(torch.tensor(0))


def test_library_functions_cannot_take_them():
    error = refusal(UnsupportedCall, lambda n: math.hypot(*grown(n)), torch.tensor(2))
    assert error.problem == "`*` unpacks a list of data-dependent length"
    assert error.fix == "pass the list itself, if the function takes one, or use a loop"


def test_items_are_printed_to_a_file_one_by_one():
    written = []
    file = SimpleNamespace(write=stator.host_call(lambda text: written.append(text)))

    def f(x):
        found = [value for value in x if value > 0]
        print(*found, sep=", ", file=file)

    stator.to_static(f)(torch.ones(2))
    assert written == ["tensor(1.)", ", ", "tensor(1.)", "\n"]
