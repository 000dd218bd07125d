"""reduced(): the smallest program found that still fails in the same way."""

from __future__ import annotations

import ast
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator

from tests.fuzz.judge import Case, Verdict, judge

SECONDS = 60


def reduced(case: Case, verdict: Verdict, seconds: float = SECONDS) -> tuple[Case, Verdict]:
    """A smaller case with the same kind of failure at the same stage, and its verdict."""
    until = time.monotonic() + seconds

    def still(candidate: Case) -> Verdict | None:
        try:
            same = (v for v in judge(candidate, (verdict.stage,)) if _alike(v, verdict))
            return next(same, None)
        except TypeError:  # it leaves something outside that cannot be copied, to be compared
            return None

    shrunk = True
    while shrunk and time.monotonic() < until:
        shrunk = False
        for candidate in _smaller(case):
            if time.monotonic() > until:
                break
            found = still(candidate)
            if found is not None:
                case, verdict, shrunk = candidate, found, True
                break
    return case, verdict


def _alike(one: Verdict, other: Verdict) -> bool:
    return (one.kind, one.stage, one.why) == (other.kind, other.stage, other.why)


def _smaller(case: Case) -> Iterator[Case]:
    """Cases one step simpler: fewer calls, then fewer statements, then simpler expressions."""
    for k in range(len(case.calls)):
        if len(case.calls) > 1:
            yield dataclasses.replace(case, calls=case.calls[:k] + case.calls[k + 1 :])
    if case.trains:
        yield dataclasses.replace(case, trains=False)
    tree = ast.parse(case.text.removeprefix(case.around))
    for edit in (*_statement_edits(tree), *_expression_edits(tree)):
        other = copy.deepcopy(tree)
        if edit(other):
            text = _text_of(other, case.around)
            if text is not None and text != case.text:
                yield dataclasses.replace(case, text=text)


def _text_of(tree: ast.AST, around: str) -> str | None:
    """The text, or None where an edit made what is no Python."""
    try:
        text = around + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "<reduced>", "exec")
    except (SyntaxError, ValueError):
        return None
    return text


Edit = Callable[[ast.AST], bool]


def _statement_edits(tree: ast.AST) -> Iterator[Edit]:
    """Each statement gone, or each compound one replaced by one of its blocks; big ones first."""
    places = [
        (number, field, k)
        for number, node in enumerate(ast.walk(tree))
        for field in ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(getattr(node, field, None), list) and not isinstance(node, ast.Module)
        for k in range(len(getattr(node, field)))
    ]
    for place in places:
        yield lambda other, p=place: _delete(other, *p)
    for place in places:
        for inner in ("body", "orelse", "finalbody"):
            yield lambda other, p=place, i=inner: _unwrap(other, *p, i)


def _node(tree: ast.AST, number: int) -> ast.AST:
    return next(node for k, node in enumerate(ast.walk(tree)) if k == number)


def _delete(tree: ast.AST, number: int, field: str, k: int) -> bool:
    items = getattr(_node(tree, number), field)
    if field == "body" and len(items) == 1:
        if isinstance(items[0], ast.Pass):
            return False
        items[0] = ast.Pass()
        return True
    if field in ("handlers", "cases") and len(items) == 1:
        return False
    del items[k]
    return True


def _unwrap(tree: ast.AST, number: int, field: str, k: int, inner: str) -> bool:
    items = getattr(_node(tree, number), field)
    block = getattr(items[k], inner, None)
    if field in ("handlers", "cases") or not isinstance(block, list) or not block:
        return False
    items[k : k + 1] = block
    return True


def _expression_edits(tree: ast.AST) -> Iterator[Edit]:
    """Each expression replaced by one inside it, or by a constant."""
    for number, node in enumerate(ast.walk(tree)):
        if not isinstance(node, ast.expr) or isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        if isinstance(node, ast.FormattedValue):
            continue
        for k in range(len(_children(node))):
            yield lambda other, n=number, k=k: _replace(other, n, lambda old: _children(old)[k])
        if not isinstance(node, ast.Constant | ast.Name):
            for value in (0, 1, 0.5, True):
                yield lambda other, n=number, v=value: _replace(other, n, lambda _: ast.Constant(v))
        if isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Call | ast.BoolOp | ast.Compare):
            yield lambda other, n=number: _shorten(other, n)


def _children(node: ast.AST) -> list[ast.expr]:
    return [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]


def _shorten(tree: ast.AST, number: int) -> bool:
    """Drop the last item of a display, an argument or an operand."""
    node = _node(tree, number)
    for field in ("elts", "args", "keywords", "comparators", "ops", "keys", "values"):
        items = getattr(node, field, None)
        least = 0 if isinstance(node, ast.List | ast.Call | ast.Dict) else 1
        if items and len(items) > least:
            items.pop()
            if field not in ("comparators", "keys"):
                return True
    return False


def _replace(tree: ast.AST, number: int, make: Callable[[ast.AST], ast.expr]) -> bool:
    target = _node(tree, number)
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, make(target))
                return True
            if isinstance(value, list):
                for k, item in enumerate(value):
                    if item is target:
                        value[k] = make(target)
                        return True
    return False
