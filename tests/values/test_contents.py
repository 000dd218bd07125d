"""Contents: the state of mutable objects, read, compared, put back and changed."""

import contextvars
import types

import pytest

from stator.values.contents import change, restore, same_state, state_of
from stator.values.kinds import BOTTOM
from stator.values.staged import Columns, StagedDict, StagedList, StagedSet
from tests.values.mutable import CASES, filled_cell


@pytest.mark.parametrize(("make", "alter"), CASES)
def test_a_state_can_be_given_back(make, alter):
    obj = make()
    before = state_of(obj)
    alter(obj)
    after = state_of(obj)
    restore(obj, before)
    restore(obj, after)
    assert same_state(state_of(obj), after)


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


@pytest.mark.parametrize("cls", [StagedList, StagedDict, StagedSet])
def test_the_state_of_a_container_of_the_program_is_its_columns(cls):
    obj, columns = cls(), Columns(BOTTOM, ())
    before = state_of(obj)
    restore(obj, columns)
    assert state_of(obj) is columns
    restore(obj, before)
    assert obj.columns is None
    assert len(obj) == 0


def test_a_context_variable_has_a_value():
    variable = contextvars.ContextVar("variable")
    assert state_of(variable) == {}
    restore(variable, {"value": 3})
    assert state_of(variable) == {"value": 3}


def test_a_change_leaves_other_keys_alone():
    table, obj = {"a": 1, "b": 2}, types.SimpleNamespace(a=1, b=2)
    for target in (table, obj):
        change(target, {"b": 3, "c": 4}, deleted=("a",))
    assert table == vars(obj) == {"b": 3, "c": 4}


def test_a_change_of_a_list_or_a_cell_is_of_the_whole():
    items, cell = [1, 2], filled_cell(1)
    change(items, [3], deleted=())
    change(cell, {"cell": 5}, deleted=())
    assert items == [3]
    assert cell.cell_contents == 5
