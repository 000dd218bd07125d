"""merge: kinds form a lattice, up to the order of a union's alternatives."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given

from stator.errors import BranchMismatch
from stator.program.layout import leaves, map_parts
from stator.values.kinds import (
    BOTTOM,
    ContainerKind,
    Exact,
    ListKind,
    NumberKind,
    TensorKind,
    TextKind,
    UnionKind,
)
from stator.values.merge import (
    as_list_item,
    as_pairs,
    merge,
    merge_all,
    merge_maps,
    signature,
    widen_growing,
)

CPU = torch.device("cpu")
INT = NumberKind("int")

tensors = st.builds(
    TensorKind, st.sampled_from([torch.float32, torch.int64]), st.just(CPU),
    st.lists(st.sampled_from([1, 2, None]), max_size=2).map(tuple), st.booleans(),
)  # fmt: skip
ends = (
    st.sampled_from([BOTTOM, INT, NumberKind("float"), TextKind()])
    | st.sampled_from([1, 2, 0.5, "a", "b", None, True]).map(Exact)
    | tensors
)


def containers_of(items):
    some = st.lists(items, max_size=3).map(tuple)
    return (
        st.builds(ContainerKind, st.sampled_from([tuple, list]), some)
        | st.lists(items, min_size=2, max_size=2).map(
            lambda items: ContainerKind(dict, tuple(items), ("a", "b"))
        )
        | items.map(lambda item: ListKind(as_list_item(item)))
    )


kinds = st.recursive(ends, containers_of, max_leaves=6)


def canonical(kind):
    """`kind` with the alternatives of unions in one order."""
    kind = map_parts(canonical, kind)
    if isinstance(kind, UnionKind):
        return UnionKind(tuple(sorted(kind.alternatives, key=repr)))
    return kind


def same(one, other):
    return canonical(one) == canonical(other)


@given(kinds)
def test_a_kind_covers_itself_and_nothing(kind):
    assert merge(kind, kind) == kind
    assert merge(kind, BOTTOM) == merge(BOTTOM, kind) == kind


@given(kinds, kinds)
def test_the_order_does_not_matter(one, other):
    assert same(merge(one, other), merge(other, one))


@given(kinds, kinds, kinds)
def test_the_grouping_does_not_matter(one, two, three):
    assert same(merge(merge(one, two), three), merge(one, merge(two, three)))


@given(kinds, kinds)
def test_a_join_covers_both(one, other):
    both = merge(one, other)
    assert same(merge(both, one), both)
    assert same(merge(both, other), both)


@given(st.lists(kinds, max_size=4))
def test_alternatives_differ_in_their_signatures(many):
    joined = merge_all(many)
    if isinstance(joined, UnionKind):
        signatures = [signature(one) for one in joined.alternatives]
        assert len(set(signatures)) == len(signatures)


def test_tuples_of_three_lengths_become_one_of_any_length():
    tuples = [ContainerKind(tuple, (INT,) * length) for length in range(4)]
    two = merge_all(tuples[1:3])
    assert widen_growing(two) == two
    assert widen_growing(merge_all(tuples)) == ListKind(INT, tuple)


def test_the_pairs_of_a_dict():
    kind = ContainerKind(dict, (INT,), ("a",))
    assert as_pairs(kind) == ContainerKind(dict, (ContainerKind(tuple, (Exact("a"), INT)),))
    assert as_pairs(INT) == INT


def test_keys_in_different_orders_are_refused():
    with pytest.raises(BranchMismatch) as caught:
        merge_maps(
            (
                ContainerKind(dict, (INT, INT), ("a", "b")),
                ContainerKind(dict, (INT, INT), ("b", "a")),
            )
        )
    assert caught.value.problem == (
        "the paths set the keys of a dict, or attributes, in different orders: b, a"
    )


def test_a_number_in_a_list_is_any_number():
    assert as_list_item(Exact(3)) == INT
    assert list(leaves(as_list_item(ContainerKind(tuple, (Exact(3), Exact("a")))))) == [
        INT, Exact("a"),
    ]  # fmt: skip
