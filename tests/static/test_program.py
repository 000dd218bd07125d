"""Program, program_guard, data: a program written from torch calls."""

import contextlib
import re

import pytest
import torch
from torch import nn

from stator import static
from stator.errors import DataDependent, InputError, SizeCheckFailed, UnsupportedCall
from stator.program.sizes import Symbol
from stator.program.types import TensorType
from tests.said import said

EXECUTOR = static.Executor("cpu")


def written():
    """A program of one layer, with its input and its output."""
    program, layer = static.Program(), nn.Linear(4, 2)
    with static.program_guard(program):
        x = static.data("x", [None, 4])
        y = torch.relu(layer(x))
    return program, layer, x, y


def test_torch_calls_become_a_program(keep_text):
    program, _, _, _ = written()
    assert re.sub(r"  # test_program.py:\d+", "", str(program)) == (
        "program main(%x: f32[s0, 4]) {\n"
        '  %linear_0.weight: f32[2, 4] = parameter "linear_0.weight"\n'
        '  %linear_0.bias: f32[2] = parameter "linear_0.bias"\n'
        "  %linear_0: f32[s0, 2] = aten::linear(%x, %linear_0.weight, %linear_0.bias)\n"
        "  %relu_0: f32[s0, 2] = aten::relu(%linear_0)\n"
        "  return\n"
        "}"
    )
    keep_text(str(program))


def test_a_run_gives_what_eager_code_gives():
    program, layer, _, y = written()
    for size in (0, 1, 3):
        x = torch.randn(size, 4)
        (given,) = EXECUTOR.run(program, {"x": x}, [y], return_numpy=False)
        assert torch.equal(given, torch.relu(layer(x)))


def test_a_run_sees_the_layer_train():
    program, layer, _, y = written()
    x = torch.randn(3, 4)
    (given,) = EXECUTOR.run(program, {"x": x}, [y], return_numpy=False)
    given.sum().backward()
    with torch.no_grad():
        layer.weight -= layer.weight.grad
    (given,) = EXECUTOR.run(program, {"x": x}, [y], return_numpy=False)
    assert torch.equal(given, torch.relu(layer(x)))


def test_a_program_can_be_written_further():
    program, layer, _, y = written()
    x = torch.randn(3, 4)
    EXECUTOR.run(program, {"x": x}, [y])
    with static.program_guard(program):
        z = y.sum()
    (given,) = EXECUTOR.run(program, {"x": x}, [z], return_numpy=False)
    assert torch.equal(given, torch.relu(layer(x)).sum())


def test_the_values_are_listed():
    program, _, _, _ = written()
    assert [(value.name, str(value.type)) for value in program.list_vars()] == [
        ("x", "f32[s0, 4]"),
        ("linear_0.weight", "f32[2, 4]"),
        ("linear_0.bias", "f32[2]"),
        ("linear_0", "f32[s0, 2]"),
        ("relu_0", "f32[s0, 2]"),
    ]


def test_every_listed_value_at_the_top_can_be_fetched_by_name_and_as_a_value():
    program, layer, _, _y = written()
    x = torch.randn(3, 4)
    for value in program.list_vars():
        by_name, by_value = (
            EXECUTOR.run(program, {"x": x}, [one], return_numpy=False)
            for one in (value.name, value)
        )
        assert torch.equal(by_name[0], by_value[0])
    assert torch.equal(
        EXECUTOR.run(program, {"x": x}, "relu_0", return_numpy=False)[0], torch.relu(layer(x))
    )


def test_parameters_are_stored_once_and_by_the_name_of_their_module():
    block = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    block.append(block[0])
    scale = nn.Parameter(torch.ones(4))
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 4])
        block(block(x) * scale) + torch.tensor(1.0)
    kinds = {stored.name: stored.kind for stored in program.recorded.stored}
    assert kinds == {
        "sequential_0.0.weight": "parameter",
        "sequential_0.0.bias": "parameter",
        "sequential_0.1.num_batches_tracked": "buffer",
        "sequential_0.1.weight": "parameter",
        "sequential_0.1.bias": "parameter",
        "sequential_0.1.running_mean": "buffer",
        "sequential_0.1.running_var": "buffer",
        "parameter_0": "parameter",
        "constant_0": "constant",
    }
    assert program.tensors["sequential_0.0.weight"] is block[0].weight
    assert program.tensors["parameter_0"] is scale


def test_two_modules_of_one_class_have_two_names():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None, 4])
        nn.Sequential  # noqa: B018 (nothing is called)
        FIRST(SECOND(x))
    names = [stored.name for stored in program.recorded.stored]
    assert names == ["linear_0.weight", "linear_0.bias", "linear_1.weight", "linear_1.bias"]


FIRST, SECOND = nn.Linear(4, 4), nn.Linear(4, 4)


def test_a_module_made_inside_is_refused():
    with pytest.raises(UnsupportedCall) as refusal, static.program_guard(static.Program()):
        nn.Linear(4, 2)
    assert str(refusal.value).splitlines()[0] == (
        "[ST204] a Linear is made inside `program_guard`: its `weight` would not be a real tensor"
    )
    assert refusal.value.fix == "make the module before `with program_guard(...)`"


def test_a_module_made_elsewhere_afterwards_is_a_plain_one():
    with static.program_guard(static.Program()):
        pass
    assert type(nn.Linear(4, 2).weight) is nn.Parameter


# ---- clones


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.drop = nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(torch.relu(self.bn(self.fc(x))))


def test_a_clone_for_test_evaluates_and_shares_the_parameters():
    net, program = Net(), static.Program()
    with static.program_guard(program):
        y = net(static.data("x", [None, 4]))
    test = program.clone(for_test=True)
    x = torch.randn(5, 4)
    torch.manual_seed(1)
    (trained,) = EXECUTOR.run(program, {"x": x}, [y], return_numpy=False)
    statistics = net.bn.running_mean.clone()
    torch.manual_seed(1)
    net.bn.reset_running_stats()
    assert torch.equal(trained, net(x))
    assert torch.equal(net.bn.running_mean, statistics)
    net.eval()
    for size in (5, 1):
        (given,) = EXECUTOR.run(test, {"x": x[:size]}, [y], return_numpy=False)
        assert torch.equal(given, net(x[:size]))
    assert torch.equal(net.bn.running_mean, statistics)


def test_a_clone_does_not_grow_with_its_original():
    program, _, _, y = written()
    clone = program.clone()
    text = str(clone)
    with static.program_guard(program):
        z = y.sum()
    assert str(clone) == text
    with pytest.raises(InputError) as refusal:
        EXECUTOR.run(clone, {"x": torch.ones(1, 4)}, [z])
    assert said(refusal.value) == (
        "[ST300] a tensor to fetch is not one of the program `main`\n"
        "  fix: give a tensor made under its `program_guard`, or a name"
    )


def test_a_clone_cannot_be_written_further():
    program = static.Program("net").clone()
    with pytest.raises(InputError) as refusal, static.program_guard(program):
        pass
    assert refusal.value.problem == "the program `net` is finished: it was loaded or cloned"
    assert refusal.value.fix == "write a new `Program()`"


# ---- what is refused


def test_a_guard_in_a_guard_of_the_same_program_is_refused():
    program = static.Program()
    guards = static.program_guard(program), static.program_guard(program)
    with guards[0], pytest.raises(InputError) as refusal, guards[1]:
        pass
    assert refusal.value.problem == "the program `main` is being written already"


def test_a_guard_needs_a_program():
    with pytest.raises(InputError) as refusal, static.program_guard("main"):
        pass
    assert said(refusal.value) == (
        "[ST300] program_guard is given a str\n  fix: give a `stator.static.Program`"
    )


def test_data_outside_of_a_guard_is_refused():
    with pytest.raises(InputError) as refusal:
        static.data("x", [3])
    assert refusal.value.problem == "`data` is called outside of `program_guard`"
    assert refusal.value.fix == "call it under `with program_guard(program):`"


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        (("x", [3]), "the program has a value `x` already"),
        (("1", [3]), "'1' is not a name for an input"),
        ((5, [3]), "5 is not a name for an input"),
        (("y", [-2]), "-2 is not a size"),
        (("y", [3], "float31"), "'float31' is not a dtype"),
    ],
)
def test_a_wrong_input_is_refused(args, problem):
    with static.program_guard(static.Program()):
        static.data("x", [3])
        with pytest.raises(InputError) as refusal:
            static.data(*args)
    assert refusal.value.problem == problem
    assert refusal.value.at.file == __file__


def test_an_input_inside_a_branch_is_refused():
    with pytest.raises(InputError) as refusal, static.program_guard(static.Program()):
        x = static.data("x", [3])
        static.cond(x.sum() > 0, lambda: static.data("y", [3]), lambda: x)
    assert refusal.value.problem == "the input `y` is made inside a branch or a loop"


def test_open_sizes_can_be_written_as_minus_one():
    with static.program_guard(static.Program()):
        x = static.data("x", [-1, 4], torch.int64)
    assert x.dtype == torch.int64
    assert not isinstance(x.shape[0], int)


def ask(x):
    if x.sum() > 0:
        return x
    return -x


def test_python_that_asks_for_a_value_is_refused_with_the_line():
    with pytest.raises(DataDependent) as refusal, static.program_guard(static.Program()):
        ask(static.data("x", [3]))
    line = ask.__code__.co_firstlineno + 1
    assert str(refusal.value) == (
        "[ST203] Python code needs the truth value of a tensor, which is known only at run time\n"
        f"  at {__file__}:{line}, in ask\n        if x.sum() > 0:\n           ^\n"
        "  fix: use `stator.static.cond`, `case`, `switch_case` or `while_loop`"
    )


def test_a_refusal_that_is_caught_is_raised_at_the_end_of_the_guard():
    program = static.Program()
    caught = contextlib.suppress(ValueError)
    with pytest.raises(DataDependent), static.program_guard(program), caught:
        ask(static.data("x", [3]))


def test_a_size_that_python_asks_about_is_checked():
    program = static.Program()
    with static.program_guard(program):
        x = static.data("x", [None])
        y = x * 2 if x.shape[0] != 1 else x * 3
    assert EXECUTOR.run(program, {"x": torch.ones(3)}, [y])[0].tolist() == [2, 2, 2]
    with pytest.raises(SizeCheckFailed, match=r"this needs x.shape\[0\] != 1"):
        EXECUTOR.run(program, {"x": torch.ones(1)}, [y])


def test_a_value_is_a_name_and_a_type():
    program, _, _, _ = written()
    value = program.list_vars()[0]
    assert isinstance(value, static.Value)
    assert value.type == TensorType("float32", (Symbol("s0"), 4))
