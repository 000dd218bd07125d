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
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stator.page.sources import FileTable
from stator.program.ir import Arg, Block, Literal, Op, Value
from stator.program.opset.stator_ops import STATOR_ROWS
from stator.program.program import Program
from stator.program.sizes import is_static
from stator.program.types import TensorType, Type

Data = dict[str, Any]
ArgumentNames = Callable[[str], Sequence[str]]  # of an op of torch; LookupError if it is unknown
WIDTH = re.compile(r"[a-z]+(\d+)(x\d+|_\w+)?")  # `float32`, `float8_e5m2`, `bits4x2`


def program_data(program: Program, label: str, files: FileTable, names: ArgumentNames) -> Data:
    """The whole of `program`; its places are put into `files`."""
    return _Encoder(program, files, names).program(label)


def bytes_of(kind: Type) -> int | None:
    """How much memory a tensor of this type takes; None where only a run knows."""
    if not isinstance(kind, TensorType) or not is_static(kind.shape):
        return None
    size = item_bytes(kind.dtype)
    return None if size is None else math.prod(kind.shape) * size


def item_bytes(dtype: str) -> int | None:
    """The bytes of one element; None for a name that does not say how many bits it has.

    >>> item_bytes("bool"), item_bytes("bfloat16"), item_bytes("complex64"), item_bytes("other")
    (1, 2, 8, None)
    """
    if dtype == "bool":
        return 1
    found = WIDTH.fullmatch(dtype)
    return None if found is None else max(int(found[1]) // 8, 1)


def names_in_schema(schema: str) -> list[str]:
    """What a schema of torch calls its arguments.

    >>> names_in_schema("f(Tensor self, int[2] size=[1, 1], *, bool flag=False) -> Tensor")
    ['self', 'size', 'flag']
    """
    names, depth, first = [], 0, schema.find("(") + 1
    for at in range(first - 1, len(schema)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(schema[at], 0)
        if depth == 0 or (depth == 1 and schema[at] == ","):
            argument = schema[first:at].strip()
            if argument not in ("", "*"):
                names.append(argument.partition("=")[0].split()[-1])
            first = at + 1
        if depth == 0:
            break
    return names


class _Encoder:
    def __init__(self, program: Program, files: FileTable, names: ArgumentNames) -> None:
        self.source, self.files, self.names = program, files, names
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
        data["names"] = self.argument_names(op)
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

    def argument_names(self, op: Op) -> list[str]:
        """The argument names of the op's schema; none for Stator's ops and unknown ones."""
        if op.name in STATOR_ROWS:
            return []
        try:
            return list(self.names(op.name)[: len(op.args)])
        except LookupError:  # a custom op that this process has not registered
            return []


def _roles(op: Op) -> tuple[str, ...]:
    if not op.blocks:
        return ()
    *first, last = STATOR_ROWS[op.name].blocks
    if not last.endswith("..."):
        return (*first, last)
    repeated = range(1, len(op.blocks) - len(first) + 1)
    return (*first, *(f"{last.removesuffix('...')} {number}" for number in repeated))
