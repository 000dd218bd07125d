"""Iterators by hand: `iter`, `next`, `reduce`, objects with `__next__`; and what `:=` binds."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import types

import torch

from tests.zoo.programs import f, i, program

ROWS = ((f(1.0, 2.0, 3.0),), (torch.tensor([0.5]),), (f(-1.0, 4.0),))
IN_ORDER = ("captured", "unoptimised", "saved")  # plain staging takes all items first


class Countdown:
    """Counts down from a number of the program."""

    def __init__(self, start):
        self.left = start

    def __iter__(self):
        return self

    def __next__(self):
        if self.left <= 0:
            raise StopIteration
        self.left = self.left - 1
        return self.left


@program(*ROWS, dynamic=((0,),))
def iter_and_next(x):
    """The first item by hand, the rest by a loop."""
    items = iter(x)
    total = next(items)
    for row in items:
        total = total * 2 + row
    return total


@program(*ROWS, dynamic=((0,),))
def next_with_a_default(x):
    """A search that may find nothing."""
    found = next((v for v in x if v > 1), None)
    return x.sum() if found is None else found


@program(*ROWS, dynamic=((0,),))
def reduce_over_rows(x):
    """`functools.reduce` over a tensor."""
    return functools.reduce(lambda a, b: a * 0.5 + b, x)


@program((i(3),), (i(0),), (i(1),))
def own_iterator(n):
    """A loop over an object whose end depends on the data."""
    total, seen = 0, []
    for k in Countdown(n):
        total = total + k * 10
        seen.append(k)
    return total, len(seen)


@program((i(3),), (i(0),))
def own_iterator_by_next(n):
    """`next` of such an object, with and without a default."""
    counter = Countdown(n)
    return next(counter, -1), next(counter, -2)


@program((f(1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(9)))
def zip_of_a_range_and_rows(x, n):
    """A range of unknown length beside rows that Python can count."""
    total = x.sum() * 0
    for k, row in zip(range(n), x, strict=False):
        total = total + row * k
    return total


@program((i(1),), (i(3),), (i(0),))
def walrus_after_and(n):
    """A name that is bound only where the left operand holds."""
    holds = n > 0 and (double := int(n) * 2) > 1
    return holds, double if holds else 0


@program((f(1.0), i(1)), (f(1.0), i(-1)))
def walrus_in_both_sides_of_a_ternary(x, n):
    """Both sides bind one name."""
    y = (half := x / 2) if n > 0 else (half := x / 4)
    return y, half


@program((i(3),), (i(0),))
def walrus_in_a_while(n):
    """The test binds two names, one of them after an `and`."""
    seen = []
    while (left := int(n)) > 0 and (k := left - 1) >= 0:
        seen.append(k)
        n = n - 1
    return seen, left


@program((i(1),), (i(4),), (i(0),))
def walrus_for_the_body(n):
    """The body reads what the test binds, and nothing after the loop does."""
    count = int(n)
    while (following := count + 1) < 5:
        count = following
    sizes = [1] if n > 1 else []
    while (size := len(sizes)) < 3:
        sizes.append(size)
    return count, sizes


@program((i(1),), (i(4),), (i(0),))
def walrus_in_a_chain(n):
    """A chained comparison that binds a name on its way."""
    inside = 0 < n < (double := int(n) * 2) < 10
    return inside, double if n > 0 else -1


@program((i(2),), (i(-3),))
def complex_numbers(n):
    """Complex numbers of the program: made, joined, given back."""
    z = complex(int(n), 1.5)
    if n > 0:
        z = z * 1j + 2
    return z, z.real, abs(z), z.conjugate(), z == 2j, torch.ones(2) * z


@program((i(1),), (i(0),), (i(2),), (i(5),))
def list_shrinks_under_its_iterators(n):
    """`enumerate` and `zip` see the list as it is; so does `remove`."""
    first, second, third, seen = [0, 1, 2], [0, 1, 2], [0, 1, 2], []
    for k, value in enumerate(first):
        if value == n:
            del first[k]
            break
    for pair in zip(second, [5, 6, 7], strict=False):
        if pair[0] == n:
            second.pop()
        seen.append(pair)
    if n < 3:
        third.remove(int(n))
    return first, second, third, seen


ITEMS = [iter(())]


def restart_items():
    """An iterator of the caller's, at its start."""
    ITEMS[0] = iter([4, 1, 3, 2, 6, 5])


@program(
    (f(1.0, 2.0), i(2)), (f(-1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)), may_raise=True,
    stages=("rewritten", "captured", "unoptimised"), reset=restart_items,
    watch=lambda: list(copy.copy(ITEMS[0])),
)  # fmt: skip
def iterator_taken_on_a_path_that_raises(x, y):
    """Two loops over one iterator that end by raising move nothing on the other path."""
    for _ in ITEMS[0]:
        if x.sum() > 0:
            break
    if y > 1:
        return x
    for _ in ITEMS[0]:
        for _ in ITEMS[0]:
            pass
        raise ValueError(3)
    return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), may_raise=True)
def name_deleted_by_a_function(x):
    """A nested function unbinds a name of the function around it, in a `try`."""
    kept = 2

    def drop():
        nonlocal kept
        if x[0] > 0:
            del kept

    try:
        drop()
        scale = int(x.sum()) // 1
    except ZeroDivisionError:
        scale = 0
    return x * kept * scale


def shown(what, value):
    """`value`, whose turn can be seen."""
    print(what, value)
    return value


@program(*ROWS, (torch.zeros(0),), dynamic=((0,),), stages=IN_ORDER)
def keys_in_turn(x):
    """`max` and `min` ask for the key of an item before they take the next one."""
    values = x.tolist()
    largest = max((shown("item", v * 2) for v in values), key=lambda v: shown("key", -v), default=9)
    least = min(map(lambda v: shown("mapped", v), values), key=lambda v: shown("key", v), default=8)
    record = max(({"value": v} for v in values if v > 0), key=lambda one: one["value"], default={})
    return largest, least, record


@program((f(1.0, 2.0, 3.0),), (f(-1.0, 4.0, 0.5),))
def items_in_turn(x):
    """`accumulate` and `pairwise` take an item when they are asked for the next of their own."""
    for total in itertools.accumulate(map(lambda v: shown("item", v), x.tolist())):
        print("total", total)
    for one, other in itertools.pairwise(map(lambda v: shown("item", v), x.tolist())):
        print("pair", one, other)
    return x


@program((f(1.0, 2.0, 3.0),), (f(-1.0, 4.0, 0.5),))
def classes_of_iterators(x):
    """What `type` and `isinstance` say of iterators and generators."""

    def doubled():
        for row in x:
            yield row * 2

    chained = itertools.chain(iter(x), [x[0]])
    taken = itertools.takewhile(lambda v: v > 0, x.tolist())
    steps = range(int(x.sum()))
    return (
        isinstance(chained, itertools.chain), type(taken) is itertools.takewhile,
        isinstance(doubled(), types.GeneratorType), inspect.isgenerator(doubled()),
        isinstance(taken, types.GeneratorType), type(steps) is range, isinstance(steps, range),
        sum(chained), list(taken), list(reversed(steps)),
    )  # fmt: skip


class Falling:
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, at):
        if at >= self.n:
            raise IndexError(at)
        return self.n - at


@program((i(1),), (i(4),), (i(0),), (i(9),))
def taken_in_turn(n):
    """`zip` of one iterator, `tee` and `filter` are left at an item that the data decides."""
    shared, tested, pairs = iter(range(10)), [], []
    for one, other in zip(shared, shared):  # noqa: B905
        if one > n:
            break
        pairs.append((one, other))
    first, second = itertools.tee([1, 2, 3, 4])
    for item in first:
        if item > n:
            break

    def is_odd(v):
        tested.append(v)
        return v % 2

    odd = filter(is_odd, range(6))
    total = next(odd)
    if n > 1:
        total += next(odd)
    longest, sums = iter([1, 2, 3, 4, 5]), iter([1, 2, 3, 4])
    rows = []
    for one, other in itertools.zip_longest(longest, longest, fillvalue=0):
        rows.append(one * 10 + other)
        if one > n:
            break
    rows += [*longest, *map(lambda one, other: one - other, sums, sums)]
    return pairs, rows, next(shared, None), list(first), list(second), total, tested


@program((i(1),), (i(2),), (i(0),), (i(5),))
def taken_by_number(n):
    """As many items as the data says; what is left is what Python leaves."""
    numbers, some = itertools.count(1), iter([1, 2, 3, 4])
    head = list(itertools.islice(numbers, int(n)))
    rows = list(zip(some, range(int(n))))  # noqa: B905
    try:
        same = list(zip([1, 2], range(int(n)), strict=True))
    except ValueError as error:
        same = str(error)
    return head, next(numbers), rows, list(some), same, list(reversed(Falling(int(n))))
