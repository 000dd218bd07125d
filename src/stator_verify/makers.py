"""maker_of(): the op that makes a part of a program's result.

Numbers, truth values and strings are made by ops that torch knows nothing of; where such a
part differs, the op that makes it is the nearest that can be named.
"""

from __future__ import annotations

import ast
import re

from stator.api.verification import FirstDifference
from stator.program import structure as shape
from stator.program.ir import Value
from stator.program.program import Program

KEY = re.compile(r"\[((?:'[^']*'|\"[^\"]*\"|[^\]'\"])*)\]")


def maker_of(program: Program, path: str) -> FirstDifference | None:
    """The op that makes the part of the result at `path`: `the result[0]['a']`."""
    position = _position(program.output_structure, [_key(found) for found in KEY.findall(path)])
    if position is None:
        return None
    value = program.body.outputs[position]
    for op in program.body.ops:
        if isinstance(value, Value) and value in op.results:
            text = f"no op of torch differs; {op.name} makes what does"
            return FirstDifference(op.name, text, op.place)
    return None


def _key(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _position(structure: shape.Structure, keys: list[object]) -> int | None:
    """Where the part is among the flat outputs; of a choice, what chooses."""
    if isinstance(structure, shape.Leaf):
        return structure.position
    if isinstance(structure, shape.Choice):
        return structure.tag
    if isinstance(structure, shape.RuntimeList):
        return _position(structure.item, keys[1:])
    if isinstance(structure, shape.ConstantValue) or not keys:
        return None
    names: tuple[object, ...] = tuple(structure.keys)
    if keys[0] not in names:
        return None
    return _position(structure.items[names.index(keys[0])], keys[1:])
