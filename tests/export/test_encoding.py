"""A program written as JSON data and read back is the same program."""

import json

import pytest
from hypothesis import given

from stator.errors import FormatError
from stator.export.decoding import decode_plain, decode_program, decode_size, decode_type
from stator.export.encoding import (
    MAX_NESTING,
    encode_arg,
    encode_plain,
    encode_program,
    encode_size,
    encode_type,
)
from stator.export.op_calls import TORCH_DIALECT
from stator.program.ir import Block, InputFacts, Op
from stator.program.sizes import AnySize, SizeExpr, Symbol
from stator.program.structure import ConstantValue, Sequence
from stator.program.types import ListType, NumberType, OptionalType, Presence, Tag
from stator.program.verifier import verify
from tests.program.builder import INT, Builder
from tests.program.size_strategies import sizes
from tests.program.zoo import everything, linear


def round_trip(program):
    text = json.dumps(encode_program(program), allow_nan=False)
    return verify(decode_program(json.loads(text), "programs.forward", TORCH_DIALECT))


@pytest.mark.parametrize("program", [linear(), everything()])
def test_a_program_comes_back_the_same(program):
    again = round_trip(program)
    assert str(again) == str(program)
    assert repr(again.output_structure) == repr(program.output_structure)
    assert again.input_structure == program.input_structure
    assert encode_program(again) == encode_program(program)


def test_places_keep_the_name_of_the_file_but_not_its_folder():
    build = Builder()
    build.op("stator::print", "x", line=3)
    program = build.program()
    place = program.body.ops[0].place
    program.body.ops[0].place = type(place)("/home/me/model.py", 3, 4, "forward")
    assert encode_program(program)["files"] == ["model.py"]
    assert round_trip(program).body.ops[0].place == place


@pytest.mark.parametrize(
    ("constant", "encoded"),
    [
        (1, 1),
        (True, True),
        (None, None),
        ("a", "a"),
        (1.0, {"float": 1.0}),
        (float("-inf"), {"float": "-inf"}),
        (float("nan"), {"float": "nan"}),
        (complex(1, float("inf")), {"complex": [1.0, "inf"]}),
        ((1, (2.5,)), [1, [{"float": 2.5}]]),
    ],
)
def test_constants_have_a_form_that_every_reader_tells_apart(constant, encoded):
    assert encode_arg(constant) == encoded


@pytest.mark.parametrize(
    ("size", "encoded"),
    [
        (3, 3),
        (Symbol("n"), "n"),
        (AnySize(), None),
        (SizeExpr("add", (SizeExpr("mul", (2, Symbol("n"))), -1)),
         {"add": [{"mul": [2, "n"]}, -1]}),
        (SizeExpr("trunc", (SizeExpr("mul", (1.5, Symbol("n"))),)),
         {"trunc": [{"mul": [{"float": 1.5}, "n"]}]}),
    ],
)  # fmt: skip
def test_sizes_are_data(size, encoded):
    assert encode_size(size) == encoded


@given(sizes())
def test_a_size_comes_back_the_same(size):
    text = json.dumps(encode_size(size), allow_nan=False)
    assert decode_size(json.loads(text), "p") == size


def test_a_size_that_is_nested_too_deeply_is_some_size():
    size = Symbol("n")
    for _ in range(MAX_NESTING + 1):
        size = SizeExpr("add", (size, 1))
    assert encode_size(size) is None


def test_integers_beyond_64_bits_are_refused():
    assert encode_arg(-(2**63)) == -(2**63)
    with pytest.raises(FormatError) as caught:
        encode_arg(2**63)
    assert caught.value.problem == (
        "the integer 9223372036854775808 has more than 64 bits and cannot be saved"
    )


def test_metadata_may_be_lists_and_dicts_of_constants():
    metadata = {"classes": ["a", "b"], "scale": 0.5, "deep": {"none": None, "float": 1}}
    assert decode_plain(encode_plain(metadata), "metadata") == metadata
    with pytest.raises(FormatError) as caught:
        encode_plain({"x": object()})
    assert caught.value.problem == "an object cannot be saved as metadata"


def deep_blocks(depth):
    block = Block()
    for _ in range(depth):
        block = Block(ops=[Op("stator::if", (True,), {}, (), (block, Block()))])
    build = Builder()
    build.stack[0] = block
    return build.program()


def deep_structure(depth):
    structure = ConstantValue(1)
    for _ in range(depth):
        structure = Sequence("list", (structure,))
    return Builder().program(structure=structure)


@pytest.mark.parametrize("deep", [deep_blocks, deep_structure])
def test_what_can_be_written_can_be_read_and_deeper_nesting_is_refused(deep):
    assert str(round_trip(deep(100))) == str(deep(100))
    with pytest.raises(FormatError) as caught:
        encode_program(deep(101))
    assert caught.value.problem == "the program is nested more than 100 deep"


def test_a_value_is_read_as_one_object():
    build = Builder()
    n = build.input("n", INT)
    again = round_trip(build.program(n, build.op("stator::add", n, n, gives=INT)))
    assert again.body.outputs[0] is again.inputs[0] is again.body.ops[0].args[1]


@pytest.mark.parametrize("layout", [None, "contiguous", (1, 4)])
@pytest.mark.parametrize("requires_grad", [False, True])
def test_what_was_assumed_of_an_input_comes_back(layout, requires_grad):
    program = linear()
    facts = InputFacts(requires_grad, layout)
    program.input_facts = {program.inputs[0]: facts}
    again = round_trip(program)
    assert again.input_facts == {again.inputs[0]: facts}


@pytest.mark.parametrize(
    ("kind", "encoded"),
    [
        (NumberType("int", Tag("t0", 2)), {"tag": {"union": "t0", "count": 2}}),
        (OptionalType(INT, Presence("t0", (0, 2))),
         {"part": {"type": {"number": "int"}, "union": "t0", "alternatives": [0, 2]}}),
        (ListType(OptionalType(INT)), {"list": {"optional": {"number": "int"}}}),
    ],
)  # fmt: skip
def test_types_of_unions_have_a_form_of_their_own(kind, encoded):
    assert encode_type(kind) == encoded
    assert decode_type(encoded, "p", TORCH_DIALECT) == kind
