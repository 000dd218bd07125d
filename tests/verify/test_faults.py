"""A program that is wrong is found to be: with its line, its op, and an input that shows it."""

import inspect
import json

import pytest
import torch

import stator
from stator import StatorError
from tests.verify import faults
from tests.verify.faults import with_fault


def line_of(function, text):
    """The number of the line of `function` that has `text`."""
    lines, start = inspect.getsourcelines(function)
    return start + next(k for k, line in enumerate(lines) if text in line)


def rebuilt(failure, function):
    """What the snippet of a failure gives, run as it is."""
    names = {function.__name__: function}
    *lines, call = failure.snippet.splitlines()
    exec("\n".join([*lines, f"result = {call}"]), names)
    return names["result"]


def found(static, *inputs, kind="result", budget=60, **options):
    """The one failure of the program."""
    report = stator.verify(static, *inputs, backends=("program",), budget=budget, **options)
    assert not report.ok
    (failure,) = (one for one in report.failures if one.kind == kind)
    return failure


def routed(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y + 1


def test_sides_of_a_branch_that_are_swapped():
    static = with_fault(routed, faults.sides_swapped, (torch.ones(2),))
    failure = found(static, (torch.ones(2),))
    assert failure.first.op == "stator::if"
    assert failure.first.place.line == line_of(routed, "if x.sum() > 0")
    assert failure.first.text == (
        "the branch stator::if leaves the path of eager code: it runs aten::mul.Tensor (line "
        f"{line_of(routed, 'y = x * 2')}) where eager runs aten::sub.Tensor (line "
        f"{line_of(routed, 'y = x - 1')})"
    )
    assert not torch.equal(static(*failure.inputs.args), routed(*failure.inputs.args))
    assert not torch.equal(rebuilt(failure, static), rebuilt(failure, routed))


def test_a_fault_on_the_side_that_no_example_takes_is_searched_for():
    fault = faults.constant("aten::sub.Tensor", 1, 3)
    static = with_fault(routed, fault, (torch.ones(2),))
    failure = found(static, (torch.ones(2),))
    assert failure.first.op == "aten::sub.Tensor"
    assert failure.first.place.line == line_of(routed, "y = x - 1")
    assert failure.inputs.args[0].sum() <= 0
    assert not torch.equal(rebuilt(failure, static), rebuilt(failure, routed))


def far_away(x, y):
    total = (x * y).sum()
    if total > 1234.5:
        return total + 1
    return total - 1


def test_a_condition_that_no_mutation_meets_is_solved_by_its_gradient():
    fault = faults.constant("aten::add.Tensor", 1, 2)
    inputs = (torch.full((3,), 0.5), torch.full((3,), 0.25))
    static = with_fault(far_away, fault, inputs)
    failure = found(static, inputs)
    assert failure.first.place.line == line_of(far_away, "return total + 1")
    x, y = failure.inputs.args
    assert (x * y).sum() > 1234.5


def halved(x):
    steps = 0
    while x.sum() > 1:
        x = x / 2
        steps += 1
    return x, steps


@pytest.mark.parametrize("fault", [faults.one_iteration_only, faults.never_begins])
def test_iterations_that_are_missing(fault):
    static = with_fault(halved, fault, (torch.zeros(2),))
    failure = found(static, (torch.zeros(2),))
    assert failure.first.op == "stator::while"
    assert failure.first.place.line == line_of(halved, "while x.sum() > 1")
    assert halved(*failure.inputs.args)[1] >= 1
    assert rebuilt(failure, static)[1] != rebuilt(failure, halved)[1]


def test_a_loop_that_does_not_end():
    static = with_fault(halved, faults.never_ends, (torch.zeros(2),))
    failure = found(static, (torch.zeros(2),), kind="endless")
    assert failure.what == "does not finish; eager code does"
    assert halved(*failure.inputs.args)[1] >= 1


def test_an_op_that_is_another():
    fault = faults.other_op("aten::sub.Tensor", "aten::add.Tensor")
    static = with_fault(routed, fault, (torch.ones(2),))
    failure = found(static, (torch.ones(2),))
    assert failure.first.op == "aten::add.Tensor"
    assert failure.first.place.line == line_of(routed, "y = x - 1")
    assert failure.first.text == "it runs aten::add.Tensor where eager runs aten::sub.Tensor"


def test_a_constant_that_is_another():
    static = with_fault(halved, faults.constant("aten::div.Tensor", 2, 3), (torch.ones(2),))
    failure = found(static, (torch.ones(2),))
    assert failure.first.op == "aten::div.Tensor"
    assert failure.first.place.line == line_of(halved, "x = x / 2")
    assert "gives" in failure.first.text


def test_a_number_that_is_another():
    static = with_fault(halved, faults.constant("stator::add", 1, 2), (torch.ones(2),))
    failure = found(static, (torch.ones(2),))
    assert failure.first.text == "no op of torch differs; stator::while makes what does"
    assert failure.first.place.line == line_of(halved, "while x.sum() > 1")
    assert failure.what.startswith("the result[1] is ")
    assert halved(*failure.inputs.args)[1] != static(*failure.inputs.args)[1]


def counted(n):
    done = 0
    while done < n:
        done += 2
    return done


def test_numbers_of_python_alone():
    static = with_fault(counted, faults.one_iteration_only, (torch.tensor(0),))
    failure = found(static, (torch.tensor(0),))
    assert failure.first.op == "stator::while"
    assert failure.first.place.line == line_of(counted, "while done < n")


def popped(n):
    kept = []
    for k in range(int(n)):
        kept.append(k)
    total = 0
    for _ in kept:
        total += 2
    return total


def test_a_loop_without_any_op_of_torch_tells_its_iterations():
    static = with_fault(popped, faults.one_iteration_only, (torch.tensor(0),))
    failure = found(static, (torch.tensor(0),))
    assert failure.first.text.startswith("the loop stator::while runs 1 iteration, eager code ")
    assert failure.first.place.line == line_of(popped, "for k in range(int(n))")


def bounded(x):
    if x.sum() >= 3:
        return x * 0
    return x


def test_a_comparison_that_is_strict_and_should_not_be():
    static = with_fault(bounded, faults.other_op("aten::ge.Scalar", "aten::gt.Scalar"),
                        (torch.ones(3),))  # fmt: skip
    failure = found(static, (torch.ones(3),))
    assert failure.inputs.args[0].sum() == 3
    assert failure.first.place.line == line_of(bounded, "if x.sum() >= 3")


def smooth(x):
    return (torch.sin(x) * x).sum()


def test_a_gradient_that_is_wrong():
    static = with_fault(smooth, faults.detached("aten::sin"), (torch.ones(2, requires_grad=True),))
    failure = found(static, (torch.ones(2, requires_grad=True),), kind="gradient")
    assert failure.what.startswith("the gradient of `x` is ")
    assert "requires_grad_()" in failure.snippet


def test_a_wrong_gradient_is_found_without_inputs_that_require_it():
    made = (torch.ones(2),)
    learning = (torch.ones(2, requires_grad=True),)
    static = with_fault(smooth, faults.detached("aten::sin"), made, learning)
    assert found(static, made, kind="gradient")


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        self.seen.add_(1)
        return self.layer(x)


def test_an_effect_that_is_missing():
    model = Counting()
    static = with_fault(model.forward, faults.dropped("aten::add_.Tensor"), (torch.ones(1, 2),))
    failure = found(static, (torch.ones(1, 2),), kind="state")
    assert failure.what == "after the call `seen` is 1.0, eager has 2.0"
    assert model.seen == 1


def written(x, y):
    y.mul_(2)
    return x + 1


def test_an_argument_that_is_not_written():
    static = with_fault(
        written, faults.dropped("aten::mul_.Tensor"), (torch.ones(1), torch.ones(1))
    )
    failure = found(static, (torch.ones(1), torch.ones(1)), kind="argument")
    assert failure.what == "the argument y is [1.0], eager has [2.0]"


def told(x):
    if x.sum() > 0:
        print("positive", x.sum())
    return x


def test_a_text_that_is_not_printed():
    static = with_fault(told, faults.sides_swapped, (torch.ones(1),))
    failure = found(static, (torch.ones(1),), kind="printed")
    assert failure.what == "prints 'positive tensor(0.)\\n', eager ''"


def checked(x):
    if x.sum() > 5:
        raise ValueError(f"too large: {x.sum()}")
    return x


def test_an_error_that_is_not_raised():
    static = with_fault(checked, faults.sides_swapped, (torch.ones(1),))
    failure = found(static, (torch.ones(1),), kind="error")
    assert "eager nothing" in failure.what or "raises nothing" in failure.what


def test_the_report_names_it_all_and_is_raised():
    static = with_fault(routed, faults.sides_swapped, (torch.ones(2),))
    report = stator.verify(static, (torch.ones(2),), backends=("program",))
    with pytest.raises(AssertionError) as raised:
        report.raise_for_difference()
    assert isinstance(raised.value, StatorError)
    assert raised.value.code == "ST500"
    assert raised.value.problem == f"a program differs from eager code\n{report}"
    text = str(raised.value)
    assert "routed: differs from eager code" in text
    assert "test_faults.py:" in text
    assert "torch.full((2,), 0.0, dtype=torch.float32)" in text or "torch.tensor(" in text
    data = json.loads(json.dumps(report.to_dict()))
    assert data["failures"][0]["first"]["op"] == "stator::if"
    assert data["ok"] is False


def test_a_gradient_that_is_cut_off_names_the_op_that_cuts_it():
    static = with_fault(smooth, faults.detached("aten::sin"), (torch.ones(2, requires_grad=True),))
    failure = found(static, (torch.ones(2, requires_grad=True),), kind="gradient")
    assert failure.first.op == "aten::detach"
    assert failure.first.place.line == line_of(smooth, "torch.sin")


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 2 * (x.abs() < 1)


def clipped(x):
    return Clipped.apply(x) * 3


def test_a_backward_that_is_wrong_names_its_own_op():
    inputs = (torch.full((2,), 0.5, requires_grad=True),)
    static = with_fault(clipped, faults.constant("aten::mul.Tensor", 2, 5), inputs)
    failure = found(static, inputs, kind="gradient")
    assert failure.first.op == "aten::mul.Tensor"
    assert failure.first.place.line == line_of(Clipped, "return gradient * 2")
    assert "when gradients are computed" in failure.first.text


def test_a_saved_model_that_is_wrong(monkeypatch):
    def damaged(path):
        layer = stator.load(path)
        for program in layer._stator_programs.values():
            faults.sides_swapped(program)
        return layer

    monkeypatch.setattr("stator_verify.verifying.load", damaged)
    report = stator.verify(routed, (torch.ones(2),))
    assert {failure.backend for failure in report.failures} == {"saved"}
    failure = next(one for one in report.failures if one.kind == "result")
    assert failure.first.op == "stator::if"
    assert failure.first.place.line == line_of(routed, "if x.sum() > 0")


def test_a_saved_model_that_does_not_end(monkeypatch):
    def damaged(path):
        layer = stator.load(path)
        for program in layer._stator_programs.values():
            faults.never_ends(program)
        return layer

    monkeypatch.setattr("stator_verify.verifying.load", damaged)
    monkeypatch.setattr("stator_verify.reproducing.OPS", 1_000)
    report = stator.verify(halved, (torch.ones(2),))
    assert [(one.backend, one.kind) for one in report.failures] == [("saved", "endless")]
