"""Staged containers: plain ones, until their items live in the program."""

import copy

import pytest

from stator.errors import DataDependent
from stator.values.staged import (
    Columns,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
    plain_containers,
)


@pytest.mark.parametrize("use", [len, bool, iter, lambda items: items[0], lambda items: 1 in items])
def test_a_list_of_the_program_has_no_items_yet(use):
    items = StagedList()
    items.columns = Columns(None, ())
    with pytest.raises(DataDependent) as caught:
        use(items)
    assert caught.value.problem == (
        "Python code needs the items of a list of data-dependent length"
    )


def test_staged_containers_copy_as_plain_ones():
    assert type(copy.deepcopy(StagedList([1]))) is list
    assert type(copy.deepcopy(StagedDict({"a": 1}))) is dict


def test_a_later_container_is_created_later():
    assert StagedList().created_at < StagedDict().created_at < StagedList().created_at


@pytest.mark.parametrize(
    ("staged", "plain"),
    [(StagedList([1, "a"]), [1, "a"]), (StagedDict({"a": 1}), {"a": 1}),
     (StagedSet([3]), {3})],
)  # fmt: skip
def test_a_staged_container_is_shown_as_the_plain_one(staged, plain):
    assert repr(staged) == repr(plain)
    assert staged == plain


def test_a_list_in_itself_is_shown():
    items = StagedList([1])
    items.append(items)
    assert repr(items) == "[1, [...]]"


def test_a_deque_has_methods_of_its_own_name():
    assert StagedDeque.appendleft.__name__ == "appendleft"
    with pytest.raises(DataDependent):
        StagedDeque([1]).rotate(1)


def test_plain_containers_for_staged_ones():
    made = plain_containers((StagedList([StagedDict({"a": 1})]), 2))
    assert made == ([{"a": 1}], 2)
    assert type(made[0]) is list
    assert type(made[0][0]) is dict
