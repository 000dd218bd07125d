"""`return`, `break`, `continue` and loop `else` -> assignments and flags.

    if c:                    if c:
        return A                 return_value__ = A
    rest                     else:
    return B                     rest
                                 return_value__ = B
                             return stator__.returned(return_value__)

    for x in xs:             broke_1__ = False
        if c:                for x in xs while stator__.none_of(broke_1__):
            break                broke_1__ = False
        rest                     if c:
                                     broke_1__ = True
                                 else:
                                     rest

Where a branch always leaves, what follows the `if` moves into the other branch and no flag is
needed. Otherwise the jump sets a flag, what follows is guarded by `if stator__.none_of(flag)`, and
the loop checks the flag before its own test.

NOTE: why an iteration starts by clearing its flags: it only starts if none is set, so this changes
nothing, and staging need not carry them in: after `if c: break` the flag *is* the condition.

NOTE: why a branch that only raises is left alone: no path joins after it, so `if bad: raise`
needs neither a flag nor a move, and a function that checks its arguments stays flat.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from stator.rewrite.job import Job
from stator.rewrite.template import constant, preamble, quote
from stator.source.nodes import WITHOUT_BLOCKS, TestedFor, copy_tree, inner_statements
from stator.source.scopes import NESTED, own_statements

Block = list[ast.stmt]
RETURNED, VALUE = "returned__", "return_value__"
JUMPS = (ast.Return, ast.Break, ast.Continue)
LOOPS = (ast.While, ast.For)


@dataclass(frozen=True)
class _Place:
    """Where a block is: its loop, and the jumps that falling off its end amounts to."""

    loop: int | None = None
    ends_function: bool = False
    ends_iteration: bool = False

    def inner(self, *, last: bool) -> _Place:
        """The place of a block inside the last, or not the last, statement of this one."""
        return self if last else _Place(self.loop)


def lower_jumps(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree` with at most one `return`, at its end, and no `break` or `continue`."""
    lowering = _Lowering(job)
    _drop_unreached(tree)
    returns = [node for node in _escaping(tree.body) if isinstance(node, ast.Return)]
    if not returns:
        tree.body = lowering.block(tree.body, _Place())
    elif len(returns) == 1 and returns[0] is tree.body[-1]:
        tree.body = [*lowering.block(tree.body[:-1], _Place()), tree.body[-1]]
    else:
        tree.body = lowering.function(tree)
    return tree


class _Lowering:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.flags: dict[str, None] = {}  # those that some jump really sets
        self.without_jumps: set[ast.stmt] = set()  # nothing inside them jumps anywhere
        # by a jump in `finally`: the flags of the jumps that it may take the place of
        self.replaced: dict[ast.stmt, tuple[str, ...]] = {}

    def function(self, tree: ast.FunctionDef) -> Block:
        """The body of a function whose `return`s become assignments."""
        last = tree.body[-1]
        body = list(tree.body)
        if not _leaves_block(body):
            body.extend(quote("return None", at=last))
        new = self.block(body, _Place(ends_function=True))
        if RETURNED in self.flags:
            start = preamble(new)
            new = [*new[:start], *self.clear(RETURNED, tree), *new[start:]]
        return [*new, *quote("return stator__.returned(VALUE)", at=last, VALUE=VALUE)]

    def block(self, body: Block, place: _Place) -> Block:
        """`body`, lowered; nothing after a statement that always leaves is kept."""
        new: Block = []
        for index, node in enumerate(body):
            rest = body[index + 1 :]
            if isinstance(node, JUMPS):
                return [*new, *self.jump(node, place)]
            if self.escapes(node) or isinstance(node, LOOPS):
                return [*new, *self.compound(node, rest, place)]
            new.extend([node] if node.__class__ in WITHOUT_BLOCKS else self.inside(node, place))
            if _leaves(node):
                break
        return new

    def escapes(self, node: ast.stmt) -> bool:
        """Does a jump inside `node` leave it? What has none at all is looked at once."""
        if node.__class__ in WITHOUT_BLOCKS or node in self.without_jumps:
            return False
        if any(_escaping([node])):
            return True
        inside = [part for part in own_statements([node]) if isinstance(part, ast.stmt)]
        if not any(isinstance(part, JUMPS) for part in inside):
            self.without_jumps.update(inside)
        return False

    def inside(self, node: ast.stmt, place: _Place) -> Block:
        """A statement that no jump leaves may still hold loops."""
        inner = _Place(place.loop)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(node, ast.If | ast.With | ast.Try) and getattr(node, field, None):
                setattr(node, field, self.block(getattr(node, field), inner))
        for handler in node.handlers if isinstance(node, ast.Try) else ():
            handler.body = self.block(handler.body, inner)
        return [node]

    def jump(self, node: ast.stmt, place: _Place) -> Block:
        cleared = [line for flag in self.replaced.get(node, ()) for line in self.clear(flag, node)]
        return [*cleared, *self.jumped(node, place)]

    def jumped(self, node: ast.stmt, place: _Place) -> Block:
        """What a jump of this place has to set."""
        if isinstance(node, ast.Return):
            value = node.value or constant(None, at=node)
            new = quote("TARGET = VALUE", at=node, TARGET=VALUE, VALUE=value)
            return new if place.ends_function else [*new, *self.set(RETURNED, node)]
        if isinstance(node, ast.Break):
            return self.set(f"broke_{place.loop}__", node)
        if place.ends_iteration:
            return [ast.copy_location(ast.Pass(), node)]
        return self.set(f"continued_{place.loop}__", node)

    def set(self, flag: str, at: ast.stmt) -> Block:
        self.flags[flag] = None
        return quote("FLAG = True", at=at, FLAG=flag)

    def clear(self, flag: str, at: ast.stmt) -> Block:
        return quote("FLAG = False", at=at, FLAG=flag)

    def compound(self, node: ast.stmt, rest: Block, place: _Place) -> Block:
        """A statement that jumps may leave, with the rest of its block."""
        before: Block = []
        if isinstance(node, ast.If):
            rest = _absorb(node, rest)
        elif _leaves(node):
            rest = []
        elif isinstance(node, ast.With) and place.ends_function and _returns_none(rest):
            before, rest = self.jump(rest[0], place), []
        if isinstance(node, LOOPS):
            return self.loop(node, rest, place)
        inner = place.inner(last=not rest)
        new, flags = self.watch(lambda: self.branch(node, inner))
        return [*before, *new, *self.guarded(flags, rest, place)]

    def watch(self, lower: Callable[[], Block]) -> tuple[Block, tuple[str, ...]]:
        """What `lower` gives, and the flags that its jumps set."""
        outer, self.flags = self.flags, {}
        new, flags = lower(), tuple(self.flags)
        self.flags = {**outer, **self.flags}
        return new, flags

    def branch(self, node: ast.stmt, place: _Place) -> Block:
        if isinstance(node, ast.If):
            node.body = self.block(node.body, place)
            node.orelse = self.block(node.orelse, place)
        elif isinstance(node, ast.With):
            node.body = self.block(node.body, place)
        elif isinstance(node, ast.Try):
            self.attempt(node, place)
        return [node]

    def attempt(self, node: ast.Try, place: _Place) -> None:
        """`else` runs only when no jump left the body: it is the rest of the body."""
        if any(_escaping(node.finalbody)):
            self.leaving_finally(node, place)
            return
        rest = [] if _leaves_block(node.body) else node.orelse
        inner, body = place.inner(last=not rest), node.body
        cancels = any(map(_may_cancel_jumps, own_statements(body)))
        node.body, flags = self.watch(lambda: self.block(body, inner))
        node.orelse = self.guarded(flags, rest, place)
        for handler in node.handlers:
            new = self.block(handler.body, place)
            cleared = [line for flag in flags if cancels for line in self.clear(flag, node)]
            handler.body = [*cleared, *new]
        node.finalbody = self.block(node.finalbody, _Place(place.loop))

    def leaving_finally(self, node: ast.Try, place: _Place) -> None:
        """A jump in `finally` ends an exception, and takes the place of a jump of the body.

        try: BODY              try: BODY
        finally:               except:
            if c: return A         if c: return A
                                   raise
                               else:
                                   if c: return A
        """
        final, body = node.finalbody, node.body
        if node.handlers:
            inner = ast.Try(body, node.handlers, node.orelse, [])
            body = [ast.copy_location(inner, node)]
        node.body, flags = self.watch(lambda: self.block(body, place))
        cleared = [line for flag in flags for line in self.clear(flag, node)]
        caught = [*map(copy_tree, final), *quote("raise", at=node)]
        handler = ast.ExceptHandler(None, None, [*cleared, *self.block(caught, place)])
        node.handlers = [ast.copy_location(handler, node)]
        self.replaced |= dict.fromkeys(_escaping(final), flags)
        node.orelse, node.finalbody = self.block(final, place), []

    def loop(self, node: ast.stmt, rest: Block, place: _Place) -> Block:
        assert isinstance(node, ast.While | ast.For)
        number = self.job.fresh.number("loop")
        broke, continued = f"broke_{number}__", f"continued_{number}__"
        body, iteration_place = node.body, _Place(number, ends_iteration=True)
        iteration, flags = self.watch(lambda: self.block(body, iteration_place))
        own = [name for name in (RETURNED, broke, continued) if name in flags]
        iteration = [*(line for name in own for line in self.clear(name, node)), *iteration]
        returned = [RETURNED] if RETURNED in flags else []
        stops = [*returned, *([broke] if broke in flags else [])]
        after = [*_otherwise(node, broke in stops, broke), *rest]
        start = self.clear(broke, node) if broke in stops else []
        self.flags = {name: None for name in self.flags if name not in (broke, continued)}
        return [*start, _with_test(node, iteration, stops), *self.guarded(returned, after, place)]

    def guarded(self, flags: Sequence[str], rest: Block, place: _Place) -> Block:
        """`rest`, lowered, to run only when none of `flags` is set."""
        lowered = self.block(rest, place)
        if not flags or not lowered:
            return lowered
        return quote("if TEST: BODY", at=rest[0], TEST=_none_of(flags, rest[0]), BODY=lowered)


def _may_cancel_jumps(node: ast.AST) -> bool:
    """May code of it run, and raise, when a jump is on its way out?"""
    return isinstance(node, ast.With) or (isinstance(node, ast.Try) and bool(node.finalbody))


def _otherwise(node: ast.While | ast.For, breaks: bool, broke: str) -> Block:
    """The `else` of a loop, to come after it."""
    if not (node.orelse and breaks):
        return node.orelse
    at = node.orelse[0]
    return quote("if TEST: BODY", at=at, TEST=_none_of([broke], at), BODY=node.orelse)


def _absorb(node: ast.If, rest: Block) -> Block:
    """Move `rest` into the branches of `node` where that saves a flag; what is left of it."""
    body, orelse = _leaves_block(node.body), _leaves_block(node.orelse)
    if body and orelse:
        return []
    if body:
        node.orelse = [*node.orelse, *rest]
    elif orelse:
        node.body = [*node.body, *rest]
    elif len(rest) == 1 and _is_small_return(rest[0]):
        node.body = [*node.body, copy_tree(rest[0])]
        node.orelse = [*node.orelse, *rest]
    else:
        return rest
    return []


def _is_small_return(node: ast.stmt) -> bool:
    """True for a `return` that costs nothing to have twice."""
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Constant | ast.Name | None)


def _returns_none(rest: Block) -> bool:
    if len(rest) != 1 or not isinstance(rest[0], ast.Return):
        return False
    value = rest[0].value
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def _with_test(node: ast.While | ast.For, iteration: Block, stops: list[str]) -> ast.stmt:
    """The loop `node` with the body `iteration`, that goes on only while none of `stops` is set."""
    node.body, node.orelse = iteration or [ast.copy_location(ast.Pass(), node)], []
    if not stops:
        return node
    test = _none_of(stops, node)
    if isinstance(node, ast.For):
        return TestedFor.of(node, test)
    if not _always_true(node.test):
        test = ast.copy_location(ast.BoolOp(ast.And(), [test, node.test]), node.test)
    node.test = test
    return node


def _none_of(flags: Sequence[str], at: ast.stmt) -> ast.expr:
    """A test that none of `flags` is set: they are Python's or captured truth values."""
    (statement,) = quote("stator__.none_of()", at=at)
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    call = statement.value
    call.args = [ast.copy_location(ast.Name(flag, ast.Load()), call) for flag in flags]
    return call


def _escaping(body: Iterable[ast.AST], *, in_loop: bool = False) -> Iterable[ast.stmt]:
    """The jumps in `body` whose target is outside of it."""
    for node in body:
        if isinstance(node, ast.Return) or (isinstance(node, JUMPS) and not in_loop):
            yield node
        elif isinstance(node, LOOPS):
            yield from _escaping(node.body, in_loop=True)
            yield from _escaping(node.orelse, in_loop=in_loop)
        elif not isinstance(node, NESTED):
            yield from _escaping(inner_statements(node), in_loop=in_loop)


def _drop_unreached(node: ast.AST) -> None:
    """Take away what follows a statement that always leaves: its jumps would ask for flags."""
    for child in inner_statements(node):
        if child.__class__ not in WITHOUT_BLOCKS and not isinstance(child, NESTED):
            _drop_unreached(child)
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if isinstance(body, list):
            last = next((i for i, item in enumerate(body) if _leaves(item)), len(body))
            setattr(node, field, body[: last + 1])


def _leaves_block(body: Block) -> bool:
    return any(_leaves(node) for node in body)


def _leaves(node: ast.stmt) -> bool:
    """True when what follows `node` in its block is never reached."""
    if isinstance(node, (*JUMPS, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return _leaves_block(node.body) and _leaves_block(node.orelse)
    if isinstance(node, ast.Try):
        attempt = _leaves_block([*node.body, *node.orelse])
        caught = all(_leaves_block(handler.body) for handler in node.handlers)
        return _leaves_block(node.finalbody) or (attempt and caught)
    if isinstance(node, LOOPS):
        breaks = any(isinstance(jump, ast.Break) for jump in _escaping(node.body))
        endless = isinstance(node, ast.While) and _always_true(node.test)
        return not breaks and (endless or _leaves_block(node.orelse))
    return False


def _always_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
