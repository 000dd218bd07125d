"""Values of an ONNX model have the names that the user gave them."""

import linecache

import onnx
import torch

import stator
from stator import InputSpec
from stator.export.onnx.variables import variable_names
from stator.location import Location
from stator.program.ir import Block, Op, Value
from stator.program.types import TensorType


def smoothed(x, limit):
    level = x[0] * 0.5
    for row in x:
        level = torch.exp(-level * row) + 1
        if level.sum() > limit:
            excess = level - limit
        else:
            excess = level * 0
        level -= excess
    total: torch.Tensor = level.sum() * 2
    return total + limit


def names_in(graph):
    for value in graph.input:
        yield value.name
    for node in graph.node:
        yield from node.output
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from names_in(attribute.g)


def test_values_have_the_names_of_variables(tmp_path):
    spec = [InputSpec([None, 3], name="x"), InputSpec([], name="limit")]
    stator.save(smoothed, tmp_path / "f", input_spec=spec, onnx=True)
    names = list(names_in(onnx.load(tmp_path / "f.onnx").graph))
    assert len(names) == len(set(names))
    assert {"x", "limit", "level", "row", "excess", "total"} <= {*names}
    assert any(name.startswith("level_") for name in names)


def test_the_last_op_of_an_expression_is_the_variable(monkeypatch):
    monkeypatch.setitem(linecache.cache, "<made>", (11, None, ["y = x + 1 + 2\n"], "<made>"))
    x, part, whole = (Value(name, TensorType("float32", ())) for name in ("x", "a", "b"))
    place = Location("<made>", 1, 4, "f")
    ops = [
        Op("aten::add.Tensor", (given, 1), {}, (result,), (), place)
        for given, result in ((x, part), (part, whole))
    ]
    assert variable_names(Block((x,), ops, (whole,))) == {whole: "y"}


def test_text_that_is_no_python_names_nothing(monkeypatch):
    monkeypatch.setitem(linecache.cache, "<cell>", (9, None, ["%time y = x\n"], "<cell>"))
    x, y = (Value(name, TensorType("float32", ())) for name in ("x", "y"))
    op = Op("aten::neg", (x,), {}, (y,), (), Location("<cell>", 1, 10, "f"))
    assert variable_names(Block((x,), [op], (y,))) == {}
