"""variable_names(): the user's names for values of a program, from the text of the user's code.

    h = torch.tanh(x + k)    the value of the last op at the place of `torch.tanh(x + k)` is `h`
    for row in x:            the item that the loop takes is `row`

What a branch gives, and what a loop carries, has the name of what its blocks give. A value that no
assignment names has none.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Mapping

from stator.location import Location
from stator.program.ir import Block, Op, Value

Names = dict[Value, str]
TAKING = frozenset({"aten::select.int", "stator::list_get"})  # ops that take an item of a loop


def variable_names(body: Block) -> Mapping[Value, str]:
    """The name of each value in the block of a program that has one."""
    names: Names = {}
    _name_block(body, names)
    return names


def _name_block(block: Block, names: Names) -> None:
    at_place: dict[tuple[str, int, int], Value] = {}
    for op in block.ops:
        for inner in op.blocks:
            _name_block(inner, names)
        if op.blocks:
            _name_joined(op, names)
        elif op.place is not None and len(op.results) == 1:
            (result,) = op.results
            name = _name_at(op.place, takes=op.name in TAKING)
            if name is None:
                continue
            key = op.place.file, op.place.line, op.place.column
            if key in at_place:  # a part of the expression, which began at the same place
                del names[at_place[key]]
            at_place[key] = result
            names[result] = name


def _name_joined(op: Op, names: Names) -> None:
    """What a branch or a loop gives, and what a loop carries."""
    skipped = 1 if op.name == "stator::while" else 0
    for block in op.blocks:
        for arg, result in zip(block.outputs[skipped:], op.results, strict=False):
            if isinstance(arg, Value) and arg in names:
                names.setdefault(result, names[arg])
        for value, result in zip(block.inputs, op.results, strict=False):
            if skipped and result in names:
                names[value] = names[result]


def _name_at(place: Location, *, takes: bool) -> str | None:
    assigned, looped = _targets(place.file)
    found = assigned.get((place.line, place.column))
    return found or (looped.get(place.line) if takes else None)


@functools.cache
def _targets(file: str) -> tuple[Mapping[tuple[int, int], str], Mapping[int, str]]:
    """The names that are assigned, by where their expressions begin; those of loops, by line."""
    assigned: dict[tuple[int, int], str] = {}
    looped: dict[int, str] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):  # a notebook cell may have commands of its own
        return assigned, looped
    for node in ast.walk(tree):
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            looped[node.lineno] = node.target.id
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if not isinstance(target, ast.Name) or not isinstance(value, ast.expr):
            continue
        begins = node if isinstance(node, ast.AugAssign) else value
        assigned[begins.lineno, begins.col_offset] = target.id
    return assigned, looped
