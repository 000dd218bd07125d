"""Kinds: the merge table, and what each kind consists of."""

from dataclasses import replace

import pytest
import torch

from stator.values.kinds import (
    BOTTOM,
    ContainerKind,
    Exact,
    ListKind,
    NumberKind,
    TensorKind,
    UnionKind,
    leaf_types,
    same_value,
)
from stator.values.merge import merge, merge_maps
from stator.values.symbolic import Undefined

CPU = torch.device("cpu")


def tensor(*sizes, dtype=torch.float32, grad=False):
    return TensorKind(dtype, CPU, sizes, grad)


INT, FLOAT, BOOL = NumberKind("int"), NumberKind("float"), NumberKind("bool")


@pytest.mark.parametrize(
    ("one", "two", "both"),
    [
        (Exact(3), Exact(3), Exact(3)),
        (Exact(3), Exact(4), INT),
        (Exact(3), INT, INT),
        (Exact("a"), Exact("a"), Exact("a")),
        (Exact("a"), Exact("b"), UnionKind((Exact("a"), Exact("b")))),
        (Exact(None), INT, UnionKind((Exact(None), INT))),
        (INT, FLOAT, UnionKind((INT, FLOAT))),
        (tensor(2, 3), tensor(2, 3), tensor(2, 3)),
        (tensor(2, 3), tensor(4, 3), tensor(None, 3)),
        (tensor(2), tensor(2, grad=True), replace(tensor(2, grad=True), grad_varies=True)),
        (tensor(2), tensor(2, 2), UnionKind((tensor(2), tensor(2, 2)))),
        (tensor(2), tensor(2, dtype=torch.int64),
         UnionKind((tensor(2), tensor(2, dtype=torch.int64)))),
        (tensor(2), Exact(None), UnionKind((tensor(2), Exact(None)))),
        (ContainerKind(tuple, (Exact(1),)), ContainerKind(tuple, (Exact(2),)),
         ContainerKind(tuple, (INT,))),
        (ContainerKind(list, (INT,)), ContainerKind(list, ()), ListKind(INT)),
        (ListKind(INT), ContainerKind(list, (INT, INT)), ListKind(INT)),
        (ContainerKind(dict, (Exact(1),), ("a",)), ContainerKind(dict, (Exact(2),), ("a",)),
         ContainerKind(dict, (INT,), ("a",))),
        (UnionKind((Exact(None), INT)), tensor(2), UnionKind((Exact(None), INT, tensor(2)))),
        (UnionKind((Exact(None), tensor(2))), tensor(3), UnionKind((Exact(None), tensor(None)))),
        (Exact(Undefined("x")), Exact(Undefined("y")), Exact(Undefined("x"))),
    ],
)  # fmt: skip
def test_the_merge_table(one, two, both):
    assert merge(one, two) == both


@pytest.mark.parametrize("kind", [INT, tensor(2), Exact(3), ListKind(INT), BOTTOM])
def test_bottom_adds_nothing_and_a_kind_covers_itself(kind):
    assert merge(kind, BOTTOM) == merge(BOTTOM, kind) == merge(kind, kind) == kind


@pytest.mark.parametrize(
    "kind", [INT, tensor(None, 3), ListKind(INT), UnionKind((Exact(None), INT))]
)
def test_merging_again_changes_nothing(kind):
    other = merge(kind, tensor(5, 3))
    assert merge(other, tensor(5, 3)) == other
    assert merge(other, kind) == other


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [(1, 1, True), (1, True, False), (1, 1.0, False), (0.0, -0.0, False), ("a", "a", True),
     (float("nan"), float("nan"), True), ([], [], False), (None, None, True)],
)  # fmt: skip
def test_values_are_interchangeable_only_where_nobody_can_tell(one, two, same):
    assert same_value(one, two) is same


def test_maps_get_each_others_keys():
    one, two = merge_maps(
        (ContainerKind(dict, (INT,), ("a",)), ContainerKind(dict, (INT,), ("b",)))
    )
    assert one.keys == two.keys == ("a", "b")
    assert isinstance(one.items[1].value, Undefined)
    assert isinstance(two.items[0].value, Undefined)


@pytest.mark.parametrize(
    ("kind", "count"),
    [(Exact(3), 0), (INT, 1), (tensor(2), 1), (ContainerKind(tuple, (INT, tensor(1))), 2),
     (ListKind(ContainerKind(tuple, (INT, INT))), 2), (UnionKind((Exact(None), INT)), 2),
     (ListKind(Exact(None)), 1), (BOTTOM, 0)],
)  # fmt: skip
def test_a_kind_has_so_many_leaves(kind, count):
    assert len(list(leaf_types(kind))) == count
