"""A saved model calls ops that are there and may be called, as their schemas say."""

import pytest

from stator.errors import FormatError
from stator.export.checking import Damage
from stator.export.op_calls import TorchNames
from stator.export.op_table import check_schema, encode_ops, schema_text
from stator.program.ir import Literal, Op
from tests.program.builder import Builder, tensor
from tests.said import said

NAMES_OF_TORCH = TorchNames()
known_op, check_operands = NAMES_OF_TORCH.known_op, NAMES_OF_TORCH.check_operands


def fault(call, *args):
    with pytest.raises(Damage) as caught:
        call(*args)
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["stator::if", "aten::add.Tensor", "aten::__and__.Tensor", "aten::_to_copy", "aten::relu_"],
)
def test_an_op_that_models_use_is_known(name):
    assert known_op(name, "here") == name


@pytest.mark.parametrize(
    "name",
    [
        "aten::from_file", "aten::set_.source_Storage", "aten::_reshape_alias", "prims::add",
        "aten::embedding_backward", "aten::quantized_lstm_cell", "c10d::barrier", "prim::Print",
        "quantized::linear", "aten::_weight_int4pack_mm", "profiler::_record_function_enter",
        "aten::_to_copy_x", "aten::no", "aten::range.step", "aten::_stack", "_new::op",
    ],
)  # fmt: skip
def test_an_op_that_trusts_its_caller_is_refused(name):
    assert fault(known_op, name, "here") == f"here calls {name}, which a saved model may not"


@pytest.mark.parametrize("name", ["os::system", "x", "", "::", "stator::no"])
def test_an_op_that_is_not_registered_is_refused(name):
    assert (
        fault(known_op, name, "here")
        == f"here calls {name}, which this version of torch does not have"
    )


def test_a_model_is_not_written_that_could_not_be_read():
    build = Builder()
    x = build.input("x", tensor(2))
    op = build.op("aten::_reshape_alias", x, (2,), (1,), gives=tensor(2))
    with pytest.raises(FormatError) as caught:
        encode_ops({"forward": build.program(op)})
    assert said(caught.value) == (
        "[ST400] the program calls aten::_reshape_alias, which a saved model may not\n"
        "  fix: write it with public functions of torch"
    )


def op(name, *args, results=0, **attributes):
    made = Builder()
    return Op(name, args, attributes, tuple(made.value(tensor(1)) for _ in range(results)))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (op("aten::relu", 1, 2), "here: aten::relu is given 2 arguments; it takes 1"),
        (op("aten::relu"), "here: aten::relu is not given its 'self'"),
        (op("aten::relu", "a"), "here: aten::relu is given 'a' for its `self: Tensor`"),
        (op("aten::relu", 1, x=1), "here: aten::relu is given 'x', which it cannot take there"),
        (op("aten::relu", 1, self=1),
         "here: aten::relu is given 'self', which it cannot take there"),
        (op("aten::relu", 1, results=2), "here: aten::relu gives 1 results, not 2"),
        (op("aten::zeros", (2,), dtype=6),
         "here: aten::zeros is given 6 for its `dtype: Optional[ScalarType]`"),
        (op("aten::zeros", (2,), layout=Literal("dtype", "float32")),
         "here: aten::zeros is given Literal(kind='dtype', text='float32') for its "
         "`layout: Optional[Layout]`"),
        (op("aten::zeros", (2,), layout=Literal("layout", "sparse_csr")),
         "here: aten::zeros is given a layout that a saved model may not have"),
        (op("aten::to.dtype", 1, 6), "here: aten::to.dtype is given 6 for its `dtype: ScalarType`"),
    ],
)  # fmt: skip
def test_a_call_that_the_schema_does_not_have_is_refused(call, problem):
    assert fault(check_operands, call, "here") == problem


@pytest.mark.parametrize(
    "call",
    [
        op("aten::zeros", (2,), dtype=Literal("dtype", "float32"), layout=None),
        op("aten::split.Tensor", 1, 2, results=3),
        op("aten::max.dim", 1, 0, results=2),
        op("aten::add_.Tensor", 1, 2, alpha=2),
    ],
)
def test_a_call_that_the_schema_has_is_right(call):
    check_operands(call, "here")


NAMES = (("ValueError",),)


@pytest.mark.parametrize(
    ("attributes", "problem"),
    [
        ({}, "here: stator::try is not given its `number`"),
        ({"number": "1"}, "here: stator::try is given '1' for its `number: int`"),
        ({"number": 0, "catches": 5}, "here: stator::try is given 5 for its `catches: [[text]]`"),
        ({"number": 0, "catches": ((1,),)},
         "here: stator::try is given ((1,),) for its `catches: [[text]]`"),
        ({"number": 0, "catches": NAMES, "asks": (5,)},
         "here: stator::try is given (5,) for its `asks: [[[text]]]`"),
    ],
)  # fmt: skip
def test_a_try_without_names_for_its_handlers_is_refused(attributes, problem):
    assert fault(check_operands, op("stator::try", **attributes), "here") == problem


def test_a_try_with_names_for_its_handlers_is_right():
    check_operands(op("stator::try", number=0, catches=NAMES, asks=(NAMES,)), "here")


OWN = "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"


def test_a_schema_that_had_fewer_arguments_is_still_right():
    assert schema_text("aten::add.Tensor") == OWN
    check_schema("aten::add.Tensor", OWN, "here")
    check_schema("aten::add.Tensor", "aten::add.Tensor(Tensor self, Tensor other) -> Tensor", "x")


@pytest.mark.parametrize(
    "saved",
    [
        "aten::add.Tensor(Tensor other, Tensor self, *, Scalar alpha=1) -> Tensor",
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1, int k=2) -> Tensor",
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor[]",
    ],
)
def test_a_schema_that_torch_has_changed_is_refused(saved):
    assert fault(check_schema, "aten::add.Tensor", saved, "ops.x") == (
        f"ops.x is {saved!r}, and this torch has {OWN!r}"
    )


@pytest.mark.parametrize(
    "saved",
    ["", "x", "(" * 5000, OWN + "\n", "aten::add.Tensor(" + "Tensor[" * 100 + ") -> Tensor"],
)
def test_what_is_no_schema_is_refused(saved):
    assert fault(check_schema, "aten::add.Tensor", saved, "ops.x") == "ops.x is no schema"
