"""verify() finds each broken rule, and says where."""

import pytest

from stator.errors import ProgramError
from stator.location import Location
from stator.program.ir import Block, Op, Value
from stator.program.structure import Choice, Leaf, RuntimeList
from stator.program.verifier import verify
from tests.program.builder import BOOL, INT, Builder, tensor
from tests.program.zoo import everything, linear


def problem(program):
    with pytest.raises(ProgramError) as caught:
        verify(program)
    return caught.value.problem


@pytest.mark.parametrize("program", [linear(), everything()])
def test_a_whole_program_is_given_back(program):
    assert verify(program) is program


def test_the_error_says_where_and_that_it_is_our_bug():
    build = Builder()
    build.op("stator::no_such", line=3)
    with pytest.raises(ProgramError) as caught:
        verify(build.program())
    assert str(caught.value) == (
        "[ST900] there is no op stator::no_such\n"
        "  at model.py:3, in forward\n"
        "  fix: report this as a bug in Stator"
    )
    assert caught.value.at == Location("model.py", 3, 4, "forward")


def test_a_name_is_defined_once():
    build = Builder()
    build.input("x", INT)
    build.store("x", tensor(2))
    assert problem(build.program()) == "%x is defined twice"


def test_a_value_is_defined_before_it_is_used():
    build = Builder()
    build.op("aten::neg", Value("later", tensor(2)), gives=tensor(2))
    assert problem(build.program()) == "aten::neg uses %later before it is defined"


def test_a_value_of_an_inner_block_is_not_seen_outside():
    build = Builder()
    with build.block() as then:
        hidden = build.op("stator::add", 1, 2, gives=INT)
    with build.block() as orelse:
        pass
    build.op("stator::if", True, blocks=[then, orelse])
    assert problem(build.program(hidden)) == "program test yields %v1, which it cannot see"


def test_a_function_sees_no_value_of_the_body():
    build = Builder()
    outer = build.op("stator::add", 1, 2, gives=INT)
    build.function("f", Block(outputs=(outer,)))
    assert problem(build.program()) == "function f yields %v1, which it cannot see"


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (Op("neg", (), {}, ()), "there is no op neg"),
        (Op("stator::add", (), {}, (), (Block(),)), "stator::add has 1 blocks"),
        (Op("stator::if", (True,), {}, (), (Block(),)), "stator::if has 1 blocks"),
        (
            Op("stator::if", (), {}, (), (Block(), Block())),
            "stator::if is not given its `condition`",
        ),
        (
            Op("stator::if", (True,), {}, (), (Block(outputs=(1,)), Block())),
            "stator::if: a block yields 1 values where 0 are expected",
        ),
        (
            Op("stator::while", (True, 1), {}, (), (Block(outputs=(True,)),)),
            "stator::while: the loop is given 1 values where 0 are expected",
        ),
        (Op("stator::call", (), {"function": "f"}, ()), "there is no function 'f'"),
        (
            Op("stator::call", (), {"function": None}, ()),
            "stator::call is given None for its `function: text`",
        ),
        (
            Op("stator::call", (1,), {"function": "g"}, ()),
            "stator::call: function g is given 1 values where 0 are expected",
        ),
    ],
)
def test_each_op_keeps_its_form(op, expected):
    build = Builder()
    build.function("g", Block())
    build.stack[0].ops.append(op)
    assert problem(build.program()) == expected


@pytest.mark.parametrize("structure", [Leaf(1), Leaf(-1), Choice(1, ()), RuntimeList(Leaf(2))])
def test_structures_name_leaves_that_exist(structure):
    build = Builder()
    build.input("x", BOOL)
    assert problem(build.program(1, structure=structure)).startswith("the output structure names")
    assert problem(build.program(1, inputs=structure)).startswith("the input structure names")
