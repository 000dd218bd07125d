"""decompose: ops that a target does not have, as simpler ops that torch makes of them.

    %y = aten::diff(%x)    ->    %a = aten::slice.Tensor(%x, 0, 1, ...)
                                 %b = aten::slice.Tensor(%x, 0, 0, ...)
                                 %y = aten::sub.Tensor(%a, %b)

Torch runs the op on tensors without data, whose dynamic sizes are unknown, and the ops that it
calls take its place. An op for which torch needs the sizes stays as it is.
"""

from __future__ import annotations

import contextlib
import logging
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import torch
import torch.fx

from stator.location import Location
from stator.program.ir import Arg, Block, Literal, Op, Value
from stator.program.opset.queries import kind_of
from stator.program.program import Program
from stator.program.registry import constant_of, resolve
from stator.program.sizes import AnySize, Dim
from stator.program.types import NumberType, TensorType, Type
from stator.program.typing_rules import present
from stator.program.verifier import verify
from stator.torch_private.decompositions import new_shapes, new_size, new_tensors, traced
from stator.torch_private.fake import LOGGER_NAME
from stator.torch_private.ops import OpOverload

Has = Callable[[str], bool]
NUMBER_OPS: Mapping[Any, str] = MappingProxyType(
    {
        operator.add: "stator::add", operator.sub: "stator::sub", operator.mul: "stator::mul",
        operator.floordiv: "stator::floordiv", operator.mod: "stator::mod",
        operator.neg: "stator::neg", operator.pow: "stator::pow",
        operator.truediv: "stator::truediv", torch.sym_max: "stator::max",
        torch.sym_min: "stator::min", torch.sym_float: "stator::float",
        operator.eq: "stator::eq", operator.ne: "stator::ne", operator.lt: "stator::lt",
        operator.le: "stator::le", operator.gt: "stator::gt", operator.ge: "stator::ge",
        torch.sym_not: "stator::not",
    }
)  # fmt: skip
LITERALS = ((torch.dtype, "dtype"), (torch.device, "device"), (torch.layout, "layout"),
            (torch.memory_format, "memory_format"))  # fmt: skip
CHECKS = ("aten::_assert_scalar", "aten::_assert_async.msg", "aten::sym_constrain_range_for_size",
          "aten::sym_constrain_range")  # fmt: skip
FAILURES = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError, AssertionError)


class UndecomposableError(Exception):
    """Torch makes something of an op that a program does not have."""


def decompose(
    program: Program, has: Has, is_unfit: Callable[[Op], bool] = lambda _: False
) -> Program:
    """`program` with the ops replaced, where torch can, that a target does not have by name.

    `is_unfit` tells of an op that the target has, but not for its arguments.
    """

    def stays(op: Op) -> bool:
        return kind_of(op) != "torch" or (has(op.name) and not is_unfit(op))

    if all(map(stays, program.ops())):
        return program
    made = Decomposer(program, has, stays)
    return verify(program.with_blocks(made.block))


class Decomposer:
    """Rebuilds the blocks of one program."""

    def __init__(self, program: Program, has: Has, stays: Callable[[Op], bool]) -> None:
        self.has, self.stays = has, stays
        self.taken = {value.name for value in program.values()}

    def block(self, block: Block) -> Block:
        """`block` with its ops decomposed."""
        ops: list[Op] = []
        for op in block.ops:
            if not self.stays(op):
                ops += self.parts(op)
            else:
                inner = tuple(self.block(one) for one in op.blocks)
                ops.append(replace(op, blocks=inner) if inner else op)
        return Block(block.inputs, ops, block.outputs)

    def parts(self, op: Op) -> list[Op]:
        """What `op` consists of; `op` itself if torch does not say."""
        for functional in (False, True):
            with contextlib.suppress(UndecomposableError, *FAILURES):
                return OpParts(self, op).run(functional=functional)
        return [op]

    def keeps(self, op: OpOverload, target: OpOverload) -> bool:
        """Is `op`, which is a part of `target` or itself, not taken apart?"""
        return op is not target and self.has(_name(op))

    def context(self) -> contextlib.AbstractContextManager[None]:
        """What ops are traced in."""
        return contextlib.nullcontext()

    def new_value(self, kind: Type) -> Value:
        """A value with a name that no other has."""
        name = f"p{len(self.taken)}"
        while name in self.taken:
            name += "_"
        self.taken.add(name)
        return Value(name, kind)


class OpParts:
    """The ops that take the place of one."""

    def __init__(self, owner: Decomposer, op: Op) -> None:
        self.owner, self.op = owner, op
        self.shapes = new_shapes()
        self.mode = new_tensors(self.shapes)
        self.values: list[Value] = []  # that the op is given
        self.inputs: list[Any] = []  # what represents them
        self.known: dict[torch.fx.Node, Arg] = {}
        self.ops: list[Op] = []

    def run(self, *, functional: bool = False) -> list[Op]:
        """All of them, in order. If `functional`, none writes to what others gave."""
        op, target = self.op, resolve(self.op.name)
        with self.mode, self.shapes.ignore_fresh_unbacked_symbols():
            args = [self.pattern(arg) for arg in op.args]
            attributes = {name: self.pattern(arg) for name, arg in op.attributes.items()}

        def call(inputs: list[Any]) -> Any:
            return target(
                *(_filled(arg, inputs) for arg in args),
                **{name: _filled(arg, inputs) for name, arg in attributes.items()},
            )

        def stays(other: OpOverload) -> bool:
            return self.owner.keeps(other, target)

        with torch.no_grad(), self.mode, _without_logs(), self.owner.context():
            graph = traced(call, self.inputs, stays, functional=functional).graph
        given = iter(self.values)
        for node in graph.nodes:
            if node.op == "placeholder":
                self.known[node] = next(given)
            elif node.op == "output":
                self.finish(node.args[0])
            else:
                self.add(node)
        if not all(self.owner.stays(one) for one in self.ops):
            raise UndecomposableError
        return self.ops

    def pattern(self, arg: Arg) -> Any:
        """`arg` for the call: a value is the index of what represents it."""
        if isinstance(arg, tuple):
            return [self.pattern(item) for item in arg]
        if not isinstance(arg, Value):
            return constant_of(arg)
        self.values.append(arg)
        self.inputs.append(self.symbolic(arg.type))
        return _Index(len(self.inputs) - 1)

    def symbolic(self, kind: Type) -> Any:
        """A tensor without data, or a number without a value."""
        kind = present(kind)
        if isinstance(kind, TensorType):
            sizes = [
                size if isinstance(size, int) else new_size(self.shapes) for size in kind.shape
            ]
            return torch.empty(sizes, dtype=getattr(torch, kind.dtype))
        if isinstance(kind, NumberType) and kind.kind == "int":
            return self.shapes.create_unbacked_symint()
        if isinstance(kind, NumberType) and kind.kind == "float":
            return self.shapes.create_unbacked_symfloat()
        raise UndecomposableError

    # ---- the ops

    def add(self, node: torch.fx.Node) -> None:
        """One op of the graph."""
        if node.op != "call_function":
            raise UndecomposableError  # a constant tensor
        if node.target is operator.getitem:
            source, index = node.args
            assert isinstance(source, torch.fx.Node)
            whole = self.known[source]
            assert isinstance(whole, tuple)
            assert isinstance(index, int)
            self.known[node] = whole[index]
            return
        name = NUMBER_OPS.get(node.target) or _name(node.target)
        if name in CHECKS:
            return
        args = tuple(self.argument(arg) for arg in node.args)
        attributes = {
            key: self.argument(arg)
            for key, arg in node.kwargs.items()
            if key not in ("device", "layout", "pin_memory")
        }
        if "val" not in node.meta:
            raise UndecomposableError  # a check of torch's, which gives nothing
        results = self.results(node.meta["val"])
        self.ops.append(Op(name, args, attributes, results, place=self.place))
        is_one = not isinstance(node.meta["val"], tuple | list)
        self.known[node] = results[0] if is_one else results

    @property
    def place(self) -> Location | None:
        """The line of the user's."""
        return self.op.place

    def argument(self, arg: Any) -> Arg:
        """An argument of a part."""
        if isinstance(arg, torch.fx.Node):
            return self.known[arg]
        if isinstance(arg, list | tuple):
            return tuple(self.argument(item) for item in arg)
        for kind, name in LITERALS:
            if isinstance(arg, kind):
                return Literal(name, str(arg).removeprefix("torch."))  # type: ignore[arg-type]
        if arg is None or isinstance(arg, bool | int | float | str):
            return arg
        raise UndecomposableError

    def results(self, found: Any) -> tuple[Value, ...]:
        """The values that a part gives."""
        items = found if isinstance(found, tuple | list) else (found,)
        return tuple(self.owner.new_value(_type(item)) for item in items)

    def finish(self, outputs: Any) -> None:
        """The results of the op are what the parts give."""
        given = self.argument(outputs)
        items = given if isinstance(given, tuple) else (given,)
        if len(items) != len(self.op.results):
            raise UndecomposableError
        for item, result in zip(items, self.op.results, strict=True):
            kind = result.type
            if not isinstance(item, Value) or not isinstance(kind, TensorType):
                raise UndecomposableError
            if not isinstance(item.type, TensorType) or item.type.dtype != kind.dtype:
                raise UndecomposableError
            self.ops.append(Op("aten::alias", (item,), {}, (result,), place=self.place))


@contextlib.contextmanager
def _without_logs() -> Iterator[None]:
    """Torch logs an op that cannot be run without data; here it just stays."""
    logger = logging.getLogger(LOGGER_NAME)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class _Index(int):
    """The position of an input among those of a traced call."""


def _filled(arg: Any, inputs: list[Any]) -> Any:
    if isinstance(arg, _Index):
        return inputs[arg]
    return [_filled(item, inputs) for item in arg] if isinstance(arg, list) else arg


def _name(target: Any) -> str:
    """The name of an op of torch in a program."""
    if not isinstance(target, OpOverload):
        raise UndecomposableError
    return target.name()


def _type(found: Any) -> Type:
    if isinstance(found, torch.Tensor):
        sizes: tuple[Dim, ...] = tuple(
            size if isinstance(size, int) else AnySize() for size in found.shape
        )
        return TensorType(str(found.dtype).removeprefix("torch."), sizes)
    if isinstance(found, torch.SymInt | int):
        return NumberType("int")
    if isinstance(found, torch.SymFloat | float):
        return NumberType("float")
    if isinstance(found, torch.SymBool | bool):
        return NumberType("bool")
    raise UndecomposableError
