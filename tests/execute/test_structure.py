"""Results come back in the structure the user's function gave them."""

import sys
from collections import namedtuple
from dataclasses import dataclass, field

import pytest

from stator.errors import ProgramError
from stator.execute.structure import find_record_class, unflatten
from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
    positions_in,
)
from tests.said import said

LOCATION = ("file", "line", "column", "function")
Point = namedtuple("Point", ["x", "y"])


@dataclass(frozen=True)
class Output:
    loss: object
    seen: object = field(init=False, default=None)


@dataclass(init=False)
class Bare:
    loss: object


class NotARecord:
    x = y = 0


def record(kind, cls, *fields):
    items = tuple(Leaf(index) for index in range(len(fields)))
    return Record(kind, f"{cls.__module__}:{cls.__qualname__}", fields, items)


@pytest.mark.parametrize(
    ("structure", "expected"),
    [
        (Leaf(1), "b"),
        (ConstantValue(None), None),
        (Sequence("list", (Leaf(0), ConstantValue(3))), ["a", 3]),
        (Sequence("tuple", ()), ()),
        (Mapping(("k", 1), (Leaf(1), Sequence("tuple", (Leaf(0),)))), {"k": "b", 1: ("a",)}),
    ],
)
def test_sequences_and_mappings_are_put_together(structure, expected):
    assert unflatten(structure, ("a", "b")) == expected


@pytest.mark.parametrize(("tag", "expected"), [(0, None), (1, ["b"]), (True, ["b"])])
def test_a_variant_is_chosen_by_its_tag(tag, expected):
    structure = Choice(0, (ConstantValue(None), Sequence("list", (Leaf(1),))))
    assert unflatten(structure, (tag, "b")) == expected


def test_columns_are_zipped_into_rows():
    structure = RuntimeList(Sequence("tuple", (Leaf(0), Leaf(1), ConstantValue("c"))))
    assert unflatten(structure, ([1, 2], ["a", "b"])) == [(1, "a", "c"), (2, "b", "c")]
    assert unflatten(structure, ([], [])) == []


def test_columns_may_stand_in_columns_and_hold_choices():
    nested = RuntimeList(Sequence("list", (Leaf(0), RuntimeList(Leaf(1)))))
    assert unflatten(nested, ([1, 2], [[3], [4, 5]])) == [[1, [3]], [2, [4, 5]]]
    choices = RuntimeList(Choice(0, (ConstantValue("none"), Leaf(1))))
    assert unflatten(choices, ([0, 1], ["x", "y"])) == ["none", "y"]


def test_columns_of_different_lengths_are_a_broken_program():
    with pytest.raises(ProgramError) as caught:
        unflatten(RuntimeList(Sequence("tuple", (Leaf(0), Leaf(1)))), ([1], []))
    assert said(caught.value) == "[ST900] the columns of a list have no common length"


def test_positions_include_tags():
    structure = Sequence("list", (RuntimeList(Leaf(2)), Choice(0, (Leaf(1), ConstantValue(1)))))
    assert tuple(positions_in(structure)) == (2, 0, 1)


def test_a_named_tuple_is_made_of_its_own_class():
    structure = record("namedtuple", Point, "x", "y")
    classes = {structure.type_name: Point}
    result = unflatten(structure, (1, 2), classes=classes)
    assert type(result) is Point
    assert result == (1, 2)


def test_a_dataclass_is_made_of_its_own_class_with_all_fields():
    structure = record("dataclass", Output, "loss", "seen")
    result = unflatten(structure, (1, 2), classes={structure.type_name: Output})
    assert type(result) is Output
    assert (result.loss, result.seen) == (1, 2)


def test_a_dataclass_with_an_init_of_its_own_is_filled_field_by_field():
    structure = record("dataclass", Bare, "loss")
    result = unflatten(structure, (1,), classes={structure.type_name: Bare})
    assert type(result) is Bare
    assert result.loss == 1


def test_a_class_is_found_in_a_module_that_is_already_imported():
    structure = Record("namedtuple", "tokenize:TokenInfo", ("a",), (Leaf(0),))
    assert find_record_class(structure).__module__ != "tokenize"  # other fields: not this class
    found = Record("dataclass", "stator.location:Location", LOCATION, (ConstantValue(0),) * 4)
    assert type(unflatten(found, ())).__name__ == "Location"
    assert type(unflatten(found, ())).__module__ == "stator.location"


@pytest.mark.parametrize("name", ["no_such_module:Point", "builtins:print", "os:system", "x", ""])
def test_a_class_that_is_not_there_is_stood_in_for(name):
    result = unflatten(Record("dataclass", name, ("x", "y"), (Leaf(0), Leaf(1))), (1, 2))
    assert (result.x, result.y) == (1, 2)
    assert "no_such_module" not in sys.modules


def test_a_class_that_is_no_record_is_not_used():
    structure = record("namedtuple", NotARecord, "x", "y")
    result = unflatten(structure, (1, 2), classes={structure.type_name: NotARecord})
    assert not isinstance(result, NotARecord)
    assert result == (1, 2)
