"""`zip`, `map`, `itertools` and the like of what runs user code: a generator, or a `__next__`.

Each item is taken when it is asked for, and none that is not: what the user's code does then can
be seen. All here is converted like user code.
"""

from __future__ import annotations

from stator.values.annotations import Staged


def mapped(function: Staged, items: Staged) -> Staged:
    """`map(function, items)`."""
    for item in items:
        yield function(item)


def called_until(function: Staged, last: Staged) -> Staged:
    """`iter(function, last)`."""
    while True:
        item = function()
        if item == last:
            return
        yield item


def mapped_rows(function: Staged, rows: Staged) -> Staged:
    """`itertools.starmap(function, rows)`."""
    for row in rows:
        yield function(*row)


def starred(function: Staged, rows: Staged) -> Staged:
    """`itertools.starmap(function, rows)`."""
    for row in rows:
        yield function(*row)


def filtered(function: Staged, items: Staged) -> Staged:
    """`filter(function, items)`."""
    for item in items:
        if item if function is None else function(item):
            yield item


def zipped(before: Staged, items: Staged, after: Staged) -> Staged:
    """`zip` of what `before` and `after` give rows of, around `items`."""
    try:
        left = next(before)
    except StopIteration:
        return
    for item in items:
        try:
            right = next(after)
        except StopIteration:
            return
        yield (*left, item, *right)
        try:
            left = next(before)
        except StopIteration:
            return


def zipped_in_turn(rows: Staged, items: Staged) -> Staged:
    """`zip` of what `rows` has one row of for each, and of one more iterator."""
    for row in rows:
        try:
            item = next(items)
        except StopIteration:
            return
        yield (*row, item)


def zipped_longest(iterators: Staged, fill: Staged) -> Staged:
    """`itertools.zip_longest` of iterators, of which two may be the same one."""
    left = len(iterators)
    is_over = [False for _ in iterators]
    while left > 0:
        row = []
        for k in range(len(iterators)):
            item = fill
            if not is_over[k]:
                try:
                    item = next(iterators[k])
                except StopIteration:
                    is_over[k] = True
                    left = left - 1
                    if left == 0:
                        return
            row.append(item)
        yield tuple(row)


def reversed_by_index(sequence: Staged) -> Staged:
    """`reversed` of an object that has `__len__` and `__getitem__`."""
    at = len(sequence) - 1
    while at >= 0:
        yield sequence[at]
        at = at - 1


def set_pairs(table: Staged, pairs: Staged) -> None:
    """`table.update(pairs)`."""
    for key, value in pairs:
        table[key] = value


def ones(items: Staged) -> Staged:
    """Rows of one item."""
    for item in items:
        yield (item,)


def zipped_strictly(rows: Staged, items: Staged, count: int) -> Staged:
    """`zip(..., strict=True)` of `rows`, which have `count` items, and one more iterator."""
    others = "argument 1" if count == 1 else f"arguments 1-{count}"
    for row in rows:
        try:
            item = next(items)
        except StopIteration:
            raise ValueError(f"zip() argument {count + 1} is shorter than {others}") from None
        yield (*row, item)
    try:
        next(items)
    except StopIteration:
        return
    raise ValueError(f"zip() argument {count + 1} is longer than {others}")


def sliced(items: Staged, start: Staged, stop: Staged, every: Staged) -> Staged:
    """`itertools.islice(items, start, stop, every)`."""
    at = 0
    if stop is not None and stop <= 0:
        return
    for item in items:
        if at >= start and (at - start) % every == 0:
            yield item
        at = at + 1
        if stop is not None and at >= stop:
            return


def repeated(items: Staged) -> Staged:
    """`itertools.cycle(items)`."""
    seen = []
    for item in items:
        seen.append(item)
        yield item
    while len(seen) > 0:
        for item in seen:  # by a loop, which may be left
            yield item


def accumulated(items: Staged, func: Staged = None, *, initial: Staged = None) -> Staged:
    """`itertools.accumulate`."""
    total = initial
    if initial is None:
        try:
            total = next(items)
        except StopIteration:
            return
    yield total
    for item in items:
        total = total + item if func is None else func(total, item)
        yield total


def pairwise(items: Staged) -> Staged:
    """`itertools.pairwise`."""
    try:
        last = next(items)
    except StopIteration:
        return
    for item in items:
        yield last, item
        last = item


class Teed:
    """What the iterators of one `itertools.tee` share."""

    def __init__(self, items: Staged) -> None:
        self.items = items
        self.seen: list[Staged] = []


def branch_of_tee(shared: Staged) -> Staged:
    """One of the iterators that `itertools.tee` gives."""
    at = 0
    while True:
        if at >= len(shared.seen):
            try:
                item = next(shared.items)
            except StopIteration:
                return
            shared.seen.append(item)
        yield shared.seen[at]
        at = at + 1


class Groups:
    """What `groupby` and the group that it has given share."""

    def __init__(self, items: Staged, key: Staged) -> None:
        self.items, self.key, self.is_over, self.number = items, key, False, 0
        self.item, self.found = None, None

    def advance(self) -> Staged:
        """Take an item; is there none?"""
        try:
            self.item = next(self.items)
        except StopIteration:
            self.is_over = True
            return True
        self.found = self.item if self.key is None else self.key(self.item)
        return False


def groups(items: Staged, key: Staged = None) -> Staged:
    """`itertools.groupby`."""
    shared = Groups(items, key)
    if shared.advance():
        return
    while not shared.is_over:
        wanted = shared.found
        shared.number = shared.number + 1
        yield wanted, group(shared, wanted, shared.number)
        while not shared.is_over and shared.found == wanted:
            shared.advance()


def group(shared: Staged, wanted: Staged, number: Staged) -> Staged:
    """The items of one group: it is over when the next one is asked for."""
    while shared.number == number and not shared.is_over and shared.found == wanted:
        item = shared.item
        yield item
        if shared.number == number:
            shared.advance()
