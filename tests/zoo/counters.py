"""Counters with their operators, `statistics`, and sorts by a comparison."""

from __future__ import annotations

import functools
import statistics
from collections import Counter, defaultdict

from tests.zoo.programs import f, i, program

PAIRS = ((i(1, 2, 2, 3), i(2, 2, 3, 3)), (i(1, 1, 1, 1), i(5, 2, 3, 1)), (i(7, 8), i([7])))
KEPT = []


@program(*PAIRS, dynamic=({0}, {0}))
def counters_combined(a, b):
    """`+`, `-`, `|` and `&` of Counters whose keys only a run knows."""
    left, right = Counter(a.tolist()), Counter(b.tolist())
    return dict(left + right), dict(left - right), dict(left | right), dict(left & right)


@program(*PAIRS, dynamic=({0}, {0}))
def counters_combined_in_place(a, b):
    """`+=` and the like change the Counter itself."""
    results = []
    counter = same = Counter(a.tolist())
    counter += Counter(b.tolist())
    results.append((dict(counter), same is counter))
    counter -= Counter(a.tolist())
    results.append((dict(counter), same is counter))
    counter |= Counter([1, 1, 1])
    results.append((dict(counter), same is counter))
    counter &= Counter([1, 5])
    results.append((dict(counter), same is counter))
    return results


@program(*PAIRS[:2])
def known_counters_combined(a, b):
    """Counters of strings: each operator makes a Counter, not a dict."""
    counter = Counter("aab")
    counter |= Counter("bbc")
    either, both = Counter("aab") | Counter("bbc"), Counter("aab") & Counter("bbc")
    assert type(either) is Counter
    names = repr(counter), repr(both), repr(defaultdict(None, {1: 2}))
    return a.sum() * either["c"], b.sum() * counter["b"], names


@program(*PAIRS, dynamic=({0}, {0}))
def counter_updates(a, b):
    """`update` and `subtract`, of items and of counts."""
    counter = Counter(a.tolist())
    counter.update(Counter(b.tolist()))
    counter.update({1: 5}, x=2)
    counter.subtract(b.tolist())
    copied = counter.copy()
    copied.subtract({1: 1})
    return dict(counter), dict(copied), dict(+copied), dict(-copied), counter.total()


@program(*PAIRS[:2])
def counters_of_captured_counts(a, b):
    """The keys are known, the counts are not."""
    left, right = Counter(x=int(a[0]), y=int(b[0])), Counter(x=1, z=int(a[1]) - 2)
    return dict(left + right), dict(left - right), dict(left & right), left.most_common(1)


@program(*PAIRS, dynamic=({0}, {0}))
def counter_filled_by_item(a, b):
    """`counter[key] += 1` of a key that only a run knows, and of one that is missing."""
    counter = Counter()
    for v in a.tolist():
        counter[v] += 1
    if b.sum() > 8:
        counter[99] += 2
    return dict(counter), counter[100], counter[99], sorted(counter.elements())


@program((i(1, 2),), (i(2, 5),), makes=True, watch=lambda: dict(KEPT[-1]), refused_saved="ST200")
def counter_of_the_caller():
    """`update`, `subtract` and `+=` of a Counter that calls share."""
    counter = Counter(a=1)
    KEPT.append(counter)

    def count(x):
        nonlocal counter
        counter.update(["x", "a"])
        counter.subtract({"a": 2})
        counter += Counter("ab")
        return x * counter["a"]

    return count


@program(*PAIRS, dynamic=({0}, {0}))
def statistics_of_whole_numbers(a, b):
    """A mean of whole numbers may be whole."""
    numbers = a.tolist() + b.tolist()
    spread = statistics.variance(numbers), statistics.pvariance(numbers)
    return statistics.mean(numbers), statistics.median(numbers), statistics.mode(numbers), spread


@program((f(0.1, 0.2, 0.3, 0.7),), (f(1e8, 1.0, -1e8),), (f(5.0, 2.0),), dynamic=({0},))
def statistics_of_floats(x):
    """A mean that does not lose the small numbers, and one that there may not be."""
    numbers = x.tolist()
    try:
        most = statistics.mean([number for number in numbers if number > 0.5])
    except statistics.StatisticsError:
        most = -1.0
    middle = statistics.median(numbers)
    return statistics.mean(numbers), statistics.variance(numbers), middle, most


@program((f(0.1, 0.7, 0.2, 0.7),), (f(3.0, 1.0),), (f([0.0]),), dynamic=({0},))
def sorted_by_a_comparison(x):
    """`cmp_to_key` of a function that compares pairs."""

    def compare(p, q):
        if p[0] != q[0]:
            return -1 if p[0] > q[0] else 1
        return p[1] - q[1]

    pairs = [(v, k) for k, v in enumerate(x.tolist()) if v > 0.15]
    return sorted(pairs, key=functools.cmp_to_key(compare))
