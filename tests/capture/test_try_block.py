"""A recorded `try`: one op, its body and its handlers, and what they leave."""

import torch

import stator
from stator.program.ir import ops_in


def divided(x):
    try:
        if x.sum() == 0:
            raise ZeroDivisionError("nothing to divide by")
        y = x / x.sum()
    except ZeroDivisionError:
        y = x * 0
    return y


def recorded(function, *args):
    static = stator.to_static(function)
    static(*args)
    return [op for op in ops_in(static.program.body) if op.name == "stator::try"]


def test_the_op_has_a_block_for_the_body_and_one_for_each_handler():
    (op,) = recorded(divided, torch.ones(2))
    assert op.attributes["catches"] == (("ZeroDivisionError",),)
    assert len(op.blocks) == 2


def test_a_name_that_both_sides_assign_comes_out_joined():
    static = stator.to_static(divided)
    for x in (torch.ones(2), torch.tensor([1.0, -1.0])):
        assert torch.equal(static(x), divided(x))


def test_the_body_is_python_where_nothing_in_it_can_raise_at_run_time():
    def f(x):
        try:
            y = x + 1
        except ValueError:
            y = x
        return y

    assert recorded(f, torch.ones(2)) == []
