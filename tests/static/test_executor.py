"""Executor and CompiledProgram: feeds and fetches by name, and what is wrong with them."""

import threading

import numpy
import pytest
import torch
from torch import nn

from stator import static
from stator.errors import InputError, SpecMismatch
from tests.said import said

EXECUTOR = static.Executor("cpu")


def written():
    program, layer = static.Program(), nn.Linear(4, 2)
    with static.program_guard(program):
        x, n = static.data("x", [None, 4]), static.data("n", [], "int64")
        y = layer(x)
        z = y * n
    return program, layer, x, n, y, z


ARRAY = numpy.arange(8, dtype="float32").reshape(2, 4)
GOOD = {"x": ARRAY, "n": torch.tensor(3)}


def test_arrays_and_tensors_can_be_fed_and_arrays_come_back():
    program, layer, _, _, y, z = written()
    given = EXECUTOR.run(program, GOOD, [y, z])
    assert all(type(one) is numpy.ndarray for one in given)
    wanted = layer(torch.from_numpy(ARRAY)).detach()
    assert numpy.array_equal(given[0], wanted.numpy())
    assert numpy.array_equal(given[1], (wanted * 3).numpy())


def test_feeds_and_fetches_can_be_names_values_and_tensors():
    program, _, x, n, _, z = written()
    value = program.list_vars()[-1]
    wanted = EXECUTOR.run(program, GOOD, [z])[0]
    for feed in ({x: ARRAY, n: numpy.int64(3)}, {program.list_vars()[0]: ARRAY, "n": n_of(3)}):
        for fetch in (z, "mul_0", value):
            assert numpy.array_equal(EXECUTOR.run(program, feed, [fetch])[0], wanted)


def n_of(number):
    return torch.tensor(number)


def test_without_arrays_gradients_flow():
    program, layer, _, _, _, z = written()
    (given,) = EXECUTOR.run(program, GOOD, [z], return_numpy=False)
    given.sum().backward()
    wanted = torch.autograd.grad((layer(torch.from_numpy(ARRAY)) * 3).sum(), layer.weight)[0]
    assert torch.equal(layer.weight.grad, wanted)


BAD_FEEDS = [
    ({"x": ARRAY}, "the feed `n` is missing; it must be i64[]", "feed={'n': ...}"),
    (
        {**GOOD, "q": ARRAY},
        "the feed `q` is not an input of the program, which takes `x`, `n`",
        "leave it out",
    ),
    (
        {**GOOD, "x": ARRAY.astype("float64")},
        "the feed `x` must be a tensor f32[s0, 4], not f64[2, 4]: "
        "its dtype is float64, not float32",
        "",
    ),
    (
        {**GOOD, "x": ARRAY[0]},
        "the feed `x` must be a tensor f32[s0, 4], not f32[4]: its rank is 1, not 2",
        "",
    ),
    (
        {**GOOD, "x": torch.ones(2, 5)},
        "the feed `x` must be a tensor f32[s0, 4], not f32[2, 5]: its size 1 is 5, not 4",
        "",
    ),
    ({**GOOD, "x": [1.0]}, "the feed `x` must be a tensor f32[s0, 4], not [1.0]", ""),
    (
        {**GOOD, "x": numpy.array(["a"])},
        "the feed `x` must be a tensor f32[s0, 4], not an ndarray",
        "",
    ),
    ({**GOOD, "n": 3}, "the feed `n` must be a tensor i64[], not 3", ""),
]


@pytest.mark.parametrize(("feed", "problem", "fix"), BAD_FEEDS)
def test_a_wrong_feed_says_which_and_what_came_and_what_was_expected(feed, problem, fix):
    program, _, _, _, _, z = written()
    with pytest.raises(SpecMismatch) as refusal:
        EXECUTOR.run(program, feed, [z])
    assert (refusal.value.problem, refusal.value.fix) == (problem, fix or SpecMismatch.otherwise)


def test_two_feeds_of_open_sizes_must_broadcast(tmp_path):
    program = static.Program()
    with static.program_guard(program):
        x, y = static.data("x", [None]), static.data("y", [None])
        z = x + y
    (found,) = EXECUTOR.run(program, {"x": torch.ones(3), "y": torch.ones(1)}, [z])
    assert found.tolist() == [2, 2, 2]
    with pytest.raises(Exception, match=r"this needs x.shape\[0\] == y.shape\[0\]"):
        EXECUTOR.run(program, {"x": torch.ones(3), "y": torch.ones(2)}, [z])


def test_an_input_that_nothing_uses_may_be_left_out():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [3])
        static.data("label", [3])
        y = x * 2
    assert EXECUTOR.run(program, {"x": torch.ones(3)}, [y])[0].tolist() == [2, 2, 2]


def test_with_pruning_only_what_the_fetches_need_is_fed_and_run(capsys):
    program = static.Program()
    with static.program_guard(program):
        x, label = static.data("x", [None, 3]), static.data("label", [None], "int64")
        y = x.exp()
        nn.functional.cross_entropy(static.Print(y + 1), label)
    given = EXECUTOR.run(program, {"x": torch.zeros(1, 3)}, [y], use_prune=True)
    assert given[0].tolist() == [[1, 1, 1]]
    with pytest.raises(SpecMismatch, match="the feed `label` is missing"):
        EXECUTOR.run(program, {"x": torch.zeros(1, 3)}, [y])


def test_a_program_that_writes_in_place_does_not_reach_the_array():
    program = static.Program()
    with static.program_guard(program):
        y = static.data("x", [2, 4]).add_(1)
    array = ARRAY.copy()
    EXECUTOR.run(program, {"x": array}, [y])
    assert numpy.array_equal(array, ARRAY)


@pytest.mark.parametrize(
    "array", [ARRAY[:, ::-1], ARRAY.astype(">f4"), numpy.asfortranarray(ARRAY)]
)
def test_arrays_of_any_layout_can_be_fed(array):
    program, layer, _, _, y, _ = written()
    array.setflags(write=False)
    (given,) = EXECUTOR.run(program, {**GOOD, "x": array}, [y])
    wanted = layer(torch.tensor(array.astype("float32").tolist()))
    assert numpy.array_equal(given, wanted.detach().numpy())


def test_nothing_to_fetch_gives_nothing():
    program, *_ = written()
    assert EXECUTOR.run(program, GOOD, []) == []
    assert EXECUTOR.run(program, GOOD) == []


def test_a_dtype_that_numpy_lacks_is_named():
    program = static.Program()
    with static.program_guard(program):
        y = static.data("x", [2]).to(torch.bfloat16)
    with pytest.raises(SpecMismatch) as refusal:
        EXECUTOR.run(program, {"x": torch.ones(2)}, [y])
    assert said(refusal.value) == (
        "[ST301] `to_0` is of bfloat16, which numpy does not have\n"
        "  fix: run with return_numpy=False, or fetch a cast of it"
    )
    (given,) = EXECUTOR.run(program, {"x": torch.ones(2)}, [y], return_numpy=False)
    assert given.dtype == torch.bfloat16


def test_a_number_can_be_fetched():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None])
        torch.zeros(x.shape[0] * 2)
    names = [value.name for value in program.list_vars() if str(value.type) == "int"]
    assert EXECUTOR.run(program, {"x": torch.ones(3)}, names) == [3, 6]


@pytest.mark.parametrize(
    ("fetch", "problem", "fix"),
    [
        (
            "loss",
            "the program `main` has no value `loss` to fetch",
            "`program.list_vars()` lists them",
        ),
        (5, "an int cannot be a fetch", "give a name, a Value or a tensor of the program"),
        (
            torch.ones(3),
            "a tensor to fetch is not one of the program `main`",
            "give a tensor made under its `program_guard`, or a name",
        ),
    ],
)
def test_a_wrong_fetch_is_named(fetch, problem, fix):
    program, *_ = written()
    with pytest.raises(InputError) as refusal:
        EXECUTOR.run(program, GOOD, [fetch])
    assert (refusal.value.problem, refusal.value.fix) == (problem, fix)


def test_a_value_inside_a_branch_cannot_be_fetched():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [3])
        static.cond(x.sum() > 0, lambda: x.exp(), lambda: x)
    with pytest.raises(InputError) as refusal:
        EXECUTOR.run(program, {"x": torch.ones(3)}, ["exp_0"])
    assert said(refusal.value) == (
        "[ST300] `exp_0` is made inside a branch or a loop, and does not exist after it\n"
        "  fix: return it from there"
    )


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda: static.Executor("gpux"),
            '[ST300] \'gpux\' is not a device\n  fix: give one such as "cpu" or "cuda:0"',
        ),
        (
            lambda: EXECUTOR.run("main"),
            "[ST300] a str cannot be run\n  fix: pass a Program or a CompiledProgram",
        ),
        (
            lambda: EXECUTOR.run(static.Program(), [1]),
            "[ST300] feed is a list\n  fix: give a dict: {name: array or tensor}",
        ),
        (
            lambda: static.CompiledProgram("main"),
            "[ST300] a str cannot be compiled\n  fix: give a `stator.static.Program`",
        ),
        (
            lambda: static.CompiledProgram(static.Program(), exec_strategy=1),
            "[ST300] exec_strategy is an int\n  fix: give a `stator.static.ExecutionStrategy`",
        ),
    ],
)
def test_a_wrong_call_is_refused(call, text):
    with pytest.raises(InputError) as refusal:
        call()
    assert said(refusal.value) == text


def test_a_run_inside_a_guard_is_refused():
    program, _, _, _, y, _ = written()
    with pytest.raises(InputError) as refusal, static.program_guard(static.Program()):
        EXECUTOR.run(program, GOOD, [y])
    assert refusal.value.problem == "a program is run inside `program_guard`"
    assert refusal.value.fix == "run it after the `with`"


def test_another_device_than_that_of_the_program_is_refused():
    program, _, _, _, y, _ = written()
    with pytest.raises((InputError, SpecMismatch)) as refusal:
        static.Executor("meta").run(program, GOOD, [y])
    assert refusal.value.problem == (
        "`linear_0.weight` of the program is on cpu, and the executor on meta"
    )


def test_a_compiled_program_gives_what_the_program_gives():
    program, _, _, _, y, z = written()
    wanted = EXECUTOR.run(program, GOOD, [y, z])
    for build in (None, static.BuildStrategy(), static.BuildStrategy(enable_inplace=True)):
        compiled = static.CompiledProgram(program, build)
        for _ in range(2):
            given = EXECUTOR.run(compiled, GOOD, [y, z])
            assert all(map(numpy.array_equal, given, wanted))
    assert str(compiled) == str(program)


def test_a_strategy_changed_after_a_run_holds_for_the_next():
    program, _, _, _, _, z = written()
    compiled = static.CompiledProgram(program, exec_strategy=static.ExecutionStrategy())
    assert not EXECUTOR.run(compiled, GOOD, [z], return_numpy=False)[0].is_inference()
    compiled.exec_strategy.inference_mode = True
    assert EXECUTOR.run(compiled, GOOD, [z], return_numpy=False)[0].is_inference()


def test_one_executor_serves_many_threads():
    program, layer, _, _, y, _ = written()
    wrong = []

    def work(seed):
        x = torch.full((2, 4), float(seed))
        for _ in range(20):
            (given,) = EXECUTOR.run(program, {"x": x, "n": n_of(1)}, [y], return_numpy=False)
            if not torch.equal(given, layer(x)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
