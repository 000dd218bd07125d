"""Numbers as text, equality of dicts and sets, and standard functions of captured values."""

from __future__ import annotations

import collections
import functools
import itertools
import math
from collections import deque

import torch

from tests.zoo.programs import f, i, program

NUMBERS = ((i(7),), (i(255),), (i(0),), (i(-9),))
WORDS = ((i(7, 8, 0, 7),), (i([3]),), (i(1, 2, 1),))
PAIRS = ((i(1, 2, 2), i(2, 1, 2)), (i([1]), i([2])), (i(1, 1), i(1, 1)), (i(3, 3), i([3])))


@program(*NUMBERS)
def texts_of_a_number(n):
    """`hex`, `oct` and `bin`."""
    n = int(n)
    return hex(n), oct(n), bin(n)


@program(*WORDS, (i([2000000]),), dynamic=({0},), may_raise=True)
def word_of_numbers(x):
    """`chr`, and `join` of any number of parts."""
    return "".join(chr(97 + v) for v in x.tolist()), ", ".join(str(v) for v in x.tolist())


@program(*PAIRS, dynamic=({0}, {0}))
def tables_compared(a, b):
    """`==` and `!=` of dicts, Counters and sets that only a run knows."""
    left, right = {}, {}
    for v in a.tolist():
        left[v] = left.get(v, 0) + 1
    for v in b.tolist():
        right[v] = right.get(v, 0) + 1
    counts = collections.Counter(a.tolist()) == collections.Counter(b.tolist())
    return left == right, left != right, counts, {*a.tolist()} == {*b.tolist()}


@program((i(12), i(18)), (i(7), i(0)), (i(100), i(75)), (i(-3), i(5)), may_raise=True)
def powers_and_roots(a, b):
    """`pow` with a modulus, and the whole part of a root."""
    return pow(int(a), int(b), 97), math.isqrt(int(a))


@program(*WORDS, dynamic=({0},))
def reached_sums(x):
    """A set made of a set, and a deque of a generator expression."""
    reached = {0}
    for v in x.tolist():
        reached |= {r + v for r in reached if r + v < 12}
    waiting = deque(v for v in x.tolist() if v > 1)
    total = 0
    while waiting:
        total = total * 2 + waiting.popleft()
    return len(reached), max(reached), total


@program((f(3.0, 1.0, 2.0),), (f(0.5, 4.0, -1.0),))
def best_by_a_captured_key(x):
    """Known items, of which the data chooses."""
    left, order = [0, 1, 2], []
    while left:
        best = max(left, key=lambda k: float(x[k]))
        order.append(best)
        left.remove(best)
    return order


@program((f(3.0, 1.0),), (f(0.5, 4.0),))
def cache_of_a_nested_function(x):
    """It holds for this call: what it is given again is not computed again."""

    @functools.cache
    def power(k):
        return x.sum() if k == 0 else power(k - 1) + power(k // 2)

    return power(6)


@program((f([2.0, 3.0]),))
def attributes_that_captured_values_have(x):
    """`hasattr` and `getattr` of numbers, strings and containers answer as for Python's own."""
    n = int(x.sum())
    names = ("upper", "bit_length", "append", "keys", "node", "value", "shape")
    rows = []
    for k in range(n):
        rows.append(k)
    held = (f"{n}", n, float(x.sum()), rows, {n: 1}, (n,))
    return [[hasattr(one, name) for name in names] for one in held], getattr(n, "absent", 4)


@program((i(3),), (i(0),), (i(1),))
def items_behind_a_test_of_their_key(n):
    """`d[k]` and `d.get(k)` where a branch has found that the key is there, or is not."""
    k, d, wide = int(n), {3: 7}, {0: 5, 1: 6}
    found = d[k] if k in d else -2
    other = wide[k] if k in wide and k != 1 else wide.get(k, -3)
    try:
        third = d[k] if k not in d else d.get(k)
    except KeyError:
        third = -4
    return found, other, third


@program(*WORDS, dynamic=({0},))
def least_recently_used(x):
    """`move_to_end` and `popitem` of an OrderedDict whose keys are data."""
    kept, found = collections.OrderedDict(), 0
    for v in x.tolist():
        if v in kept:
            found += 1
            kept.move_to_end(v)
        else:
            if len(kept) >= 2:
                kept.popitem(last=False)
            kept[v] = v * 10
    return found, list(kept), isinstance(kept, collections.OrderedDict)


@program(*PAIRS, dynamic=({0}, {0}))
def order_of_keys_compared(a, b):
    """Two OrderedDicts are equal only in the same order, and dicts of the same pairs always."""
    left, right = collections.OrderedDict(), collections.OrderedDict([(7, 0)])
    for v in a.tolist():
        left[v] = 1
    for v in b.tolist():
        right[v] = 1
    right.move_to_end(7, last=False)
    first = right.popitem(last=False)
    return left == right, left != right, dict(left) == dict(right), first


@program((f(0.9, 0.1, 0.8),), (f(0.2, 0.3),), (f([0.9]),), dynamic=({0},))
def rows_by_a_list(x):
    """A tensor is read, and written, by a list of positions and by a list of truth values."""
    kept = []
    for k in range(len(x)):
        if x[k] > 0.5:
            kept.append(k)
    marked = [v > 0.5 for v in x.tolist()]
    rows, changed = torch.stack([x, x * 2], dim=1), x.clone()
    changed[kept] = 0.0
    return x[kept], rows[kept, :1], x[marked], changed


@program((f(1.0),), (f(4.0),), (f(-8.0),), may_raise=True)
def root_that_may_be_complex(x):
    """A power of a negative number is complex, and has no order."""
    return max(0.2, 0.9 * x.item() ** (1 / 3))


@program(
    (f([-8.0]), f([0.5])), (f([-math.inf]), f([0.5])), (f([-8.0]), f([math.inf])),
    (f([0.0]), f([-math.inf])), (f([4.0]), f([0.5])),
)  # fmt: skip
def powers_of_infinity(x, y):
    """A power of a negative number is complex, unless one of the two is infinite."""
    return x.item() ** y.item(), x.item() ** 0.5, (-8.0) ** y.item()


@program(
    (i(3, 1, 2), f(1.0, 2.0)), (i(1, 1, 2), f(2.0, 2.0)), (i(0, 0, 0), f(math.nan, 1.0)),
    (i(5, 4, 3), f(-1.0, -1.0)),
)  # fmt: skip
def tuples_in_order(a, b):
    """`<`, `<=` and the like of tuples of numbers: nan is neither before nor after."""
    a, b = a.tolist(), b.tolist()
    t, u, v, w = (a[0], a[1], b[0]), (a[1], a[2], b[1]), (b[0], a[0]), (b[1], a[1])
    some = t < u, t > u, t <= u, t >= u, v < w, v > w, v <= w, v >= w
    return some, (b[0],) < w, [a[0], a[1]] < [a[0]], (1, a[0]) < (1, 2), (a[0], "x") <= (a[1], "x")


@program(*PAIRS, dynamic=({0}, {0}))
def sets_combined(a, b):
    """`|`, `&`, `-`, `^` and comparisons of two sets of data, and `&=` under another name."""
    left, right = set(a.tolist()), set(b.tolist())
    other = left
    both, either = left & right, left | right | {9}
    left &= right
    rest = either - right, other ^ {1, 2}, right.difference([1]), right.union(both)
    return sorted(both), both <= either, either < both, other is left, *map(sorted, rest)


@program((i(3),), (i(-1),), (i(0),))
def cases_and_lines(n):
    """`title`, `capitalize`, `swapcase`, `splitlines` and `rsplit` of a text with a number."""
    text = f"it's {int(n)} o'Clock\r\nthen {int(n)}\n"
    return text.title(), text.capitalize(), text.swapcase(), text.splitlines(), text.rsplit(None, 1)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-1.0, -3.0, 0.0, 4.0, -1.0),), dynamic=({0},))
def order_of_keys_by_path(x):
    """Keys that a path has set before others do, and a count by names that data choose."""
    first = {}
    if x[0] > 0:
        first["a"] = 1
    first["b"] = 2
    first["a"] = 3
    counts = {}
    for v in x.tolist():
        name = "above" if v > 0 else "below" if v < 0 else "zero"
        counts[name] = counts.get(name, 0) + 1
    return list(first.items()), first["a"], counts, "zero" in counts


@program(
    (f([[0.0, 2.0], [1.0, 1.0]]),), (f([[4.0, 2.0], [1.0, 0.0]]),), (f([[0.0, 1.0], [0.0, 5.0]]),)
)
def rows_exchanged(a):
    """`a[[i, p]] = a[[p, i]]`, where data choose the row `p`."""
    a = a.clone()
    p = a[:, 0].abs().argmax().item()
    a[[0, p]] = a[[p, 0]]
    return a, p, list(itertools.accumulate(a[0].tolist(), max))


VOCABULARY = ("alpha", "be", "gamma", "d", "epsilon")


@program((i(0, 1, 2, 3, 4),), (i(4, 4, 4, 4, 4),), (i(1, 3, 1, 3, 1),))
def wrapped_words(x):
    """Words of a list, put together: not one string for each combination of them."""
    lines, line = [], ""
    for number in x.tolist():
        word = VOCABULARY[number % len(VOCABULARY)]
        if len(line) + len(word) + (1 if line else 0) > 12:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    lines.append(line)
    return "\n".join(f"{at + 1:>2}| {found:<12}|" for at, found in enumerate(lines)), len(lines)
