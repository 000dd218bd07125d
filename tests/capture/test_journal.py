"""Journal: objects are put back as they were, whatever they are."""

import collections
import types

import pytest

from stator.capture.journal import Journal, restore, same_state, state_of
from stator.capture.values import StagedList


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


@pytest.mark.parametrize(("make", "change"), CASES)
def test_undo_puts_an_object_back(make, change):
    obj, journal = make(), Journal(None)
    before = state_of(obj)
    journal.note(obj)
    change(obj)
    assert [found for found, _ in journal.changed()] == [obj] or journal.changed()[0][0] is obj
    journal.undo()
    assert same_state(state_of(obj), before)
    assert journal.changed() == []


@pytest.mark.parametrize(("make", "change"), CASES)
def test_a_state_can_be_given_back(make, change):
    obj = make()
    before = state_of(obj)
    change(obj)
    after = state_of(obj)
    restore(obj, before)
    restore(obj, after)
    assert same_state(state_of(obj), after)


def test_the_order_of_keys_is_put_back():
    table, journal = {"a": 1, "b": 2}, Journal(None)
    journal.note(table)
    table["a"] = table.pop("a")
    journal.undo()
    assert list(table) == ["a", "b"]


def test_the_first_state_counts():
    items, journal = [1], Journal(None)
    for k in (2, 3):
        journal.note(items)
        items.append(k)
    journal.undo()
    assert items == [1]


def test_changes_come_in_the_order_of_first_writes():
    one, two, journal = [], [], Journal(None)
    for obj in (two, one, two):
        journal.note(obj)
        obj.append(1)
    assert [id(obj) for obj, _ in journal.changed()] == [id(two), id(one)]


def test_keep_hands_changes_to_the_enclosing_block():
    items, outer = [1], Journal(None)
    inner = Journal(outer)
    inner.note(items)
    items.append(2)
    inner.keep()
    outer.undo()
    assert items == [1]


def test_what_the_block_made_is_forgotten():
    items, journal = [], Journal(None)
    journal.note(items)
    items.append(1)
    journal.forget(lambda obj: obj is items)
    assert journal.changed() == []


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [((1,), (1,), True), ((1,), (1.0,), False), ((1,), (1, 2), False), (({},), ({},), False),
     ({"a": 1}, {"a": 1}, True), ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
     (frozenset({1}), frozenset({1}), True)],
)  # fmt: skip
def test_states_are_the_same_when_they_hold_the_same_objects(one, two, same):
    assert same_state(one, two) is same


def test_minus_zero_is_another_state():
    assert not same_state((0.0,), (-0.0,))
