"""Programs that use every part of the format, for tests of several stages."""

from stator.program.ir import Literal
from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
)
from stator.program.types import ListType, NumberType, OptionalType, TextType
from tests.program.builder import BOOL, FLOAT, INT, Builder, tensor

COMPLEX = NumberType("complex")


def linear():
    """`relu(x @ weight.T + bias)`."""
    build = Builder("linear")
    x = build.input("x", tensor("n", 3))
    weight, bias = build.store("fc.weight", tensor(4, 3)), build.store("fc.bias", tensor(4))
    y = build.op("aten::linear", x, weight, bias, gives=tensor("n", 4), line=3)
    return build.program(build.op("aten::relu", y, gives=tensor("n", 4), line=4))


def everything():
    """Each kind of type, constant, structure and block once."""
    build = Builder("everything")
    x, n = build.input("x", tensor("n")), build.input("count", INT)
    maybe = build.input("maybe", OptionalType(ListType(FLOAT)))
    table = build.store("table", tensor(2, dtype="complex128"), "constant")
    build.store("steps", tensor(dtype="int64"), "buffer")
    k = build.value(INT, "k")
    with build.block(k) as body:
        after = build.op("stator::add", k, 1, gives=INT, line=6)
        body.outputs = (build.op("stator::lt", after, n, gives=BOOL), after)
    iterations = build.op("stator::while", True, 0, gives=INT, blocks=[body], line=5)
    test = build.op("stator::gt", iterations, 2, gives=BOOL)
    with build.block() as then:
        then.outputs = (
            build.op(
                "aten::full",
                (2,),
                float("-inf"),
                dtype=Literal("dtype", "float64"),
                device=Literal("device", "cpu"),
                gives=tensor(2, dtype="float64"),
            ),
            None,
        )
    with build.block() as orelse:
        orelse.outputs = (
            build.op(
                "aten::full",
                (2,),
                1e300,
                dtype=Literal("dtype", "float64"),
                layout=Literal("layout", "strided"),
                gives=tensor(2, dtype="float64"),
            ),
            "é",
        )
    chosen, text = build.op(
        "stator::if",
        test,
        gives=[tensor(2, dtype="float64"), OptionalType(TextType())],
        blocks=[then, orelse],
    )
    turned = build.op(
        "aten::mul.Scalar", table, complex(0, float("inf")), gives=tensor(2, dtype="complex128")
    )
    copied = build.op(
        "aten::clone",
        x,
        memory_format=Literal("memory_format", "preserve_format"),
        gives=tensor("n"),
    )
    m = build.value(INT, "m")
    with build.block(m) as function:
        function.outputs = (build.op("stator::mul", m, 2, gives=INT),)
    build.function("twice", function)
    double = build.op("stator::call", iterations, function="twice", gives=INT)
    whole = build.op("stator::complex", 1.0, double, gives=COMPLEX)
    items = build.op("stator::list_make", whole, gives=ListType(COMPLEX))
    structure = Mapping(
        ("chosen", 1, None, False, 0.5),
        (
            Sequence("list", (Leaf(0), ConstantValue(float("nan")))),
            Record("namedtuple", "model:Pair", ("text", "turned"), (Leaf(1), Leaf(2))),
            Choice(5, (ConstantValue(None), Leaf(3), ConstantValue(2j))),
            RuntimeList(Leaf(4)),
            Record("dataclass", "model:Output", ("maybe",), (Leaf(6),)),
        ),
    )
    return build.program(chosen, text, turned, copied, items, 1, maybe, structure=structure)
