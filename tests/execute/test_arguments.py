"""A call's arguments become the program's inputs, or an error that names the argument."""

from collections import namedtuple
from dataclasses import dataclass

import pytest
import torch

from stator.errors import SpecMismatch
from stator.execute.arguments import describe, flatten_inputs
from stator.program.ir import InputFacts
from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
)
from stator.program.types import ListType, NumberType, OptionalType, TextType
from tests.program.builder import BOOL, FLOAT, INT, tensor

CAPTURED = "as it was when the program was captured"
ROW = torch.ones(4, 3)
LAYOUTS = [
    ("contiguous", ROW.t(), "args[0] must be contiguous, as it was when the program was captured"),
    ((1, 3), torch.ones(3, 4), "args[0] must have the strides [1, 3], as it had when the program "
                               "was captured, not [4, 1]"),
]  # fmt: skip
Point = namedtuple("Point", ["x", "y"])


@dataclass
class Batch:
    tokens: object


def call(*items, **named):
    return Sequence(
        "tuple", (Sequence("tuple", items), Mapping(tuple(named), tuple(named.values())))
    )


def flat(structure, *args, types, **kwargs):
    return flatten_inputs(structure, args, kwargs, types=types)


def refusal(structure, *args, types=(), **kwargs):
    with pytest.raises(SpecMismatch) as caught:
        flat(structure, *args, types=types, **kwargs)
    return caught.value.problem


def test_leaves_come_in_the_order_of_the_inputs():
    structure = call(
        Leaf(2),
        Sequence("list", (Leaf(0), ConstantValue("mode"))),
        mask=Mapping(("a",), (Leaf(1),)),
    )
    given = [torch.ones(2), torch.ones(3), torch.ones(4)]
    leaves = flat(
        structure, given[0], [given[1], "mode"], mask={"a": given[2]},
        types=[tensor(3), tensor(4), tensor("n")],
    )  # fmt: skip
    assert all(
        left is right for left, right in zip(leaves, (given[1], given[2], given[0]), strict=True)
    )


def test_records_are_opened_by_their_fields():
    pair = Record("namedtuple", "m:Point", ("x", "y"), (Leaf(0), Leaf(1)))
    batch = Record("dataclass", "m:Batch", ("tokens",), (Leaf(2),))
    assert flat(call(pair, batch), Point(1, 2), Batch(3), types=[INT, INT, INT]) == (1, 2, 3)
    assert refusal(call(pair), (1, 2), types=[INT, INT]) == (
        "args[0] must be a namedtuple Point(x, y), not a tuple"
    )
    assert (
        refusal(call(batch), Batch("a"), types=[INT] * 3)
        == "args[0].tokens must be an int, not 'a'"
    )


def test_lists_of_any_length_become_columns():
    structure = call(RuntimeList(Sequence("tuple", (Leaf(0), Leaf(1)))))
    types = [ListType(INT), ListType(tensor("n"))]
    ones, twos = torch.ones(1), torch.ones(2)
    assert flat(structure, [(1, ones), (2, twos)], types=types) == ([1, 2], [ones, twos])
    assert flat(structure, [], types=types) == ([], [])
    assert refusal(structure, [(1, ones), (2, 3)], types=types) == (
        "args[0][1][1] must be a tensor f32[n], not 3"
    )
    assert refusal(structure, 3, types=types) == "args[0] must be a list, not 3"


@pytest.mark.parametrize(
    ("kind", "given", "problem"),
    [
        (tensor(2, "n"), 3, "a tensor f32[2, n], not 3"),
        (tensor(2, "n"), torch.ones(2, 3, dtype=torch.int64),
         "a tensor f32[2, n], not i64[2, 3]: its dtype is int64, not float32"),
        (tensor(2, "n"), torch.ones(2),
         "a tensor f32[2, n], not f32[2]: its rank is 1, not 2"),
        (tensor(2, "n"), torch.ones(3, 3),
         "a tensor f32[2, n], not f32[3, 3]: its size 0 is 3, not 2"),
        (tensor("n", "n"), torch.ones(2, 3),
         "a tensor f32[n, n], not f32[2, 3]: its size 1 is 3, and n is 2 elsewhere"),
        (INT, True, "an int, not True"),
        (BOOL, 1, "a bool, not 1"),
        (FLOAT, 1, "a float, not 1"),
        (NumberType("complex"), 1.0, "a complex, not 1.0"),
        (TextType(), None, "a str, not None"),
        (OptionalType(INT), "a", "an int, not 'a'"),
        (ListType(INT), (1,), "a list, not a tuple"),
    ],
)  # fmt: skip
def test_a_leaf_of_another_type_is_refused(kind, given, problem):
    assert refusal(call(Leaf(0)), given, types=[kind]) == f"args[0] must be {problem}"


def test_an_item_of_a_list_is_named_by_its_index():
    problem = refusal(call(Leaf(0)), [1, "a"], types=[ListType(INT)])
    assert problem == "args[0][1] must be an int, not 'a'"


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (tensor("n", "n"), torch.ones(0, 0)),
        (tensor("n", "2*n"), torch.ones(1, 2)),
        (OptionalType(tensor(2)), None),
        (ListType(tensor("n")), [torch.ones(1), torch.ones(2)]),
        (NumberType("complex"), 1j),
        (TextType(), "a"),
    ],
)
def test_a_leaf_of_its_type_is_taken(kind, given):
    assert flat(call(Leaf(0)), given, types=[kind]) == (given,)


def test_one_symbol_is_one_size_in_all_arguments():
    types = [tensor("n"), tensor("n")]
    assert refusal(call(Leaf(0), Leaf(1)), torch.ones(2), torch.ones(3), types=types) == (
        "args[1] must be a tensor f32[n], not f32[3]: its size 0 is 3, and n is 2 elsewhere"
    )


@pytest.mark.parametrize(
    ("structure", "args", "kwargs", "problem"),
    [
        (call(ConstantValue(3)), (4,), {}, f"args[0] must be 3, {CAPTURED}, not 4"),
        (call(ConstantValue(1)), (True,), {}, f"args[0] must be 1, {CAPTURED}, not True"),
        (call(ConstantValue(float("inf"))), (-float("inf"),), {},
         f"args[0] must be inf, {CAPTURED}, not -inf"),
        (call(ConstantValue(1)), (), {}, "args must have 1 items, not 0"),
        (call(mask=ConstantValue(1)), (), {}, "`mask` is missing"),
        (call(), (), {"mask": 1}, "`mask` is not an input of the program"),
        (call(Sequence("list", ())), ((),), {}, "args[0] must be a list, not a tuple"),
        (call(Mapping(("x",), (ConstantValue(1),))), ({},), {}, "args[0]['x'] is missing"),
        (call(Mapping((), ())), ({"x": 1},), {}, "args[0]['x'] is not an input of the program"),
        (call(Mapping((), ())), ([torch.ones(1)],), {}, "args[0] must be a dict, not [f32[1]]"),
        (call(Mapping(("x",), (Sequence("list", (ConstantValue(1),)),))), ({"x": [2]},), {},
         f"args[0]['x'][0] must be 1, {CAPTURED}, not 2"),
    ],
)  # fmt: skip
def test_another_structure_is_refused(structure, args, kwargs, problem):
    assert refusal(structure, *args, **kwargs) == problem


def test_a_fixed_nan_is_itself():
    assert flat(call(ConstantValue(float("nan"))), float("nan"), types=[]) == ()


def test_keywords_may_come_in_any_order():
    structure = call(a=Leaf(0), b=Leaf(1))
    assert flat(structure, types=[INT, INT], b=2, a=1) == (1, 2)


CHOICE = call(Choice(0, (ConstantValue(None), Leaf(1), Sequence("tuple", (Leaf(2), Leaf(3))))))
PARTS = [INT, OptionalType(TextType()), OptionalType(tensor("n")), OptionalType(tensor("n"))]


def test_a_choice_takes_the_alternative_that_fits():
    assert flat(CHOICE, None, types=PARTS) == (0, None, None, None)
    assert flat(CHOICE, "a", types=PARTS) == (1, "a", None, None)
    one, two = torch.ones(2), torch.zeros(2)
    tag, text, *tensors = flat(CHOICE, (one, two), types=PARTS)
    assert (tag, text) == (2, None)
    assert tensors[0] is one
    assert tensors[1] is two


@pytest.mark.parametrize("given", [1, (torch.ones(2),), (torch.ones(2), torch.ones(3))])
def test_what_fits_no_alternative_is_refused(given):
    with pytest.raises(SpecMismatch) as caught:
        flat(CHOICE, given, types=PARTS)
    wanted = "args[0] must be (f32[n], f32[n]) or a str or None, not "
    assert caught.value.problem == wanted + describe(given)


def test_a_tensor_is_described_by_its_type():
    assert describe([torch.ones(2, 3), None, Point]) == "[f32[2, 3], None, a type]"


@pytest.mark.parametrize(("layout", "given", "text"), LAYOUTS)
def test_a_layout_that_the_program_relies_on_is_checked(layout, given, text):
    structure = Sequence("tuple", (Sequence("tuple", (Leaf(0),)), Mapping((), ())))
    kind = tensor(*given.shape)
    with pytest.raises(SpecMismatch) as caught:
        flatten_inputs(structure, [given], {}, types=[kind], facts=[InputFacts(False, layout)])
    assert caught.value.problem == text
    for facts in (InputFacts(False), InputFacts(False, given.stride()), None):
        flatten_inputs(structure, [given], {}, types=[kind], facts=[facts])


def test_inputs_that_code_compares_by_identity_are_different_tensors():
    structure, types = call(Leaf(0), Leaf(1)), [tensor(2), tensor(2)]
    facts = [InputFacts(requires_grad=False, distinct=True)] * 2
    x, y = torch.ones(2), torch.ones(2)
    assert flatten_inputs(structure, (x, y), {}, types=types, facts=facts) == (x, y)
    message = (
        "one tensor is given twice: the program compares its arguments with `is`, and was captured "
        "for different ones"
    )
    with pytest.raises(SpecMismatch, match=message):
        flatten_inputs(structure, (x, x), {}, types=types, facts=facts)
