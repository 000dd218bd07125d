"""A branch on a flag goes by the condition behind the flag, and a program gives the same."""

import itertools

import pytest

from stator.execute.interpreter import run
from stator.optimize.prune import prune
from stator.optimize.thread import thread
from stator.program.ir import Block, ops_in
from stator.program.verifier import verify
from tests.program.builder import BOOL, INT, Builder


def flag_of(build, condition, yes, no):
    sides = [Block(outputs=(yes,)), Block(outputs=(no,))]
    return build.op("stator::if", condition, gives=BOOL, blocks=sides, line=3)


def choice_by(build, condition, yes, no):
    sides = [Block(outputs=(yes,)), Block(outputs=(no,))]
    return build.op("stator::if", condition, gives=INT, blocks=sides, line=8)


def check(program):
    """`program` threaded and pruned, after comparing it on all inputs."""
    threaded = verify(prune(verify(thread(program))))
    for values in itertools.product((True, False), repeat=len(program.inputs)):
        assert run(threaded, list(values), {}) == run(program, list(values), {})
    return threaded


@pytest.mark.parametrize("yes", [True, False])
@pytest.mark.parametrize("nots", [0, 1, 2])
def test_a_branch_on_a_flag_is_a_branch_on_its_condition(yes, nots):
    build = Builder()
    condition = build.input("c", BOOL)
    flag = flag_of(build, condition, yes, not yes)
    for _ in range(nots):
        flag = build.op("stator::not", flag, gives=BOOL)
    threaded = check(build.program(choice_by(build, flag, 1, 2)))
    (branch,) = ops_in(threaded.body)
    assert branch.args == (condition,)
    assert branch.place.line == 3


def test_a_flag_that_something_else_needs_stays():
    build = Builder()
    flag = flag_of(build, build.input("c", BOOL), True, False)
    threaded = check(build.program(choice_by(build, flag, 1, 2), flag))
    assert [op.name for op in ops_in(threaded.body)] == ["stator::if", "stator::if"]


def test_a_flag_that_is_computed_on_one_side_is_left():
    build = Builder()
    a, b = build.input("a", BOOL), build.input("b", BOOL)
    flag = flag_of(build, a, b, False)
    threaded = check(build.program(choice_by(build, flag, 1, 2)))
    assert [op.args for op in ops_in(threaded.body)] == [(a,), (flag,)]


def test_a_branch_inside_another_block_is_threaded_too():
    build = Builder()
    a, b = build.input("a", BOOL), build.input("b", BOOL)
    flag = flag_of(build, a, True, False)
    with build.block() as then:
        then.outputs = (choice_by(build, flag, 1, 2),)
    outer = build.op("stator::if", b, gives=INT, blocks=[then, Block(outputs=(3,))])
    threaded = check(build.program(outer))
    assert [op.args for op in ops_in(threaded.body)] == [(b,), (a,)]
