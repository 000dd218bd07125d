"""Layouts: the walks that structures and kinds share."""

import hypothesis.strategies as st
from hypothesis import given

from stator.program.layout import (
    leaves,
    map_layout,
    map_parts,
    nodes,
    parts,
    same_form,
    with_parts,
    zip_layouts,
)
from stator.program.structure import Choice, ConstantValue, Leaf, Mapping, RuntimeList, Sequence


def layouts_of(items):
    some = st.lists(items, max_size=3).map(tuple)
    return (
        st.builds(Sequence, st.sampled_from(["list", "tuple"]), some)
        | some.map(lambda items: Mapping(tuple(range(len(items))), items))
        | st.builds(Choice, st.integers(0, 9), st.lists(items, min_size=1, max_size=3).map(tuple))
        | st.builds(RuntimeList, items, st.sampled_from(["list", "dict"]))
    )


ends = st.builds(Leaf, st.integers(0, 9)) | st.builds(ConstantValue, st.text(max_size=2))
layouts = st.recursive(ends, layouts_of, max_leaves=10)


def shifted(layout):
    return Leaf(layout.position + 1) if isinstance(layout, Leaf) else layout


@given(layouts)
def test_a_layout_is_built_again_from_its_parts(layout):
    assert with_parts(layout, parts(layout)) is layout
    assert map_parts(lambda part: part, layout) is layout
    assert map_layout(lambda part: part, layout) is layout


@given(layouts)
def test_mapping_maps_the_leaves_and_keeps_the_form(layout):
    assert list(leaves(map_layout(shifted, layout))) == list(map(shifted, leaves(layout)))
    assert len(list(nodes(map_layout(shifted, layout)))) == len(list(nodes(layout)))


@given(layouts)
def test_mapping_twice_is_mapping_once_with_both(layout):
    twice = map_layout(shifted, map_layout(shifted, layout))
    assert twice == map_layout(lambda part: shifted(shifted(part)), layout)


@given(layouts, layouts)
def test_layouts_are_zipped_leaf_by_leaf(one, other):
    assert zip_layouts(lambda a, b: a if a == b else None, one, one) == one
    assert zip_layouts(lambda a, b: a, one, map_layout(shifted, one)) == one
    same = zip_layouts(lambda a, b: a if a == b else None, one, other)
    assert (same == one) is (one == other)


def test_one_layout_in_two_places_stays_one():
    inner = Sequence("list", (Leaf(0),))
    whole = map_layout(shifted, Sequence("tuple", (inner, inner)))
    assert whole.items[0] is whole.items[1]


def test_forms_differ_in_class_keys_and_length():
    assert same_form(Sequence("list", (Leaf(0),)), Sequence("list", (ConstantValue(1),)))
    assert not same_form(Sequence("list", (Leaf(0),)), Sequence("tuple", (Leaf(0),)))
    assert not same_form(Sequence("list", ()), Sequence("list", (Leaf(0),)))
    assert not same_form(Mapping(("a",), (Leaf(0),)), Mapping(("b",), (Leaf(0),)))
    assert not same_form(Leaf(0), Leaf(0))
