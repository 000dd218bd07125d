"""fold_tensors: what is known before a run is worked out once."""

import torch

from stator.optimize.fold_tensors import fold_tensors
from stator.optimize.prune import drop_unused_stored, prune
from stator.program.ir import ops_in
from tests.optimize.captured import capture, count, names, outputs, same

X = torch.randn(4, 4)
TABLE = torch.tensor([1.0, 2.0, 3.0, 4.0])


def folded(function, *tensors, private=()):
    captured = capture(function, *tensors)
    program, stored = fold_tensors(captured.program, captured.tensors, private=private)
    program = drop_unused_stored(prune(program))
    assert same(
        outputs(program, stored, *tensors), outputs(captured.program, captured.tensors, *tensors)
    )
    return program, stored


def test_what_is_made_of_constants_is_made_once():
    program, stored = folded(lambda x: x * torch.tril(torch.ones(4, 4)), X)
    assert names(program) == ["aten::mul.Tensor"]
    (item,) = program.stored
    assert item.kind == "constant"
    assert torch.equal(stored[item.name], torch.tril(torch.ones(4, 4)))


def test_what_a_loop_makes_of_constants_is_made_before_it():
    def function(x):
        while x.sum() < 100:
            x = x + torch.arange(4).float().abs()
        return x

    program, _ = folded(function, X.abs())
    assert "aten::arange" not in names(program)


def test_random_numbers_are_drawn_by_each_run():
    captured = capture(lambda x: x + torch.rand(4, 4), X)
    program, _ = fold_tensors(captured.program, captured.tensors)
    assert count(program, "aten::rand") == 1


def test_a_constant_that_somebody_else_holds_is_not_known():
    program, _ = folded(lambda x: x * TABLE.exp(), X)
    assert count(program, "aten::exp") == 1
    captured = capture(lambda x: x * TABLE.exp(), X)
    names_of = [stored.name for stored in captured.program.stored]
    program, _ = folded(lambda x: x * TABLE.exp(), X, private=names_of)
    assert count(program, "aten::exp") == 0


def test_a_result_that_is_written_to_is_made_by_each_run():
    def function(x):
        y = torch.ones(4)
        y.add_(x[0])
        return x * y

    assert count(folded(function, X)[0], "aten::ones") == 1


def test_a_result_that_leaves_the_program_is_made_by_each_run():
    assert count(folded(lambda x: (x, torch.ones(4)), X)[0], "aten::ones") == 1


def test_a_large_result_is_made_by_each_run():
    program, _ = folded(lambda x: x + torch.zeros(2**23).sum() + torch.ones(2).sum(), X)
    assert count(program, "aten::zeros") == 1
    assert count(program, "aten::ones") == 0


def test_an_op_that_raises_is_left_to_raise():
    def function(x):
        if x.sum() > 1000:
            x = x + torch.linalg.cholesky(torch.zeros(2, 2)).sum()
        return x

    program, _ = folded(function, X)
    assert count(program, "aten::linalg_cholesky") == 1


def test_a_factory_follows_another_default_dtype():
    captured = capture(lambda x: x * torch.ones(4), X)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        program, _ = fold_tensors(captured.program, captured.tensors)
    finally:
        torch.set_default_dtype(before)
    assert [op.name for op in ops_in(program.body)] == ["aten::ones", "aten::mul.Tensor"]


def test_what_autocast_may_change_is_not_known():
    def function(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ (torch.ones(4, 4) @ torch.ones(4, 4))

    assert count(folded(function, X)[0], "aten::matmul") == 2
