"""Recorder: ops, modes, and tensors from outside."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.capture.literals import literal_arg
from stator.errors import UnsupportedCall
from stator.program.ir import InputFacts
from tests.capture.oracle import check, refusal

ONE = torch.ones(2)


@pytest.fixture(autouse=True)
def grad_mode_put_back():
    with torch.enable_grad():
        yield


def names(static):
    return [op.name for op in static.program.body.ops]


def test_a_composite_op_stays_whole():
    static = check(lambda x, w: torch.nn.functional.linear(x, w), (ONE, torch.ones(3, 2)))
    assert names(static) == ["aten::linear"]


def test_an_op_in_place_stays_in_place():
    static = check(lambda x: x.clone().add_(1), (ONE,))
    assert "aten::add_.Tensor" in names(static)


def test_no_grad_is_part_of_the_program():
    def f(x):
        with torch.no_grad():
            y = x * 2
        return y.requires_grad, x * y

    x = ONE.clone().requires_grad_()
    static = check(f, (x,))
    static(x)[1].sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_autocast_is_part_of_the_program():
    def f(x):
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ x
        return y, x @ x

    check(f, (torch.ones(2, 2),))


def test_modes_inside_a_branch_end_with_it():
    def f(x):
        if x.sum() > 0:
            with torch.no_grad():
                y = x * 2
        else:
            y = x * 3
        return y

    static = stator.to_static(f)
    for sign, grad in ((1, False), (-1, True)):
        assert static((sign * ONE).requires_grad_()).requires_grad is grad
    assert torch.is_grad_enabled()


def test_a_mode_left_on_in_one_branch_is_refused():
    def f(x):
        if x.sum() > 0:
            torch.set_grad_enabled(False)
        return x

    error = refusal(UnsupportedCall, f, ONE)
    assert error.problem == (
        "grad mode, inference mode or autocast is changed in one branch or iteration "
        "and not changed back"
    )


def test_a_refused_capture_leaves_grad_mode_as_it_was():
    def f(x):
        if x.sum() > 0:
            torch.set_grad_enabled(False)
        return x

    refusal(UnsupportedCall, f, ONE)
    assert torch.is_grad_enabled()


def test_a_tensor_from_outside_is_stored_once_and_read_live():
    table = torch.ones(2)
    static = check(lambda x: x * table + table, (ONE,))
    assert len(static.program.stored) == 1
    table.fill_(5)
    assert static(ONE).tolist() == [10, 10]


def test_two_equal_tensors_are_two():
    one, two = torch.ones(2), torch.ones(2)
    static = check(lambda x: x * one + two, (ONE,))
    assert len(static.program.stored) == 2


def test_a_literal_is_copied_by_every_run():
    def f(x):
        total = torch.tensor([0.0, 0.0])
        total += x
        return total

    static = check(f, (ONE,), (ONE,))
    assert static(ONE) is not static(ONE)
    assert static(ONE).tolist() == [1, 1]


def test_random_numbers_are_drawn_by_every_run():
    static = check(lambda x: x + torch.rand(2), (ONE,), (ONE,))
    assert not torch.equal(static(ONE), static(ONE))


def test_a_result_that_is_its_argument_is_the_argument():
    static = stator.to_static(lambda x: x)
    x = torch.ones(1)
    assert static(x).data_ptr() == x.data_ptr()


def test_an_argument_that_is_given_back_in_a_list_stays_itself():
    static = check(lambda x, y: (torch.broadcast_tensors(x, y)[0] + y, x), (ONE, ONE.clone()))
    assert static.program.body.outputs[1] is static.program.inputs[0]


def test_views_write_through():
    def f(x):
        x = x.clone()
        x[0].fill_(7)
        x.view(-1)[1] = 3
        return x

    check(f, (torch.zeros(2, 2),), (torch.ones(2, 1),))


@pytest.mark.parametrize("ask", [lambda x: x.is_contiguous(), lambda x: x.stride()])
def test_the_layout_of_an_argument_is_what_python_code_reads(ask):
    x = torch.ones(2, 3).t()
    assert stator.to_static(ask)(x) == ask(x)


DENSE, COLUMNS, ROWS = torch.ones(4, 3), torch.ones(3, 4).t(), torch.ones(5, 7)[:4, :3]


@pytest.mark.parametrize("spec", [{}, {"input_spec": [InputSpec([None, 3])]}])
def test_strides_are_those_of_the_run_where_sizes_are_dynamic(spec):
    static = stator.to_static(lambda x: x.stride()[0] * x, **spec)
    for x in (torch.ones(2, 3), DENSE, COLUMNS, ROWS, ROWS[:3], ROWS[:2], torch.ones(3, 6).t()):
        assert torch.equal(static(x), x.stride()[0] * x)


def test_a_spec_does_not_make_an_argument_contiguous():
    static = stator.to_static(lambda x: x.is_contiguous(), input_spec=[InputSpec([4, 3])])
    assert [static(x) for x in (DENSE, COLUMNS, ROWS)] == [True, False, False]


def test_a_row_of_an_argument_has_the_layout_of_the_run():
    static = stator.to_static(lambda x: x[0].stride()[0] * x)
    for x in (COLUMNS, torch.ones(3, 6).t(), torch.ones(3, 7).t(), DENSE, torch.ones(6, 3)):
        assert torch.equal(static(x), x[0].stride()[0] * x)


def test_a_program_says_what_its_capture_assumed_of_its_inputs():
    static = stator.to_static(lambda x: x * 2)
    static(DENSE)
    assert list(static.program.input_facts.values()) == [InputFacts(False)]
    static(DENSE.clone().requires_grad_())
    assert list(static.program.input_facts.values()) == [InputFacts(True)]


@pytest.mark.parametrize(
    ("x", "layout", "text"),
    [
        (DENSE, "contiguous", "%x: f32[4, 3] contiguous"),
        (COLUMNS, (1, 4), "%x: f32[4, 3] strides [1, 4]"),
    ],
)
def test_a_layout_that_python_code_reads_is_part_of_the_program(x, layout, text):
    static = stator.to_static(lambda x: x * 2 if x.is_contiguous() else x * 3)
    static(x)
    assert list(static.program.input_facts.values()) == [InputFacts(False, layout)]
    assert text in str(static.program)


def test_whether_an_argument_that_requires_grad_is_a_leaf_is_refused():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(UnsupportedCall, match=r"`\.is_leaf` cannot be captured"):
        stator.to_static(lambda x: x.is_leaf)(x)


def test_an_argument_that_is_a_parameter_is_one():
    static = stator.to_static(lambda x: (isinstance(x, torch.nn.Parameter), x * 2))
    for x in (torch.nn.Parameter(torch.ones(2)), torch.ones(2), torch.ones(2, requires_grad=True)):
        assert static(x)[0] is isinstance(x, torch.nn.Parameter)


def test_an_argument_of_an_op_that_no_program_can_hold_is_refused():
    with pytest.raises(UnsupportedCall) as caught:
        literal_arg(torch.Generator())
    assert caught.value.problem == "an op receives a Generator, which a program cannot hold"


def labelled(x):
    with torch.profiler.record_function("outer"):
        x = x * 2
    if x.sum() > 0:
        with torch.autograd.profiler.record_function("inner"):
            x = x + 1
    return x


def test_labels_for_the_profiler_are_no_part_of_a_program():
    static = stator.to_static(labelled)
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(static(x), labelled(x))
    assert "profiler" not in str(static.program)
