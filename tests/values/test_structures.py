"""node_of(): the structure of a container, by its entry in the registry."""

import collections

import pytest

from stator.program.structure import Leaf, Mapping, Record, Sequence
from stator.values.containers import DICT, LIST, NAMED_TUPLE, OBJECT, SET, TUPLE
from stator.values.structures import node_of

Pair = collections.namedtuple("Pair", "a b")
ITEMS = (Leaf(0), Leaf(1))


def test_the_structure_of_each_container():
    assert node_of(LIST, list, (0, 1), ITEMS) == Sequence("list", ITEMS)
    assert node_of(TUPLE, tuple, (0, 1), ITEMS) == Sequence("tuple", ITEMS)
    assert node_of(DICT, dict, ("a", 2), ITEMS) == Mapping(("a", 2), ITEMS)
    name = f"{__name__}:Pair"
    assert node_of(NAMED_TUPLE, Pair, ("a", "b"), ITEMS) == Record(
        "namedtuple", name, ("a", "b"), ITEMS
    )
    assert node_of(OBJECT, Pair, ("a", "b"), ITEMS) == Record("object", name, ("a", "b"), ITEMS)


def test_a_set_has_no_structure():
    with pytest.raises(TypeError):
        node_of(SET, set, (), ())
