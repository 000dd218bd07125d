"""verify(): what it runs, which paths it covers, what it leaves unchanged, what it reports."""

import json

import pytest
import torch

import stator
from stator import Example, InputSpec


def settled(x, n):
    total = x
    while n > 0:
        if x.sum() > 7 and n < 5:
            total = total + n
        elif not (x > 3).any():
            break
        n = n - 1
    else:
        return total, 1
    assert total.sum() < 100, "big"
    return total, 2


def test_every_way_is_found_from_one_example():
    report = stator.verify(settled, (torch.ones(3), torch.tensor(3)))
    assert report.ok
    assert report.paths == (11, 11)
    assert [site.kind for site in report.sites] == ["while", "and/or", "if", "if", "assert"]
    assert [backend.name for backend in report.backends] == ["program", "saved"]
    assert all(backend.runs and backend.gradients for backend in report.backends)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report():
    first, second = (
        stator.verify(settled, (torch.ones(3), torch.tensor(3)), seed=3, budget=40).to_dict()
        for _ in range(2)
    )
    assert first == second


def deep(x):
    if x[0] > 417.0:
        if x[1] < -23.5:
            if x[0] * 0.5 == x[2]:
                return x * 3
            return x * 2
        return x + 1
    return x - 1


def test_nested_conditions_are_solved_one_after_the_other():
    report = stator.verify(deep, (torch.zeros(3),), backends=("program",), gradients=False)
    assert [site.missing for site in report.sites] == [(), (), ()]


def between(x):
    iterations = 0
    while x.sum() > 10:
        x = x * 0.9
        iterations += 1
    return iterations


def test_a_loop_is_made_to_run_no_one_and_many_times():
    report = stator.verify(between, (torch.full((3,), 40.0),), backends=("program",))
    assert report.sites[0].missing == ()


def doubled_until(x):
    while x.sum() < 100:
        x = x * 2
    return x


def test_inputs_on_which_eager_code_does_not_finish_are_abandoned():
    report = stator.verify(doubled_until, (torch.ones(2),), budget=30, backends=("program",))
    assert report.ok
    assert report.endless >= 1
    assert "generated inputs on which eager code did not finish" in str(report)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.norm = torch.nn.BatchNorm1d(2)
        self.drop = torch.nn.Dropout(0.5)
        self.tied = self.layer
        self.calls, self.log = 0, []

    def forward(self, x):
        self.calls += 1
        self.log.append(self.calls)
        x = self.drop(self.norm(self.tied(self.layer(x))))
        if x.sum() > 0:
            return x
        return -x


def test_a_module_is_left_as_it_was():
    model = Model()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    report = stator.verify(model, (torch.randn(4, 2),), budget=30)
    assert report.ok, str(report)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    assert (model.calls, model.log) == (0, [])
    assert "forward" not in vars(model)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_random_numbers_go_on_as_if_nothing_had_been():
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    stator.verify(Model(), (torch.ones(4, 2),), budget=3, backends=("program",))
    torch.manual_seed(5)
    stator.verify(between, (torch.ones(2),), budget=3, backends=("program",))
    assert torch.equal(torch.rand(3), wanted)


def test_a_static_function_keeps_its_captures():
    static = stator.to_static(between)
    static(torch.ones(2))
    assert stator.verify(static, (torch.ones(2),), budget=20).ok
    assert len(static.concrete_programs) == 1


def test_methods_are_verified_on_their_object():
    assert stator.verify(Model().forward, (torch.randn(4, 2),), budget=20).ok


class Counted(torch.nn.Module):
    calls = 0

    def forward(self, x):
        Counted.calls += 1
        return x + Counted.calls


def test_a_model_that_cannot_be_saved_is_said_to_be_refused_and_is_ok():
    report = stator.verify(Counted(), (torch.randn(4, 2),), budget=10)
    saved = report.backends[1]
    assert report.ok
    assert saved.runs == 0
    assert saved.refused == (
        "[ST200] a call changes `calls` of a type, which is not part of a saved model",
    )


def test_a_model_with_state_is_verified_as_it_was_when_it_was_saved():
    report = stator.verify(Model(), (torch.randn(4, 2),), budget=10)
    assert report.ok
    assert report.backends[1].runs > 0


class Toggle(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("on", torch.tensor(False))

    def forward(self, x):
        if self.on:
            x = x * 2
        self.on.logical_not_()
        return x


def test_calls_are_made_in_turn_where_they_leave_something_for_the_next():
    report = stator.verify(Toggle(), (torch.ones(2),), budget=5)
    assert report.ok
    assert report.paths == (2, 2)


def refused(x):
    return x.data_ptr() + 1


def test_an_example_that_is_refused_is_a_failure_with_its_reason():
    report = stator.verify(refused, (torch.ones(2),))
    assert not report.ok
    assert {failure.kind for failure in report.failures} == {"refused"}
    assert report.failures[0].what.startswith("is refused: [ST204]")


@stator.to_static(input_spec=[InputSpec([None, 2])])
def summed(x):
    if x.shape[0] > 3:
        return x.sum(0)
    return x.sum(0) * 2


def test_sizes_that_a_spec_leaves_open_are_changed_and_no_others():
    report = stator.verify(summed, (torch.ones(2, 2),))
    assert report.paths == (2, 2)
    assert report.captures == 2  # with and without gradients of the input


def test_python_numbers_and_truth_values_are_changed():
    def powered(x, n, turned=False):
        for _ in range(n):
            x = x * x
        return -x if turned else x

    report = stator.verify(powered, Example(torch.ones(2), 2, turned=True), budget=40)
    assert report.ok
    assert report.captures >= 4


def test_other_inputs_are_compared_within_what_is_allowed():
    def third(x):
        return x / 3

    assert stator.verify(third, (torch.ones(2),), rtol=1e-3, atol=1e-3).ok


def test_what_is_no_input_is_refused():
    for function, inputs, problem in (
        (between, [], "there are no inputs to verify with"),
        (between, 3, "an int is not a set of arguments"),
        (between, {0: torch.ones(2)}, "0 is not the name of an argument"),
        (between, (1, 2), "example 1 does not fit between(x): too many positional arguments"),
        (3, (torch.ones(2),), "an int cannot be verified"),
    ):
        with pytest.raises(stator.StatorError) as error:
            stator.verify(function, inputs)
        assert error.value.problem == problem
        assert error.value.fix


def ambiguous(x):
    return 1 if x > 0 else 2


def test_a_call_that_cannot_be_captured_is_not_saved():
    report = stator.verify(ambiguous, (torch.ones(2),), budget=1, gradients=False)
    assert report.ok
    assert report.backends[1].refused == (
        "[ST200] capturing this call raises RuntimeError('Boolean value of Tensor with more than "
        "one value is ambiguous')",
    )


def test_calls_of_several_kinds_are_not_saved_in_turn():
    inputs = [(torch.ones(2),), (torch.ones(2).double(),)]
    report = stator.verify(Toggle(), inputs, budget=2)
    assert report.ok
    assert report.backends[1].refused == (
        "[ST301] examples of several types, run in sequence, need several models",
    )


def test_a_backend_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(stator.StatorError) as error:
        stator.verify(between, (torch.ones(2),), backends=("program", "abacus"))
    assert error.value.code == "ST303"
    assert error.value.problem == "there is no backend 'abacus' to verify"
    assert error.value.fix == "use some of program, saved"


def test_the_report_is_text_and_data():
    report = stator.verify(between, (torch.ones(3),), budget=40)
    text = str(report)
    assert text.startswith("between: matches eager code\n")
    assert "branches and loops: 3 of 3 paths covered" in text
    assert max(map(len, text.splitlines())) < 120 or str(__file__) in text
    data = json.loads(json.dumps(report.to_dict()))
    assert data["ok"] is True
    assert data["paths"] == {"covered": 3, "all": 3}
    assert data["sites"][0]["source"].strip() == "while x.sum() > 10:"
