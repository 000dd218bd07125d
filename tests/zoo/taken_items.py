"""Items of generators and of users' iterators: taken when they are asked for, and no others.

`taken` lists what was taken, and what the code around did in between.
"""

from __future__ import annotations

import collections
import itertools
import operator

from tests.zoo.programs import i, program

NUMBERS = ((i(1),), (i(2),), (i(0),))


def read(taken, start):
    for value in range(start, start + 5):
        taken.append(value)
        yield value


class Reader:
    """The same items by `__next__`."""

    def __init__(self, taken, start):
        self.taken, self.start, self.count = taken, start, 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.count >= 5:
            raise StopIteration
        self.count += 1
        self.taken.append(self.start + self.count - 1)
        return self.taken[-1]


@program(*NUMBERS)
def zip_of_a_generator(x):
    """The shorter one decides, and the order of the arguments says how many are taken."""
    taken = []
    first, second = read(taken, int(x)), Reader(taken, int(x))
    return list(zip(range(2), first)), list(zip(second, "ab")), next(first), next(second), taken


@program(*NUMBERS)
def zip_of_generators(x):
    """Two that are one, and two beside a list."""
    taken = []
    source = read(taken, int(x))
    pairs = list(zip(source, source))
    rows = [row for row in zip(read(taken, int(x)), [7, 8], Reader(taken, int(x)))]
    return pairs, rows, taken


@program(*NUMBERS)
def strict_zip_of_a_generator(x):
    """The error says which one is too short."""
    taken = []
    result = []
    try:
        for row in zip([1, 2, 3], (v for v in read(taken, int(x)) if v != 2), strict=True):
            taken.append("body")
            result.append(row)
    except ValueError as error:
        return result, str(error), taken
    return result, None, taken


@program(*NUMBERS)
def map_over_a_generator(x):
    """The body of the loop runs between two items."""
    taken = []
    source = read(taken, int(x))
    for value in map(lambda v: v + 1, source):
        taken.append("body")
        if value > 3:
            break
    return value, list(map(operator.add, [10, 20], source)), list(source), taken


@program(*NUMBERS)
def filter_of_a_generator(x):
    """Nothing is tested that is not asked for."""
    taken = []
    source = Reader(taken, int(x))
    for value in filter(lambda v: v % 2, source):
        taken.append("body")
        break
    return value, next(filter(None, read(taken, int(x)))), next(source), taken


@program(*NUMBERS)
def enumerated_and_sliced(x):
    """`enumerate` and `islice` leave the rest."""
    taken = []
    source, other = read(taken, int(x)), Reader(taken, int(x))
    for at, _ in enumerate(source):
        if at == 1:
            break
    return list(itertools.islice(other, 2)), next(source), next(other), taken


@program(*NUMBERS)
def chained_and_cycled(x):
    """The second one begins when the first one has ended."""
    taken = []
    result = []
    for value in itertools.chain([0], read(taken, int(x)), Reader(taken, 9)):
        taken.append("body")
        if value > 3:
            break
    for value in itertools.chain.from_iterable([v, v] for v in read(taken, int(x))):
        result.append(value)
        if len(result) > 4:
            break
    for value in itertools.cycle(Reader(taken, int(x))):
        result.append(value)
        if len(result) > 12:
            break
    return result, taken


@program(*NUMBERS)
def accumulated_and_paired(x):
    """One item more than was given, at most."""
    taken = []
    source, other = read(taken, int(x)), Reader(taken, int(x))
    for total in itertools.accumulate(source):
        taken.append("body")
        if total > 4:
            break
    for pair in itertools.pairwise(other):
        if pair[1] > 2:
            break
    return total, next(source, None), pair, next(other, None), taken


@program(*NUMBERS)
def groups_of_a_generator(x):
    """The items of a group are taken when they are asked for."""
    taken = []
    result = []
    for key, group in itertools.groupby(read(taken, int(x)), lambda v: v // 3):
        taken.append("body")
        result.append((key, list(group)))
        if key > 0:
            break
    skipped = [key for key, _ in itertools.groupby(Reader(taken, int(x)), lambda v: v // 2)]
    return result, skipped, taken


@program(*NUMBERS)
def containers_of_generators(x):
    """Methods of containers that take all items."""
    taken = []
    items, table, queue = [], {}, collections.deque(maxlen=3)
    items.extend(zip(read(taken, int(x)), "ab"))
    items += (v for v in Reader(taken, int(x)) if v > 2)
    table.update(zip("ab", read(taken, int(x))))
    table.update((v, -v) for v in Reader(taken, 5))
    queue.extend(read(taken, int(x)))
    first, second, *rest = Reader(taken, int(x))
    return (
        items,
        table,
        list(queue),
        first,
        second,
        rest,
        "-".join(map(str, read(taken, int(x)))),
        taken,
    )


@program(*NUMBERS)
def generator_expressions(x):
    """They are generators as well: late, and left where no more items are asked for."""
    taken = []
    source, factor = read(taken, int(x)), 2
    items = (taken.append("item") or v * factor for v in source if v != 2)
    first = next(items)
    factor = 5
    if next(source) > 2:
        return first, next(items), list(items), list(source), taken
    return first, 15 in items, list(items), next(source, None), taken


class Head:
    def first_two(self, items):
        return next(items), next(items)


@program(*NUMBERS)
def generator_expression_for_a_method(x):
    """A method of the user's gets the generator itself."""
    taken = []
    source = Reader(taken, int(x))
    return Head().first_two(v * 2 for v in source), next(source), taken


@program(*NUMBERS)
def items_beside_each_other(x):
    """Columns of different lengths that only a run knows."""
    taken = []
    left, right = list(range(int(x))), "xy"
    rows = list(itertools.zip_longest(left, right, fillvalue="-"))
    return rows, [a for a, _ in itertools.zip_longest(left, [1, 2, 3], fillvalue=-1)], taken
