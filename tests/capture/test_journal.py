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
