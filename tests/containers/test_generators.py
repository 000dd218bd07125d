"""Generators: the loop that uses one is its consumer."""

import heapq
import itertools

import torch

from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = tuple((torch.full((2,), float(k)),) for k in (1, 3, 20))


def halves(x):
    while x.sum() > 1:
        yield x
        x = x / 2


def test_a_loop_over_a_generator_runs_its_body_at_each_yield():
    def f(x):
        total, count = x * 0, 0
        for one in halves(x):
            total = total + one
            count += 1
        return total, count

    check(f, *CALLS)


def test_break_stops_the_generator():
    def f(x):
        last = x
        for one in halves(x):
            last = one
            if one.sum() < 5:
                break
        return last

    check(f, *CALLS)


def test_list_of_a_generator_is_a_list():
    check(lambda x: list(halves(x)), *CALLS)


def test_sum_and_enumerate_take_a_generator():
    def f(x):
        total = x * 0
        for k, one in enumerate(halves(x)):
            total = total + one * k
        return total, sum(halves(x))

    check(f, *CALLS)


def test_a_generator_over_another_is_lazy_in_order():
    def doubled(x):
        for one in halves(x):
            print("double", float(one.sum()))
            yield one * 2

    def f(x):
        for one in doubled(x):
            print("use", float(one.sum()))
        return x

    check(f, *CALLS)


def test_yield_from_gives_the_items_of_the_other():
    def both(x):
        yield from halves(x)
        yield x

    check(lambda x: list(both(x)), *CALLS)


def test_a_generator_expression_runs_where_it_is_used():
    check(lambda x: sum(one.sum() for one in halves(x)), *CALLS)


def test_return_in_a_generator_ends_it():
    def first_two(x):
        yield x
        if x.sum() > 5:
            return
        yield x + 1

    check(lambda x: len(list(first_two(x))), *CALLS)


def test_a_generator_of_python_items_is_unrolled():
    def steps():
        yield 1
        yield 2

    check(lambda x: [x * k for k in steps()], *CALLS)


def test_a_generator_that_is_used_twice_has_no_items_left():
    def f(x):
        items = halves(x)
        return list(items), list(items)

    check(f, *CALLS)


def test_zip_longest_takes_items_of_a_generator_in_turn():
    check(lambda x: next(itertools.zip_longest(halves(x))), *CALLS)


def test_library_code_cannot_take_items_one_by_one():
    error = refusal(UnsupportedCall, lambda x: x * next(heapq.merge(halves(x))), torch.ones(2))
    assert error.problem == (
        "`merge` takes items from a generator, or from an object with `__next__`"
    )
    assert error.fix == "make a list of it first: `list(...)`"


def test_next_of_a_generator_gives_its_first_item():
    check(lambda x: next(halves(x)), *CALLS)


class Tree:
    def __init__(self, value, children):
        self.value, self.children = value, children

    def __iter__(self):
        yield self.value
        for child in self.children:
            yield from child


def total_of_a_tree(x):
    root = Tree(x, [Tree(x * 2, [])])
    if x.sum() > 0:
        root.children.append(Tree(x * 3, []))
    return sum(root)


def test_a_generator_that_goes_through_its_own_as_deep_as_the_data_says_is_refused():
    error = refusal(UnsupportedCall, total_of_a_tree, torch.ones(2))
    assert error.problem == (
        "the generator `__iter__` iterates over itself recursively, to a data-dependent depth"
    )
