"""Journal: objects are put back as they were, whatever they are."""

import types

import pytest

from stator.capture.journal import Journal
from stator.values.contents import same_state, state_of
from tests.values.mutable import CASES


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


def test_an_object_that_was_noted_after_its_dict_changed_is_put_back():
    settings, journal = types.SimpleNamespace(kind="first"), Journal(None)
    journal.note(vars(settings))
    settings.kind = "second"
    journal.note(settings)
    settings.kind = "third"
    journal.undo()
    assert settings.kind == "first"


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


def test_changes_so_far_are_those_since_the_capture_began_and_only_of_the_objects_asked_for():
    one, two, outer = [1], [2], Journal(None)
    inner = Journal(outer)
    for journal, obj in ((outer, one), (inner, two), (inner, one)):
        journal.note(obj)
        obj.append(0)
    assert inner.changed_so_far() == [([1, 0, 0], (1,)), ([2, 0], (2,))]
    assert inner.changed_so_far(since=inner) == [([2, 0], (2,)), ([1, 0, 0], (1, 0))]
    assert inner.changed_so_far(only=lambda obj: obj is two) == [([2, 0], (2,))]


def test_an_object_that_is_changed_back_is_no_change():
    items, journal = [1], Journal(None)
    journal.note(items)
    items.append(2)
    assert journal.changed_so_far()
    items.pop()
    assert not journal.changed_so_far()


def test_the_objects_noted_after_others_are_known():
    one, two, journal = [], [], Journal(None)
    journal.note(one)
    count = journal.count
    journal.note(two)
    journal.note(one)
    assert [id(obj) for obj in journal.noted_after(count)] == [id(two)]
