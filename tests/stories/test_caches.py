"""Stories about functions that remember or choose: caches, their counts, and single dispatch."""

from __future__ import annotations

import functools

import pytest
import torch

import stator
from tests.stories.book import UP, Book, X

story = Book(output_in_a_cached_function="prints, calls Python or draws random numbers")


@story
def uses_are_counted():
    @functools.lru_cache
    def double(k):
        return k * 2

    def f(x):
        y = x * double(3) + double(3)
        for k in range(3):
            y = y + double(k)
        return y

    return f, X, double.cache_info


@story
def uses_of_a_branch_and_a_loop():
    @functools.cache
    def double(k):
        return k * 2

    def f(x):
        if x.sum() > 0:
            x = x + double(1)
        while x.sum() < 10:
            x = x + double(2)
        return x

    return f, X, double.cache_info


@story
def uses_before_an_error():
    @functools.cache
    def double(k):
        return k * 2

    def f(x):
        y = x * double(3)
        if x.sum() > 0:
            raise ValueError("positive")
        return y + double(3)

    return f, X, double.cache_info


@story
def uses_by_keyword():
    @functools.lru_cache(typed=True)
    def times(k, *, by=1):
        return k * by

    return (lambda x: x * times(3, by=2) + times(k=4)), X, times.cache_info


@story
def uses_of_a_recursive_function():
    @functools.cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def f(x):
        if x.sum() > 0:
            return x + fibonacci(6)
        return x + fibonacci(4)

    return f, X, fibonacci.cache_info


@story
def cleared_between_calls():
    computed = []

    @functools.lru_cache
    def double(k):
        computed.append(k)
        return k * 2 + len(computed)

    def cleared(static):
        double.cache_clear()
        return static(UP)

    return (lambda x: x * double(3)), [UP, UP, cleared, UP, cleared], double.cache_info


@story
def a_full_cache_forgets():
    @functools.lru_cache(maxsize=2)
    def double(k):
        return k * 2

    def f(x):
        for k in range(4):
            x = x + double(k)
        return x + double(1)

    return f, X, double.cache_info


@story
def a_full_cache_forgets_in_a_branch():
    @functools.lru_cache(maxsize=2)
    def double(k):
        return k * 2

    def f(x):
        if x.sum() > 0:
            x = x + double(1) + double(5)
        return x + double(2) + double(1)

    return f, X, double.cache_info


@story
def a_cache_of_one():
    @functools.lru_cache(maxsize=1)
    def double(k):
        return k * 2

    return (lambda x: x + double(1) + double(2) + double(1)), X, double.cache_info


@story
def a_cache_of_none():
    @functools.lru_cache(maxsize=0)
    def double(k):
        return k * 2

    return (lambda x: x + double(1) + double(1)), X, double.cache_info


@story
def uses_by_size():
    @functools.lru_cache(maxsize=2)
    def double(k):
        return k * 2

    calls = [torch.ones(size) for size in (3, 4, 5, 3, 4, 4, 5, 6)]
    return (lambda x: x + double(x.shape[0])), calls, double.cache_info


@story
def tables_by_size():
    @functools.lru_cache(maxsize=2)
    def table(size):
        return torch.arange(size) / size

    calls = [torch.ones(size) for size in (3, 4, 5, 3, 4, 4, 5, 6)]
    return (lambda x: x + table(x.shape[0])), calls, table.cache_info


@story
def uses_by_a_number_from_data():
    @functools.lru_cache(maxsize=2)
    def double(k, by=2):
        return k * by

    def f(x):
        for n in range(int(x[0])):
            x = x + double(n, by=int(x.shape[0]))
        return x

    return f, X, double.cache_info


@story
def uses_of_a_method():
    class Tables:
        @functools.cache  # noqa: B019
        def row(self, n):
            return [k * n for k in range(3)]

    tables = Tables()
    return (lambda x: x * sum(tables.row(2)) + sum(tables.row(3))), X, Tables.row.cache_info


@story
def a_cached_function_raises():
    @functools.lru_cache
    def checked(k):
        if k == 2:
            raise ValueError("two")
        return k

    def f(x):
        total = checked(1)
        try:
            total += checked(2)
        except ValueError:
            total += 100
        return x * total

    return f, X, checked.cache_info


@story
def an_argument_without_a_hash():
    @functools.lru_cache
    def total(items):
        return sum(items)

    def f(x):
        try:
            return x * total([1, 2])
        except TypeError as error:
            return str(error)

    return f, X, total.cache_info


@story
def output_in_a_cached_function():
    @functools.cache
    def double(k):
        print("computing", k)
        return k * 2

    def f(x):
        if x.sum() > 0:
            return x * double(3)
        return x

    return f, X


# ---- single dispatch


@story
def dispatch_by_the_class_of_a_captured_value():
    @functools.singledispatch
    def kind(value):
        return -1

    kind.register(int, lambda value: value + 1)
    kind.register(float, lambda value: value * 2)
    kind.register(torch.Tensor, lambda value: value.sum().item())
    kind.register(list, len)

    def f(x):
        either = 1 if x.sum() > 0 else "a"
        return kind(int(x[0])), kind(x[0].item()), kind(x), kind([x]), kind("s"), kind(either)

    return f, X


@story
def another_function_is_registered():
    @functools.singledispatch
    def kind(value):
        return 0

    def register(static):
        kind.register(str, len)
        return static(UP)

    return (lambda x: x + kind("abc")), [UP, register, UP]


@story
def dispatching_method():
    class Total:
        count = 0

        @functools.singledispatchmethod
        def add(self, value):
            return 0

        @add.register
        def _(self, value: int):
            self.count += value
            return self.count

    total = Total()
    return (lambda x: (total.add(int(x[0])), total.add("a"))), X, lambda: total.count


@story.right()
def test_a_story_goes_as_eager_code_does(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_a_story_is_refused(name):
    story.check_refused(name)


@functools.cache
def ones(k):
    return torch.ones(k)


@functools.lru_cache(maxsize=2)
def steps(k):
    return torch.arange(k)


class Masked(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x + ones(2)
        return x * ones(2)


def test_a_model_that_uses_a_cache_is_saved(tmp_path):
    stator.save(Masked(), tmp_path / "masked", input_spec=[stator.InputSpec((2,), torch.float32)])
    loaded = stator.load(tmp_path / "masked")
    before = ones.cache_info()
    assert torch.equal(loaded(torch.ones(2)), torch.full((2,), 2.0))
    assert ones.cache_info() == before


class Stepped(torch.nn.Module):
    def forward(self, x):
        return x + steps(x.shape[0])


def test_a_model_with_a_table_of_a_dynamic_size_is_saved(tmp_path):
    spec = [stator.InputSpec((None,), torch.float32)]
    stator.save(Stepped(), tmp_path / "stepped", input_spec=spec)
    loaded, before = stator.load(tmp_path / "stepped"), steps.cache_info()
    for size in (0, 1, 4):
        assert torch.equal(loaded(torch.ones(size)), torch.ones(size) + torch.arange(size))
    assert steps.cache_info() == before
