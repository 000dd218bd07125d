"""`heapq`, `bisect` and the rest of `itertools`, written out in Python.

They are converted like user code where their operands are staged. The heaps are those of CPython,
item by item.
"""

from __future__ import annotations

import collections

from stator.containers.definitions import NO_DEFAULT, OF_NOTHING
from stator.values.annotations import Staged

# ---- heapq


def sift_down(heap: Staged, start: Staged, at: Staged) -> None:
    """Move the item at `at` towards `start`, as far as it is less than those above."""
    new = heap[at]
    moves = True
    while moves and at > start:
        above = (at - 1) // 2
        if new < heap[above]:
            heap[at] = heap[above]
            at = above
        else:
            moves = False
    heap[at] = new


def sift_up(heap: Staged, at: Staged) -> None:
    """Move the lesser children up until there are none, then the item down to its place."""
    end, start, new = len(heap), at, heap[at]
    child = 2 * at + 1
    while child < end:
        right = child + 1
        if right < end and not heap[child] < heap[right]:
            child = right
        heap[at] = heap[child]
        at = child
        child = 2 * at + 1
    heap[at] = new
    sift_down(heap, start, at)


def heappush(heap: Staged, item: Staged) -> None:
    """`heapq.heappush`."""
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


def heappop(heap: Staged) -> Staged:
    """`heapq.heappop`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    found = heap.pop()
    if len(heap) > 0:
        last = found
        found = heap[0]
        heap[0] = last
        sift_up(heap, 0)
    return found


def heapreplace(heap: Staged, item: Staged) -> Staged:
    """`heapq.heapreplace`."""
    if len(heap) == 0:
        raise IndexError("index out of range")
    found = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return found


def heappushpop(heap: Staged, item: Staged) -> Staged:
    """`heapq.heappushpop`."""
    if len(heap) > 0 and heap[0] < item:
        found = heap[0]
        heap[0] = item
        sift_up(heap, 0)
        item = found
    return item


def heapify(heap: Staged) -> None:
    """`heapq.heapify`."""
    for at in range(len(heap) // 2 - 1, -1, -1):
        sift_up(heap, at)


def nlargest(n: Staged, iterable: Staged, key: Staged = None) -> Staged:
    """`heapq.nlargest`."""
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def nsmallest(n: Staged, iterable: Staged, key: Staged = None) -> Staged:
    """`heapq.nsmallest`."""
    return sorted(iterable, key=key)[: max(n, 0)]


# ---- bisect


def bisect_left(
    a: Staged, x: Staged, lo: Staged = 0, hi: Staged = None, *, key: Staged = None
) -> Staged:
    """`bisect.bisect_left`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        item = a[middle] if key is None else key(a[middle])
        if item < x:
            lo = middle + 1
        else:
            end = middle
    return lo


def bisect_right(
    a: Staged, x: Staged, lo: Staged = 0, hi: Staged = None, *, key: Staged = None
) -> Staged:
    """`bisect.bisect_right`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    end = len(a) if hi is None else hi
    while lo < end:
        middle = (lo + end) // 2
        item = a[middle] if key is None else key(a[middle])
        if x < item:
            end = middle
        else:
            lo = middle + 1
    return lo


def insort_left(
    a: Staged, x: Staged, lo: Staged = 0, hi: Staged = None, *, key: Staged = None
) -> None:
    """`bisect.insort_left`."""
    a.insert(bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(
    a: Staged, x: Staged, lo: Staged = 0, hi: Staged = None, *, key: Staged = None
) -> None:
    """`bisect.insort_right`."""
    a.insert(bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


# ---- itertools: generators, which run where their items are used


def accumulate(iterable: Staged, func: Staged = None, *, initial: Staged = None) -> Staged:
    """`itertools.accumulate`."""
    items = list(iterable)
    begin = 0
    if initial is not None:
        total = initial
    elif len(items) == 0:
        return
    else:
        total = items[0]
        begin = 1
    yield total
    for at in range(begin, len(items)):
        total = total + items[at] if func is None else func(total, items[at])
        yield total


def takewhile(predicate: Staged, iterable: Staged) -> Staged:
    """`itertools.takewhile`."""
    for item in iterable:
        if not predicate(item):
            return
        yield item


def dropwhile(predicate: Staged, iterable: Staged) -> Staged:
    """`itertools.dropwhile`."""
    drops = True
    for item in iterable:
        if drops:
            drops = bool(predicate(item))
        if not drops:
            yield item


def filterfalse(predicate: Staged, iterable: Staged) -> Staged:
    """`itertools.filterfalse`."""
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data: Staged, selectors: Staged) -> Staged:
    """`itertools.compress`."""
    for item, selector in zip(data, selectors, strict=False):
        if selector:
            yield item


def pairwise(iterable: Staged) -> Staged:
    """`itertools.pairwise`."""
    items = list(iterable)
    for at in range(len(items) - 1):
        yield items[at], items[at + 1]


def zip_longest(columns: Staged, fill: Staged) -> Staged:
    """`itertools.zip_longest(*columns, fillvalue=fill)`."""
    count = max([len(column) for column in columns])
    for at in range(count):
        yield tuple([column[at] if at < len(column) else fill for column in columns])


def groupby(iterable: Staged, key: Staged = None) -> Staged:
    """`itertools.groupby`: a group is an iterator of the iteration that gives it."""
    items = list(iterable)
    keys = [item if key is None else key(item) for item in items]
    at = 0
    while at < len(items):
        wanted = keys[at]
        group = []
        while at < len(items) and keys[at] == wanted:
            group.append(items[at])
            at = at + 1
        yield wanted, iter(group)


# ---- sequences and counters


def by_index(sequence: Staged) -> Staged:
    """The items of an object that has `__getitem__`, and no `__iter__`."""
    at = 0
    while True:
        try:
            item = sequence[at]
        except IndexError:
            return
        yield item
        at = at + 1


def max_in_turn(items: Staged, key: Staged, default: object = NO_DEFAULT) -> Staged:
    """`max(items, key=key)` of an iterator: the key of an item comes before the next item."""
    best: list[Staged] = []  # one, once there is an item
    keys: list[Staged] = []
    for item in items:
        item_key = key(item)
        if len(keys) == 0:
            best.append(item)
            keys.append(item_key)
        elif item_key > keys[0]:
            best[0], keys[0] = item, item_key
    if len(best) == 0:
        if default is NO_DEFAULT:
            raise ValueError("max() " + OF_NOTHING)
        return default
    return best[0]


def min_in_turn(items: Staged, key: Staged, default: object = NO_DEFAULT) -> Staged:
    """`min(items, key=key)` of an iterator."""
    best: list[Staged] = []
    keys: list[Staged] = []
    for item in items:
        item_key = key(item)
        if len(keys) == 0:
            best.append(item)
            keys.append(item_key)
        elif item_key < keys[0]:
            best[0], keys[0] = item, item_key
    if len(best) == 0:
        if default is NO_DEFAULT:
            raise ValueError("min() " + OF_NOTHING)
        return default
    return best[0]


def one_after_another(iterables: Staged) -> Staged:
    """`itertools.chain.from_iterable(iterables)`."""
    for iterable in iterables:
        for item in iterable:  # noqa: UP028  # by a loop, which may be left
            yield item


# ---- `f(*rows)`, where only a run knows how many there are


def columns_of(rows: Staged, *, strict: Staged = False) -> Staged:
    """`zip(*rows)`, as a list."""
    if strict:
        check_lengths(rows)
    width = min([len(row) for row in rows], default=0)
    return [tuple([row[k] for row in rows]) for k in range(width)]


def column(rows: Staged, at: int) -> Staged:
    """Column `at` of `zip(*rows)`."""
    return tuple([row[at] for row in rows])


def check_lengths(rows: Staged) -> None:
    """The error of `zip(*rows, strict=True)`."""
    for k, row in enumerate(rows):
        if len(row) != len(rows[0]):
            how = "shorter" if len(row) < len(rows[0]) else "longer"
            others = "argument 1" if k == 1 else f"arguments 1-{k}"
            raise ValueError(f"zip() argument {k + 1} is {how} than {others}")


def print_all(
    items: Staged,
    *,
    sep: Staged = None,
    end: Staged = None,
    file: Staged = None,
    flush: bool = False,
) -> None:
    """`print(*items)`."""
    if file is None:
        whole = (" " if sep is None else sep).join([str(item) for item in items])
        print(whole, end=end, file=file, flush=flush)
        return
    for at in range(len(items)):
        if at > 0:
            file.write(" " if sep is None else sep)
        file.write(str(items[at]))
    print(end=end, file=file, flush=flush)


# ---- operator


def negative(value: Staged) -> Staged:
    """`operator.neg`."""
    return -value


def positive(value: Staged) -> Staged:
    """`operator.pos`."""
    return +value


def inverted(value: Staged) -> Staged:
    """`operator.invert`."""
    return ~value


def is_false(value: Staged) -> Staged:
    """`operator.not_`."""
    return not value


def contains(items: Staged, item: Staged) -> Staged:
    """`operator.contains`."""
    return item in items


def is_same(one: Staged, other: Staged) -> Staged:
    """`operator.is_`."""
    return one is other


def is_other(one: Staged, other: Staged) -> Staged:
    """`operator.is_not`."""
    return one is not other


def attribute_at(obj: Staged, path: Staged) -> Staged:
    """`operator.attrgetter(path)(obj)`."""
    for name in path.split("."):
        obj = getattr(obj, name)
    return obj


def items_of_sequence(sequence: Staged) -> Staged:
    """`collections.abc.Sequence.__iter__`: only an IndexError ends it, but for a UserList."""
    index = 0
    if type(sequence).__getitem__ is collections.UserList.__getitem__:
        while index < len(sequence.data):
            yield sequence.data[index]
            index += 1
        return
    try:
        while True:
            yield sequence[index]
            index += 1
    except IndexError:
        return


def dict_of_mapping(given: Staged, named: dict[str, Staged]) -> dict[Staged, Staged]:
    """`dict(given, **named)` of an object with a `keys` method in Python."""
    made: dict[Staged, Staged] = {}
    for key in given.keys():  # noqa: SIM118  # as `dict` asks for them
        made[key] = given[key]
    made.update(named)
    return made
