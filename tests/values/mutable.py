"""Mutable objects of every type, and a change of each."""

import collections
import types

from stator.values.staged import StagedList


def filled_cell(value):
    return (lambda: value).__closure__[0]


def with_attributes():
    return types.SimpleNamespace(a=1)


CASES = [
    (lambda: [1], lambda o: o.append(2)),
    (lambda: StagedList([1]), lambda o: o.append(2)),
    (lambda: {"a": 1}, lambda o: o.update(a=2, b=3)),
    (lambda: collections.OrderedDict(a=1), lambda o: o.update(b=3)),
    (lambda: {1}, lambda o: o.add(2)),
    (lambda: collections.deque([1]), lambda o: o.append(2)),
    (with_attributes, lambda o: setattr(o, "b", 2)),
    (with_attributes, lambda o: delattr(o, "a")),
    (lambda: filled_cell(1), lambda o: setattr(o, "cell_contents", 2)),
    (lambda: types.CellType(), lambda o: setattr(o, "cell_contents", 2)),
]
