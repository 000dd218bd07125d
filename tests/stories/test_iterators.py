"""Iterators are values: the position of one is state, and one of the caller's is not advanced."""

import itertools

import pytest
import torch

import stator
from stator.errors import UnsupportedCall

X = torch.tensor([1.0, -2.0])
KEPT = itertools.count(5)


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
    by_adding_to_a_list, by_dict, by_itertools, by_chain_of_a_list, by_generator_expression,
    by_yield_from, by_join,
]  # fmt: skip


@pytest.mark.parametrize("taker", TAKERS, ids=lambda taker: taker.__name__)
def test_an_iterator_of_the_callers_is_refused_before_an_item_is_taken(taker):
    it = iter([10.0, 20.0, 30.0])
    with pytest.raises(UnsupportedCall, match="make a list of it before the call") as caught:
        stator.to_static(taker(it))(X)
    assert caught.value.code == "ST204"
    assert caught.value.at is not None
    assert next(it) == 10.0


def test_the_error_names_the_iterator():
    words = (
        "items of a count of the caller's are taken: only the capture would take them, and no "
        "later call"
    )
    with pytest.raises(UnsupportedCall, match=words):
        stator.to_static(lambda x: x + next(KEPT))(X)
    assert next(KEPT) == 5


@pytest.mark.parametrize("owner", [Owner, OfATuple])
def test_one_that_a_module_holds_is_refused(owner):
    with pytest.raises(UnsupportedCall, match="of the caller's"):
        stator.to_static(owner())(X)


def test_a_generator_of_the_callers_is_refused():
    numbers = (k for k in range(9))
    with pytest.raises(UnsupportedCall, match="items of a generator"):
        stator.to_static(lambda x: x + next(numbers))(X)


@pytest.mark.parametrize("wrap", [lambda it: it, lambda it: [it], lambda it: {"a": it}])
def test_one_that_is_an_argument_is_refused(wrap):
    def f(x, given):
        rows = given[0] if isinstance(given, list) else given
        rows = rows["a"] if isinstance(rows, dict) else rows
        for v in rows:
            x = x + v
        return x

    it = iter([1.0, 2.0])
    with pytest.raises(UnsupportedCall, match="make a list of it"):
        stator.to_static(f)(X, wrap(it))
    assert list(it) == [1.0, 2.0]


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


def by_break(it, t):
    for v in it:
        if v > t:
            break
    return list(it)


def by_a_search(it, t):
    return any(v > t for v in it), list(it)


def by_in_of_a_number(it, t):
    return int(t) in it, list(it)


@pytest.mark.parametrize("take", [by_break, by_a_search, by_in_of_a_number])
@pytest.mark.parametrize(
    "make", [iter, lambda items: map(abs, items), lambda items: (v for v in items), reversed]
)
def test_the_rest_of_an_iterator_that_a_run_has_left_is_refused(make, take):
    def f(t):
        it = make([1, 2, 3, 4])
        return take(it, t)

    words = (
        "the rest of an iterator is used after a loop or a search that took some of its items: "
        "only a run knows how many"
    )
    with pytest.raises(UnsupportedCall, match=words):
        stator.to_static(f)(torch.tensor(2))


def test_the_rest_of_an_iterator_that_python_has_left_is_right():
    def f(x):
        it = iter([1, 2, 3, 4])
        for v in it:
            if v == 2:
                break
        return x, list(it)

    assert stator.to_static(f)(X)[1] == [3, 4]


def test_what_map_gives_is_used_once():
    def f(x):
        doubled = map(lambda v: v * 2, [1, 2])  # noqa: C417
        return x, list(doubled), list(doubled)

    with pytest.raises(UnsupportedCall, match="the rest of an iterator"):
        stator.to_static(f)(X)


def test_the_first_of_a_map():
    f = stator.to_static(lambda x: x + next(map(abs, [-3, 4])))
    assert torch.equal(f(X), X + 3)
