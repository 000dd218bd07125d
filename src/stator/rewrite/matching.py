"""`match` -> `if`/`elif`: a pattern is a condition that binds names on the way.

match POINT:                     subject_1__ = POINT
    case (0, y) if y > 1: A      if stator__.is_sequence(subject_1__, 2, False) and \
    case {"k": v}: B                 subject_1__[0] == 0 and stator__.bound(y := subject_1__[1]) \
    case _: C                        and y > 1: A
                                 elif stator__.has_keys(subject_1__, ("k",)) and ...: B
                                 else: C

The result is ordinary Python: the passes after this one stage it like any other `if`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from stator.errors import UnsupportedSyntax
from stator.rewrite.template import quote, staged
from stator.rewrite.walk import OwnTransformer
from stator.source.nodes import locate
from stator.source.text import Source

REST = "{kept_1__: kept_2__ for kept_1__, kept_2__ in SUBJECT.items() if kept_1__ not in KEYS}"


def rewrite_matches(tree: ast.FunctionDef, source: Source) -> ast.FunctionDef:
    """`tree` without `match` statements."""
    matches = _Matches(source)
    tree.body = matches.statements(tree.body)
    return locate(tree)


class _Matches(OwnTransformer):
    """Replaces the `match` statements of one function; nested functions are converted later."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._count = 0

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        self._count += 1
        name = f"subject_{self._count}__"
        subject = _at(ast.Assign([_at(ast.Name(name, ast.Store()), node)], node.subject), node)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test = self._test(case, name)
            chain = [_at(ast.If(test, case.body, chain), case.pattern)]
        return [subject, *chain]

    def _test(self, case: ast.match_case, name: str) -> ast.expr:
        subject = _at(ast.Name(name, ast.Load()), case.pattern)
        parts = list(self._conditions(case.pattern, subject))
        if case.guard is not None:
            parts.append(case.guard)
        if not parts:
            return _at(ast.Constant(True), case.pattern)
        return parts[0] if len(parts) == 1 else _at(ast.BoolOp(ast.And(), parts), case.pattern)

    def _conditions(self, pattern: ast.pattern, subject: ast.expr) -> Iterator[ast.expr]:
        """The conditions that make `subject` match, in order; all hold, or the pattern fails."""
        match pattern:
            case ast.MatchValue():
                yield _at(ast.Compare(subject, [ast.Eq()], [pattern.value]), pattern)
            case ast.MatchSingleton():
                constant = _at(ast.Constant(pattern.value), pattern)
                yield _at(ast.Compare(subject, [ast.Is()], [constant]), pattern)
            case ast.MatchAs():
                if pattern.pattern is not None:
                    yield from self._conditions(pattern.pattern, subject)
                if pattern.name is not None:
                    yield self._binding(pattern.name, subject, pattern)
            case ast.MatchOr():
                yield self._any(pattern, subject)
            case ast.MatchSequence():
                yield from self._sequence(pattern, subject)
            case ast.MatchMapping():
                yield from self._mapping(pattern, subject)
            case ast.MatchClass():
                yield from self._class(pattern, subject)
            case _:
                raise self._refused(pattern, "this `case` pattern")

    def _binding(self, name: str, value: ast.expr, at: ast.AST) -> ast.expr:
        named = _at(ast.NamedExpr(_at(ast.Name(name, ast.Store()), at), value), at)
        return staged("bound", named, at=at)

    def _any(self, pattern: ast.MatchOr, subject: ast.expr) -> ast.expr:
        ways = []
        for one in pattern.patterns:
            parts = list(self._conditions(one, subject))
            if not parts:
                parts = [_at(ast.Constant(True), one)]
            ways.append(parts[0] if len(parts) == 1 else _at(ast.BoolOp(ast.And(), parts), one))
        return _at(ast.BoolOp(ast.Or(), ways), pattern)

    def _sequence(self, pattern: ast.MatchSequence, subject: ast.expr) -> Iterator[ast.expr]:
        stars = [k for k, part in enumerate(pattern.patterns) if isinstance(part, ast.MatchStar)]
        fixed = len(pattern.patterns) - len(stars)
        size, starred = (_at(ast.Constant(v), pattern) for v in (fixed, bool(stars)))
        yield staged("is_sequence", subject, size, starred, at=pattern)
        for k, part in enumerate(pattern.patterns):
            if isinstance(part, ast.MatchStar):
                if part.name is not None:
                    yield self._binding(part.name, self._rest(subject, k, fixed - k, part), part)
                continue
            position = k if not stars or k < stars[0] else k - len(pattern.patterns)
            yield from self._conditions(part, _item(subject, position, part))

    def _rest(self, subject: ast.expr, before: int, after: int, at: ast.AST) -> ast.expr:
        first, last = (_at(ast.Constant(v), at) for v in (before, after))
        return staged("rest_of_sequence", subject, first, last, at=at)

    def _mapping(self, pattern: ast.MatchMapping, subject: ast.expr) -> Iterator[ast.expr]:
        keys = _at(ast.Tuple(list(pattern.keys), ast.Load()), pattern)
        yield staged("has_keys", subject, keys, at=pattern)
        for key, part in zip(pattern.keys, pattern.patterns, strict=True):
            yield from self._conditions(part, _at(ast.Subscript(subject, key, ast.Load()), part))
        if pattern.rest is not None:
            (line,) = quote(REST, at=pattern, SUBJECT=subject, KEYS=keys)
            assert isinstance(line, ast.Expr)
            yield self._binding(pattern.rest, line.value, pattern)

    def _class(self, pattern: ast.MatchClass, subject: ast.expr) -> Iterator[ast.expr]:
        names = [_at(ast.Constant(name), pattern) for name in pattern.kwd_attrs]
        yield staged("is_instance", subject, pattern.cls, *names, at=pattern)
        for k, part in enumerate(pattern.patterns):
            number = _at(ast.Constant(k), part)
            value = staged("match_argument", subject, pattern.cls, number, at=part)
            yield from self._conditions(part, value)
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            yield from self._conditions(part, _at(ast.Attribute(subject, name, ast.Load()), part))

    def _refused(self, node: ast.AST, what: str) -> UnsupportedSyntax:
        return UnsupportedSyntax(
            f"{what} cannot be converted", at=self._source.location(node),
            fix="write it as `if`/`elif`",
        )  # fmt: skip


def _item(subject: ast.expr, position: int, at: ast.AST) -> ast.expr:
    return _at(ast.Subscript(subject, _at(ast.Constant(position), at), ast.Load()), at)


Node = TypeVar("Node", bound=ast.AST)


def _at(node: Node, at: ast.AST) -> Node:
    return ast.copy_location(node, at)
