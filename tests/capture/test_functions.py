"""capture_function: what a function of the program takes and gives settles to one form."""

import torch

from stator.errors import LoopStateChanged, StatorError
from tests.capture.oracle import check, refusal


def test_the_result_may_be_a_structure():
    def walk(x, depth):
        return {"x": x, "depth": depth} if x < 1 else walk(x / 2, depth + 1)

    check(lambda x: walk(x, 0), *((torch.tensor(k),) for k in (0.5, 40.0)))


def test_arguments_that_widen_are_recorded_again():
    def walk(x, last):
        return last if x < 1 else walk(x / 2, x)

    check(lambda x: walk(x, None), *((torch.tensor(k),) for k in (0.5, 3.0, 40.0)))


def test_a_function_that_never_gives_a_value_is_refused():
    def walk(x):
        return walk(x / 2) if x > 1 else walk(x * 2)

    error = refusal(LoopStateChanged, walk, torch.tensor(3.0))
    assert "calls itself, and the types that it takes or returns never settle" in error.problem
    assert isinstance(error, StatorError)
