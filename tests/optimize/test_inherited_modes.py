"""A program whose gradients are on only if its caller has them on."""

from stator.optimize.inherited_modes import turns_on_inherited, without_gradients
from stator.program.ir import Block, Op
from stator.program.program import Program
from stator.program.structure import Sequence


def program(*ops):
    empty = Sequence("tuple", ())
    return Program("p", (), (), Block(ops=list(ops)), empty, empty)


def grads(enabled, **attributes):
    return Op("stator::set_grad", (enabled,), attributes, ())


def test_what_the_caller_has_is_off_in_inner_blocks_too():
    branch = Op("stator::if", (True,), {}, (), (Block(ops=[grads(True, inherited=True)]), Block()))
    given = program(grads(False), grads(True), branch, grads(True, inherited=True))
    changed = [op.args[0] for op in without_gradients(given).ops() if not op.blocks]
    assert changed == [False, True, False, False]
    assert [op.args[0] for op in given.ops() if not op.blocks] == [False, True, True, True]


def test_only_a_program_that_inherits_gradients_differs_without_them():
    assert turns_on_inherited(program(grads(False), grads(True, inherited=True)))
    assert not turns_on_inherited(program(grads(False), grads(True)))
