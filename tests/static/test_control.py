"""cond, case, switch_case, while_loop, Print, Assert: recorded under a guard, else run at once."""

import pytest
import torch

from stator import static
from stator.errors import BranchMismatch, InputError, LoopStateChanged

EXECUTOR = static.Executor("cpu")


def both(function, *tensors):
    """`function` run eagerly, and as a program written by it."""
    program = static.Program()
    with static.program_guard(program):
        inputs = [static.data(f"x{k}", list(one.shape), one.dtype) for k, one in enumerate(tensors)]
        results = function(*inputs)
    feed = {f"x{k}": one for k, one in enumerate(tensors)}
    given = EXECUTOR.run(program, feed, results, return_numpy=False)
    wanted = function(*[one.clone() for one in tensors])
    return given, wanted


def same(function, *tensors):
    given, wanted = both(function, *tensors)
    assert len(given) == len(wanted)
    for one, other in zip(given, wanted, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one, other)


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_takes_one_side(sign):
    same(lambda x: [static.cond(x.sum() > 0, lambda: x * 2, lambda: x - 1)], sign * torch.ones(3))


@pytest.mark.parametrize("sign", [1, -1])
def test_cond_gives_structures(sign):
    def function(x):
        pair = static.cond(x.sum() > 0, lambda: (x, {"y": x * 2}), lambda: (-x, {"y": x}))
        return [pair[0], pair[1]["y"]]

    same(function, sign * torch.ones(3))


def test_cond_without_a_side_does_nothing_there():
    def function(x):
        assert static.cond(x.sum() > 0, lambda: None) is None
        return [x]

    same(function, torch.ones(3))


def test_cond_of_a_python_value_is_no_branch():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [3])
        static.cond(True, lambda: x * 2, lambda: x - 1)
    assert [op.name for op in program.recorded.body.ops] == ["aten::mul.Tensor"]


@pytest.mark.parametrize("n", [0, 1, 2, 5, -1])
def test_switch_case_takes_the_branch_of_the_number(n):
    def function(x, n):
        branches = {0: lambda: x, 2: lambda: x * 2, 5: lambda: x * 5}
        return [
            static.switch_case(n, branches, lambda: x * 0),
            static.switch_case(n, branches),
            static.switch_case(n, list(branches.values())),
            static.switch_case(n, list(branches.items())),
        ]

    same(function, torch.ones(3), torch.tensor(n))


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_case_takes_the_first_that_holds(n):
    def function(x, n):
        pairs = [(n > 2, lambda: x * 3), (n > 1, lambda: x * 2), (n > 0, lambda: x)]
        return [static.case(pairs, lambda: -x), static.case(pairs)]

    same(function, torch.ones(3), torch.tensor(n))


@pytest.mark.parametrize("n", [0, 1, 6])
def test_while_loop_runs_as_often_as_the_data_says(n):
    def function(x, n):
        return static.while_loop(
            lambda k, total: k < n, lambda k, total: (k + 1, total * 2 + k), [n * 0, x]
        )

    same(function, torch.ones(3), torch.tensor(n))


def test_while_loop_carries_structures_and_grows():
    def function(x, n):
        _, state = static.while_loop(
            lambda k, state: k < n,
            lambda k, state: [k + 1, {"all": torch.cat([state["all"], x])}],
            [n * 0, {"all": x}],
        )
        return [state["all"]]

    same(function, torch.ones(3), torch.tensor(3))


def test_loops_and_branches_nest():
    def function(x, n):
        def body(k, y):
            y = static.cond(y.sum() > 4, lambda: y - 3, lambda: y * 2)
            return [k + 1, y]

        return static.while_loop(lambda k, _: k < n, body, [n * 0, x])

    for n in range(5):
        same(function, torch.ones(3), torch.tensor(n))


def test_gradients_flow_through_branches_and_loops():
    weight = torch.nn.Parameter(torch.tensor(1.5))

    def function(x, n):
        _, y = static.while_loop(
            lambda k, y: k < n, lambda k, y: (k + 1, y * weight), [n * 0, x * weight]
        )
        return [static.cond(y.sum() > 3, lambda: (y * weight).sum(), lambda: y.sum())]

    given, wanted = both(function, torch.ones(3), torch.tensor(3))
    grads = [torch.autograd.grad(one[0], weight)[0] for one in (given, wanted)]
    assert torch.equal(*grads)


def test_branches_of_other_forms_are_refused():
    with pytest.raises(BranchMismatch) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.cond(x.sum() > 0, lambda: x, lambda: x.sum().long())
    assert refusal.value.problem == (
        "the branches return a float32 tensor of rank 1 and a int64 tensor of rank 0"
    )
    assert refusal.value.fix == "give the same dtype, rank and structure on every path"


def test_a_branch_that_gives_nothing_beside_one_that_does_is_refused():
    with pytest.raises(BranchMismatch) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.cond(x.sum() > 0, lambda: x)
    assert refusal.value.problem == "the branches return a float32 tensor of rank 1 and None"


def test_a_loop_variable_of_two_forms_is_refused():
    with pytest.raises(BranchMismatch) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.while_loop(lambda y: y.sum() < 9, lambda y: y.sum(), [x])
    assert refusal.value.problem == (
        "a loop variable is a float32 tensor of rank 1 and a float32 tensor of rank 0 in one loop"
    )


def test_a_loop_variable_of_another_structure_is_refused():
    with pytest.raises(LoopStateChanged) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.while_loop(lambda y: y[0].sum() < 9, lambda y: [[y[0], y[0]]], [[x]])
    assert refusal.value.problem == "the body of a loop returns values of another structure"


def test_branches_of_other_structures_are_refused():
    with pytest.raises(BranchMismatch) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.cond(x.sum() > 0, lambda: [x], lambda: {"x": x})
    assert refusal.value.problem == "the branches return values of different structures"


def test_a_branch_that_raises_leaves_the_form_to_the_other():
    def function(x):
        def fail():
            raise ValueError("not this way")

        return [static.cond(x.sum() > 0, lambda: {"y": x * 2}, fail)["y"]]

    same(function, torch.ones(3))
    with pytest.raises(ValueError, match="not this way"):
        both(function, -torch.ones(3))


def test_a_body_that_gives_another_number_of_values_is_refused():
    with pytest.raises(InputError) as refusal:
        static.while_loop(lambda a, b: True, lambda a, b: (a,), [1, 2])
    assert refusal.value.problem == "the body of a loop returns 1 values for 2 variables"


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: static.case([]), "`case` has no pairs"),
        (lambda: static.switch_case(0, {}), "`switch_case` has no branches"),
        (
            lambda: static.switch_case(0, [(0, int), (0, int)]),
            "0 is not a branch number, or is given twice",
        ),
        (lambda: static.while_loop(bool, int, []), "`while_loop` needs a list of loop variables"),
    ],
)
def test_a_wrong_call_is_refused(call, problem):
    with pytest.raises(InputError) as refusal:
        call()
    assert refusal.value.problem == problem


def test_print_prints_in_each_run_and_gives_its_input(capsys):
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2])
        y = static.Print(x * 2, "twice:") + 1
    assert capsys.readouterr().out == ""
    EXECUTOR.run(program, {"x": torch.ones(2)}, [y])
    EXECUTOR.run(program, {"x": torch.zeros(2)}, [y])
    assert capsys.readouterr().out == "twice: tensor([2., 2.])\ntwice: tensor([0., 0.])\n"
    assert static.Print(torch.ones(1)).tolist() == [1]
    assert capsys.readouterr().out == "tensor([1.])\n"


def test_assert_raises_in_the_run_whose_data_breaks_it():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [2])
        static.Assert((x > 0).all(), ["x is", x])
        static.Assert(x.sum() < 100)
        y = x * 2
    assert EXECUTOR.run(program, {"x": torch.ones(2)}, [y])[0].tolist() == [2, 2]
    with pytest.raises(AssertionError) as raised:
        EXECUTOR.run(program, {"x": -torch.ones(2)}, [y])
    assert str(raised.value) == "x is, tensor([-1., -1.])"
    with pytest.raises(AssertionError) as raised:
        EXECUTOR.run(program, {"x": torch.full((2,), 99.0)}, [y])
    assert raised.value.args == ()
    with pytest.raises(AssertionError, match=r"^no, 1$"):
        static.Assert(False, ["no", 1])
