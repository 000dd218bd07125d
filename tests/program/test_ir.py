"""Walking a program meets every op and every value."""

from stator.program.ir import ops_in, used_by, values_in
from stator.program.numbers import NUMBER_FUNCTIONS
from stator.program.opset.queries import names_of
from tests.program.builder import INT, Builder


def nested():
    build = Builder()
    n = build.input("n", INT)
    with build.block() as then:
        inner = build.op("stator::add", n, 1, gives=INT)
        then.outputs = (inner,)
    with build.block() as orelse:
        orelse.outputs = ((n,),)
    build.op("stator::if", True, gives=INT, blocks=[then, orelse])
    return build.program(), n, inner


def test_ops_of_inner_blocks_are_met_after_the_op_that_holds_them():
    program, _, _ = nested()
    assert [op.name for op in ops_in(program.body)] == ["stator::if", "stator::add"]


def test_values_are_found_in_tuples_dicts_and_blocks():
    program, n, inner = nested()
    assert values_in((n, 1, (inner, "n"))) == (n, inner)
    assert values_in({"dim": (n,)}) == (n,)
    assert list(used_by(program.body.ops[0])) == [n, inner, n]


def test_every_number_op_has_a_meaning():
    assert set(NUMBER_FUNCTIONS) == names_of("number")
