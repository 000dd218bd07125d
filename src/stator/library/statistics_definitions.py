"""`statistics` of captured numbers, and `functools.cmp_to_key`, written out in Python.

The functions of Python add exact fractions. Whole numbers are exact here, too; a sum of floats
carries what each addition has rounded away.
"""

from __future__ import annotations

import statistics
from typing import Final

from stator.values.annotations import Staged


class ComparedBy:
    """What a sort compares by a function of the user's: the key that `cmp_to_key` makes."""

    def __init__(self, compare: Staged, obj: Staged) -> None:
        self.compare: Final = compare
        self.obj = obj

    def __lt__(self, other: Staged) -> Staged:
        return self.compare(self.obj, other.obj) < 0

    def __gt__(self, other: Staged) -> Staged:
        return self.compare(self.obj, other.obj) > 0

    def __le__(self, other: Staged) -> Staged:
        return self.compare(self.obj, other.obj) <= 0

    def __ge__(self, other: Staged) -> Staged:
        return self.compare(self.obj, other.obj) >= 0

    def __eq__(self, other: Staged) -> Staged:
        return self.compare(self.obj, other.obj) == 0

    __hash__ = None  # type: ignore[assignment]  # as Python's own


def key_of(compare: Staged) -> Staged:
    """`functools.cmp_to_key(compare)`."""
    return lambda obj: ComparedBy(compare, obj)


def _total(data: Staged) -> Staged:
    """The sum of `data`; of floats with the rest that is lost by rounding."""
    total: float = 0
    lost = 0.0
    for number in data:
        if not isinstance(number, int | float):
            raise TypeError(
                f"can't convert type '{type(number).__name__}' to numerator/denominator"
            )
        new = total + number
        if isinstance(new, float):
            big, small = (total, number) if abs(total) >= abs(number) else (number, total)
            lost = lost + ((big - new) + small)
        total = new
    return total + lost if isinstance(total, float) and lost == lost else total


def _quotient(total: Staged, count: Staged) -> Staged:
    """`total / count`, whole where both are and nothing is left."""
    if isinstance(total, int) and total % count == 0:
        return total // count
    return total / count


def mean(data: Staged) -> Staged:
    """`statistics.mean`."""
    numbers = list(data)
    if len(numbers) < 1:
        raise statistics.StatisticsError("mean requires at least one data point")
    return _quotient(_total(numbers), len(numbers))


def _spread(numbers: Staged, center: Staged, divisor: Staged) -> Staged:
    """The sum of the squared distances from `center`, or from the mean, over `divisor`."""
    if center is not None:
        return _quotient(_total([(number - center) ** 2 for number in numbers]), divisor)
    total, count = _total(numbers), len(numbers)
    if isinstance(total, int):
        squares = _total([number * number for number in numbers])
        return _quotient(count * squares - total * total, count * divisor)
    middle = total / count
    return _total([(number - middle) ** 2 for number in numbers]) / divisor


def variance(data: Staged, xbar: Staged = None) -> Staged:
    """`statistics.variance`."""
    numbers = list(data)
    if len(numbers) < 2:
        raise statistics.StatisticsError("variance requires at least two data points")
    return _spread(numbers, xbar, len(numbers) - 1)


def pvariance(data: Staged, mu: Staged = None) -> Staged:
    """`statistics.pvariance`."""
    numbers = list(data)
    if len(numbers) < 1:
        raise statistics.StatisticsError("pvariance requires at least one data point")
    return _spread(numbers, mu, len(numbers))
