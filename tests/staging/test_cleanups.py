"""`finally` and the end of `with` run at every end, or the program is refused."""

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check

UP, DOWN = torch.tensor([1.0]), torch.tensor([-1.0])


def test_finally_runs_where_nothing_is_raised():
    def f(x):
        try:
            y = x * 2
        finally:
            x = x + 1
        return x + y

    check(f, (UP,), (DOWN,))


def test_a_finally_that_prints_is_refused_where_the_program_may_raise_before_it():
    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative")
        finally:
            print("done")
        return x

    with pytest.raises(UnsupportedCall) as caught:
        stator.to_static(f)(UP)
    assert caught.value.problem == (
        "what `finally` or the end of a `with` does would be left out when the program raises "
        "inside"
    )


def test_a_finally_that_only_computes_may_stand_after_a_raise():
    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative")
        finally:
            x = x + 1
        return x

    check(f, (UP,), (DOWN,))
