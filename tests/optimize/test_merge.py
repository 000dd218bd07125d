"""merge: equal ops become one, unless somebody could tell."""

import pytest
import torch

from stator.optimize.merge import merge
from tests.optimize.captured import capture, count, outputs, same

X = torch.randn(4, 4)


def merged(function, *tensors, gradients=False):
    captured = capture(function, *tensors)
    program = merge(captured.program, gradients=gradients)
    assert same(
        outputs(program, captured.tensors, *tensors),
        outputs(captured.program, captured.tensors, *tensors),
    )
    return program


def test_equal_ops_become_one():
    assert count(merged(lambda x: x.exp() * 2 + x.exp(), X), "aten::exp") == 1


def test_a_chain_of_equal_ops_becomes_one():
    program = merged(lambda x: x.exp().sin() + x.exp().sin(), X)
    assert (count(program, "aten::exp"), count(program, "aten::sin")) == (1, 1)


def test_ops_with_other_constants_stay():
    program = merged(lambda x: (x + 1) * (x + 1.0) * (x + True), X)
    assert count(program, "aten::add.Tensor") == 3


def test_random_ops_stay():
    torch.manual_seed(0)
    function = lambda x: torch.rand_like(x) + torch.rand_like(x)  # noqa: E731
    captured = capture(function, X)
    assert count(merge(captured.program, gradients=False), "aten::rand_like") == 2


def test_dropout_stays():
    captured = capture(lambda x: torch.dropout(x, 0.5, True) + torch.dropout(x, 0.5, True), X)
    assert count(merge(captured.program, gradients=False), "aten::dropout") == 2


def test_tensors_that_are_not_set_stay():
    captured = capture(lambda x: (torch.empty_like(x), torch.empty_like(x), x)[2], X)
    assert count(merge(captured.program, gradients=False), "aten::empty_like") == 2


def written_argument(x):
    x = x.clone()
    before = x.exp()
    x.add_(1)
    return before + x.exp()


def written_through_a_view(x):
    x = x.clone()
    before = x.exp()
    x[0].add_(1)
    return before + x.exp()


def written_result(x):
    one, other = x.exp(), x.exp()
    one.add_(1)
    return one + other


def written_in_a_loop(x):
    x, total = x.clone(), x * 0
    while total.sum() < 100:
        total = total + x.exp()
        x.add_(1)
        total = total + x.exp()
    return total


@pytest.mark.parametrize(
    "function", [written_argument, written_through_a_view, written_result, written_in_a_loop]
)
def test_what_is_written_to_stays_two(function):
    assert count(merged(function, X), "aten::exp") == 2


def test_two_results_that_leave_the_program_stay_two():
    program = merged(lambda x: (x.exp(), x.exp(), x.exp()), X)
    assert count(program, "aten::exp") == 3


def test_of_many_equal_results_only_one_leaves_the_program():
    def function(x):
        used = x.exp().sum()
        return x.exp(), x.exp(), used

    assert count(merged(function, X), "aten::exp") == 2


def test_results_that_leave_as_views_stay_two():
    assert count(merged(lambda x: (x.exp()[0], x.exp()[0]), X), "aten::exp") == 2


def test_an_op_in_a_branch_uses_the_one_before_it():
    def function(x):
        y = x.exp()
        if x.sum() > 0:
            y = y + x.exp()
        else:
            y = y - x.exp()
        return y

    assert count(merged(function, X), "aten::exp") == 1


def test_an_op_after_a_branch_does_not_use_one_inside_it():
    def function(x):
        y = x
        if x.sum() > 0:
            y = x.exp()
        return y + x.exp()

    for x in (X.abs(), -X.abs()):
        assert count(merged(function, x), "aten::exp") == 2


def test_ops_under_other_modes_stay():
    def function(x, w):
        with torch.no_grad():
            y = x @ w
        return y + x @ w

    program = merged(function, X, X)
    assert count(program, "aten::matmul") == 2


def test_with_gradients_what_may_carry_one_stays():
    function = lambda x: x.exp() + x.exp() + (x > 0) + (x > 0)  # noqa: E731
    program = merged(function, X, gradients=True)
    assert (count(program, "aten::exp"), count(program, "aten::gt.Scalar")) == (2, 1)
