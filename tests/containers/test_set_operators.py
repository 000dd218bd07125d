"""Operators and methods of sets with data-dependent items."""

from __future__ import annotations

import pytest
import torch

import stator

CALLS = [([1, 2, 3], [2, 3, 4]), ([1, 1], [5]), ([], [1]), ([4, 2], [2, 4])]


@pytest.mark.parametrize(
    "combine",
    [
        lambda a, b: (sorted(a | b), sorted(a & b), sorted(a - b), sorted(a ^ b)),
        lambda a, b: (sorted(a | {1}), sorted({1, 2} - a), sorted({1} & a), sorted(a ^ {2, 9})),
        lambda a, b: (a <= b, a < b, a >= b, a > b, a == b, {1} <= a),
        lambda a, b: (a.issubset(b), a.issuperset(b), a.isdisjoint(b), a.isdisjoint([1, 9])),
        lambda a, b: (sorted(a.union(b, [7])), sorted(a.intersection(b)), sorted(a.difference(b))),
    ],
)
def test_two_sets_are_combined_and_compared_as_in_python(combine):
    def both(x, y):
        return combine(set(x.tolist()), set(y.tolist()))

    static = stator.to_static(both)
    for x, y in CALLS:
        given = (torch.tensor(x, dtype=torch.int64), torch.tensor(y, dtype=torch.int64))
        assert static(*given) == both(*given)


def test_a_set_is_changed_in_place_under_its_other_name():
    def change(x, y):
        a, b = set(x.tolist()), set(y.tolist())
        other = a
        a &= b
        b -= {2}
        a |= {9}
        a.symmetric_difference_update(b)
        return sorted(other), sorted(b), other is a

    static = stator.to_static(change)
    for x, y in CALLS:
        given = (torch.tensor(x, dtype=torch.int64), torch.tensor(y, dtype=torch.int64))
        assert static(*given) == change(*given)
