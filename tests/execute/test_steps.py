"""Blocks are prepared once: arguments become readers, values are released at their last use."""

from stator.execute.backend import RunOptions
from stator.execute.steps import prepare_block
from stator.program.ir import Block, Op, Value
from stator.program.types import NumberType

A, B, C = (Value(name, NumberType("int")) for name in "abc")
BLOCK = Block(
    (A,), [Op("stator::add", (A, 1), {}, (B,)), Op("stator::mul", (B, A), {}, (C,))], (C,)
)


def no_handler(_op, _ends):
    return (lambda _step, _frame: ()), None


def test_arguments_are_read_from_the_values():
    add, mul = prepare_block(BLOCK, RunOptions(), no_handler).steps
    assert [read({A: 5}) for read in add.args] == [5, 1]
    assert [read({A: 5, B: 6}) for read in mul.args] == [6, 5]


def test_a_value_is_released_after_its_last_use():
    add, mul = prepare_block(BLOCK, RunOptions(), no_handler).steps
    assert add.released == ()
    assert set(mul.released) == {A, B}


def test_handlers_learn_what_ends_at_their_op():
    seen = {}

    def note(op, ends):
        seen[op.name] = ends
        return no_handler(op, ends)

    prepare_block(BLOCK, RunOptions(), note)
    assert B in seen["stator::mul"]
    assert B not in seen["stator::add"]
