"""Aliases: which values may be in one place, and which places are written."""

import pytest
import torch

from stator.optimize.alias import Aliases, last_uses
from stator.program.ir import ops_in
from stator.program.opset.queries import is_pure, written_by
from tests.optimize.captured import capture

X = torch.randn(4, 4)


def share(function, first, second):
    """May the results of two ops, by name, be in one place?"""
    program = capture(function, X).program
    results = {op.name: op.results[0] for op in ops_in(program.body) if op.results}
    return Aliases(program).share(results[first], results[second])


@pytest.mark.parametrize(
    ("function", "view"),
    [
        (lambda x: (x * 2).t(), "aten::t"),
        (lambda x: (x * 2).reshape(-1), "aten::reshape"),
        (lambda x: (x * 2)[0], "aten::select.int"),
        (lambda x: torch.dropout(x * 2, 0.5, False), "aten::dropout"),
        (lambda x: torch.einsum("ij->ji", x * 2), "aten::einsum"),
        (lambda x: torch.broadcast_tensors(x * 2, x)[0], "aten::broadcast_tensors"),
        (lambda x: (x * 2).t().contiguous(), "aten::contiguous"),
        (lambda x: (x * 2).to(torch.float32), "aten::to.dtype"),
    ],
)
def test_a_view_shares_with_what_it_looks_at(function, view):
    assert share(function, "aten::mul.Tensor", view)


@pytest.mark.parametrize(
    ("function", "op"),
    [
        (lambda x: (x * 2).exp(), "aten::exp"),
        (lambda x: (x * 2) @ x, "aten::matmul"),
        (lambda x: (x * 2).clone(), "aten::clone"),
    ],
)
def test_a_new_tensor_shares_with_nothing(function, op):
    assert not share(function, "aten::mul.Tensor", op)


def test_what_a_branch_gives_shares_with_what_its_sides_gave():
    def function(x):
        y = x * 2
        return y if x.sum() > 0 else x.exp()

    assert share(function, "aten::mul.Tensor", "stator::if")
    assert share(function, "aten::exp", "stator::if")


def test_batch_norm_writes_its_statistics():
    mean, var = torch.zeros(4), torch.ones(4)
    program = capture(
        lambda x: torch.nn.functional.batch_norm(x, mean, var, training=True), X
    ).program
    (op,) = [op for op in program.body.ops if op.name == "aten::batch_norm"]
    assert len(written_by(op)) == 2
    assert all(Aliases(program).is_written(stored.value) for stored in program.stored)
    assert not is_pure(op)


def test_the_last_use_counts_inner_blocks_and_outputs():
    def function(x):
        y = x * 2
        total = x * 0
        while total.sum() < 10:
            total = total + y.abs()
        return total, x

    program = capture(function, X).program
    last = last_uses(program.body)
    made = {op.name: op.results[0] for op in program.body.ops if op.results}
    loop = [op.name for op in program.body.ops].index("stator::while")
    assert last[program.body.ops[0].results[0]] == loop
    assert last[program.inputs[0]] == len(program.body.ops) == last[made["stator::while"]]
