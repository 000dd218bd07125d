"""`finally` runs at every end of its body."""

import torch

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


def test_a_finally_prints_also_where_the_program_raises_before_it():
    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative")
        finally:
            print("done")
        return x

    check(f, (UP,), (DOWN,))


def test_a_finally_that_only_computes_may_stand_after_a_raise():
    def f(x):
        try:
            if x.sum() < 0:
                raise ValueError("negative")
        finally:
            x = x + 1
        return x

    check(f, (UP,), (DOWN,))
