"""Where values are used for the last time: in their own block, and in the branches inside it."""

from stator.execute.lifetimes import last_uses, last_uses_from_outside, needs_in
from tests.program.builder import INT, Builder


def sums():
    """`a + b`, then `a + a`; the block yields the second sum."""
    build = Builder()
    a, b = build.input("a", INT), build.input("b", INT)
    with build.block() as block:
        first = build.op("stator::add", a, b, gives=INT)
        second = build.op("stator::add", a, a, gives=INT)
        block.outputs = (second,)
    return block, a, b, first, second


def test_a_result_that_nothing_uses_ends_with_its_op():
    block, _, _, first, second = sums()
    assert last_uses(block, needs_in(block)) == [(first,), (), (second,)]


def test_a_value_from_outside_ends_at_its_last_use():
    block, a, b, *_ = sums()
    assert last_uses_from_outside(block, frozenset([a, b]), needs_in(block)) == [{b}, {a}]


def test_a_value_that_the_block_yields_does_not_end_in_it():
    block, a, b, *_ = sums()
    block.outputs = (a,)
    assert last_uses_from_outside(block, frozenset([a, b]), needs_in(block)) == [{b}, frozenset()]


def test_an_op_needs_what_its_blocks_name_and_do_not_make():
    build = Builder()
    a, b = build.input("a", INT), build.input("b", INT)
    with build.block() as inner:
        made = build.op("stator::add", a, a, gives=INT)
        inner.outputs = (build.op("stator::add", made, b, gives=INT),)
    with build.block() as middle:
        middle.outputs = (build.op("stator::if", True, blocks=[inner, inner], gives=INT),)
    with build.block() as block:
        build.op("stator::if", True, blocks=[middle, middle], gives=INT)
    (outer,), (around,) = block.ops, middle.ops
    needs = needs_in(block)
    assert needs[outer] == needs[around] == {a, b}
    assert needs[inner.ops[1]] == {made, b}
