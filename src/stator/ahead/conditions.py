"""conditions_of(): what compiled code has assumed of dynamic sizes, as data.

    "2 <= L['t0'] and L['t0'] % 8 == 0"  ->  [["<=", 2, ["size", 0]], ["==", ["%", ...], 0]]

The native runtime evaluates the data (`runtime/compiled/size_condition.cpp`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

OPERATORS: Mapping[type[ast.AST], str] = MappingProxyType(
    {
        ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%",
        ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
        ast.And: "and", ast.Or: "or",
    }
)  # fmt: skip
FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {"Mod": "%", "PythonMod": "%", "FloorDiv": "//", "Min": "min", "Max": "max"}
    | {"min": "min", "max": "max", "Eq": "==", "Ne": "!="}
)
VALUES: Mapping[str, Callable[..., int]] = MappingProxyType(
    {
        "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
        "%": operator.mod, "min": min, "max": max, "==": operator.eq, "!=": operator.ne,
        "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
        "not": operator.not_,
    }
)  # fmt: skip
SIZE = "t"  # `L['t3']` is size 3
LARGEST = 2**63 - 1

Condition = int | list[Any]


def conditions_of(expression: str | None, sizes: int) -> list[Condition]:
    """Conditions that all hold where the expression does; each of the sizes is at least 2."""
    at_least: list[Condition] = [["<=", 2, ["size", number]] for number in range(sizes)]
    if expression is None:
        return at_least
    body = ast.parse(expression, mode="eval").body
    parts = body.values if isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And) else [body]
    made = [_condition(part, sizes) for part in parts]
    return [*at_least, *(one for one in made if one not in at_least)]


def _condition(node: ast.expr, sizes: int) -> Condition:
    def of(part: ast.expr) -> Condition:
        return _condition(part, sizes)

    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        if abs(node.value) <= LARGEST:
            return int(node.value)
    elif isinstance(node, ast.Subscript):
        number = _size(node)
        if number is not None and number < sizes:
            return ["size", number]
    elif isinstance(node, ast.Compare) and all(type(op) in OPERATORS for op in node.ops):
        values = [of(part) for part in (node.left, *node.comparators)]
        pairs = [[OPERATORS[type(op)], values[k], values[k + 1]] for k, op in enumerate(node.ops)]
        return pairs[0] if len(pairs) == 1 else ["and", *pairs]
    elif isinstance(node, ast.BoolOp):
        return [OPERATORS[type(node.op)], *map(of, node.values)]
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return [OPERATORS[type(node.op)], of(node.left), of(node.right)]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        inner = of(node.operand)
        return ["not", inner] if isinstance(node.op, ast.Not) else ["-", 0, inner]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        name = FUNCTIONS.get(node.func.id)
        if name is not None and len(node.args) == 2:
            return [name, *map(of, node.args)]
    raise NotImplementedError(f"its code assumes `{ast.unparse(node)}` of its sizes")


def _size(node: ast.Subscript) -> int | None:
    """The number of the size that `L['t3']` is."""
    name = node.slice.value if isinstance(node.slice, ast.Constant) else None
    is_size = isinstance(name, str) and name.startswith(SIZE) and name[len(SIZE) :].isdigit()
    return int(str(name)[len(SIZE) :]) if is_size else None


def holds(conditions: Sequence[Condition], sizes: Sequence[int]) -> bool:
    """Whether all of them hold for these sizes."""
    return all(_value(one, sizes) for one in conditions)


def _value(condition: Condition, sizes: Sequence[int]) -> int:
    if isinstance(condition, int):
        return condition
    name, *parts = condition
    if name == "size":
        return sizes[parts[0]]
    values = [_value(part, sizes) for part in parts]
    if name in ("and", "or"):
        return (all if name == "and" else any)(values)
    return int(VALUES[name](*values))
