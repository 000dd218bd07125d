"""Containers: a value comes apart and is put together again, by one entry for each type."""

import collections
import dataclasses

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from stator.values.containers import (
    DATACLASS,
    DICT,
    LIST,
    NAMED_TUPLE,
    OBJECT,
    SET,
    TUPLE,
    Containers,
    is_plain_class,
)

Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass(frozen=True)
class Point:
    x: object
    y: object


class Plain:
    def __init__(self, **values):
        vars(self).update(values)

    def __eq__(self, other):
        return type(other) is Plain and vars(self) == vars(other)

    __hash__ = None


class Slotted:
    __slots__ = ("x",)


class Closed:
    """Its slots are read and set by methods of its own."""

    __slots__ = ("x",)

    def __setattr__(self, name, value):
        raise TypeError


class Callable:
    def __call__(self):
        return 1


ALL = Containers(NAMED_TUPLE, TUPLE, LIST, DATACLASS, DICT, OBJECT)
leaves = st.none() | st.integers() | st.text(max_size=3) | st.booleans()
names = st.text("abc", min_size=1, max_size=2)


def containers_of(items):
    return (
        st.lists(items, max_size=3)
        | st.lists(items, max_size=3).map(tuple)
        | st.dictionaries(names | st.integers(), items, max_size=3)
        | st.dictionaries(names, items, max_size=3).map(collections.OrderedDict)
        | st.tuples(items, items).map(lambda pair: Pair(*pair))
        | st.tuples(items, items).map(lambda pair: Point(*pair))
        | st.dictionaries(names, items, max_size=3).map(lambda values: Plain(**values))
    )


trees = st.recursive(leaves, containers_of, max_leaves=12)


@given(containers_of(leaves))
def test_a_container_is_built_again_from_its_parts(value):
    entry = ALL.of_type(type(value))
    assert entry is not None
    parts = entry.parts(value)
    for made in (entry.new(type(value), parts), entry.like(value, parts.items)):
        assert made == value
        assert type(made) is type(value)
    assert [entry.get(value, key) for key in parts.keys] == list(parts.items)


@given(trees)
def test_mapping_the_identity_changes_nothing(tree):
    assert ALL.map(lambda leaf: leaf, tree) == tree
    assert ALL.map(lambda leaf: leaf, tree, keep=True) is tree


@given(trees)
def test_mapping_twice_is_mapping_once_with_both(tree):
    once = ALL.map(lambda leaf: ((leaf, 1), 2), tree)
    assert ALL.map(lambda leaf: leaf, once) == ALL.map(lambda leaf: ((leaf, 1), 2), tree)
    text = ALL.map(lambda leaf: repr(leaf) + "!", tree)
    assert text == ALL.map(lambda leaf: leaf + "!", ALL.map(repr, tree))


@given(trees)
def test_the_leaves_of_a_mapped_tree_are_the_mapped_leaves(tree):
    assert list(ALL.leaves(ALL.map(repr, tree))) == list(map(repr, ALL.leaves(tree)))


@given(trees)
def test_a_path_leads_to_its_leaf(tree):
    paths = list(ALL.paths(tree))
    assert [ALL.get(tree, path) for path, _ in paths] == [leaf for _, leaf in paths]
    assert ALL.map_paths(lambda _, path: path, tree) == ALL.map_paths(
        lambda leaf, path: path, ALL.map(repr, tree)
    )


def test_a_walk_opens_only_the_containers_that_it_names():
    only = Containers(LIST)
    assert list(only.leaves([1, (2, 3), [4]])) == [1, (2, 3), 4]
    assert only.parts((1,)) is None


def test_another_container_type_is_one_entry():
    deque = dataclasses.replace(
        LIST, covers=lambda cls: cls is collections.deque,
        like=lambda value, items: collections.deque(items, value.maxlen),
    )  # fmt: skip
    tree = {"a": collections.deque([1, (2,)], maxlen=5)}
    assert list(ALL.leaves(tree)) == [tree["a"]]
    made = Containers(deque, *ALL.entries).map(str, tree)
    assert made == {"a": collections.deque(["1", ("2",)])}
    assert made["a"].maxlen == 5


def test_a_copy_shares_no_mutable_container():
    tree = {"a": [1]}
    made = ALL.map(lambda leaf: leaf, tree)
    assert made is not tree
    assert made["a"] is not tree["a"]


def test_an_unchanged_dataclass_stays_the_object_it_is():
    point = Point(1, 2)
    assert ALL.map(lambda leaf: leaf, [point])[0] is point
    assert ALL.map(str, point) == Point("1", "2")


def test_named_tuples_of_torch_have_fields():
    assert ALL.parts(torch.Size([2, 3])) == (("size_0", "size_1"), (2, 3))
    found = torch.ones(2).max(0)
    assert ALL.parts(found).keys == ("values", "indices")
    assert type(ALL.map(lambda leaf: leaf, found)) is type(found)
    assert type(ALL.map(lambda leaf: leaf, torch.Size([2]))) is torch.Size


def test_the_parts_of_a_set_have_one_order():
    assert Containers(SET).parts({"b", "a", 3}).items == (3, "a", "b")


@pytest.mark.parametrize("cls", [Closed, Callable, int, type, torch.nn.Linear, torch.Tensor])
def test_what_is_no_plain_class(cls):
    assert not is_plain_class(cls)


def test_a_user_class_is_plain():
    assert is_plain_class(Plain)
    assert is_plain_class(Point)
    assert is_plain_class(Slotted)
