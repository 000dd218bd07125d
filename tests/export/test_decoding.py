"""Data that is not a program is refused, and its place is named."""

import contextlib
import copy

import pytest

from stator.export.checking import Damage
from stator.export.decoding import decode_constant, decode_program, decode_size_text
from stator.export.encoding import encode_program
from stator.export.op_calls import TORCH_DIALECT
from tests.program.zoo import everything, linear

LINEAR = encode_program(linear())
EVERYTHING = encode_program(everything())


def fault(data):
    with pytest.raises(Damage) as caught:
        decode_program(data, "p", TORCH_DIALECT)
    return str(caught.value)


def changed(*path, to):
    data = copy.deepcopy(LINEAR)
    part = data
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return data


OP = ("body", "ops", 0)
NESTED = [[]]
for _ in range(200):
    NESTED = [NESTED]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "p must be an object, not null"),
        ({}, "p has no 'files'"),
        (changed("name", to=1), "p.name must be a string, not an integer"),
        (changed("files", to=[1]), "p.files[0] must be a string, not an integer"),
        (changed("files", to=["../model.py"]), "p.files must hold names of files, not paths"),
        (changed("inputs", to={}), "p.inputs must be a list, not an object"),
        (changed("inputs", 0, "type", to={}), "p.inputs[0].type must be an object with one key"),
        (
            changed("inputs", 0, "type", to={"x": 1}),
            "p.inputs[0].type must be one of list, optional, not 'x'",
        ),
        (
            changed("inputs", 0, "type", to={"number": "bit"}),
            "p.inputs[0].type must be one of bool, int, float, complex, not 'bit'",
        ),
        (
            changed("inputs", 0, "type", "tensor", "dtype", to="nn"),
            "p.inputs[0].type names 'nn', which is no dtype of torch",
        ),
        (
            changed("inputs", 0, "type", to={"tag": {"union": "t0", "count": 0}}),
            "p.inputs[0].type.count must be 1 or more",
        ),
        (
            changed("inputs", 0, "type", to={"part": {"type": {"text": None}, "union": "t0"}}),
            "p.inputs[0].type has no 'alternatives'",
        ),
        (
            changed("inputs", 0, "requires_grad", to=1),
            "p.inputs[0].requires_grad must be true or false, not an integer",
        ),
        (
            {**LINEAR, "inputs": [{**LINEAR["inputs"][0], "requires_grad": True, "layout": "odd"}]},
            "p.inputs[0].layout must be contiguous, or strides",
        ),
        (
            {**LINEAR, "inputs": [{**LINEAR["inputs"][0], "requires_grad": True, "layout": ["a"]}]},
            "p.inputs[0].layout must be an integer, not a string",
        ),
        (
            changed("inputs", 0, "type", "tensor", "device", to="moon"),
            "p.inputs[0].type names 'moon', which is not a device of torch",
        ),
        (
            changed("inputs", 0, "type", "tensor", "shape", to=[-1]),
            "p.inputs[0].type.shape[0] is not a valid size",
        ),
        (
            changed("inputs", 0, "type", "tensor", "shape", to=[True]),
            "p.inputs[0].type.shape[0] is not a valid size",
        ),
        *(
            (
                changed("inputs", 0, "type", "tensor", "shape", to=[2, size]),
                f"p.inputs[0].type.shape[1]{problem}",
            )
            for size, problem in [
                ("2*n", " names a size '2*n', which is not a valid name"),
                ("", " names a size '', which is not a valid name"),
                (
                    {"float": 2.0},
                    " must be one of add, mul, floordiv, mod, pow, min, max, truediv, "
                    "floor, ceil, trunc, round, not 'float'",
                ),
                ({"add": ["n"]}, " gives add 1 arguments"),
                ({"floordiv": ["n", 2, 2]}, " gives floordiv 3 arguments"),
                ({"add": ["n", None]}, " is not a valid size"),
                ({"add": ["n", {"float": "inf"}]}, ".float must be a fraction, not a string"),
                ({"add": "n"}, " must be a list, not a string"),
                ({"add": ["n", 1], "mul": ["n", 1]}, " must be an object with one key"),
                ({"max": ["n", 2**64]}, " is not a valid size"),
            ]
        ),
        (
            changed("stored", 0, "kind", to="weight"),
            "p.stored[0].kind must be one of parameter, buffer, constant, not 'weight'",
        ),
        (changed("stored", 0, "value", "name", to="x"), "p.stored[0].value defines %x once more"),
        (
            changed(*OP, "name", to="aten::no_such"),
            "p.body.ops[0] calls aten::no_such, which a saved model may not",
        ),
        (
            changed(*OP, "name", to="os::system"),
            "p.body.ops[0] calls os::system, which this version of torch does not have",
        ),
        (
            changed(*OP, "name", to="aten::save"),
            "p.body.ops[0] calls aten::save, which a saved model may not",
        ),
        (
            changed(*OP, "name", to="aten::from_file"),
            "p.body.ops[0] calls aten::from_file, which a saved model may not",
        ),
        (
            changed(*OP, "args", 0, to={"value": "y"}),
            "p.body.ops[0].args uses %y, which is not defined",
        ),
        (
            changed(*OP, "args", 0, to={"value": ["y"]}),
            "p.body.ops[0].args must be a string, not a list",
        ),
        (
            changed(*OP, "args", 0, to={"dtype": "Tensor"}),
            "p.body.ops[0].args names 'Tensor', which is no dtype of torch",
        ),
        (
            changed(*OP, "args", 0, to={"float": "1"}),
            "p.body.ops[0].args must be one of inf, -inf, nan, not '1'",
        ),
        (
            changed(*OP, "args", 0, to={"float": 1}),
            "p.body.ops[0].args must be a fraction, not an integer",
        ),
        (changed(*OP, "args", 0, to=0.5), "p.body.ops[0].args is no constant"),
        (changed(*OP, "args", 0, to=2**63), "p.body.ops[0].args is no constant"),
        (changed(*OP, "args", 0, to=NESTED), "p.body.ops[0].args is nested more than 100 deep"),
        (
            changed(*OP, "place", to=[9, 1, 1, "f"]),
            "p.body.ops[0].place must be [file, line, column, function]",
        ),
        (
            changed("output_structure", to={"set": []}),
            "p.output_structure must be one of leaf, fixed, list, tuple, dict, namedtuple, "
            "dataclass, variant, columns, tuple_columns, dict_columns, not 'set'",
        ),
        (
            changed("output_structure", to={"dict": {"keys": [1], "items": []}}),
            "p.output_structure.dict must have one key for each item",
        ),
        (
            changed(
                "output_structure", to={"dict": {"keys": [1, True], "items": [{"leaf": 0}] * 2}}
            ),
            "p.output_structure.dict must have one key for each item",
        ),
        (
            changed(
                "output_structure",
                to={"dataclass": {"type": "m:C", "fields": [], "items": [{"leaf": 0}]}},
            ),
            "p.output_structure.dataclass must have one field for each item",
        ),
        (
            changed("output_structure", to={"leaf": True}),
            "p.output_structure.leaf must be an integer, not true or false",
        ),
    ],
)
def test_a_fault_is_named_by_its_place(data, text):
    assert fault(data) == text


@pytest.mark.parametrize("key", sorted(LINEAR))
def test_every_part_of_a_program_must_be_there(key):
    data = {name: part for name, part in LINEAR.items() if name != key}
    assert fault(data) == f"p has no {key!r}"


def test_expressions_of_sizes_are_nested_only_so_deep():
    size = "n"
    for _ in range(102):
        size = {"add": [size, 1]}
    data = changed("inputs", 0, "type", "tensor", "shape", to=[2, size])
    assert fault(data) == "p.inputs[0].type.shape[1] is nested more than 100 deep"


@pytest.mark.parametrize("size", [None, [], 1.5, True, {"add": ["n", 1]}])
def test_old_files_hold_no_size_but_numbers_and_text(size):
    with pytest.raises(Damage):
        decode_size_text(size, "p")


@pytest.mark.parametrize(("size", "text"), [(2, "2"), ("s0", "s0"), ("2*s1", "2*s1"), ("?", "?")])
def test_sizes_of_old_files_are_text(size, text):
    assert str(decode_size_text(size, "p")) == text


def test_a_float_of_two_keys_is_no_constant():
    with pytest.raises(Damage):
        decode_constant({"float": 1.0, "x": 2}, "p")


def every_place(data):
    yield data
    if isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from every_place(part)


@pytest.mark.parametrize("wrong", [None, 0, "x", [], {}, {"value": "x"}, 0.5, -1])
def test_any_part_exchanged_for_another_is_read_or_refused_but_never_crashes(wrong):
    data = copy.deepcopy(EVERYTHING)
    for holder in [part for part in every_place(data) if isinstance(part, dict | list)]:
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            kept, holder[key] = holder[key], wrong
            with contextlib.suppress(Damage):
                decode_program(data, "p", TORCH_DIALECT)
            holder[key] = kept
