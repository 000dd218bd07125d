"""Unions: a tag and parts, and the rules between them."""

import pytest
import torch

import stator
from stator.errors import ProgramError
from stator.program.ir import Value, ops_in
from stator.program.types import ListType, NumberType, OptionalType, Presence, Tag, with_unions
from stator.program.unions import given_faults, list_faults
from stator.program.verifier import verify
from tests.program.builder import BOOL, INT, Builder, tensor

TAG = NumberType("int", Tag("t0", 2))


def part(kind, *alternatives, union="t0"):
    return OptionalType(kind, Presence(union, alternatives))


def values(*kinds):
    return tuple(Value(f"v{index}", kind) for index, kind in enumerate(kinds))


LIST = values(TAG, part(tensor(2), 0), part(INT, 1))
X, MAYBE = Value("x", tensor(2)), Value("maybe", OptionalType(tensor(2)))


def test_types_of_unions_are_printed():
    assert [str(value.type) for value in LIST] == ["tag(2, t0)", "f32[2]?(t0=0)", "int?(t0=1)"]
    assert str(part(INT, 0, 2)) == "int?(t0=0|2)"
    inner = part(NumberType("int", Tag("t1", 3)), 0)
    assert str(inner) == "tag(3, t1)?(t0=0)"
    renamed = with_unions(ListType(inner), {"t0": "a", "t1": "b"}.__getitem__)
    assert str(renamed) == "list<tag(3, b)?(a=0)>"


@pytest.mark.parametrize(
    "given",
    [(0, X, None), (1, None, 3), (0, MAYBE, None), (1, MAYBE, 3), (None, None, None), (X, X, 3)],
    ids=str,
)
def test_parts_are_there_as_the_tag_says(given):
    assert list(given_faults(LIST, given)) == []


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ((0, None, None), "%v1 is absent, and (t0=0) says that it is there"),
        ((0, X, 3), "%v2 is there, and (t0=1) says that it is absent"),
        ((1, X, 3), "%v1 is there, and (t0=0) says that it is absent"),
        ((2, None, None), "%v0 is given 2, and is a tag(2, t0)"),
        ((-1, None, None), "%v0 is given -1, and is a tag(2, t0)"),
    ],
    ids=str,
)
def test_parts_that_are_there_though_the_tag_says_otherwise_are_a_fault(given, fault):
    assert list(given_faults(LIST, given)) == [fault]


def test_a_list_has_one_tag_for_a_union_and_parts_of_its_alternatives():
    assert list(list_faults(LIST)) == []
    assert list(list_faults(values(TAG, part(INT, 2)))) == [
        "%v1 is a part of alternatives that tag(2, t0) does not have"
    ]
    assert list(list_faults(values(TAG, NumberType("int", Tag("t0", 3))))) == [
        "%v1 is a second tag of the union t0"
    ]


def test_what_a_pass_has_left_of_a_union_is_no_fault():
    assert list(list_faults(LIST[1:])) == []
    assert list(given_faults(LIST[1:], (None, None))) == []


def branch(*given):
    """A program whose `if` gives a union."""
    build = Builder()
    condition, x = build.input("c", BOOL), build.input("x", tensor(2))
    with build.block() as yes:
        yes.outputs = tuple(x if one is X else one for one in given)
    with build.block() as no:
        no.outputs = (1, None, 3)
    kinds = [value.type for value in LIST]
    return build.program(*build.op("stator::if", condition, gives=kinds, blocks=(yes, no)))


def test_the_verifier_checks_what_a_block_yields():
    verify(branch(0, X, None))
    with pytest.raises(ProgramError, match="%v4 is absent, and"):
        verify(branch(0, None, None))


def test_the_verifier_checks_what_a_loop_carries():
    def loop(*initial):
        build = Builder()
        condition, x = build.input("c", BOOL), build.input("x", tensor(2))
        inputs = tuple(build.value(value.type) for value in LIST)
        with build.block(*inputs) as body:
            body.outputs = (False, *inputs)
        given = [x if one is X else one for one in initial]
        kinds = [value.type for value in LIST]
        return build.program(
            *build.op("stator::while", condition, *given, gives=kinds, blocks=(body,))
        )

    verify(loop(0, X, None))
    with pytest.raises(ProgramError, match="is there, and"):
        verify(loop(0, X, 3))


def test_a_captured_union_says_which_part_belongs_to_which_alternative():
    def choose(x):
        if x.sum() > 0:
            return x * 2, None
        return 3, x.int()

    static = stator.to_static(choose)
    for x in (torch.ones(2), -torch.ones(2)):
        assert repr(static(x)) == repr(choose(x))
    (op,) = (op for op in ops_in(static.program.body) if op.name == "stator::if")
    kinds = [str(value.type) for value in op.results]
    assert kinds == ["tag(2, t0)", "f32[2]?(t0=0)", "tag(2, t1)", "i32[2]?(t1=1)"]
