"""What is constant is worked out once, and a program gives the same as before."""

import pytest
import torch

from stator.execute.interpreter import run
from stator.optimize.fold import fold
from stator.program.ir import ops_in
from stator.program.verifier import verify
from tests.program.builder import BOOL, FLOAT, INT, Builder, tensor


def names(program):
    return [op.name for op in ops_in(program.body)]


def test_number_ops_with_constant_arguments_are_worked_out():
    build = Builder()
    x = build.input("x", tensor(2))
    five = build.op("stator::add", 2, 3, gives=INT)
    ten = build.op("stator::mul", five, 2, gives=INT)
    program = build.program(build.op("aten::mul.Tensor", x, ten, gives=tensor(2)), ten)
    folded = verify(fold(program))
    assert names(folded) == ["aten::mul.Tensor"]
    assert folded.body.outputs[1] == 10
    assert torch.equal(run(folded, [torch.ones(2)], {})[0], torch.full((2,), 10.0))
    assert names(program) == ["stator::add", "stator::mul", "aten::mul.Tensor"]


@pytest.mark.parametrize(
    ("name", "args"),
    [("floordiv", (1, 0)), ("sqrt", (-1,)), ("int", (float("inf"),)), ("pow", (10, 10**9))],
)
def test_an_op_that_would_raise_or_never_end_is_left(name, args):
    build = Builder()
    program = build.program(build.op(f"stator::{name}", *args, gives=FLOAT))
    assert names(fold(program)) == [f"stator::{name}"]


def test_a_selection_by_a_constant_is_the_item_even_if_that_is_a_value():
    build = Builder()
    n = build.input("n", INT)
    program = build.program(build.op("stator::select", 1, (7, n), gives=INT))
    folded = verify(fold(program))
    assert names(folded) == []
    assert folded.body.outputs == (n,)


@pytest.mark.parametrize("condition", [True, False])
def test_a_branch_on_a_constant_becomes_its_block(condition):
    build = Builder()
    x = build.input("x", tensor(2))
    with build.block() as then:
        then.outputs = (build.op("aten::neg", x, gives=tensor(2)),)
    with build.block() as orelse:
        orelse.outputs = (build.op("aten::abs", x, gives=tensor(2)),)
    result = build.op("stator::if", condition, gives=tensor(2), blocks=[then, orelse])
    folded = verify(fold(build.program(result)))
    assert names(folded) == ["aten::neg" if condition else "aten::abs"]
    expected = -torch.ones(2) if condition else torch.ones(2)
    assert torch.equal(run(folded, [torch.ones(2)], {})[0], expected)


def test_a_result_that_both_sides_of_a_branch_agree_on_is_known():
    build = Builder()
    test = build.input("test", BOOL)
    with build.block() as then:
        then.outputs = (3, 0.0, 1)
    with build.block() as orelse:
        orelse.outputs = (3, -0.0, True)
    results = build.op("stator::if", test, gives=[INT, FLOAT, INT], blocks=[then, orelse])
    folded = verify(fold(build.program(*results)))
    assert folded.body.outputs == (3, *results[1:])


def test_a_loop_that_never_starts_gives_what_it_was_given():
    build = Builder()
    n, inner = build.input("n", INT), build.value(INT)
    with build.block(inner) as body:
        body.outputs = (True, build.op("stator::add", inner, 1, gives=INT))
    folded = verify(
        fold(build.program(build.op("stator::while", False, n, gives=INT, blocks=[body])))
    )
    assert names(folded) == []
    assert run(folded, [4], {}) == (4,)


def test_a_carried_value_that_never_changes_is_the_one_given():
    build = Builder()
    limit = build.input("limit", INT)
    count, inner = build.value(INT), build.value(INT)
    with build.block(count, inner) as body:
        more = build.op("stator::add", count, 1, gives=INT)
        body.outputs = (build.op("stator::lt", more, inner, gives=BOOL), more, inner)
    results = build.op("stator::while", True, 0, limit, gives=[INT, INT], blocks=[body])
    folded = verify(fold(build.program(*results)))
    (loop,) = folded.body.ops
    assert loop.blocks[0].ops[1].args[1] is limit
    assert folded.body.outputs[1] is limit
    assert run(folded, [5], {}) == (5, 5)


def test_checks_that_hold_go_and_others_stay():
    build = Builder()
    build.op("stator::demand", build.op("stator::eq", 2, 2, gives=BOOL), "sizes")
    build.op("stator::assert", False, "no")
    assert names(fold(build.program())) == ["stator::assert"]


def test_functions_are_folded_too():
    build = Builder()
    n = build.value(INT)
    with build.block(n) as body:
        two = build.op("stator::add", 1, 1, gives=INT)
        body.outputs = (build.op("stator::mul", n, two, gives=INT),)
    build.function("twice", body)
    program = build.program(build.op("stator::call", 4, function="twice", gives=INT))
    folded = verify(fold(program))
    assert [op.name for op in folded.functions["twice"].ops] == ["stator::mul"]
    assert run(folded, [], {}) == (8,)
