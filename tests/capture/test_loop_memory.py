"""Nested loops: each is recorded a few times, however deep it is, and means what it meant."""

import pytest
import torch

import stator
from stator.capture import loops
from tests.capture.oracle import check

CALLS = tuple((torch.full((2,), float(k)),) for k in (0, 1, 2))


def one(x):
    a = 0
    while a < x.max():
        x = x + 0
        a = a + 1
    return x, a


def two(x):
    a = 0
    while a < x.max():
        b = 0
        while b < x.max():
            x = x + 0
            b = b + 1
        a = a + 1
    return x, a


def five(x):
    a = 0
    while a < x.max():
        b = 0
        while b < x.max():
            c = 0
            while c < x.max():
                d = 0
                while d < x.max():
                    e = 0
                    while e < x.max():
                        x = x + 0
                        e = e + 1
                    d = d + 1
                c = c + 1
            b = b + 1
        a = a + 1
    return x, a


def three_of_another_kind(x):
    a = 1
    while a < x.max():
        b = 1
        while b < x.max():
            c = 1
            while c < x.max():
                c = c * 2
            b = b * 2
        a = a * 2
    return a


@pytest.fixture
def rounds(monkeypatch):
    """The names of the loop that is recorded, for each recording of a body."""
    found = []
    record = loops._record_round

    def counted(recorder, variables, carried, body):
        found.append(variables.names)
        return record(recorder, variables, carried, body)

    monkeypatch.setattr(loops, "_record_round", counted)
    return found


@pytest.mark.parametrize(("function", "depth"), [(one, 1), (two, 2), (five, 5)])
def test_loops_that_count_and_change_tensors_are_recorded_once(function, depth, rounds):
    stator.to_static(function)(torch.ones(2))
    assert len(rounds) == len(set(rounds)) == depth


def test_the_innermost_loop_of_others_is_recorded_once_more_for_each_level(rounds):
    stator.to_static(three_of_another_kind)(torch.ones(2))
    assert [rounds.count((name,)) for name in "abc"] == [2, 3, 4]


def test_a_tensor_that_the_body_leaves_is_not_carried(rounds):
    def f(x, flag):
        y = start = x
        while x.sum() < 10:
            x = x + 1
            if flag:
                y = y + 1
        return x, flag or y is start

    assert stator.to_static(f)(CALLS[1][0], False)[1] is True
    assert len(rounds) == 3  # one too many, then two from the start
    check(f, *((*call, flag) for call in CALLS for flag in (False, True)))


def test_a_number_that_is_put_back_stays_a_python_number():
    def f(x):
        n = 2
        while x.sum() < 10:
            n += 1
            n = 2
            x = x + torch.ones(n)
        return x.reshape(n), n

    check(f, *CALLS)


def test_a_counter_of_a_body_that_always_raises():
    def f(x):
        n = 2
        while x.sum() > 100:
            n += 1
            raise ValueError(n)
        return x.reshape(n)

    check(f, *CALLS, (torch.full((2,), 100.0),))


@pytest.mark.parametrize("function", [two, five])
def test_nested_loops_give_what_eager_gives(function):
    check(function, *CALLS)


def test_lists_that_inner_loops_grow():
    def f(x):
        rows = []
        i = 0
        while i < x.sum():
            row = []
            j = 0
            while j < x.max():
                row.append(x * j)
                rows.append(x + i)
                j += 1
            i += 1 + len(row) * 0
        return rows, i

    check(f, *CALLS)


def test_kinds_that_change_in_an_inner_loop_in_the_second_round_of_the_outer():
    def f(x):
        last, n = None, 0
        while n < x.sum():
            k = 0
            while k < x.max():
                if last is None:
                    last = 1
                elif k > 0:
                    last = last + 0.5
                k += 1
            n = n + 1
        return last, n

    check(f, *CALLS)


def test_values_that_are_shifted_from_name_to_name():
    def f(x):
        p, q, r = 0, None, x
        i = 0
        while i < x.sum():
            j = 0
            while j < x.max():
                p, q, r = q, r, j
                j += 1
            i += 1
        return p, q, r

    check(f, *CALLS)


def test_sizes_that_only_the_outer_loop_knows():
    def f(x):
        total = x[:0]
        i = 0
        while i < x.sum():
            part = total[: i + 1]
            j = 0
            while j < x.max():
                part = part * 2
                total = torch.cat([total, x])
                j += 1
            total = torch.cat([total, part])
            i += 1
        return total

    check(f, *CALLS)


def test_an_object_that_each_round_of_the_outer_loop_makes():
    class Sum:
        def __init__(self):
            self.value = 0

    def f(x):
        found = 0
        i = 0
        while i < x.sum():
            total = Sum()
            j = 0
            while j < x.max():
                total.value = total.value + j
                j += 1
            found = found + total.value
            i += 1
        return found

    check(f, *CALLS)


def test_a_loop_in_a_branch_that_only_a_later_round_takes():
    def f(x):
        seen, i = None, 0
        while i < x.sum():
            if seen is not None:
                j = 0
                while j < x.max():
                    seen = seen + 1
                    j += 1
            seen = x if seen is None else seen
            i += 1
        return seen, i

    check(f, *CALLS)
