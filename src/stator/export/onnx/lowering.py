"""Lowering: the walk over a program's blocks; `if` becomes `If`, `while` becomes `Loop`.

A branch or a loop that can report an error gives the status as one more output. An absent part of
a union is a value of the right type that no one reads: the tag says what is there.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from stator.errors import ExportError
from stator.export.onnx.after_errors import comes_after_error, fine_value, unless_error
from stator.export.onnx.list_sizes import sizes_in_lists
from stator.export.onnx.ranges import keep_ranges
from stator.export.onnx.scope import D, GraphScope
from stator.export.onnx.sequences import rows_of, stack_of
from stator.export.onnx.status import Message, Messages, check, is_fine, report
from stator.export.onnx.types import DTYPES, element_type, is_stacked, onnx_shape, onnx_type
from stator.export.onnx.variables import variable_names
from stator.location import file_name
from stator.program.ir import Arg, Block, Op, Value
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.sizes import Dim, Symbol, is_static
from stator.program.types import ListType, NumberType, TensorType, TextType, Type
from stator.program.typing_rules import present
from stator.torch_private.onnx_library import new_value

NUMBER_NAMES: Mapping[type, NumberType] = {
    bool: NumberType("bool"),
    int: NumberType("int"),
    float: NumberType("float"),
}
VARIABLE = "variable"  # the user's name for a value, until all values are named
UNKNOWN = "…"  # in a message: text that only a run knows
Lower = Callable[["Lowering", Op], None]


@dataclass(frozen=True)
class Text:
    """A string that a run would put together: ONNX cannot, so only messages may have it."""

    shown: str


class Lowering:
    """The graphs of one program."""

    def __init__(self, program: Program, opset: int) -> None:
        self.program, self.opset = program, opset
        self.scope = GraphScope()
        self.messages = Messages()
        self.dropped: list[str] = []  # prints and host calls, described
        self.small: set[Value] = set()  # integers too small to overflow in any run
        self.at: Op | None = None
        self.sizes = sizes_in_lists(program)
        self.variables = variable_names(program.body)

    # ---- values

    def bind(self, value: Value, given: Any) -> None:
        """`given` represents `value`; it gets the type and shape that the program declares."""
        if isinstance(given, ir.Value):
            if isinstance(present(value.type), ListType):
                given = self.fit(given, value.type)
            given.type = self.type_of(value.type)
            shape = self.shape_of(value.type)
            if shape is not None:
                given.shape = shape
            self.call(value, given)
        self.scope.values[value] = given

    def call(self, value: Value, given: ir.Value) -> None:
        """`given` gets the user's name for `value`, unless it has one."""
        name = self.variables.get(value)
        if name is not None:
            given.meta.setdefault(VARIABLE, name)

    def type_of(self, kind: Type) -> ir.TypeProtocol:
        """The type in ONNX of values of type `kind`."""
        return onnx_type(kind, self.place, self.sizes)

    def shape_of(self, kind: Type) -> ir.Shape | None:
        """The shape of values of type `kind`; None for sequences."""
        return onnx_shape(kind, self.sizes)

    def is_stacked(self, kind: Type) -> bool:
        """Whether lists of this type are tensors."""
        return is_stacked(kind, self.sizes)

    def fit(self, value: ir.Value, kind: Type) -> ir.Value:
        """`value` as values of type `kind` are represented: a list of another type may not be."""
        wanted = self.type_of(kind)
        if isinstance(wanted, ir.TensorType):
            if isinstance(value.type, ir.SequenceType):
                value = stack_of(self.scope, value, self.absent(kind))
            return self.scope.cast(value, wanted.dtype)
        if isinstance(value.type, ir.TensorType):
            return rows_of(self.scope, self.scope.cast(value, dtype_of_items(wanted)))
        return value

    @property
    def place(self) -> Any:
        """The place of the op that is being lowered."""
        return self.at.place if self.at is not None else None

    def value(self, arg: Arg, kind: Type | None = None) -> ir.Value:
        """What represents `arg`; a constant or an absent part is of type `kind`."""
        if isinstance(arg, Value):
            found = self.scope.find(arg)
            if isinstance(found, Text):
                self.refuse("a data-dependent string cannot be in an ONNX graph")
            return found
        kind = kind or kind_of_constant(arg)
        if arg is None:
            return self.absent(kind)
        return self.scope.constant(arg, element_type(kind, self.place))

    def absent(self, kind: Type) -> ir.Value:
        """A value that no one reads."""
        kind = present(kind)
        if isinstance(kind, ListType):
            return self.empty(kind)
        dtype = element_type(kind, self.place)
        if isinstance(kind, TensorType):
            sizes = [size if isinstance(size, int) else 0 for size in kind.shape]
            return self.scope.filled(self.scope.int64(sizes), 0, dtype, shape=sizes)
        return self.scope.constant("" if dtype is D.STRING else 0, dtype)

    def empty(self, kind: ListType) -> ir.Value:
        """A list without items."""
        wanted, item = self.type_of(kind), present(kind.element)
        if isinstance(wanted, ir.SequenceType):
            dtype = int(dtype_of_items(wanted))
            return self.scope.emit("SequenceEmpty", kind=wanted, dtype=dtype)
        sizes = [*item.shape] if isinstance(item, TensorType) else []
        if is_static(sizes):
            shape = self.scope.int64([0, *(size for size in sizes if isinstance(size, int))])
        else:
            parts = [self.scope.int64([0]), *map(self._size, sizes)]
            shape = self.scope.emit("Concat", *parts, shape=[len(parts)], axis=0)
        assert isinstance(wanted, ir.TensorType)
        return self.scope.filled(shape, 0, wanted.dtype, shape=self.shape_of(kind))

    def _size(self, size: Dim) -> ir.Value:
        """A size, as a tensor of one element."""
        if isinstance(size, int):
            return self.scope.int64([size])
        assert isinstance(size, Symbol)
        value, dim = self.sizes[size]
        return self.scope.emit("Shape", self.value(value), shape=[1], start=dim, end=dim + 1)

    def refuse(self, problem: str, fix: str = "") -> Any:
        """ExportError at the op that is being lowered."""
        raise ExportError(problem, at=self.place, fix=fix)

    def check(self, holds: ir.Value, error: str, text: str) -> None:
        """A run in which `holds` is false reports this error."""
        check(self.scope, holds, self.messages.number(Message(error, text, self.place)))

    def require(self, holds: ir.Value, text: str) -> None:
        """A run in which `holds` is false reports a ValueError: torch's result means nothing."""
        message = Message("ValueError", text, self.place, is_undefined=True)
        check(self.scope, holds, self.messages.number(message))

    # ---- blocks

    def block(self, block: Block) -> None:
        """The ops of `block`, in the current graph."""
        for index, op in enumerate(block.ops):
            if self.scope.parent is not None and comes_after_error(block.ops, index):
                fine = fine_value()
                self.scope.values[fine] = is_fine(self.scope)
                self.lower(unless_error(block, index, fine))
                return
            before, count = self.at, len(self.scope.nodes)
            self.at = op
            self.lower(op)
            keep_ranges(self.scope, count, self._element_of(op))
            for node in self.scope.nodes[count:]:
                self.describe(node, op)
            self.at = before

    def _element_of(self, op: Op) -> ir.DataType | None:
        kind = op.results[0].type if op.results else None
        return DTYPES.get(kind.dtype) if isinstance(kind, TensorType) else None

    def lower(self, op: Op) -> None:
        """One op."""
        kind = kind_of(op)
        if op.name in LOWERINGS:
            LOWERINGS[op.name](self, op)
        elif kind in KINDS:
            KINDS[kind](self, op)
        else:
            self.refuse(f"{op.name} has no counterpart in ONNX")

    def describe(self, node: ir.Node, op: Op) -> None:
        """The user's words on a node, for those who look at the graph."""
        if node.metadata_props.get("stator.op"):
            return
        node.metadata_props["stator.op"] = op.name
        if op.place is None:
            return
        file = file_name(op.place.file)
        source = linecache.getline(op.place.file, op.place.line).strip()
        node.metadata_props["stator.place"] = f"{file}:{op.place.line}"
        node.metadata_props["stator.function"] = op.place.function or ""
        node.doc_string = f"{file}:{op.place.line}  {source}".rstrip()

    def inner(self) -> GraphScope:
        """A graph inside the current one, which becomes the current one."""
        self.scope = GraphScope(self.scope)
        return self.scope

    def outputs(self, args: Sequence[Arg], kinds: Sequence[Type]) -> list[ir.Value]:
        """What the current graph gives: values that its own nodes make, each once."""
        given: list[ir.Value] = []
        for arg, kind in zip(args, kinds, strict=True):
            given.append(self.own(self.value(arg, kind), given, kind))
        return given

    def own(self, value: ir.Value, others: Sequence[ir.Value], kind: Type) -> ir.Value:
        """`value` as an output of the current graph, which `others` are too."""
        found = self.fit(value, kind)
        if found is not value:
            return found
        if self.scope.is_own(value) and not any(value is other for other in others):
            return value
        return self.scope.emit("Identity", value, kind=value.type, shape=value.shape)

    def graph(self, name: str, outputs: Sequence[ir.Value]) -> ir.Graph:
        """The current graph, which ends; the one around is current again."""
        scope = self.scope
        assert scope.parent is not None
        self.scope = scope.parent
        return ir.Graph(scope.inputs, outputs, nodes=scope.nodes, name=name)

    def results(self, values: Sequence[Value]) -> list[ir.Value]:
        """New outputs of a node, of the types of `values`."""
        made = [new_value("", self.type_of(v.type), self.shape_of(v.type)) for v in values]
        for value, given in zip(values, made, strict=True):
            self.call(value, given)
        return made


def dtype_of_items(kind: ir.TypeProtocol) -> ir.DataType:
    """The element type of the tensors in a sequence."""
    assert isinstance(kind, ir.SequenceType)
    assert isinstance(kind.elem_type, ir.TensorType)
    return kind.elem_type.dtype


def lower_if(to: Lowering, op: Op) -> None:
    """A branch; without outputs, only its errors count."""
    condition, before = to.value(op.args[0]), to.scope.status
    kinds = [value.type for value in op.results]
    sides = []
    for block in op.blocks:
        scope = to.inner()
        to.block(block)
        sides.append((scope, to.outputs(block.outputs, kinds)))
        assert scope.parent is not None
        to.scope = scope.parent
    reports = any(scope.status is not before for scope, _ in sides)
    graphs = []
    for name, (scope, outputs) in zip(("then", "else"), sides, strict=True):
        to.scope = scope
        if reports:
            status = scope.status if scope.status is not None else scope.int64(0)
            outputs.append(to.own(status, outputs, NumberType("int")))
        graphs.append(to.graph(name, outputs))
    results = to.results(op.results)
    if reports:
        results.append(new_value("", ir.TensorType(D.INT64), ir.Shape([])))
    if results:
        attributes = {"then_branch": graphs[0], "else_branch": graphs[1]}
        to.scope.node("If", [condition], results, attributes)
    if reports:
        to.scope.status = results[-1]
    for value, result in zip(op.results, results, strict=False):
        to.bind(value, result)


def lower_while(to: Lowering, op: Op) -> None:
    """A loop; it ends when there is an error. It carries the status if its body reports one."""
    (body,) = op.blocks
    condition = to.value(op.args[0])
    kinds = [value.type for value in body.inputs]
    given = [
        to.fit(to.value(arg, kind), kind) for arg, kind in zip(op.args[1:], kinds, strict=True)
    ]
    if to.scope.status is not None:
        condition = to.scope.scalar("And", condition, is_fine(to.scope))
    note_small(to, op)
    graph = _loop_body(to, op, reports=False)
    results = to.results(op.results)
    if graph is None:
        given.append(to.scope.status if to.scope.status is not None else to.scope.int64(0))
        results.append(new_value("", ir.TensorType(D.INT64), ir.Shape([])))
        graph = _loop_body(to, op, reports=True)
    if results:
        to.scope.node("Loop", [None, condition, *given], results, {"body": graph})
    if len(results) > len(op.results):
        to.scope.status = results[-1]
    for value, result in zip(op.results, results, strict=False):
        to.bind(value, result)


def _loop_body(to: Lowering, op: Op, *, reports: bool) -> ir.Graph | None:
    """The graph of one iteration; None if it reports errors, and was said not to."""
    (body,) = op.blocks
    dropped = len(to.dropped)
    scope = to.inner()
    carried = to.results(body.inputs)
    scope.values.update(zip(body.inputs, carried, strict=True))
    scope.inputs = [
        new_value("", ir.TensorType(D.INT64), ir.Shape([])),
        new_value("", ir.TensorType(D.BOOL), ir.Shape([])),
        *carried,
    ]
    if reports:
        scope.inputs.append(new_value("", ir.TensorType(D.INT64), ir.Shape([])))
        scope.status = scope.inputs[-1]
    before = scope.status
    to.block(body)
    condition = to.value(body.outputs[0])
    if not reports and scope.status is not before:
        assert scope.parent is not None
        to.scope = scope.parent
        del to.dropped[dropped:]
        return None
    if reports:
        condition = scope.scalar("And", condition, is_fine(scope))
    outputs = [to.own(condition, (), NumberType("bool"))]
    for arg, value in zip(body.outputs[1:], body.inputs, strict=True):
        outputs.append(to.own(to.value(arg, value.type), outputs, value.type))
    if reports:
        assert scope.status is not None
        outputs.append(to.own(scope.status, outputs, NumberType("int")))
    return to.graph("body", outputs)


def note_small(to: Lowering, op: Op) -> None:
    """Counters: integers that each iteration changes by a constant, from a small start."""
    (body,) = op.blocks
    made = {result: inner for inner in body.ops for result in inner.results}
    columns = zip(body.inputs, op.args[1:], body.outputs[1:], op.results, strict=True)
    for taken, start, given, result in columns:
        if not isinstance(taken.type, NumberType) or not is_small(to, start):
            continue
        step = made.get(given) if isinstance(given, Value) else None
        counts = step is not None and step.name in ("stator::add", "stator::sub") and any(
            arg is taken for arg in step.args
        ) and any(isinstance(arg, int) and is_small(to, arg) for arg in step.args)  # fmt: skip
        if counts or given is taken or is_small(to, given):
            to.small.update((taken, result))


def kind_of_constant(arg: Arg) -> Type:
    """The type of a number or a string."""
    found = NUMBER_NAMES.get(type(arg))
    return TextType() if found is None else found


def is_small(to: Lowering, arg: Arg) -> bool:
    """Whether an integer is so small that no run can add enough to it to overflow."""
    if isinstance(arg, Value):
        tag = isinstance(arg.type, NumberType) and arg.type.tag is not None
        return tag or arg in to.small or (arg.type == NumberType("bool"))
    return isinstance(arg, int) and abs(arg) < 2**31


# ---- errors, and what a graph leaves out


def lower_raise(to: Lowering, op: Op) -> None:
    """An error, with the message as far as it is known."""
    error, *said = op.args
    names: Any = op.attributes.get("names") or ()
    fields: Any = op.attributes.get("fields") or ()
    texts = [shown(to, arg) for arg in said[: len(said) - len(fields)]]
    message = Message(str(error), ", ".join(texts), op.place, tuple(map(str, names)))
    report(to.scope, to.messages.number(message))


def lower_assert(to: Lowering, op: Op) -> None:
    """`assert`: an error unless the condition holds."""
    text = shown(to, op.args[1]) if len(op.args) > 1 and op.args[1] is not None else ""
    to.check(to.value(op.args[0]), "AssertionError", text)


def lower_demand(to: Lowering, op: Op) -> None:
    """What the capture relied on."""
    to.check(to.value(op.args[0]), "SizeCheckFailed", str(op.args[1]))


def shown(to: Lowering, arg: Arg) -> str:
    """An argument in a message; what only a run knows is an ellipsis."""
    if not isinstance(arg, Value):
        return str(arg)
    if isinstance(arg.type, TextType):
        found = to.scope.find(arg)
        if isinstance(found, Text):
            return found.shown
    return UNKNOWN


def lower_format(to: Lowering, op: Op) -> None:
    """Text made of a value."""
    value, _, spec = (*op.args, None, None)[:3]
    plain = not isinstance(value, Value) and not spec
    to.scope.values[op.results[0]] = Text(str(value) if plain else shown(to, value))


def lower_join(to: Lowering, op: Op) -> None:
    """Text put together."""
    to.scope.values[op.results[0]] = Text("".join(shown(to, arg) for arg in op.args))


def lower_print(to: Lowering, op: Op) -> None:
    """Nothing: the report lists it."""
    parts = " ".join(shown(to, arg) for arg in op.args)
    to.dropped.append(f"print({parts}) at {op.place.short}" if op.place else f"print({parts})")


def lower_nothing(_to: Lowering, _op: Op) -> None:
    """What has no meaning without gradients."""


def refuse_try(to: Lowering, op: Op) -> None:
    """`try`: no node of ONNX can catch an error."""
    to.refuse(f"{op.name}: ONNX has no exceptions to catch",
              "test for the condition before, in place of catching the error")  # fmt: skip


def refuse_call(to: Lowering, op: Op) -> None:
    """A recursion that inlining has left."""
    to.refuse(f"{op.attributes.get('function')} calls itself: ONNX has no recursion",
              "write it as a loop, or give `recursion=` the depth to inline")  # fmt: skip


def refuse_autocast(to: Lowering, op: Op) -> None:
    """What `write_casts` has left: it casts for another device."""
    to.refuse(f"{op.name}: ONNX has no automatic casts", "cast explicitly, with `.to(dtype)`")


LOWERINGS: dict[str, Lower] = {
    "stator::if": lower_if,
    "stator::while": lower_while,
    "stator::raise": lower_raise,
    "stator::assert": lower_assert,
    "stator::demand": lower_demand,
    "stator::format": lower_format,
    "stator::join": lower_join,
    "stator::print": lower_print,
    "stator::hook": lower_nothing,
    "stator::set_grad": lower_nothing,
    "stator::set_inference": lower_nothing,
    "stator::try": refuse_try,
    "stator::keep": refuse_try,
    "stator::reraise": refuse_try,
    "stator::call": refuse_call,
    "stator::set_autocast": refuse_autocast,
}
KINDS: dict[str, Lower] = {}  # of the ops that have no entry of their own; `model` fills it
