"""GraphBuilder: a program as a graph of torch.fx; branches are `cond`, loops `while_loop`.

A number that only a run knows is a tensor without dimensions where it enters or leaves a branch or
a loop. What torch's control flow cannot hold (lists, strings, errors in branches) is refused by
line.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from stator.errors import ExportError
from stator.export.fx.equal_sizes import equal_sizes
from stator.export.fx.numbers import ATEN, DTYPES, lower_number
from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value, operands_of, values_in
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.registry import constant_of, resolve
from stator.program.sizes import is_static
from stator.program.types import ListType, NumberType, TensorType, TextType, Type
from stator.program.typing_rules import present
from stator.torch_private.exporting import assert_tensor, check_sizes, cond, while_loop

ITEMS = ("aten::item", "aten::is_nonzero", "aten::_local_scalar_dense")
LEFT_OUT = ("stator::print", "stator::format", "stator::join")
NO_ERRORS = "torch's control flow cannot raise"
REASONS: Mapping[str, str] = {  # of a refusal, by op or kind of op
    "list": "a list whose length depends on the data cannot be in a graph of torch.export",
    "text": "a data-dependent string cannot be in a graph of torch.export",
    "stator::raise": f"an error in a branch or a loop: {NO_ERRORS}",
    "stator::try": "`try` cannot be in a graph of torch.export, which catches no errors",
}
NODE = "node__"  # and a number: the name of a node
NAMED = re.compile(rf"^\s*({NODE}\d+) = ", re.MULTILINE)
NUMBERS: Mapping[type, str] = {bool: "bool", int: "int", float: "float"}


class GraphBuilder:
    """One graph: the whole program, or a block of it."""

    def __init__(self, outer: GraphBuilder | None = None) -> None:
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.outer = outer
        self.nodes: dict[Value, Any] = {}
        self.tensors: set[Value] = set() if outer is None else set(outer.tensors)
        self.places: dict[str, Location | None] = {} if outer is None else outer.places
        self.count = 0
        self.at: Op | None = None

    # ---- values

    def call(self, function: Any, *args: Any, **kwargs: Any) -> torch.fx.Node:
        """The result of one more node; its name, which no other node has, leads to its place."""
        name = f"{NODE}{len(self.places)}"
        self.places[name] = self.at.place if self.at is not None else None
        return self.graph.create_node("call_function", function, args, kwargs, name=name)

    def bind(self, value: Value, node: Any, *, is_tensor: bool = False) -> None:
        """`node` computes `value`; a number may be a tensor without dimensions."""
        self.nodes[value] = node
        if is_tensor:
            self.tensors.add(value)

    def refuse(self, op: Op | None, problem: str) -> Any:
        """ExportError at an op."""
        at = op.place if op is not None else None
        raise ExportError(problem, at=at, fix="change that line, or use stator.save")

    def is_tensor(self, arg: Arg) -> bool:
        """Whether `arg` is a tensor in the graph, be it for a number."""
        return isinstance(arg, Value) and (
            arg in self.tensors or isinstance(present(arg.type), TensorType)
        )

    def kind(self, arg: Arg) -> str:
        """Which number `arg` is."""
        if isinstance(arg, Value):
            kind = present(arg.type)
            return kind.kind if isinstance(kind, NumberType) else ""
        return NUMBERS.get(type(arg), "")

    def node(self, arg: Arg) -> Any:
        """`arg` as a function of torch or Python takes it."""
        if isinstance(arg, tuple):
            return [self.node(item) for item in arg]
        if not isinstance(arg, Value):
            return constant_of(arg)
        found = self.find(arg)
        if arg in self.tensors:
            return self.call(ATEN.item.default, found)
        return found

    def find(self, value: Value) -> Any:
        """The node of a value."""
        if value not in self.nodes:
            self.refuse(self.at, f"{value.type} cannot be in a graph of torch.export")
        return self.nodes[value]

    def tensor(self, arg: Arg, kind: str) -> Any:
        """A number as a tensor of this kind."""
        dtype = DTYPES[kind]
        if isinstance(arg, Value) and arg in self.tensors:
            found = self.find(arg)
            return found if self.kind(arg) == kind else self.call(ATEN.to.dtype, found, dtype)
        given = self.node(arg)
        return self.call(ATEN.scalar_tensor.default, given, dtype=dtype)

    def passed(self, arg: Arg, kind: Type) -> Any:
        """`arg` as a block gives or takes it: a tensor."""
        kind = present(kind)
        if isinstance(kind, NumberType):
            if kind.kind not in DTYPES:
                self.refuse(self.at, f"{kind} cannot be in a branch or a loop of torch.export")
            return self.tensor(0 if arg is None else arg, kind.kind)
        if not isinstance(kind, TensorType):
            self.refuse(self.at, f"{kind} cannot be in a branch or a loop of torch.export")
        assert isinstance(kind, TensorType)
        if arg is None:
            return self.absent(kind)
        assert isinstance(arg, Value)
        return self.call(ATEN.clone.default, self.find(arg))

    def absent(self, kind: TensorType) -> Any:
        """A tensor that no one reads."""
        if not is_static(kind.shape):
            self.refuse(self.at, "a tensor of unknown size that may be missing")
        return self.call(
            ATEN.full.default, list(kind.shape), 0, dtype=getattr(torch, kind.dtype)
        )  # fmt: skip

    # ---- blocks

    def block(self, block: Block) -> None:
        """The ops of `block`."""
        for op in block.ops:
            before, self.at = self.at, op
            self.lower(op)
            self.at = before

    def lower(self, op: Op) -> None:
        """One op."""
        kind = kind_of(op)
        if op.name in LOWERINGS:
            LOWERINGS[op.name](self, op)
        elif op.name in LEFT_OUT:
            return
        elif op.name in ITEMS:
            self.lower_item(op)
        elif kind == "number":
            lower_number(self, op)
        elif kind == "torch":
            self.lower_torch(op)
        else:
            unknown = f"{op.name} has no counterpart in torch.export"
            self.refuse(op, REASONS.get(op.name) or REASONS.get(kind) or unknown)

    def lower_torch(self, op: Op) -> None:
        """An op of torch."""
        if any(isinstance(present(value.type), ListType | TextType) for value in op.results):
            self.refuse(op, f"{op.name} gives a list of unknown length")
        args = [self.node(arg) for arg in op.args]
        found = self.call(
            resolve(op.name), *args, **{name: self.node(a) for name, a in op.attributes.items()}
        )
        if len(op.results) == 1:
            kind = present(op.results[0].type)
            is_many = not isinstance(kind, TensorType | NumberType)
            self.bind(
                op.results[0], found if not is_many else self.call(operator.getitem, found, 0)
            )
            return
        for index, value in enumerate(op.results):
            self.bind(value, self.call(operator.getitem, found, index))

    def lower_item(self, op: Op) -> None:
        """The only element of a tensor, as a number."""
        (arg,) = op.args
        assert isinstance(arg, Value)
        kind = present(op.results[0].type)
        assert isinstance(kind, NumberType)
        if kind.kind not in DTYPES:
            self.refuse(op, f"{kind} cannot be in a graph of torch.export")
        found = self.call(ATEN.reshape.default, self.find(arg), [])
        found = self.call(ATEN.to.dtype, found, DTYPES[kind.kind])
        self.bind(op.results[0], found, is_tensor=True)

    def inner(self, block: Block, free: Sequence[Value], inputs: Sequence[Value]) -> GraphBuilder:
        """A graph for `block`: its inputs and what it uses from outside are placeholders."""
        made = GraphBuilder(self)
        for value in (*inputs, *free):
            is_number = isinstance(present(value.type), NumberType)
            carried = value in inputs
            node = made.graph.placeholder(f"v{len(made.nodes)}")
            made.bind(value, node, is_tensor=is_number and (carried or value in self.tensors))
        made.at = self.at
        made.block(block)
        return made

    def attach(self, made: GraphBuilder, outputs: Any, name: str) -> torch.fx.Node:
        """The graph of a block as an attribute of this one."""
        made.graph.output(outputs)
        self.count += 1
        attribute = f"{name}_{self.count}"
        self.root.add_module(attribute, torch.fx.GraphModule(made.root, made.graph))
        return self.graph.get_attr(attribute)

    def free_in(self, blocks: Sequence[Block]) -> list[Value]:
        """What `blocks` use of the values around them, in order."""
        found: dict[Value, None] = {}
        for block in blocks:
            _collect(block, set(), found)
        return list(found)


def _collect(block: Block, known: set[Value], found: dict[Value, None]) -> None:
    known = known | set(block.inputs)
    for op in block.ops:
        for value in operands_of(op):
            if value not in known:
                found[value] = None
        for inner in op.blocks:
            _collect(inner, known, found)
        known |= set(op.results)
    for value in values_in(block.outputs):
        if value not in known:
            found[value] = None


def lower_if(to: GraphBuilder, op: Op) -> None:
    """A branch: `cond`."""
    if not op.results:
        lower_raise(to, op)
        return
    condition = to.tensor(op.args[0], "bool")
    free = to.free_in(op.blocks)
    kinds = [value.type for value in op.results]
    sides = []
    for block, name in zip(op.blocks, ("true", "false"), strict=True):
        made = to.inner(block, free, ())
        outputs = tuple(made.passed(a, k) for a, k in zip(block.outputs, kinds, strict=True))
        sides.append(to.attach(made, outputs, name))
    found = to.call(cond, condition, *sides, tuple(to.find(value) for value in free))
    _bind_all(to, op.results, found, 0)


def lower_raise(to: GraphBuilder, op: Op) -> None:
    """A branch without results: at most, one side raises an error."""
    sides = [[o for o in block.ops if o.name not in LEFT_OUT] for block in op.blocks]
    if not any(sides):
        return
    is_check = sorted(map(len, sides)) == [0, 1] and max(sides, key=len)[0].name == "stator::raise"
    if to.outer is not None or not is_check:
        to.refuse(op, REASONS["stator::raise"])
    found = max(sides, key=len)[0]
    error, *said = found.args
    fields: Any = found.attributes.get("fields") or ()
    said = said[: len(said) - len(fields)]
    text = " ".join(str(part) for part in said if isinstance(part, str))
    holds = to.tensor(op.args[0], "bool")
    if sides[0]:
        holds = to.call(ATEN.logical_not.default, holds)
    to.call(assert_tensor, holds, f"{error}: {text}")


def lower_while(to: GraphBuilder, op: Op) -> None:
    """A loop: `while_loop`, which carries the condition first."""
    (body,) = op.blocks
    free = to.free_in(op.blocks)
    kinds = [value.type for value in body.inputs]
    condition = to.tensor(op.args[0], "bool")
    given = [condition, *(to.passed(a, k) for a, k in zip(op.args[1:], kinds, strict=True))]
    flag = Value("condition", NumberType("bool"))
    made = to.inner(body, free, (flag, *body.inputs))
    outputs = [made.tensor(body.outputs[0], "bool")]
    outputs += [made.passed(a, k) for a, k in zip(body.outputs[1:], kinds, strict=True)]
    step = to.attach(made, tuple(outputs), "body")
    test = to.inner(Block(), free, (flag, *body.inputs))
    goes_on = to.attach(test, test.call(ATEN.clone.default, test.nodes[flag]), "test")
    more = tuple(to.find(value) for value in free)
    found = to.call(while_loop, goes_on, step, tuple(given), more)
    _bind_all(to, op.results, found, 1)


def _bind_all(to: GraphBuilder, results: Sequence[Value], found: Any, start: int) -> None:
    for index, value in enumerate(results):
        is_number = isinstance(present(value.type), NumberType)
        to.bind(value, to.call(operator.getitem, found, index + start), is_tensor=is_number)


def lower_check(to: GraphBuilder, op: Op) -> None:
    """`assert` and checks of sizes: an error of the graph, unless it is in a branch or a loop."""
    if to.outer is not None:
        what = "a size check" if op.name == "stator::demand" else "an assertion"
        to.refuse(op, f"{what} in a branch or a loop: {NO_ERRORS}")
    text = next((arg for arg in op.args[1:] if isinstance(arg, str)), "an assertion failed")
    to.call(assert_tensor, to.tensor(op.args[0], "bool"), text)


LOWERINGS: dict[str, Callable[[GraphBuilder, Op], None]] = {
    "stator::if": lower_if,
    "stator::while": lower_while,
    "stator::assert": lower_check,
    "stator::demand": lower_check,
}


@dataclass(frozen=True)
class ProgramGraph:
    """A graph, and the user's place of each of its nodes and of those in its branches and loops."""

    module: torch.fx.GraphModule
    places: Mapping[str, Location | None]

    def place_in(self, text: str) -> Location | None:
        """The place of the last node that a traceback or a message names."""
        named = [self.places.get(name) for name in NAMED.findall(text)]
        return next((place for place in reversed(named) if place is not None), None)


def build_graph(program: Program) -> ProgramGraph:
    """The graph of a program without effects; its inputs are those of the program, then stored."""
    to = GraphBuilder()
    for value in (*program.inputs, *(item.value for item in program.stored)):
        to.bind(value, to.graph.placeholder(f"input_{len(to.nodes)}"))
    for pair in equal_sizes(program):
        one, other = (to.call(ATEN.sym_size.int, to.find(value), dim) for value, dim in pair)
        to.call(check_sizes, to.call(operator.eq, one, other))
    to.block(program.body)
    to.at = None
    to.graph.output([_result(to, arg) for arg in program.body.outputs])
    return ProgramGraph(torch.fx.GraphModule(to.root, to.graph), to.places)


def _result(to: GraphBuilder, arg: Arg) -> Any:
    """An output; without gradients, since those of `while_loop` are not right."""
    found = to.node(arg)
    is_tensor = isinstance(arg, Value) and isinstance(present(arg.type), TensorType)
    return to.call(ATEN.detach.default, found) if is_tensor else found
