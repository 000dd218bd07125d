"""Generators whose items are taken one by one: `next`, `send`, `throw`, `close`, `yield from`."""

from __future__ import annotations

from tests.zoo.programs import f, program

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
