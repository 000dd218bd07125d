"""Freezing: what a runtime list holds a copy of must not be changed."""

import pytest

from stator.errors import UnsupportedCall
from stator.values.freezing import (
    freeze_loaded_copy,
    freeze_stored_copy,
    refuse_copies,
    refuse_frozen,
    refuse_stored_objects,
)
from stator.values.sites import Shared, class_site
from stator.values.staged import StagedDict, StagedList
from stator.values.union import Union


class Plain:
    pass


def test_all_that_is_inside_is_frozen():
    inner, other = StagedList([1]), StagedDict({"a": 1})
    freeze_stored_copy((StagedList([inner]), Union(0, (None, other), None)))
    for obj in (inner, other):
        with pytest.raises(UnsupportedCall) as caught:
            refuse_frozen(obj)
        assert "it was put into a list of the program, which holds a copy" in caught.value.problem


def test_an_item_that_was_loaded_is_frozen():
    item = StagedDict({"a": StagedList()})
    assert freeze_loaded_copy(item) is item
    with pytest.raises(UnsupportedCall) as caught:
        refuse_frozen(item["a"])
    assert caught.value.problem == (
        "a list cannot be changed here: it is an item of a list of the program, which would not "
        "see the change"
    )


def test_the_identity_of_a_copy_is_not_asked():
    inner = StagedList([1])
    refuse_copies(inner, StagedList())
    freeze_stored_copy(inner)
    with pytest.raises(UnsupportedCall) as caught:
        refuse_copies(inner, StagedList())
    assert caught.value.problem == (
        "`is` between containers that a list of the program holds copies of"
    )


def test_what_is_not_frozen_may_be_changed():
    refuse_frozen(StagedList())
    refuse_frozen([])


@pytest.mark.parametrize("item", [Plain(), (1, [Plain()])])
def test_objects_are_known_by_reference_in_another_capture(item):
    with pytest.raises(Shared) as caught:
        refuse_stored_objects(item)
    assert caught.value.sites == {class_site(Plain)}


@pytest.mark.parametrize("item", [{1}, {"a": 1}])
def test_objects_that_others_may_change_are_refused(item):
    with pytest.raises(UnsupportedCall) as caught:
        refuse_stored_objects(item)
    assert "is put into a list of data-dependent length" in caught.value.problem


@pytest.mark.parametrize("item", [1, None, (1, "a"), [1], StagedDict({"a": 1})])
def test_values_and_their_containers_can_be_stored(item):
    refuse_stored_objects(item)
