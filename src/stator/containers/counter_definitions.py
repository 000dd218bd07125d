"""Methods and operators of `collections.Counter`, written out in Python.

They are converted like user code where only a run knows the keys or the counts of one. `made` is
the new Counter that an operator gives.
"""

from __future__ import annotations

from stator.values.annotations import Staged


def update(counter: Staged, iterable: Staged = None, /, **kwds: Staged) -> None:
    """`counter.update(iterable, **kwds)`."""
    if isinstance(iterable, dict):
        increased(counter, iterable)
    elif iterable is not None:
        for item in iterable:
            counter[item] = counter.get(item, 0) + 1
    if kwds:
        increased(counter, kwds)


def increased(counter: Staged, counts: Staged) -> None:
    """Add `counts`."""
    for key, count in counts.items():
        counter[key] = count + counter.get(key, 0)


def subtract(counter: Staged, iterable: Staged = None, /, **kwds: Staged) -> None:
    """`counter.subtract(iterable, **kwds)`."""
    if isinstance(iterable, dict):
        decreased(counter, iterable)
    elif iterable is not None:
        for item in iterable:
            counter[item] = counter.get(item, 0) - 1
    if kwds:
        decreased(counter, kwds)


def decreased(counter: Staged, counts: Staged) -> None:
    """Take `counts` away."""
    for key, count in counts.items():
        counter[key] = counter.get(key, 0) - count


def most_common(counter: Staged, n: Staged = None) -> Staged:
    """`counter.most_common(n)`."""
    ordered = sorted(counter.items(), key=lambda pair: pair[1], reverse=True)
    return ordered if n is None else ordered[: max(n, 0)]


def elements(counter: Staged) -> Staged:
    """`counter.elements()`."""
    for item, count in counter.items():
        for _ in range(count):
            yield item


def total(counter: Staged) -> Staged:
    """`counter.total()`."""
    return sum(counter.values())


def added(made: Staged, left: Staged, right: Staged) -> None:
    """`left + right`."""
    for key, count in left.items():
        both = count + right.get(key, 0)
        if both > 0:
            made[key] = both
    for key, count in right.items():
        if key not in left and count > 0:
            made[key] = count


def subtracted(made: Staged, left: Staged, right: Staged) -> None:
    """`left - right`."""
    for key, count in left.items():
        rest = count - right.get(key, 0)
        if rest > 0:
            made[key] = rest
    for key, count in right.items():
        if key not in left and count < 0:
            made[key] = 0 - count


def greater(made: Staged, left: Staged, right: Staged) -> None:
    """`left | right`."""
    for key, count in left.items():
        most = max(count, right.get(key, 0))
        if most > 0:
            made[key] = most
    for key, count in right.items():
        if key not in left and count > 0:
            made[key] = count


def lesser(made: Staged, left: Staged, right: Staged) -> None:
    """`left & right`."""
    for key, count in left.items():
        least = min(count, right.get(key, 0))
        if least > 0:
            made[key] = least
