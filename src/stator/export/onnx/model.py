"""The model as a whole: inputs, outputs, weights, metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx_ir as ir
import torch
from onnxscript import version_converter

from stator.errors import ExportError
from stator.export.onnx import lists, numbers, tensors
from stator.export.onnx.constants import count_from_first, fold_constants
from stator.export.onnx.fusion import fuse
from stator.export.onnx.inference import fill_in
from stator.export.onnx.library import dtype_of, inexact_numbers, lower_torch
from stator.export.onnx.lowering import KINDS, LOWERINGS, VARIABLE, Lowering, kind_of_constant
from stator.export.onnx.operands import argument
from stator.export.onnx.scans import lower_loop
from stator.export.onnx.status import Message
from stator.export.onnx.transposes import keep_apart
from stator.export.onnx.types import DTYPES, onnx_shape, onnx_type
from stator.export.onnx.weighted_sums import use_kernels
from stator.location import file_name
from stator.program.ir import Arg, Op, Value
from stator.program.program import Program
from stator.program.registry import resolve
from stator.program.types import NumberType, TensorType, Type
from stator.torch_private.onnx_library import LIBRARY_OPSET, function_of, new_value

# of which ONNX Runtime has no kernels for doubles, or the library too few digits
DOUBLE_GAPS = frozenset(
    {"aten::leaky_relu", "aten::elu", "aten::celu", "aten::selu", "aten::hardswish",
     "aten::hardsigmoid", "aten::softplus", "aten::addcdiv", "aten::addcmul"}
)  # fmt: skip
LOSSES = ("aten::mse_loss", "aten::l1_loss")  # of which the library gives 0 for no elements
STATUS = "status"
NEXT = ".next"
MESSAGES, STATES = "stator.messages", "stator.states"
DROPPED, ERRORS = "stator.dropped", "stator.errors"

LOWERINGS.update(dict.fromkeys(tensors.RULES, tensors.lower_own))
LOWERINGS["stator::while"] = lower_loop
KINDS.update(
    {
        "number": numbers.lower_number,
        "list": lists.lower_list,
        "text": numbers.lower_text,
        "torch": lower_torch,
    }
)


def has_lowering(name: str) -> bool:
    """Whether an op of torch can be written in ONNX, for some arguments at least."""
    return name in LOWERINGS or function_of(resolve(name)) is not None


def is_unfit(op: Op) -> bool:
    """Whether the lowering of an op is not right for its arguments."""
    if op.name.startswith("aten::adaptive_avg_pool"):
        sizes = argument(op, "output_size")
        return any(size != 1 for size in (sizes if isinstance(sizes, tuple) else (sizes,)))
    if op.name == "aten::pad" and argument(op, "mode") == "circular":
        return True
    if op.name == "aten::one_hot" and argument(op, "num_classes", -1) != -1:
        return True
    if op.name in LOSSES:
        return True
    if op.name in DOUBLE_GAPS and dtype_of(op.args[0]) is torch.float64:
        return True
    return op.name not in LOWERINGS and bool(inexact_numbers(op))


@dataclass(frozen=True)
class WeightSpan:
    """Where the data of a stored tensor is in the weights file beside the model."""

    offset: int
    length: int


@dataclass(frozen=True)
class OnnxModel:
    """A model, and what a reader must know of it."""

    model: ir.Model
    messages: tuple[Message, ...]
    states: tuple[tuple[str, str], ...]  # an input and the output with its next contents
    dropped: tuple[str, ...]


def build(
    program: Program,
    written: Sequence[Value],
    *,
    opset: int,
) -> OnnxModel:
    """`program`, whose last outputs are the next contents of `written`, as a model.

    Its weights have no data yet: `attach` says where they are.
    """
    lowering = Lowering(program, opset)
    graph_inputs = [_input(lowering, value) for value in program.inputs]
    initializers = [_stored(lowering, item.value, item.name) for item in program.stored]
    lowering.block(program.body)
    count = len(program.body.outputs) - len(written)
    kinds = [_kind(arg) for arg in program.body.outputs]
    for kind in kinds:
        if isinstance(kind, TensorType) and kind.dtype == "bfloat16":
            raise ExportError(
                "a result is bfloat16, and numpy, through which it would come, has none",
                fix="return it in another dtype, such as float32",
            )
    outputs = lowering.outputs(program.body.outputs, kinds)
    names = [f"output_{index}" for index in range(count)]
    by_value = {item.value: item.name for item in program.stored}
    states = [by_value.get(value, value.name) for value in written]
    names += [state + NEXT for state in states]
    if lowering.scope.status is not None or not outputs:  # a model has one output at least
        status = lowering.scope.status or lowering.scope.int64(0)
        outputs.append(lowering.own(status, outputs, NumberType("int")))
        names.append(STATUS)
    changed = {item.value for item in program.stored} & set(written)
    graph_inputs += [
        v for v, item in zip(initializers, program.stored, strict=True) if item.value in changed
    ]
    taken = {value.name for value in (*graph_inputs, *initializers)}
    for output, name in zip(outputs, names, strict=True):
        output.name = name if name not in taken else f"{name}_"
    graph = ir.Graph(
        graph_inputs, outputs, nodes=lowering.scope.nodes, initializers=initializers,
        name=program.name, opset_imports={"": LIBRARY_OPSET},
    )  # fmt: skip
    fold_constants(graph)
    count_from_first(graph)
    fuse(graph, opset)
    use_kernels(graph)
    keep_apart(graph)
    model = ir.Model(graph, ir_version=10, producer_name="stator")
    _name_all(graph)
    pairs = tuple((state, state + NEXT) for state in states)
    _describe(model, lowering, pairs)
    convert(model, opset)
    fill_in(model)
    _note_errors(model)
    return OnnxModel(model, tuple(lowering.messages.listed), pairs, tuple(lowering.dropped))


def _kind(arg: Arg) -> Type:
    if isinstance(arg, Value):
        return arg.type
    return NumberType("int") if arg is None else kind_of_constant(arg)


def _input(lowering: Lowering, value: Value) -> ir.Value:
    made = new_value(value.name, lowering.type_of(value.type), lowering.shape_of(value.type))
    lowering.scope.values[value] = made
    return made


def _stored(lowering: Lowering, value: Value, name: str) -> ir.Value:
    kind = value.type
    assert isinstance(kind, TensorType)
    if kind.dtype not in DTYPES:
        raise ExportError(f"ONNX Runtime has no tensors of dtype {kind.dtype}: `{name}`")
    made = new_value(name, onnx_type(kind), onnx_shape(kind))
    made.const_value = _described(made, "", 0, 0)
    lowering.scope.values[value] = made
    return made


def _described(value: ir.Value, file: str, offset: int, length: int, folder: str = "") -> Any:
    assert value.dtype is not None
    assert value.shape is not None
    assert value.name is not None
    return ir.ExternalTensor(
        file, offset, length, value.dtype, shape=value.shape, name=value.name, base_dir=folder
    )


def attach(
    model: ir.Model, weights: Path, stored: Mapping[str, WeightSpan], *, embed: bool
) -> None:
    """The weights of `model` are in the file `weights`; `embed` puts their bytes inside."""
    for name, value in model.graph.initializers.items():
        where = stored[name]
        found = _described(value, weights.name, where.offset, where.length, str(weights.parent))
        if embed or not where.length:
            found = ir.Tensor(found.numpy(), dtype=value.dtype, shape=value.shape, name=name)
        value.const_value = found


def _graphs(graph: ir.Graph) -> Iterator[ir.Graph]:
    yield graph
    for node in graph:
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from _graphs(attribute.as_graph())


def _name_all(graph: ir.Graph) -> None:
    """Names for all values and nodes, the user's place in them."""
    count = 0
    kept = {*graph.inputs, *graph.initializers.values(), *graph.outputs}
    taken = {value.name for value in kept}
    for inner in _graphs(graph):
        for value in inner.inputs if inner is not graph else ():
            count += 1
            value.name = _new_name(value, f"carried_{count}", taken)
        for node in inner:
            count += 1
            place = node.metadata_props.get("stator.place", "")
            node.name = f"{node.op_type}_{count}" + (f"@{place}" if place else "")
            for value in node.outputs:
                if value not in kept:
                    count += 1
                    value.name = _new_name(value, f"v{count}", taken)


def _new_name(value: ir.Value, usual: str, taken: set[str | None]) -> str:
    """The user's name for `value`, with a number if it is taken, or the usual one."""
    name = wanted = str(value.meta.get(VARIABLE, usual))
    number = 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def _describe(model: ir.Model, lowering: Lowering, states: Sequence[tuple[str, str]]) -> None:
    messages = [
        {"error": m.error, "text": m.text, "classes": list(m.classes),
         "place": [file_name(m.place.file), m.place.line, m.place.function] if m.place else None}
        for m in lowering.messages.listed
    ]  # fmt: skip
    for name, data in ((MESSAGES, messages), (STATES, states), (DROPPED, lowering.dropped)):
        if data:
            model.metadata_props[name] = json.dumps(data)


def _note_errors(model: ir.Model) -> None:
    """The nodes that fail where Python raises, by name: what they raise."""
    nodes = [node for graph in _graphs(model.graph) for node in graph]
    errors = {
        node.name: node.metadata_props["stator.error"]
        for node in nodes
        if "stator.error" in node.metadata_props
    }
    if errors:
        model.metadata_props[ERRORS] = json.dumps(errors)


def convert(model: ir.Model, opset: int) -> None:
    """From the opset of torch's library to the one that is wanted."""
    if opset < LIBRARY_OPSET:
        raise ExportError(f"opset {opset} is older than {LIBRARY_OPSET}, which torch needs",
                          fix=f"use opset {LIBRARY_OPSET} or later")  # fmt: skip
    if opset > LIBRARY_OPSET:
        try:
            version_converter.convert_version(model, target_version=opset)
        except ValueError as error:
            raise ExportError(f"opset {opset} is not known here: {error}") from None
        model.graph.opset_imports[""] = opset
