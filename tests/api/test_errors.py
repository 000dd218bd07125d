"""The errors a user meets: class, problem, place and fix, word for word."""

import itertools
import math

import pytest
import torch

import stator
from stator import InputSpec, errors
from stator.errors import (
    BranchMismatch,
    CaptureError,
    DataDependent,
    LoopStateChanged,
    SizeCheckFailed,
    SourceUnavailable,
    StatorError,
    UnsupportedCall,
    UnsupportedSyntax,
    UntrackedTensor,
)
from tests.capture.oracle import line_of, refusal
from tests.said import said


def all_classes():
    return [
        found
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, StatorError)
    ]


def test_every_class_has_a_code_of_its_own():
    codes = [found.code for found in all_classes()]
    assert len(codes) == len(set(codes))


def test_every_class_stands_in_the_tree_of_the_docstring():
    for found in all_classes():
        assert f"{found.__name__} " in errors.__doc__
        assert found.code in errors.__doc__


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (SourceUnavailable, OSError), (UnsupportedSyntax, NotImplementedError),
        (BranchMismatch, TypeError), (LoopStateChanged, TypeError), (DataDependent, ValueError),
        (UnsupportedCall, NotImplementedError), (UntrackedTensor, RuntimeError),
        (errors.SpecMismatch, ValueError), (SizeCheckFailed, ValueError),
        (errors.FormatError, ValueError), (errors.ProgramError, AssertionError),
    ],
)  # fmt: skip
def test_an_error_is_also_the_builtin_that_a_caller_would_expect(error, builtin):
    assert issubclass(error, builtin)


def test_the_whole_text_has_a_code_a_place_with_a_caret_and_a_fix():
    def f(x):
        return torch.autograd.backward(x.sum())

    error = refusal(UnsupportedCall, f, torch.ones(1, requires_grad=True))
    line = f.__code__.co_firstlineno + 1
    assert str(error) == (
        "[ST204] `backward()` cannot be captured\n"
        f"  at {__file__}:{line}, in f\n"
        "            return torch.autograd.backward(x.sum())\n"
        "                   ^\n"
        "  with x: f32[1]\n"
        "  fix: call it outside, on the result, or use `torch.autograd.grad` here"
    )


def test_a_size_the_program_was_not_captured_for_violates_its_demand():
    static = stator.to_static(lambda x: x.view(-1, 3).sum(1), [InputSpec([None])])
    assert static(torch.ones(6)).tolist() == [3, 3]
    with pytest.raises(SizeCheckFailed) as caught:
        static(torch.ones(4))
    assert caught.value.problem == "this needs x.shape[0] % 3 == 0"
    assert line_of(caught.value).startswith("static = stator.to_static(lambda x: x.view(-1, 3)")


def test_a_demand_names_the_sizes_as_the_user_knows_them():
    static = stator.to_static(
        lambda x, y: (x + y).sum(), [InputSpec([None], name="x"), InputSpec([None], name="y")]
    )
    static(torch.ones(3), torch.ones(3))
    with pytest.raises((SizeCheckFailed, RuntimeError)) as caught:
        static(torch.ones(3), torch.ones(4))
    if isinstance(caught.value, SizeCheckFailed):
        assert caught.value.problem == (
            "this needs x.shape[0] == y.shape[0] or x.shape[0] == 1 or y.shape[0] == 1"
        )


def test_python_code_that_needs_a_value_is_data_dependent():
    def f(x):
        return math.frexp(float(x))

    error = refusal(DataDependent, f, torch.tensor(3))
    assert error.problem == (
        "Python code needs the value of a captured number, which is known only at run time"
    )
    assert error.fix == "let Stator convert the code that needs it, or compute it with tensors"
    assert line_of(error) == "return math.frexp(float(x))"


@pytest.mark.parametrize(
    ("function", "problem", "fix"),
    [
        (lambda x: x.grad, "`.grad` cannot be captured: the gradient of a tensor changes from "
         "step to step", "read it where you call the function"),
        (lambda x: x.sum().backward(), "`backward()` cannot be captured",
         "call it outside, on the result, or use `torch.autograd.grad` here"),
        (lambda x: x.data_ptr(), "the address of a tensor is not part of a program",
         "leave it out"),
        (lambda x: x.clone().resize_(1), "`resize_` cannot be recorded", "make a new tensor"),
        (lambda x: int(x.sum()).to_bytes(2, "big"), "`int.to_bytes` of a captured number",
         "compute it with other operations, or with tensors"),
        (lambda x: id(x), "`id()` of a captured value is not known", "compare with `is`"),
    ],
)  # fmt: skip
def test_a_call_that_would_not_mean_the_same_is_refused(function, problem, fix):
    error = refusal(UnsupportedCall, function, torch.ones(2, requires_grad=True))
    assert (error.problem, error.fix) == (problem, fix)
    assert error.at.file == __file__


def test_a_seed_drawn_from_the_system_is_refused():
    error = refusal(UnsupportedCall, lambda x: x + torch.seed(), torch.ones(2))
    assert error.problem == ("the state of the random generator is read or set inside a program")
    assert error.fix == "do it outside, before or after the call"


@pytest.mark.slow
def test_a_variable_that_changes_its_type_in_every_iteration_is_refused():
    def f(x):
        while x.sum() > 0:
            x = x.unsqueeze(0) - 1
        return x

    error = refusal(LoopStateChanged, f, torch.ones(1))
    assert error.problem == (
        "the type of `x` changes in every iteration: "
        "f32[1], then f32[1, 1], then f32[1, 1, 1], and so on"
    )
    assert error.fix == "give `x` one dtype, rank and structure before the loop, and keep it"


def test_library_code_that_needs_one_form_of_a_variable_is_a_branch_mismatch():
    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        return list(itertools.starmap(max, [y]))

    error = refusal(BranchMismatch, f, torch.ones(1))
    assert error.problem == (
        "library code needs the items of a variable that is, depending on the path taken, "
        "a float32 tensor of rank 1 or None"
    )
    assert error.fix == "give the variable one type on every path"


def test_a_tensor_smuggled_out_of_a_branch_is_untracked():
    kept = {}

    @stator.not_to_static
    def smuggle(x):
        kept["x"] = x

    def f(x):
        if x.sum() > 0:
            smuggle(x * 2)
        return kept["x"] + 1

    error = refusal(UntrackedTensor, f, torch.ones(1))
    assert error.problem == (
        "a tensor was made in a block that has ended, or by code the recorder cannot see"
    )
    assert error.fix == (
        "return it from the branch or loop that makes it; avoid `.data` and raw storage"
    )


def test_a_function_made_by_exec_has_no_source():
    names = {}
    exec("def f(x):\n    return x + 1", names)
    error = refusal(SourceUnavailable, names["f"], torch.ones(1))
    assert said(error) == (
        "[ST101] `f` (<string>:1) has no source text\n"
        "  fix: define it with `def` in a file or a notebook cell, or mark it `not_to_static`"
    )


def test_a_c_function_runs_as_it_is():
    static = stator.to_static(torch.add)
    assert static(torch.ones(1), torch.ones(1)).item() == 2
    with pytest.raises(SourceUnavailable) as caught:
        _ = static.code
    assert said(caught.value) == (
        "[ST101] add is a builtin_function_or_method, which has no Python source\n"
        "  fix: nothing is rewritten here: `.program` shows what it became"
    )


def generated(x):
    yield x


def test_a_generator_that_leaves_the_program_is_refused():
    error = refusal(CaptureError, generated, torch.ones(1))
    assert error.problem == "a generator is returned or kept outside"
    assert error.fix == "return what it produces, such as a list of its items"


@torch.library.custom_op("stator_tests::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    """An op that torch can run, but not trace."""
    return x * 2


def test_a_custom_op_without_a_fake_kernel_is_refused_with_its_line():
    def f(x):
        return twice(x)

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.problem == (
        "the custom op `stator_tests::twice` has no fake kernel, so its result cannot be described"
    )
    assert error.fix == 'register one: `@torch.library.register_fake("stator_tests::twice")`'
    assert line_of(error) == "return twice(x)"


def test_an_error_of_the_user_passes_through_unchanged():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine("no")

    with pytest.raises(Mine) as caught:
        stator.to_static(f)(torch.ones(1))
    assert (str(caught.value), caught.value.args) == ("no", ("no",))
    line = f.__code__.co_firstlineno + 1
    (note,) = caught.value.__notes__
    assert note.startswith(f"  while it was captured, at {__file__}:{line}, in f\n")


def test_an_unsupported_construct_names_its_line():
    def f(x):
        async def inner():
            return x

        return inner

    with pytest.raises(UnsupportedSyntax) as caught:
        stator.to_static(f)(torch.ones(1))
    assert line_of(caught.value) == "async def inner():"


def test_an_attribute_that_never_settles_is_named():
    class Deepening(torch.nn.Module):
        def forward(self, x, n):
            self.state = x
            while n > 0:
                self.state = self.state[None]
                n = n - 1
            return self.state

    error = refusal(LoopStateChanged, Deepening(), torch.ones(2), torch.tensor(3))
    assert error.problem.startswith("the type of `self.state` changes in every iteration: f32[2], ")
    assert error.fix == (
        "give `self.state` one dtype, rank and structure before the loop, and keep it"
    )


def test_a_demand_names_the_variables_whose_sizes_it_is_about():
    def f(x, y):
        kept = x[x > 0]
        other = y[y > 0]
        return kept + other

    error = refusal(SizeCheckFailed, f, torch.tensor([1.0, -1.0, 1.0]), torch.ones(3))
    assert error.problem == (
        "this needs kept.shape[0] == other.shape[0] or kept.shape[0] == 1 or other.shape[0] == 1"
    )


def test_a_demand_names_the_number_that_it_is_about():
    def f(x, n):
        rows = int(n)
        return x.view(rows, 2)

    error = refusal(SizeCheckFailed, f, torch.ones(4), torch.tensor(3))
    assert error.problem == "this needs 2*rows == 4"


def test_a_demand_on_a_tensor_without_a_name_says_where_it_was_made():
    def f(x):
        return x[x > 0] + x

    error = refusal(SizeCheckFailed, f, torch.tensor([1.0, -1.0, 1.0]))
    made = f"(a tensor made at test_errors.py:{f.__code__.co_firstlineno + 1}).shape[0]"
    assert error.problem == f"this needs {made} == 1 or {made} == 3"


def test_data_assigned_by_code_that_is_left_alone_is_refused():
    @stator.not_to_static
    def replace(z, y):
        z.data = y

    def f(x):
        z = x.clone()
        replace(z, x * 3)
        return z

    error = refusal(UnsupportedCall, f, torch.ones(2))
    assert error.diff == ("  edit:", "    - z.data = y", "    + z.copy_(y)")


def test_a_sparse_argument_is_refused():
    error = refusal(errors.InputError, lambda x: x + 1, torch.ones(2).to_sparse())
    assert error.problem == "an argument is a tensor of the layout torch.sparse_coo"
    assert error.fix == "pass a dense tensor: `x.to_dense()`"
