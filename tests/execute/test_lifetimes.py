"""Where values are used for the last time: in their own block, and in the branches inside it."""

from stator.execute.lifetimes import last_uses, last_uses_from_outside
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
    assert last_uses(block) == [(first,), (), (second,)]


def test_a_value_from_outside_ends_at_its_last_use():
    block, a, b, *_ = sums()
    assert last_uses_from_outside(block, frozenset([a, b])) == [{b}, {a}]


def test_a_value_that_the_block_yields_does_not_end_in_it():
    block, a, b, *_ = sums()
    block.outputs = (a,)
    assert last_uses_from_outside(block, frozenset([a, b])) == [{b}, frozenset()]
