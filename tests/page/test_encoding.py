"""program_data: nothing of a program is lost on its way to the page."""

import json

import pytest
import torch

import stator
from stator.page.encoding import bytes_of, item_bytes, names_in_schema, program_data
from stator.page.sources import FileTable
from stator.program.ir import Block, Literal, Op, Value, ops_in
from stator.program.printer import print_program
from stator.program.program import Program
from stator.program.registry import argument_names, schema_of
from stator.program.sizes import Symbol
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
    return program_data(program, "label", FileTable(at_hand=True), argument_names)


class Printed:
    """The text of the data, in the words of `print_program`."""

    def __init__(self, data):
        self.values, self.ops, self.blocks = data["values"], data["ops"], data["blocks"]
        lines = [f"program {data['name']}({self.typed(data['inputs'])}) {{"]
        for one in data["stored"]:
            lines.append(f'  {self.typed([one["value"]])} = {one["kind"]} "{one["name"]}"')
        lines += self.body(data["body"])
        for one in data["functions"]:
            taken = self.blocks[one["block"]]["inputs"]
            lines.append(f"function {one['name']}({self.typed(taken)}) {{")
            lines += self.body(one["block"])
        self.text = "\n".join(lines)

    def typed(self, numbers):
        return ", ".join(f"%{self.values[n][0]}: {self.values[n][1]}" for n in numbers)

    def args(self, given):
        return ", ".join(map(self.arg, given))

    def arg(self, one):
        if isinstance(one, dict):
            return f"%{self.values[one['value']][0]}"
        return f"[{self.args(one)}]" if isinstance(one, list) else one

    def body(self, number):
        yield from self.block(number, 1)
        yield f"  return {self.args(self.blocks[number]['outputs'])}".rstrip()
        yield "}"

    def block(self, number, depth):
        for index in self.blocks[number]["ops"]:
            assert self.ops[index]["block"] == number
            yield from self.op(index, "  " * depth, depth)

    def op(self, index, pad, depth):
        op = self.ops[index]
        named = [f"{name}={self.arg(one)}" for name, one in op["attributes"]]
        results = f"{self.typed(op['results'])} = " if op["results"] else ""
        head = f"{results}{op['name']}({', '.join([*map(self.arg, op['args']), *named])})"
        if not op["blocks"]:
            yield pad + head
            return
        for inner in op["blocks"]:
            block = self.blocks[inner]
            assert block["owner"] == index
            taken = f" ({self.typed(block['inputs'])})" if block["inputs"] else ""
            yield f"{pad}{head}{taken} {{"
            yield from self.block(inner, depth + 1)
            if block["outputs"]:
                yield f"{pad}  yield {self.args(block['outputs'])}"
            head = "}"
        yield pad + "}"


@pytest.mark.slow
@pytest.mark.parametrize("one", SOME, ids=lambda one: one.name)
def test_the_data_of_the_zoo_print_as_the_programs_do(one):
    made = stator.to_static(one.make())
    static = made.forward if isinstance(made, torch.nn.Module) else made
    static(*one.calls[0])
    program = static.program
    data = json.loads(json.dumps(data_of(program)))
    assert Printed(data).text == print_program(program, places=False)


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
    assert {"program", "each iteration", "then", "else", "try", "handler 1"} <= roles
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
    assert bytes_of(TensorType("float32", (2, Symbol("s0")))) is None
    assert bytes_of(NumberType("int")) is None


DTYPES = [one for one in vars(torch).values() if isinstance(one, torch.dtype)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_bytes_of_an_element_are_those_of_torch(dtype):
    assert item_bytes(str(dtype).removeprefix("torch.")) == dtype.itemsize


def test_an_unknown_dtype_has_no_size():
    assert bytes_of(TensorType("other", (2,))) is None


def test_the_names_in_a_schema_are_those_of_the_op():
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    known = [name for name in names if _is_registered(name)]
    assert len(known) > 1000
    for name in known:
        assert tuple(names_in_schema(schema_of(name).text)) == argument_names(name), name


def _is_registered(name):
    try:
        return bool(schema_of(name))
    except LookupError:
        return False
