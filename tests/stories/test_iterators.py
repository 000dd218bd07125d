"""Iterators of the caller's: every call moves them as far as eager code does."""

import copy
import itertools

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.stories.story import Story, check

X = torch.tensor([1.0, -2.0])


class Owner(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ids = itertools.count(5)
        self.pair = (itertools.cycle([1.0, 2.0]),)

    def forward(self, x):
        return x + next(self.ids)


class OfATuple(Owner):
    def forward(self, x):
        return x * next(self.pair[0])


def by_next(it):
    return lambda x: x + next(it)


def by_next_with_a_default(it):
    return lambda x: x + next(it, 1.0)


def by_for(it):
    def f(x):
        for v in it:
            return x + v
        return x

    return f


def by_list(it):
    return lambda x: x + len(list(it))


def by_tuple(it):
    return lambda x: x + len(tuple(it))


def by_sum(it):
    return lambda x: x + sum(it)


def by_any(it):
    return lambda x: x + any(it)


def by_search(it):
    return lambda x: x + any(v > 1 for v in it)


def by_zip(it):
    return lambda x: [x + v for v, _ in zip(it, range(2), strict=False)]


def by_map(it):
    return lambda x: list(map(x.add, it))


def by_enumerate(it):
    return lambda x: [x + v * k for k, v in enumerate(it)]


def by_in(it):
    return lambda x: x + (10.0 in it)


def by_unpacking(it):
    def f(x):
        a, b, c = it
        return x + a + b + c

    return f


def by_star(it):
    return lambda x: x + len([*it])


def by_arguments(it):
    return lambda x: x + max(*it)


def by_extend(it):
    def f(x):
        items = [x]
        items.extend(it)
        return items

    return f


def by_adding_to_a_list(it):
    def f(x):
        items = [x]
        items += it
        return items

    return f


def by_dict(it):
    return lambda x: x + len(dict(enumerate(it)))


def by_itertools(it):
    return lambda x: x + sum(itertools.islice(it, 2))


def by_chain_of_a_list(it):
    return lambda x: x + sum(itertools.chain.from_iterable([it]))


def by_next_of_a_chain(it):
    return lambda x: x + next(itertools.chain([], it, [9.0]))


def by_a_chain_that_is_left(it):
    def f(x):
        for v in itertools.chain.from_iterable([it, [9.0]]):
            x = x + v
            if x.sum() > 35:
                break
        return x

    return f


def by_generator_expression(it):
    def f(x):
        doubled = (v * 2 for v in it)
        return x + next(doubled)

    return f


def by_yield_from(it):
    def items():
        yield from it

    def f(x):
        for v in items():
            x = x + v
        return x

    return f


def by_join(it):
    return lambda x: (x, "".join(it))


TAKERS = [
    by_next, by_next_with_a_default, by_for, by_list, by_tuple, by_sum, by_any, by_search, by_zip,
    by_map, by_enumerate, by_in, by_unpacking, by_star, by_arguments, by_extend,
    by_adding_to_a_list, by_dict, by_itertools, by_chain_of_a_list, by_next_of_a_chain,
    by_a_chain_that_is_left, by_generator_expression,
    by_yield_from, by_join,
]  # fmt: skip


@pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker.__name__)
def test_an_iterator_of_the_callers_moves_with_every_call(taker):
    def make():
        items = ["a", "b", "c", "d"] if taker is by_join else [10.0, 20.0, 30.0, 40.0]
        it = iter(items)
        return Story(taker(it), (X, X, X), lambda: list(copy.copy(it)))

    check(make)


ENDLESS = {
    "count": lambda: itertools.count(5),
    "cycle": lambda: itertools.cycle([1.0, 2.0, 3.0]),
    "repeat": lambda: itertools.repeat(2),
}


@pytest.mark.parametrize("taker", [by_next, by_next_with_a_default, by_for, by_search])
@pytest.mark.parametrize("maker", ENDLESS)
def test_one_without_an_end_is_asked_by_each_run(maker, taker):
    def make():
        it = ENDLESS[maker]()
        return Story(taker(it), (X, X, X), lambda: repr(it) if maker == "count" else 0)

    check(make)


def test_one_without_an_end_in_a_branch_has_one_program():
    def make():
        ids = itertools.count(5)
        return Story(lambda x: x + next(ids) if x.sum() > 0 else x, (X, -X, X, -X), lambda: ids)

    check(make)
    ids = itertools.count(5)
    static = stator.to_static(lambda x: x + next(ids))
    assert [float(static(X)[0]) for _ in range(4)] == [6.0, 7.0, 8.0, 9.0]
    assert len(static.concrete_programs) == 1


@pytest.mark.parametrize("owner", [Owner, OfATuple])
def test_one_that_a_module_holds_moves(owner):
    def make():
        module = owner()
        return Story(module, (X, X, X), lambda: (module.ids, next(module.pair[0])))

    check(make)


def test_a_generator_of_the_callers_is_refused():
    numbers = (k for k in range(9))
    words = (
        "items of a generator from outside are taken: only the capture would take them, not later "
        "calls"
    )
    with pytest.raises(UnsupportedCall, match=words):
        stator.to_static(lambda x: x + next(numbers))(X)
    assert next(numbers) == 0


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: [it], lambda it: {"a": it}])
def test_one_that_is_an_argument_moves(wrap):
    def f(x, given):
        rows = given[0] if isinstance(given, list) else given
        rows = rows["a"] if isinstance(rows, dict) else rows
        for v in rows:
            x = x + v
            if x.sum() > 0:
                return x
        return x

    static = stator.to_static(f)
    for start in (X, -X, X):
        it, other = iter([1.0, 2.0, 3.0]), iter([1.0, 2.0, 3.0])
        assert torch.equal(static(start, wrap(it)), f(start, wrap(other)))
        assert list(it) == list(other)


def test_one_that_is_not_advanced_is_a_value_like_any_other():
    it = iter([1.0])

    def f(x, given=None):
        held = [it]
        held.append(it)
        same = held[0] is it and it is not given
        return x + (1 if same and it else 2)

    assert torch.equal(stator.to_static(f)(X), X + 1)


def test_one_with_a_next_of_the_users_own_is_advanced_by_every_call():
    class Counter:
        def __init__(self):
            self.count = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.count += 1
            return self.count

    counter = Counter()
    f = stator.to_static(lambda x: x + next(counter))
    assert [float(f(X)[0]) for _ in range(3)] == [2.0, 3.0, 4.0]


def numbered_names():
    names = enumerate(["a", "b", "c", "d"])

    def f(x):
        number, name = next(names)
        if x.sum() > 0:
            number, name = next(names)
        return name * (number + 1)

    return Story(f, [X, -X, X], lambda: names.__reduce__()[1][1])


def numbered_rest_of_an_iterator():
    rest = iter([1, 2, 3, 4, 5])
    numbered = enumerate(rest)

    def ahead(static):
        next(rest)
        return static(X)

    return Story(lambda x: next(numbered), [X, ahead, X], lambda: list(copy.copy(rest)))


@pytest.mark.parametrize("make", [numbered_names, numbered_rest_of_an_iterator])
def test_an_enumerate_is_moved_as_eager_code_moves_it(make):
    check(make)


def test_an_enumerate_whose_iterator_is_used_too_is_refused():
    rest = iter([1, 2, 3])
    numbered = enumerate(rest)
    static = stator.to_static(lambda x: (next(rest), next(numbered)))
    with pytest.raises(UnsupportedCall, match="items of an enumerate from outside are taken"):
        static(X)
