"""Loops: no iteration and many, and variables that change their kind on the way."""

import torch

from stator import InputSpec
from tests.capture.oracle import check

CALLS = tuple((torch.full((2,), float(k)),) for k in (20, 3, 1))


def test_no_trip_leaves_everything_as_it_was():
    def f(x):
        y, n = x, 0
        while y.sum() < 10:
            y = y * 2
            n += 1
        return y, n

    check(f, *CALLS)


def test_an_int_becomes_a_float_on_the_way():
    def f(x):
        n = 0
        while x.sum() < 10:
            x = x * 2
            n = n + 0.5
        return n

    check(f, *CALLS)


def test_none_becomes_a_tensor_on_the_way():
    def f(x):
        last = None
        while x.sum() < 10:
            last = x
            x = x * 2
        return last, last is None

    check(f, *CALLS)


def test_a_tensor_grows_on_the_way():
    def f(x):
        total = x[:0]
        while x.sum() < 10:
            total = torch.cat([total, x])
            x = x * 2
        return total, total.shape[0]

    check(f, *CALLS)


def test_a_name_first_bound_in_the_loop_raises_after_no_trip():
    def f(x):
        while x.sum() < 10:
            y = x
            x = x * 2
        return y

    check(f, *CALLS)


def test_break_continue_and_else():
    def f(x):
        seen = 0
        for k in range(int(x.sum()) % 7):
            if k == 1:
                continue
            seen += k
            if x.sum() + k > 20:
                break
        else:
            seen += 100
        return seen

    check(f, *CALLS)


def test_loops_nest():
    def f(x):
        total = 0
        for i in range(int(x[0])):
            for j in range(i):
                total += i * j
        return total

    check(f, (torch.tensor([4.0]),), (torch.tensor([0.0]),), (torch.tensor([1.0]),))


def test_a_loop_over_rows_of_unknown_number():
    def f(x):
        best = x.sum() * 0
        for row in x:
            if row.sum() > best:
                best = row.sum()
        return best

    calls = tuple((torch.arange(2.0 * k).reshape(k, 2),) for k in (3, 1, 0, 80))
    check(f, *calls, spec=[InputSpec([None, 2])])


def test_in_place_writes_in_a_loop_reach_the_argument():
    def f(x):
        while x.sum() < 10:
            x += 1
        return x

    check(f, *CALLS)


def test_gradients_flow_through_every_trip():
    def f(x):
        while x.sum() < 10:
            x = x * 2
        return x.sum()

    static = check(f, *CALLS)
    for value in (20.0, 3.0, 1.0):
        x, y = (torch.full((2,), value, requires_grad=True) for _ in range(2))
        f(x).backward()
        static(y).backward()
        assert torch.equal(x.grad, y.grad)


def test_an_error_in_a_trip_is_raised_by_the_run():
    def f(x):
        while x.sum() < 10:
            if x[0] == 4:
                raise ValueError("four")
            x = x * 2
        return x

    check(f, *CALLS)


def test_a_swap_of_variables_is_simultaneous():
    def f(x):
        a, b = x, x + 1
        while a.sum() < 10:
            a, b = b, a + b
        return a, b

    check(f, *CALLS)
