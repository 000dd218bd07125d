"""in_place: a result overwrites an argument that nobody needs any more."""

import pytest
import torch

import stator
from stator.optimize.in_place import in_place
from tests.optimize.captured import capture, count, names, outputs, same

X = torch.randn(4, 4)


def rewritten(function, *tensors):
    captured = capture(function, *tensors)
    program = in_place(captured.program)
    given = [tensor.clone() for tensor in tensors]
    with torch.no_grad():
        assert same(
            outputs(program, captured.tensors, *tensors),
            outputs(captured.program, captured.tensors, *tensors),
        )
    assert all(map(torch.equal, tensors, given))
    return program


def test_a_chain_works_in_place_on_what_it_made_itself():
    program = rewritten(lambda x: ((x * 2).relu() + 1).exp(), X)
    assert names(program) == ["aten::mul.Tensor", "aten::relu_", "aten::add_.Tensor", "aten::exp_"]


def test_an_input_is_not_overwritten():
    assert names(rewritten(lambda x: x.relu(), X)) == ["aten::relu"]


def test_what_is_used_again_is_not_overwritten():
    def function(x):
        y = x * 2
        return y.relu() + y

    assert count(rewritten(function, X), "aten::relu_") == 0


def test_what_leaves_the_program_is_not_overwritten():
    def function(x):
        y = x * 2
        return y, y.relu()

    assert count(rewritten(function, X), "aten::relu_") == 0


def test_what_a_view_looks_at_is_not_overwritten():
    def function(x):
        y = x * 2
        part = y[0]
        return y.relu(), part + 1

    assert count(rewritten(function, X), "aten::relu_") == 0


def test_what_a_composite_op_may_have_given_back_is_not_overwritten():
    def function(x):
        y = x * 2
        z = torch.dropout(y, 0.5, False)  # gives back y itself
        return z.relu() + 0, y

    assert count(rewritten(function, X), "aten::relu_") == 0


def test_a_smaller_argument_is_not_overwritten():
    program = rewritten(lambda x: (x[0] * 2) + x, X)
    assert names(program)[-1] == "aten::add.Tensor"


def test_an_argument_of_another_dtype_is_not_overwritten():
    program = rewritten(lambda x: (x.to(torch.int64) * 2) + x, X)
    assert names(program)[-1] == "aten::add.Tensor"


def test_an_argument_used_twice_in_one_op_is_not_overwritten():
    def function(x):
        y = x * 2
        return y * y

    assert names(rewritten(function, X)) == ["aten::mul.Tensor"] * 2


def test_what_was_made_before_a_loop_is_not_overwritten_in_it():
    def function(x):
        y, total = x * 2, x * 0
        while total.sum() < 50:
            total = total + y.exp()
        return total

    assert count(rewritten(function, X), "aten::exp_") == 0


def test_what_a_trip_makes_is_overwritten_in_it():
    def function(x):
        total = x * 0
        while total.sum() < 50:
            total = total + (x + 1).exp()
        return total

    assert count(rewritten(function, X), "aten::exp_") == 1


def test_what_a_list_holds_is_not_overwritten():
    def function(x):
        kept = []
        for row in x:
            kept.append(row * 2)
        y = kept[0]
        return y.relu(), kept

    captured = capture(function, X)
    assert count(in_place(captured.program), "aten::relu_") == 0


def test_what_a_handler_may_still_get_is_not_overwritten():
    def function(x, place):
        y = x * 2
        try:
            y = y.relu()
            y = y + x[place]
            y = y.exp()
        except IndexError:
            y = y + 1
        return y

    static = stator.to_static(function)
    for place in (torch.tensor([1]), torch.tensor([9])):
        captured = static.capture([X, place])
        program = in_place(captured.program)
        with torch.no_grad():
            given = outputs(program, captured.tensors, X, place)
        assert torch.equal(given[0], function(X, place))


@pytest.mark.parametrize("op", ["relu", "exp", "sigmoid", "tanh", "neg", "abs", "silu", "sqrt"])
def test_every_pointwise_op_means_the_same_in_place(op):
    function = lambda x: getattr(torch.nn.functional, op, getattr(torch, op, None))(x * 2)  # noqa: E731
    assert names(rewritten(function, X.abs()))[-1] == f"aten::{op}_"
