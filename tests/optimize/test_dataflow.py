"""needed_for: what some outputs need, and nothing else."""

import torch

from stator.optimize.dataflow import needed_for
from stator.optimize.restrict import restrict, used_inputs
from tests.optimize.captured import capture, names, outputs

X, Y = torch.randn(4), torch.randn(4)


def nothing(_):
    return False


def only(captured, *positions, must_stay=nothing):
    chosen = [captured.program.body.outputs[position] for position in positions]
    return needed_for(captured.program, chosen, must_stay=must_stay)


def test_what_an_output_does_not_need_goes_even_if_it_may_raise():
    captured = capture(lambda x, y: (x.exp(), y.view(2, 2)), X, Y)
    assert names(only(captured, 0)) == ["aten::exp"]
    whole = restrict(captured.program, [captured.program.body.outputs[0]])
    assert names(whole) == ["aten::exp"] or "aten::view" in names(whole)


def test_the_inputs_that_are_used_are_known():
    captured = capture(lambda x, y: (x.exp(), x + y), X, Y)
    assert [value.name for value in used_inputs(only(captured, 0))] == ["x"]
    assert {value.name for value in used_inputs(only(captured, 1))} == {"x", "y"}


def test_a_write_that_an_output_reads_stays():
    def function(x, y):
        z = x.clone()
        z[0].add_(1)
        y = y.clone()
        y.add_(1)
        return z, y

    captured = capture(function, X, Y)
    program = only(captured, 0)
    (given,) = outputs(program, captured.tensors, X, Y)
    assert torch.equal(given, function(X, Y)[0])
    assert [value.name for value in used_inputs(program)] == ["x"]


def test_a_write_inside_a_branch_stays():
    def function(x, y):
        z = x.clone()
        if x.sum() > 0:
            z.add_(1)
        return z, y.exp()

    captured = capture(function, X, Y)
    for x in (X.abs(), -X.abs()):
        (given,) = outputs(only(captured, 0), captured.tensors, x, Y)
        assert torch.equal(given, function(x, Y)[0])


def test_an_assertion_stays_where_it_looks_at_what_stays():
    def function(x, y):
        assert x.sum() < 1000
        assert y.sum() < 1000
        return x.exp(), y.exp()

    captured = capture(function, X, Y)
    program = only(captured, 0)
    assert [value.name for value in used_inputs(program)] == ["x"]
    assert "stator::raise" in names(program)


def test_a_check_that_must_stay_stays():
    def function(x, y):
        assert y.sum() < 1000
        return x.exp()

    captured = capture(function, X, Y)
    program = only(captured, 0, must_stay=lambda op: bool(op.blocks))
    assert "y" in {value.name for value in used_inputs(program)}


def test_a_change_of_mode_stays():
    def function(x, y):
        with torch.no_grad():
            z = y.exp()
        return x.exp(), z

    captured = capture(function, X, Y)
    assert names(only(captured, 0)).count("stator::set_grad") == 2
