"""A program reads well, and prints the same text each time."""

from stator.program.printer import print_program
from stator.program.sizes import Symbol
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType
from tests.program.builder import BOOL, INT, Builder, tensor
from tests.program.zoo import everything, linear


def test_a_program_prints_its_inputs_its_tensors_and_its_ops_with_their_places():
    assert str(linear()) == (
        "program linear(%x: f32[n, 3]) {\n"
        '  %fc_weight: f32[4, 3] = parameter "fc.weight"\n'
        '  %fc_bias: f32[4] = parameter "fc.bias"\n'
        "  %v4: f32[n, 4] = aten::linear(%x, %fc_weight, %fc_bias)  # model.py:3\n"
        "  %v5: f32[n, 4] = aten::relu(%v4)  # model.py:4\n"
        "  return %v5\n"
        "}"
    )


def test_places_can_be_left_out():
    assert "#" not in print_program(linear(), places=False)


def test_blocks_are_indented_and_name_what_they_take_and_yield():
    build = Builder("loop")
    n, k = build.input("n", INT), build.value(INT, "k")
    with build.block(k) as body:
        more = build.op("stator::add", k, 1, gives=INT)
        body.outputs = (build.op("stator::lt", more, n, gives=BOOL), more)
    iterations = build.op("stator::while", True, 0, gives=INT, blocks=[body], line=2)
    with build.block() as then:
        then.outputs = (1,)
    with build.block() as orelse:
        build.op("stator::print", "none", sep=" ")
        orelse.outputs = (None,)
    chosen = build.op("stator::if", iterations, gives=OptionalType(INT), blocks=[then, orelse])
    assert str(build.program(chosen, (n, 0.5))) == (
        "program loop(%n: int) {\n"
        "  %v5: int = stator::while(True, 0) (%k: int) {  # model.py:2\n"
        "    %v3: int = stator::add(%k, 1)\n"
        "    %v4: bool = stator::lt(%v3, %n)\n"
        "    yield %v4, %v3\n"
        "  }\n"
        "  %v6: int? = stator::if(%v5) {\n"
        "    yield 1\n"
        "  } {\n"
        "    stator::print('none', sep=' ')\n"
        "    yield None\n"
        "  }\n"
        "  return %v6, [%n, 0.5]\n"
        "}"
    )


def test_functions_follow_the_program():
    text = str(everything())
    assert text.endswith(
        "}\nfunction twice(%m: int) {\n  %v18: int = stator::mul(%m, 2)\n  return %v18\n}"
    )


def test_types_are_short():
    kinds = [
        TensorType("bfloat16", (2, Symbol("s0"))),
        TensorType("float8_e5m2", (), "cuda:0"),
        ListType(tensor(1)),
        OptionalType(NumberType("complex")),
        TextType(),
    ]
    texts = ["bf16[2, s0]", "float8_e5m2[]@cuda:0", "list<f32[1]>", "complex?", "text"]
    assert [str(kind) for kind in kinds] == texts


def test_two_builds_of_one_program_print_the_same(keep_text):
    assert str(everything()) == str(everything())
    keep_text(str(everything()))
