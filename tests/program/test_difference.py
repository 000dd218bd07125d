"""How one program differs from another in meaning."""

import copy
import time

import pytest
import torch

import stator
from stator import InputSpec, StaticFunction
from stator.program.difference import program_changes
from stator.program.ir import Block, Op, Value
from stator.program.program import Program
from stator.program.sizes import Symbol
from stator.program.structure import ConstantValue, Leaf, Mapping, Sequence
from stator.program.types import TensorType
from stator.program.verifier import verify
from tests.zoo.whole import HEAVY, PROGRAMS

ANY = [InputSpec([None, 3])]


def program_of(function, spec=ANY) -> Program:
    return stator.to_static(function).capture(spec).program


def changes(before, after, spec=ANY):
    return program_changes(program_of(before, spec), program_of(after, spec)).changes


def walk(x):
    total = x
    while x.sum() > 1:
        x = torch.relu(x / 2)
        if x.max() > 3:
            total = total + x
        else:
            total = total - x
    return total, x.shape[0]


def same_walk_with_other_names(y):
    whole = y

    while y.sum() > 1:
        y = torch.relu(y / 2)
        if y.max() > 3:
            whole = whole + y
        else:
            whole = whole - y
    return whole, y.shape[0]


def test_names_and_lines_are_no_difference():
    spec = [InputSpec([None, 3], name="x")]
    found = program_changes(program_of(walk, spec), program_of(same_walk_with_other_names, spec))
    assert found.changes == []
    assert found.moved > 10


def with_shifted_names(program: Program) -> Program:
    """The same program: every value, and every size, has another name."""
    again = copy.deepcopy(program)
    values = [stored.value for stored in again.stored]
    for op in again.ops():
        values += op.results
        values += [value for inner in op.blocks for value in inner.inputs]
    for number, value in enumerate(values):
        value.name = f"v{number + 500}"
    for value in (*again.inputs, *values):
        shape = getattr(value.type, "shape", None)
        if shape is not None:
            renamed = tuple(s.replace("s", "u9") if isinstance(s, str) else s for s in shape)
            value.type = type(value.type)(value.type.dtype, renamed, value.type.device)
    return verify(again)


def test_renamed_values_and_sizes_are_no_difference():
    program = program_of(walk)
    renamed = with_shifted_names(program)
    assert str(renamed) != str(program)
    assert program_changes(program, renamed).changes == []
    assert program_changes(renamed, program).changes == []


def test_a_constant_is_told_with_both_lines():
    def before(x):
        return x * 2 + 1

    def after(x):
        return x * 3 + 1

    (change,) = changes(before, after)
    assert change.kind == "changed"
    assert (change.before, change.after) == ("aten::mul.Tensor(%x, 2)", "aten::mul.Tensor(%x, 3)")
    assert change.details == ("argument 2: 2 -> 3",)
    assert change.before_place.startswith("test_difference.py:")
    assert change.before_place != change.after_place


@pytest.mark.parametrize(("before", "after"), [(1, 1.0), (1, True), (0.0, -0.0), (2, 3)])
def test_constants_of_another_type_or_sign_differ(before, after):
    def first(x):
        return torch.full_like(x, before)

    def second(x):
        return torch.full_like(x, after)

    assert len(changes(first, second)) == 1
    assert changes(first, first) == []


def test_a_nan_is_no_difference_to_itself():
    def nan(x):
        return x + float("nan")

    assert changes(nan, nan) == []


def test_an_op_is_added_and_taken_away():
    def before(x):
        x = x + 1
        return x * 2

    def after(x):
        x = x + 1
        x = torch.relu(x)
        return x * 2

    added, follows = changes(before, after)
    assert (added.kind, added.before, added.after) == ("added", "", "aten::relu(%1)")
    assert follows.kind == "changed"
    assert follows.details[0].startswith("argument 1: %1 of aten::add.Tensor at ")
    assert " -> %2 of aten::relu at " in follows.details[0]
    removed, _ = changes(after, before)
    assert (removed.kind, removed.before) == ("removed", "aten::relu(%1)")


def test_an_op_in_the_place_of_another_is_one_change():
    def before(x):
        return torch.relu(x + 1) * 2

    def after(x):
        return torch.tanh(x + 1) * 2

    (change,) = changes(before, after)
    assert change.details == ("aten::relu -> aten::tanh",)


def test_a_change_in_a_block_names_the_blocks_around_it():
    def after(x):
        total = x
        while x.sum() > 1:
            x = torch.relu(x / 2)
            if x.max() > 3:
                total = total + x
            else:
                total = total * x
        return total, x.shape[0]

    (change,) = changes(walk, after)
    assert change.details == ("aten::sub.Tensor -> aten::mul.Tensor",)
    loop, branch = change.where.split(" > ")
    assert loop.startswith("while at test_difference.py:")
    assert branch.startswith("if at test_difference.py:")
    assert branch.endswith(" (else)")


def test_the_other_way_round_is_a_difference():
    def before(x):
        a, b = x + 1, x + 2
        return a - b

    def after(x):
        a, b = x + 1, x + 2
        return b - a

    (change,) = changes(before, after)
    assert len(change.details) == 2


def test_what_is_given_back_and_how_it_is_put_together():
    def one(x):
        return x + 1, x + 2

    def swapped(x):
        a, b = x + 1, x + 2
        return b, a

    def listed(x):
        return [x + 1, x + 2]

    (gives,) = changes(one, swapped)
    assert (gives.before, len(gives.details)) == ("what it gives", 2)
    (structure,) = changes(one, listed)
    assert structure.before == "the structure of the outputs"
    assert structure.details == ("(f32[s0, 3], f32[s0, 3]) -> [f32[s0, 3], f32[s0, 3]]",)


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), (0.0, -0.0), ("a", None)])
def test_fixed_parts_of_a_result_differ_by_kind_too(before, after):
    (change,) = changes(lambda x: (x, before), lambda x: (x, after))
    assert change.before == "the structure of the outputs"
    assert change.details == (f"(f32[s0, 3], {before!r}) -> (f32[s0, 3], {after!r})",)


def test_a_nan_in_a_result_is_no_difference():
    assert changes(lambda x: (x, float("nan")), lambda x: (x, float("nan"))) == []


def test_another_input_is_a_difference():
    one, other = (program_of(walk, [InputSpec([size, 3])]) for size in (None, 4))
    found = program_changes(one, other).changes
    assert (found[0].before, found[0].after) == ("input x: f32[s0, 3]", "input x: f32[4, 3]")
    named = program_of(walk, [InputSpec([None, 3], name="z")])
    (change,) = program_changes(one, named).changes
    assert (change.before, change.after) == ("input x: f32[s0, 3]", "input z: f32[s0, 3]")


def halvings(n):
    if n <= 1:
        return 0
    return 1 + halvings(n // 2)


def thirds(n):
    if n <= 1:
        return 0
    return 1 + thirds(n // 3)


def test_functions_of_a_program_are_compared():
    spec = [InputSpec([], "int64")]
    assert changes(halvings, halvings, spec) == []
    assert changes(halvings, thirds, spec) != []


def test_a_size_that_stands_for_two_is_a_difference():
    """Equal names on one side and different ones on the other are no renaming."""

    def given(*sizes):
        pairs = zip("ab", sizes, strict=True)
        values = tuple(Value(name, TensorType("float32", (size,))) for name, size in pairs)
        return Program("p", values, (), Block(), ConstantValue(None), ConstantValue(None))

    s0, s1 = Symbol("s0"), Symbol("s1")
    one, other = given(s0, s0), given(s0, s1)
    assert len(program_changes(one, other).changes) == 1
    assert len(program_changes(other, one).changes) == 1


def test_thousands_of_ops_are_compared_at_once():
    before, after = chain(range(5000)), chain([*range(1500), -1, *range(1501, 5000)])
    started = time.process_time()
    (change,) = program_changes(before, after).changes
    assert change.details == ("argument 2: 1500 -> -1",)
    shorter = chain([*range(1500), *range(1501, 5000)])
    removed, follows = program_changes(before, shorter).changes
    assert (removed.kind, follows.kind) == ("removed", "changed")
    assert time.process_time() - started < 5


def chain(constants) -> Program:
    """`x + a + b + ...`."""
    kind = TensorType("float32", (2,))
    last = given = Value("x", kind)
    ops = []
    for number, constant in enumerate(constants):
        result = Value(str(number), kind)
        ops.append(Op("aten::add.Tensor", (last, constant), {}, (result,)))
        last = result
    inputs = Sequence("tuple", (Sequence("tuple", (Leaf(0),)), Mapping((), ())))
    return verify(Program("chain", (given,), (), Block((), ops, (last,)), inputs, Leaf(0)))


MOST_CONSTANTS = 20  # of a program that are changed, each in a comparison of its own
SOME = [one for one in PROGRAMS if not (one.refused or one.pending or one.may_raise)][::25]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(one, id=one.name, marks=(pytest.mark.slow,) if one.name in HEAVY else ())
        for one in SOME
    ],
)
def test_two_captures_of_the_zoo_are_the_same_and_any_other_constant_is_seen(entry, capsys):
    one, other = (captured(entry) for _ in range(2))
    assert program_changes(one, other).changes == []
    constants = [
        (op, index)
        for op in other.ops()
        for index, arg in enumerate(op.args)
        if isinstance(arg, int | float) and arg != arg + 1
    ]
    for op, index in constants[:: 1 + len(constants) // MOST_CONSTANTS]:
        before = op.args
        op.args = (*before[:index], before[index] + 1, *before[index + 1 :])
        assert program_changes(one, other).changes, op.name
        op.args = before


def captured(entry) -> Program:
    target = entry.make()
    static = StaticFunction(getattr(target, "forward", target))
    assert not static.explain(*copy.deepcopy(entry.calls[0])).refused
    return static.program
