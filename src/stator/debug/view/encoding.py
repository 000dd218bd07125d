"""program_data(): a program as lists, numbers and strings, for the page's own code.

Values, blocks and ops are numbered; what refers to one has its number:

    value   [name, type, bytes or None]
    block   {inputs, ops, outputs, role, owner}      owner: the op it belongs to, or None
    op      {name, args, attributes, results, blocks, block, place}
    arg     {"value": number}, a text for a constant, or a list of these
    place   [file, line, column, function]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from stator.debug.view.sources import FileTable
from stator.program.ir import Arg, Block, Literal, Op, Value
from stator.program.opset.queries import is_stators, row_of
from stator.program.program import Program
from stator.program.registry import argument_names
from stator.program.sizes import is_static
from stator.program.types import TensorType, Type

Data = dict[str, Any]


def program_data(program: Program, label: str, files: FileTable) -> Data:
    """The whole of `program`; its places are put into `files`."""
    return _Encoder(program, files).program(label)


def bytes_of(kind: Type) -> int | None:
    """How much memory a tensor of this type takes; None where only a run knows."""
    if not isinstance(kind, TensorType) or not is_static(kind.shape):
        return None
    dtype: torch.dtype = getattr(torch, kind.dtype)
    return math.prod(kind.shape) * dtype.itemsize


class _Encoder:
    def __init__(self, program: Program, files: FileTable) -> None:
        self.source, self.files = program, files
        self.numbers: dict[Value, int] = {}
        self.values: list[list[Any]] = []
        self.blocks: list[Data] = []
        self.ops: list[Data] = []

    def program(self, label: str) -> Data:
        inputs = self.define(self.source.inputs)
        stored = [
            {"value": self.define((one.value,))[0], "name": one.name, "kind": one.kind}
            for one in self.source.stored
        ]
        functions = [
            {"name": name, "block": self.block(block, f"function {name}", None)}
            for name, block in self.source.functions.items()
        ]
        body = self.block(self.source.body, "program", None)
        return {
            "label": label, "name": self.source.name, "inputs": inputs, "stored": stored,
            "functions": functions, "body": body,
            "values": self.values, "blocks": self.blocks, "ops": self.ops,
        }  # fmt: skip

    def define(self, values: Iterable[Value]) -> list[int]:
        numbers = []
        for value in values:
            self.numbers[value] = len(self.values)
            numbers.append(len(self.values))
            self.values.append([value.name, str(value.type), bytes_of(value.type)])
        return numbers

    def block(self, block: Block, role: str, owner: int | None) -> int:
        number = len(self.blocks)
        data: Data = {"role": role, "owner": owner, "inputs": self.define(block.inputs)}
        self.blocks.append(data)
        data["ops"] = [self.op(op, number) for op in block.ops]
        data["outputs"] = [self.arg(arg) for arg in block.outputs]
        return number

    def op(self, op: Op, block: int) -> int:
        number = len(self.ops)
        data: Data = {"name": op.name, "block": block}
        self.ops.append(data)
        data["args"] = [self.arg(arg) for arg in op.args]
        data["names"] = _argument_names(op)
        data["attributes"] = [[name, self.arg(arg)] for name, arg in op.attributes.items()]
        roles = zip(_roles(op), op.blocks, strict=True)
        data["blocks"] = [self.block(inner, role, number) for role, inner in roles]
        data["results"] = self.define(op.results)
        data["place"] = self.files.place(op.place) if op.place is not None else None
        return number

    def arg(self, arg: Arg) -> Any:
        if isinstance(arg, Value):
            return {"value": self.numbers[arg]}
        if isinstance(arg, tuple):
            return [self.arg(item) for item in arg]
        return arg.text if isinstance(arg, Literal) else repr(arg)


def _roles(op: Op) -> tuple[str, ...]:
    if not op.blocks:
        return ()
    *first, last = row_of(op.name).blocks
    if not last.endswith("..."):
        return (*first, last)
    repeated = range(1, len(op.blocks) - len(first) + 1)
    return (*first, *(f"{last.removesuffix('...')} {number}" for number in repeated))


def _argument_names(op: Op) -> list[str]:
    """What the op's schema calls its arguments; nothing for those of Stator, or unknown ones."""
    if is_stators(op.name):
        return []
    try:
        return list(argument_names(op.name)[: len(op.args)])
    except LookupError:  # a custom op that this process has not registered
        return []
