"""describe: the kind of a value, and what it consists of."""

import collections
import dataclasses

import pytest
import torch

from stator.values.describe import describe, describe_state, generalise, name_of, widen
from stator.values.kinds import (
    ContainerKind,
    Exact,
    ListKind,
    NumberKind,
    TensorKind,
    UnionKind,
    always,
)
from stator.values.staged import StagedDeque, StagedDict, StagedSet
from stator.values.symbolic import Undefined
from stator.values.union import Union

CPU = torch.device("cpu")
INT = NumberKind("int")
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Point:
    x: object


class DictPoint(collections.OrderedDict):
    pass


def tensor(*sizes):
    return TensorKind(torch.float32, CPU, sizes, False)


def test_a_container_is_opened_only_when_nobody_else_knows_it():
    items = [1]
    assert widen(describe(items)) == describe(items)
    assert widen(describe(items, always)) == ContainerKind(list, (Exact(1),))


def test_generalise_keeps_constants_and_opens_tensors():
    kind = generalise(describe((1, "a", torch.ones(2))))
    assert kind == ContainerKind(tuple, (Exact(1), Exact("a"), tensor(2)))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Pair(1, "a"), ContainerKind(Pair, (Exact(1), Exact("a")))),
        ({"a": 1}, ContainerKind(dict, (Exact(1),), ("a",))),
        (StagedDict({"a": 1}), ContainerKind(StagedDict, (Exact(1),), ("a",))),
        (StagedSet([2, 1]), ContainerKind(set, (Exact(1), Exact(2)))),
        (Point(1), ContainerKind(Point, (Exact(1),), ("x",))),
    ],
)
def test_containers_are_opened_one_level(value, kind):
    assert widen(describe(value, always)) == kind


def test_a_deque_stays_the_object_it_is():
    items = StagedDeque([1])
    assert widen(describe(items, always)) == Exact(items)


def test_the_kind_of_a_union_is_that_of_its_alternatives():
    assert describe(Union(0, (None, torch.ones(2)), None)) == UnionKind((Exact(None), tensor(2)))


@pytest.mark.parametrize(
    ("state", "kind"),
    [((1,), ContainerKind(list, (Exact(1),))), ({"a": 1}, ContainerKind(dict, (Exact(1),), ("a",))),
     (frozenset({1}), ContainerKind(set, (Exact(1),)))],
)  # fmt: skip
def test_the_kind_of_a_state(state, kind):
    assert describe_state(state) == kind


@pytest.mark.parametrize(
    ("kind", "words"),
    [(INT, "int"), (tensor(None, 3), "f32[?, 3]"), (Exact(3), "3"), (Exact("a"), "'a'"),
     (ListKind(INT), "list of int"), (UnionKind((Exact(None), INT)), "None or int"),
     (ContainerKind(tuple, (INT,)), "tuple of 1"), (Exact(Undefined("x")), "undefined")],
)  # fmt: skip
def test_a_kind_in_words(kind, words):
    assert name_of(kind) == words


def test_a_container_of_the_capture_has_the_name_that_users_know():
    rows = ListKind(ContainerKind(StagedDict, (INT,), ("a",)))
    assert name_of(rows) == "list of dict"
