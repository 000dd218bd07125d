"""The pipeline keeps a program's meaning, and refuses a pass that breaks a rule."""

import pytest
import torch

from stator.errors import ProgramError
from stator.execute.interpreter import run
from stator.optimize.pipeline import PASSES, optimize
from stator.program.ir import ops_in
from tests.program.builder import BOOL, INT, Builder, tensor


def test_folding_makes_room_for_pruning():
    build = Builder()
    x, weight = build.input("x", tensor(2)), build.store("weight", tensor(2))
    with build.block() as then:
        then.outputs = (build.op("aten::mul.Tensor", x, weight, gives=tensor(2)),)
    with build.block() as orelse:
        orelse.outputs = (build.op("aten::neg", x, gives=tensor(2)),)
    training = build.op("stator::eq", 1, 2, gives=BOOL)
    result = build.op("stator::if", training, gives=tensor(2), blocks=[then, orelse])
    program = build.program(result)
    before = str(program)
    better = optimize(program)
    assert [op.name for op in ops_in(better.body)] == ["aten::neg"]
    assert better.stored == ()
    assert torch.equal(run(better, [torch.ones(2)], {})[0], -torch.ones(2))
    assert str(program) == before


def test_a_pass_that_breaks_a_rule_is_found():
    build = Builder()
    program = build.program(build.op("stator::add", build.input("n", INT), 1, gives=INT))

    def forget(given):
        given.body.ops.clear()
        return given

    with pytest.raises(ProgramError, match="yields %v2, which it cannot see"):
        optimize(program, (forget,))


def test_the_passes_are_a_tuple():
    assert [one_pass.__name__ for one_pass in PASSES] == [
        "fold",
        "thread",
        "prune",
        "drop_unused_stored",
    ]
