"""program_data: nothing of a program is lost on its way to the page."""

import json

import pytest
import torch

import stator
from stator.debug.view.encoding import bytes_of, program_data
from stator.debug.view.sources import Files
from stator.program.ir import Block, Literal, Op, Value, ops_in
from stator.program.printer import print_program
from stator.program.program import Program
from stator.program.structure import Leaf
from stator.program.types import NumberType, TensorType
from tests.zoo import models
from tests.zoo.programs import ZOO

SOME = [
    one
    for one in ZOO
    if one.target.__module__ == models.__name__ and not (one.refused or one.makes)
]


def data_of(program):
    return program_data(program, "label", Files(at_hand=True))


def printed(data):
    """The text of the data, in the words of `print_program`."""
    values, ops, blocks = data["values"], data["ops"], data["blocks"]

    def typed(numbers):
        return ", ".join(f"%{values[n][0]}: {values[n][1]}" for n in numbers)

    def arg(one):
        if isinstance(one, dict):
            return f"%{values[one['value']][0]}"
        return f"[{', '.join(map(arg, one))}]" if isinstance(one, list) else one

    def block_lines(number, depth):
        for index in blocks[number]["ops"]:
            assert ops[index]["block"] == number
            yield from op_lines(index, depth)

    def op_lines(index, depth):
        op, pad = ops[index], "  " * depth
        given = [*map(arg, op["args"]), *(f"{name}={arg(one)}" for name, one in op["attributes"])]
        results = f"{typed(op['results'])} = " if op["results"] else ""
        head = f"{results}{op['name']}({', '.join(given)})"
        if not op["blocks"]:
            yield pad + head
        for k, inner in enumerate(op["blocks"]):
            assert blocks[inner]["owner"] == index
            taken = blocks[inner]["inputs"]
            yield f"{pad}{head if k == 0 else '}'}{f' ({typed(taken)})' if taken else ''} {{"
            yield from block_lines(inner, depth + 1)
            if blocks[inner]["outputs"]:
                yield f"{pad}  yield {', '.join(map(arg, blocks[inner]['outputs']))}"
        if op["blocks"]:
            yield pad + "}"

    def body(number):
        yield from block_lines(number, 1)
        yield f"  return {', '.join(map(arg, blocks[number]['outputs']))}".rstrip()
        yield "}"

    lines = [f"program {data['name']}({typed(data['inputs'])}) {{"]
    lines += [f'  {typed([s["value"]])} = {s["kind"]} "{s["name"]}"' for s in data["stored"]]
    lines += body(data["body"])
    for one in data["functions"]:
        lines.append(f"function {one['name']}({typed(blocks[one['block']]['inputs'])}) {{")
        lines += body(one["block"])
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.parametrize("one", SOME, ids=lambda one: one.name)
def test_the_data_of_the_zoo_print_as_the_programs_do(one):
    static = stator.to_static(one.make())
    static = static.forward if isinstance(static, torch.nn.Module) else static
    static(*one.calls[0])
    program = static.program
    data = json.loads(json.dumps(data_of(program)))
    assert printed(data) == print_program(program, places=False)


def test_places_name_their_file_line_and_function():
    def half(x):
        return x / 2

    static = stator.to_static(half)
    static(torch.ones(2))
    (op,) = data_of(static.program)["ops"]
    assert op["place"] == [0, half.__code__.co_firstlineno + 1, 15, "half"]
    assert op["names"] == ["self", "other"]


def test_blocks_say_what_they_are_for():
    @stator.to_static
    def both(x):
        while x.sum() < 3:
            x = x + 1
        try:
            if x.max() > 9:
                raise ValueError("large")
            x = x * 2
        except ValueError:
            x = x * 3
        return x

    both(torch.ones(2))
    data = data_of(both.program)
    roles = {block["role"] for block in data["blocks"]}
    assert {"program", "each trip", "then", "else", "try", "handler 1"} <= roles
    assert len(data["ops"]) == len(list(ops_in(both.program.body)))


def test_an_op_that_this_process_does_not_know_has_no_argument_names():
    x, y = Value("x", TensorType("float32", (2,))), Value("y", TensorType("float32", (2,)))
    op = Op("other::op", (x, Literal("dtype", "float32"), (x, 1)), {"k": None}, (y,))
    program = Program("p", (x,), (), Block((), [op], (y,)), Leaf(0), Leaf(0))
    (made,) = data_of(program)["ops"]
    assert made["names"] == []
    assert made["args"] == [{"value": 0}, "float32", [{"value": 0}, "1"]]
    assert made["attributes"] == [["k", "None"]]
    assert made["place"] is None


def test_sizes_in_bytes_are_known_where_all_sizes_are():
    assert bytes_of(TensorType("float16", (2, 3))) == 12
    assert bytes_of(TensorType("int64", ())) == 8
    assert bytes_of(TensorType("float32", (2, "s0"))) is None
    assert bytes_of(NumberType("int")) is None
