"""The verifier refuses a program whose types contradict each other, and passes make none."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stator.errors import ProgramError
from stator.optimize.fold import fold
from stator.optimize.fold_tensors import fold_tensors
from stator.optimize.for_test import for_test
from stator.optimize.in_place import in_place
from stator.optimize.merge import merge
from stator.optimize.prune import drop_unused_stored, prune
from stator.program.ir import Block, Op, ops_in
from stator.program.types import ListType, OptionalType, TextType
from stator.program.typing_rules import fits, type_fits
from stator.program.verifier import verify
from tests.program.builder import BOOL, FLOAT, INT, Builder, tensor
from tests.program.random_programs import programs

PASSES = (
    fold, prune, drop_unused_stored, merge, in_place, for_test,
    lambda program: fold_tensors(program, {})[0],
)  # fmt: skip


def problem(build, *outputs):
    with pytest.raises(ProgramError) as caught:
        verify(build.program(*outputs))
    return caught.value.problem


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.permutations(PASSES))
def test_every_pass_keeps_a_program_well_typed(program, passes):
    verify(program)
    for one_pass in passes:
        program = verify(one_pass(program))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_one_type_that_is_wrong_is_found(program, data):
    blocks = (program.body, *program.functions.values())
    results = [value for block in blocks for op in ops_in(block) for value in op.results]
    value = data.draw(st.sampled_from(results))
    value.type = TextType()
    with pytest.raises(ProgramError):
        verify(program)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(), st.data())
def test_an_argument_that_is_missing_is_found(program, data):
    ops = [op for op in ops_in(program.body) if op.args]
    op = data.draw(st.sampled_from(ops))
    op.args = op.args[:-1]
    if op.name in ("stator::min", "aten::add.Tensor"):  # variadic, or found by the count below
        op.args = ("text",)
    with pytest.raises(ProgramError):
        verify(program)


def test_a_loop_whose_result_contradicts_its_body_is_refused():
    build = Builder()
    carried = build.value(INT, "k")
    with build.block(carried) as body:
        body.outputs = (False, carried)
    build.op("stator::while", True, 0, gives=tensor(2), blocks=[body])
    assert problem(build) == "stator::while: the loop gives 0 for %v2: f32[2]"


def test_a_loop_whose_body_yields_another_type_is_refused():
    build = Builder()
    carried = build.value(INT, "k")
    with build.block(carried) as body:
        body.outputs = (False, 2.5)
    build.op("stator::while", True, 0, gives=INT, blocks=[body])
    assert problem(build) == "stator::while: the body yields 2.5 for %k: int"


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (
            Op("aten::sum", (3.5, "text", None), {}, ()),
            "aten::sum is given 3 arguments; it takes 1",
        ),
        (
            Op("aten::sum.dim_IntList", ("text", None), {}, ()),
            "aten::sum.dim_IntList is given 'text' for its `self: Tensor`",
        ),
        (Op("aten::relu", (), {}, ()), "aten::relu is not given its 'self'"),
        (
            Op("aten::zeros", ((2,),), {"dtype": 6}, ()),
            "aten::zeros is given 6 for its `dtype: Optional[ScalarType]`",
        ),
        (
            Op("aten::zeros", ((2,),), {"size": (2,)}, ()),
            "aten::zeros is given 'size', which it cannot take there",
        ),
        (
            Op("stator::list_get", (1, 2), {}, (Builder().value(INT),)),
            "stator::list_get is given 1 for its `list: list<T>`",
        ),
        (
            Op("stator::add", (1, 2.5), {}, (Builder().value(INT),)),
            "stator::add gives `promoted`, not %v1: int",
        ),
        (Op("stator::demand", ("x", "y"), {}, ()),
         "stator::demand is given 'x' for its `condition: bool`"),
        (Op("stator::print", (), {"color": 1}, ()), "stator::print has no attribute `color`"),
        (Op("stator::keep", (1,), {}, ()), "stator::keep is not given its `number`"),
        (
            Op("stator::try", (), {"number": 1, "catches": (1,), "asks": ()}, (),
               (Block(), Block())),
            "stator::try is given (1,) for its `catches: [[text]]`",
        ),
    ],
)  # fmt: skip
def test_an_op_that_is_given_something_else_is_refused(op, expected):
    build = Builder()
    build.stack[0].ops.append(copy.copy(op))
    assert problem(build) == expected


@pytest.mark.parametrize(
    ("given_type", "wanted"),
    [
        (tensor(3), tensor("n")),
        (tensor("m"), tensor("n")),
        (INT, OptionalType(INT)),
        (BOOL, INT),
        (ListType(tensor(3)), ListType(tensor("n"))),
        (OptionalType(BOOL), OptionalType(INT)),
    ],
)
def test_what_fits(given_type, wanted):
    assert type_fits(given_type, wanted)


@pytest.mark.parametrize(
    ("given_type", "wanted"),
    [
        (tensor("n"), tensor(3)),
        (tensor(2), tensor(3)),
        (tensor(3), tensor(3, 1)),
        (tensor(3), tensor(3, dtype="int64")),
        (INT, BOOL),
        (INT, FLOAT),
        (ListType(OptionalType(INT)), ListType(INT)),
        (TextType(), INT),
    ],
)
def test_what_does_not_fit(given_type, wanted):
    assert not type_fits(given_type, wanted)


def test_constants_fit_like_values_of_their_type():
    assert fits(None, OptionalType(INT))
    assert fits(True, INT)
    assert not fits(None, INT)
    assert not fits(1, tensor())
    assert not fits((1,), INT)
