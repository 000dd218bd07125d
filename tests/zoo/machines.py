"""Generators whose items are taken one by one: `next`, `send`, `throw`, `close`, `yield from`."""

from __future__ import annotations

from tests.zoo.programs import f, i, program

PATHS = ((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(3.0, -1.0),), (f(-3.0, 0.5),))


def halves_and_rest(x):
    for v in x:
        if v > 0:
            yield v / 2
        else:
            yield -v
            yield v
    return x.sum()


@program(*PATHS)
def items_by_next(x):
    """Which `yield` is next depends on the data."""
    items = halves_and_rest(x)
    return next(items), next(items), next(items, None), list(items), next(items, 5)


@program(*PATHS)
def an_item_too_many(x):
    """The end is an error where the data has no more items."""
    items = halves_and_rest(x)
    found = [next(items), next(items)]
    try:
        found.append(next(items))
    except StopIteration:
        found.append(x)
    return found


@program(*PATHS)
def the_rest_after_a_break(x):
    """A loop is left by the data, and another one goes on."""
    items = halves_and_rest(x)
    for first in items:
        if first > 1:
            break
    return first, [item * 3 for item in items]


def averager():
    count, total, average = 0, 0.0, None
    while True:
        value = yield average
        count += 1
        total = total + value
        average = total / count


@program(*PATHS)
def values_sent_in_a_loop(x):
    """`send` under a condition, and in a loop of the program."""
    mean = averager()
    next(mean)
    found = None
    for v in x:
        if v > 0:
            found = mean.send(v)
    while x.sum() < 9:
        x = mean.send(x.abs() + 1) + x.abs()
    return found, x


def doubling(out):
    while True:
        out.append((yield len(out)) * 2)


def passing_on(target):
    next(target)
    count = 0
    while (count := count + 1) < 100:
        received = yield count
        if received is not None and received > 0:
            target.send(received)


@program(*PATHS)
def a_chain_of_generators(x):
    """One generator sends to another."""
    out = []
    chain = passing_on(doubling(out))
    next(chain)
    return [chain.send(v) for v in x], out


def guarded(x, log):
    try:
        yield x
        try:
            yield x * 2
        except ValueError as error:
            log.append("caught")
            yield x * len(error.args)
        else:
            log.append("not raised")
        yield x * 3
    finally:
        log.append("left")


@program(*PATHS)
def errors_thrown_into_it(x):
    """A `finally` runs where it is closed, or where an error leaves it."""
    log = []
    items = guarded(x, log)
    first = next(items), next(items), items.throw(ValueError("a", "b"))
    items.close()
    others = guarded(x, log)
    next(others)
    try:
        others.throw(KeyError("k"))
    except KeyError as error:
        log.append(error.args)
    return first, next(others, "over"), list(guarded(x, log)), log


def inner(x):
    total = x * 0
    while True:
        got = yield total
        if got is None:
            return total
        total = total + got


def outer(x, results):
    while True:
        result = yield from inner(x)
        results.append(result)


@program(*PATHS)
def results_of_an_inner_one(x):
    """`yield from` passes on what is sent, and gives the result."""
    results = []
    items = outer(x, results)
    next(items)
    for v in x:
        items.send(v)
    items.send(None)
    items.send(x[0])
    items.send(None)
    return results


def some_of(x):
    if x.sum() > 0:
        yield x
    return x.max()


def with_the_result(x):
    yield (yield from some_of(x))


@program(*PATHS)
def the_result_after_a_branch(x):
    """The data decides whether there is an item before the result."""
    return [item.sum() for item in with_the_result(x)]


def with_a_result(x):
    yield x
    return x.max()


@program(*PATHS)
def the_value_of_the_end(x):
    """`StopIteration.value`."""
    items = with_a_result(x)
    next(items)
    try:
        next(items)
    except StopIteration as stop:
        return stop.value
    return x


@program(*PATHS)
def an_end_inside_of_one(x):
    """A StopIteration that its body raises is a RuntimeError."""

    def first_of(items):
        while True:
            yield next(items)

    try:
        return list(first_of(iter([x])))
    except RuntimeError as error:
        return str(error), x


def leaves(tree):
    if isinstance(tree, tuple):
        for one in tree:
            yield from leaves(one)
    else:
        yield tree


@program(*PATHS)
def leaves_of_a_tree(x):
    """A generator that goes through itself."""
    items = leaves(((x, 1), (2, (x * 2, 3))))
    return next(items) + next(items), list(items)


LENGTHS = ((i(3),), (i(0),), (i(5),), (i(1),))


def grown(n):
    """A list of a length that only a run knows."""
    values, k = [], 0
    while k < n:
        values.append(k)
        k = k + 1
    return values


@program(*LENGTHS)
def next_of_a_generator_over_a_list_of_the_run(n):
    """Before the first item its variable is not bound."""

    def doubled(values):
        for value in values:
            yield value * 2

    items = doubled(grown(n))
    return next(items, -1), next(items, -2), list(items)


@program(*LENGTHS)
def generator_left_by_a_break_in_nested_ranges(n):
    """A range inside depends on the loop around it."""

    def pairs(values):
        for j in range(len(values)):
            for k in range(j):
                yield values[j], values[k]

    items, total = pairs(grown(n)), 0
    for a, b in items:
        total = total + a * b
        if total > 3:
            break
    return total, next(items, (-1, -1))


@program(*LENGTHS)
def generator_of_a_generator_over_a_list_of_the_run(n):
    """Both keep their place."""

    def even(values):
        for value in values:
            if value % 2 == 0:
                yield value

    def squares(values):
        for value in values:
            yield value * value

    items = squares(even(grown(n)))
    return next(items, -1), sum(items)


@program(*LENGTHS)
def generator_closed_in_a_branch(n):
    """What has no `finally` is over at once."""

    def endless():
        k = 0
        while True:
            yield k
            k += 1

    items = endless()
    first = next(items)
    if n > 2:
        items.close()
    return first + n, next(items, -5)


@program(*LENGTHS, may_raise=True)
def variable_of_a_generator_that_is_not_bound(n):
    """Python's error for a name that is read too early."""

    def late(values):
        for value in values:
            yield value
        yield last  # noqa: F821  # bound too late
        last = 1  # noqa: F841

    items = late(grown(n))
    first = next(items)
    return first, list(items)


@program((f(1.0), i(1, 2, 3)), (f(-1.0), i(1, 2, 3)), may_raise=True)
def position_that_may_be_none(x, y):
    """A list of the run has Python's error for such a position."""
    values = [v for v in y.tolist() if v > 1]
    at = 1 if x > 0 else None
    return values[at]


@program((f(1.0, -2.0),), (f(3.0, 1.0),), (f(-5.0, 0.5),))
def return_in_an_inner_loop(x):
    """A loop without a `yield` ends the generator."""

    def rounds(rows):
        while True:
            for row in rows:
                if row > 2:
                    return row
            yield sum(rows)
            rows = [row + 1 for row in rows]

    items = rounds([x[0], x[1]])
    return next(items, -1), next(items, -1), list(items)
