"""The interpreter equals eager torch, op by op, gradients and errors included."""

import builtins
import gc
import sys
import weakref

import pytest
import torch

from stator.errors import InputError, ProgramError, SizeCheckFailed
from stator.execute.interpreter import FUNCTIONS, HANDLERS, INTERPRETER, run
from stator.program.ir import Literal
from stator.program.opset.queries import STATOR_OPS
from stator.program.types import ListType, OptionalType, TextType
from stator.program.verifier import verify
from tests.program.builder import BOOL, FLOAT, INT, Builder, tensor
from tests.said import said


def outputs(program, *inputs, **stored):
    return run(verify(program), inputs, stored)


def number_program(name, *args, gives=INT, **attributes):
    build = Builder()
    return build.program(build.op(f"stator::{name}", *args, gives=gives, **attributes))


def halving_loop():
    """`while x.sum() > 1: x = x / 2; steps += 1`."""
    build = Builder()
    x = build.input("x", tensor("n"))
    more = build.op(
        "aten::is_nonzero",
        build.op(
            "aten::gt.Scalar",
            build.op("aten::sum", x, gives=tensor()),
            1,
            gives=tensor(dtype="bool"),
        ),
        gives=BOOL,
    )
    inner, steps = build.value(tensor("n")), build.value(INT)
    with build.block(inner, steps) as body:
        half = build.op("aten::div.Tensor", inner, 2, gives=tensor("n"))
        total = build.op("aten::sum", half, gives=tensor())
        again = build.op(
            "aten::is_nonzero",
            build.op("aten::gt.Scalar", total, 1, gives=tensor(dtype="bool")),
            gives=BOOL,
        )
        body.outputs = (again, half, build.op("stator::add", steps, 1, gives=INT))
    return build.program(
        *build.op("stator::while", more, x, 0, gives=[tensor("n"), INT], blocks=[body])
    )


def test_ops_give_what_eager_gives():
    build = Builder()
    x, weight = build.input("x", tensor(2, 3)), build.store("fc.weight", tensor(4, 3))
    y = build.op("aten::linear", x, weight, gives=tensor(2, 4))
    program = build.program(
        build.op(
            "aten::sum.dim_IntList",
            y,
            (1,),
            True,
            dtype=Literal("dtype", "float64"),
            gives=tensor(2, 1),
        )
    )
    given, stored = torch.randn(2, 3), torch.randn(4, 3)
    (result,) = run(program, [given], {"fc.weight": stored})
    expected = torch.nn.functional.linear(given, stored).sum((1,), True, dtype=torch.float64)
    assert torch.equal(result, expected)


def test_literals_become_torch_objects():
    build = Builder()
    made = build.op(
        "aten::empty.memory_format",
        (2, 3, 4, 5),
        dtype=Literal("dtype", "int32"),
        layout=Literal("layout", "strided"),
        device=Literal("device", "cpu"),
        memory_format=Literal("memory_format", "channels_last"),
        gives=tensor(2, 3, 4, 5),
    )
    (result,) = outputs(build.program(made))
    assert result.dtype == torch.int32
    assert result.is_contiguous(memory_format=torch.channels_last)


def test_lists_of_tensors_and_of_sizes_are_passed_as_lists():
    build = Builder()
    x = build.input("x", tensor("n"))
    size = build.op("aten::sym_size.int", x, 0, gives=INT)
    both = build.op("aten::cat", (x, x), gives=tensor("m"))
    program = build.program(build.op("aten::view", both, (2, size), gives=tensor(2, "n")))
    given = torch.arange(3.0)
    assert torch.equal(outputs(program, given)[0], torch.stack([given, given]))


def test_items_of_tensors_are_python_numbers():
    build = Builder()
    x = build.input("x", tensor())
    reads = [build.op(name, x, gives=FLOAT) for name in ("aten::item", "aten::_local_scalar_dense")]
    program = build.program(*reads, build.op("aten::is_nonzero", x, gives=BOOL))
    assert outputs(program, torch.tensor(2.5)) == (2.5, 2.5, True)


def test_an_op_with_several_results_binds_each():
    build = Builder()
    x = build.input("x", tensor(3))
    given = torch.tensor([1.0, 3.0, 2.0])
    values, indexes = outputs(
        build.program(*build.op("aten::topk", x, 2, gives=[tensor(2), tensor(2)])), given
    )
    assert torch.equal(values, given.topk(2).values)
    assert torch.equal(indexes, given.topk(2).indices)


@pytest.mark.parametrize("count", [1, 2])
def test_an_op_that_gives_a_tensor_list_can_bind_one_value_for_each_tensor(count):
    build = Builder()
    x = build.input("x", tensor(2 * count))
    program = build.program(*build.op("aten::split.Tensor", x, 2, gives=[tensor(2)] * count))
    given = torch.arange(2.0 * count)
    results = outputs(program, given)
    assert all(map(torch.equal, results, given.split(2)))
    assert len(results) == count


def test_an_op_that_gives_a_tensor_list_can_bind_it_whole():
    build = Builder()
    x = build.input("x", tensor("n"))
    program = build.program(build.op("aten::split.Tensor", x, 2, gives=ListType(tensor("m"))))
    (result,) = outputs(program, torch.arange(2.0))
    assert isinstance(result, list)
    assert len(result) == 1


def test_a_tensor_list_of_another_length_is_refused():
    build = Builder()
    x = build.input("x", tensor("n"))
    program = build.program(*build.op("aten::split.Tensor", x, 2, gives=[tensor(2)] * 2, line=3))
    with pytest.raises(SizeCheckFailed) as caught:
        outputs(program, torch.arange(6.0))
    assert str(caught.value) == (
        "[ST302] aten::split.Tensor gives 3 values; it was captured to give 2\n"
        "  at model.py:3, in forward\n"
        "  called with x: f32[6]\n"
        "  fix: call it with sizes that fit, or capture it for fixed sizes"
    )


@pytest.mark.parametrize("start", [0.5, 3.0, 100.0])
def test_a_loop_runs_as_often_as_the_eager_one_and_has_its_gradient(start):
    given = torch.full((2,), start, requires_grad=True)
    result, steps = outputs(halving_loop(), given)
    eager, count = given, 0
    while eager.sum() > 1:
        eager, count = eager / 2, count + 1
    assert (torch.equal(result, eager), steps) == (True, count)
    (gradient,) = torch.autograd.grad(result.sum(), given)
    (expected,) = torch.autograd.grad(eager.sum(), given)
    assert torch.equal(gradient, expected)


@pytest.mark.parametrize(("condition", "expected"), [(True, "then"), (False, "else")])
def test_a_branch_runs_one_block_only(condition, expected, capsys):
    build = Builder()
    test = build.input("test", BOOL)
    with build.block() as then:
        build.op("stator::print", "then")
        then.outputs = (1, None)
    with build.block() as orelse:
        build.op("stator::print", "else")
        orelse.outputs = (2, "x")
    program = build.program(
        *build.op("stator::if", test, gives=[INT, OptionalType(TextType())], blocks=[then, orelse])
    )
    assert outputs(program, condition) == ((1, None) if condition else (2, "x"))
    assert capsys.readouterr().out == f"{expected}\n"


def recursive_program():
    """`def power(n): return 1 if n == 0 else 2 * power(n - 1)`."""
    build = Builder()
    n = build.value(INT, "n")
    with build.block(n) as power:
        done = build.op("stator::eq", n, 0, gives=BOOL)
        with build.block() as then:
            then.outputs = (1,)
        with build.block() as orelse:
            less = build.op("stator::sub", n, 1, gives=INT)
            rest = build.op("stator::call", less, function="power", gives=INT, line=7)
            orelse.outputs = (build.op("stator::mul", 2, rest, gives=INT),)
        power.outputs = (build.op("stator::if", done, gives=INT, blocks=[then, orelse]),)
    build.function("power", power)
    times = build.input("times", INT)
    return build.program(build.op("stator::call", times, function="power", gives=INT, line=9))


def test_a_function_may_call_itself():
    assert outputs(recursive_program(), 60) == (2**60,)


def test_a_function_that_never_stops_calling_itself_is_a_recursion_error():
    with pytest.raises(RecursionError) as caught:
        outputs(recursive_program(), -1)
    limit = sys.getrecursionlimit()
    assert caught.value.args == (f"`power` calls itself more than {limit} times deep",)
    assert caught.value.__notes__[0] == "  in the program at model.py:7, in forward"


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("add", (2, 3), 5), ("sub", (2, 3), -1), ("mul", (2, 3), 6), ("truediv", (3, 2), 1.5),
        ("floordiv", (-7, 2), -4), ("mod", (-7, 3), 2), ("pow", (2, 10), 1024), ("neg", (2,), -2),
        ("abs", (-2,), 2), ("min", (2, 3), 2), ("max", (2, 3), 3), ("eq", (2, 2), True),
        ("ne", (2, 2), False), ("lt", (1, 2), True), ("le", (2, 2), True), ("gt", (1, 2), False),
        ("ge", (1, 2), False), ("and", (True, False), False), ("and", (2, 3), 3),
        ("or", (False, True), True), ("or", (0, 3), 3), ("not", (True,), False),
        ("int", (-2.7,), -2),
        ("float", (2,), 2.0), ("bool", (2,), True), ("round", (2.5,), 2),
        ("round", (2.567, 1), 2.6),
        ("floor", (-2.5,), -3), ("ceil", (2.1,), 3), ("trunc", (-2.7,), -2), ("sqrt", (9,), 3.0),
        ("select", (1, ("a", "b")), "b"), ("format", (2.5, None, ".2f"), "2.50"),
        ("format", ("a", "r", ""), "'a'"), ("join", ("a", "b"), "ab"),
        ("list_make", (1, 2), [1, 2]), ("list_length", ((1, 2),), 2), ("list_get", ((1, 2), -1), 2),
        ("list_slice", ((1, 2, 3), None, None, -1), [3, 2, 1]), ("list_append", ((1,), 2), [1, 2]),
        ("list_insert", ((1, 2), 1, 9), [1, 9, 2]), ("list_set", ((1, 2), 0, 9), [9, 2]),
        ("list_delete", ((1, 2), 0), [2]),
        ("list_order", (False, (3, 1, 2)), [1, 2, 0]),
        ("list_order", (True, (1, 1), (1, 2)), [1, 0]),
    ],
)  # fmt: skip
def test_number_text_and_list_ops_mean_what_python_means(name, args, expected):
    (result,) = run(number_program(name, *args, gives=ListType(INT)), (), {})
    assert result == expected
    assert type(result) is type(expected)


def test_a_list_that_is_appended_to_stays_as_it_was():
    build = Builder()
    items = build.input("items", ListType(INT))
    longer = build.op("stator::list_append", items, 3, gives=ListType(INT))
    assert outputs(build.program(items, longer), [1, 2]) == ([1, 2], [1, 2, 3])


def test_print_writes_what_python_prints(capsys):
    build = Builder()
    x = build.input("x", tensor(2))
    build.op("stator::print", "x is", x, sep=": ", end="!\n")
    given = torch.ones(2)
    assert outputs(build.program(), given) == ()
    assert capsys.readouterr().out == f"x is: {given}!\n"


def raising(name, *args, line=5):
    build = Builder()
    build.op(f"stator::{name}", *args, line=line)
    return build.program()


@pytest.mark.parametrize(
    ("program", "kind", "args"),
    [
        (raising("assert", False, "no"), AssertionError, ("no",)),
        (raising("assert", False, None), AssertionError, ()),
        (raising("raise", "ValueError", "bad"), ValueError, ("bad",)),
        (raising("raise", "StopIteration"), StopIteration, ()),
        (raising("raise", "UnicodeDecodeError", "bad"), RuntimeError, ("UnicodeDecodeError: bad",)),
        (raising("raise", "SystemExit", "bad"), RuntimeError, ("SystemExit: bad",)),
        (raising("raise", "print"), RuntimeError, ("print",)),
        (raising("raise", "model.MyError", "bad"), RuntimeError, ("model.MyError: bad",)),
    ],
)  # fmt: skip
def test_assert_and_raise_raise_builtin_exceptions_only(program, kind, args):
    with pytest.raises(kind) as caught:
        outputs(program)
    assert type(caught.value) is kind
    assert caught.value.args == args
    assert caught.value.__notes__ == ["  in the program at model.py:5, in forward"]


def test_an_assertion_that_holds_does_nothing():
    assert outputs(raising("assert", True, "no")) == ()


def test_a_demand_that_fails_says_its_text_and_place():
    with pytest.raises(SizeCheckFailed) as caught:
        outputs(raising("demand", False, "n must be even"))
    assert str(caught.value) == (
        "[ST302] n must be even\n  at model.py:5, in forward\n"
        "  fix: call it with sizes that fit, or capture it for fixed sizes"
    )
    assert outputs(raising("demand", True, "n must be even")) == ()


def test_an_error_of_an_op_passes_unchanged_with_its_place_noted_once():
    build = Builder()
    x, test = build.input("x", tensor("n", "m")), build.input("test", BOOL)
    with build.block() as then:
        then.outputs = (build.op("aten::cat", (x, x), gives=tensor("n", "m")),)
    with build.block() as orelse:
        orelse.outputs = (build.op("aten::mm", x, x, gives=tensor("n", "m"), line=8),)
    program = build.program(
        build.op("stator::if", test, gives=tensor("n", "m"), blocks=[then, orelse], line=7)
    )
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied") as caught:
        outputs(program, torch.ones(2, 3), False)
    assert caught.value.__notes__ == [
        "  in the program at model.py:8, in forward",
        "  aten::mm was given (f32[2, 3], f32[2, 3])",
    ]


def test_grad_mode_set_by_the_program_is_as_before_afterwards():
    build = Builder()
    x = build.input("x", tensor(2))
    build.op("stator::set_grad", False)
    inner = build.op("aten::mul.Tensor", x, 2, gives=tensor(2))
    build.op("stator::set_grad", True)
    outer = build.op("aten::mul.Tensor", x, 2, gives=tensor(2))
    build.op("stator::set_grad", False)
    build.op("stator::assert", build.op("aten::is_nonzero", x, gives=BOOL), "zero")
    program = build.program(inner, outer)
    results = outputs(program, torch.ones(1, requires_grad=True))
    assert [result.requires_grad for result in results] == [False, True]
    assert torch.is_grad_enabled()
    with pytest.raises(AssertionError):
        outputs(program, torch.zeros(1))
    assert torch.is_grad_enabled()
    with torch.no_grad():
        outputs(program, torch.ones(1))
        assert not torch.is_grad_enabled()


def test_autocast_set_by_the_program_is_as_before_afterwards():
    build = Builder()
    x, weight = build.input("x", tensor(2, 2)), build.store("weight", tensor(2, 2))
    build.op("stator::set_autocast", "cpu", True, Literal("dtype", "bfloat16"))
    program = build.program(build.op("aten::mm", x, weight, gives=tensor(2, 2)))
    given, stored = torch.randn(2, 2), torch.nn.Parameter(torch.randn(2, 2))
    for _ in range(2):
        with torch.autocast("cpu", torch.bfloat16):
            expected = given @ stored
        assert torch.equal(run(program, [given], {"weight": stored})[0], expected)
        assert not torch.is_autocast_enabled("cpu")
        with torch.no_grad():
            stored.add_(1)  # a cast weight that was kept would be the old one


def test_in_place_ops_write_into_the_stored_tensor():
    build = Builder()
    count = build.store("count", tensor(), "buffer")
    build.op("aten::add_.Tensor", count, 1, gives=tensor())
    stored = torch.zeros(())
    outputs(build.program(count), count=stored)
    assert stored.item() == 1


def test_random_ops_draw_what_eager_draws():
    build = Builder()
    x = build.input("x", tensor(8))
    program = build.program(build.op("aten::dropout", x, 0.5, True, gives=tensor(8)))
    torch.manual_seed(3)
    expected = torch.dropout(torch.ones(8), 0.5, True)
    torch.manual_seed(3)
    assert torch.equal(outputs(program, torch.ones(8))[0], expected)


def test_custom_ops_run_like_any_other():
    with torch.library._scoped_library("stator_interpreter", "FRAGMENT") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
        build = Builder()
        program = build.program(
            build.op("stator_interpreter::twice", build.input("x", tensor(2)), gives=tensor(2))
        )
        assert torch.equal(outputs(program, torch.ones(2))[0], torch.full((2,), 2.0))


def test_intermediate_tensors_are_freed_after_their_last_use():
    alive, seen = [], []
    build = Builder()
    x = build.input("x", tensor(2))
    y = build.op("stator_memory::watch", x, gives=tensor(2))
    z = build.op("aten::mul.Tensor", y, 2, gives=tensor(2))
    build.op("stator_memory::look", z)
    with torch.library._scoped_library("stator_memory", "FRAGMENT") as library:
        library.define("watch(Tensor x) -> Tensor")
        library.define("look(Tensor x) -> ()")

        def watch(x):
            made = x + 1
            alive.append(weakref.ref(made))
            return made

        def look(_):
            gc.collect()
            seen.append(alive[0]() is None)

        library.impl("watch", watch, "CompositeImplicitAutograd")
        library.impl("look", look, "CompositeImplicitAutograd")
        outputs(build.program(), torch.ones(2))
    assert seen == [True]


def test_a_prepared_program_runs_many_times():
    run_inputs = INTERPRETER.prepare(halving_loop()).bind({})
    assert [run_inputs([torch.tensor([size])])[1] for size in (1.0, 2.0, 8.0)] == [0, 1, 3]


def test_an_unknown_op_is_a_broken_program():
    with pytest.raises(ProgramError) as caught:
        run(unknown_op(), [], {})
    assert caught.value.problem == "there is no op aten::no_such_op"


def unknown_op():
    build = Builder()
    build.op("aten::no_such_op", line=2)
    return build.program()


def test_the_number_of_inputs_and_the_stored_tensors_are_checked():
    build = Builder()
    build.input("x", tensor(2))
    build.store("fc.weight", tensor(2))
    program = build.program()
    with pytest.raises(InputError) as caught:
        run(program, [], {})
    assert said(caught.value) == "[ST300] program test takes 1 inputs, not 0"
    with pytest.raises(InputError) as caught:
        run(program, [torch.ones(2)], {})
    assert said(caught.value) == "[ST300] program test needs the parameter `fc.weight`"


def test_every_op_of_stator_has_a_meaning():
    assert FUNCTIONS.keys() | HANDLERS.keys() == STATOR_OPS
    assert builtins.print is FUNCTIONS["stator::print"]
