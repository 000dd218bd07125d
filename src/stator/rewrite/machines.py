"""A generator function -> a function that goes on from one `yield` to the next.

    def counter(n):                  def counter(frame__, how__, sent__):
        while True:                      at__ = frame__.state
            step = yield n               frame__.state = -1
            n += step                    if frame__.starts:
                                             frame__.starts = False
                                             at__ = 1
                                         while True:
                                             if at__ == 1:
                                                 frame__.state = 2
                                                 return (False, frame__.v_n, None)
                                             elif at__ == 2:
                                                 if how__: raise sent__
                                                 frame__.v_step = sent__
                                                 frame__.v_n += frame__.v_step
                                                 at__ = 1
                                             else:
                                                 return (True, None, None)

Statements without a `yield` stay as they are. The others become *blocks* with numbers; what the
function knows between two of them are attributes of its frame. It gives (is it over, the item, the
result). An exception leaves the state at -1: the generator is over.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from stator.errors import UnsupportedSyntax
from stator.rewrite.job import Job
from stator.rewrite.machine_names import Exchange, FrameNames, leaves_loop, read_of
from stator.rewrite.template import quote
from stator.source.nodes import COMPREHENSIONS, copy_tree
from stator.source.scopes import own_nodes, scope_of

YIELDS = (ast.Yield, ast.YieldFrom)
CATCH_CLOSING = frozenset({"BaseException", "GeneratorExit"})
RESUME = """
def resume(frame__, how__, sent__):
    at__ = frame__.state
    frame__.state = -1
    if frame__.starts:
        frame__.starts = False
        START
    while True:
        BLOCKS
"""
DELEGATED = 'stator__.machine("delegate", VALUE)'
DELEGATE = """
is_over__, value__, sent__ = stator__.machine("delegated", SOURCE, COUNT, how__, sent__)
COUNT_TOO = COUNT + 1
if not is_over__:
    frame__.state = HERE
    return (False, value__, None)
"""
FOR_HEAD = """
is_over__, value__, _ = stator__.machine("tried", SOURCE, COUNT)
if is_over__:
    at__ = AFTER
else:
    TARGET = stator__.machine("item", SOURCE, COUNT, value__)
    COUNT_TOO = COUNT + 1
    at__ = BODY
"""
FINALLY = """
try:
    BODY
except BaseException:
    FINAL
    raise
"""


def needs_machine(tree: ast.FunctionDef) -> bool:
    """Is a value of a `yield` used, so that no loop can be the generator's consumer?"""
    nodes = list(own_nodes(tree.body))
    plain = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return any(isinstance(node, YIELDS) and id(node) not in plain for node in nodes)


def acts_when_closed(tree: ast.FunctionDef) -> bool:
    """Does code of the generator run where it is closed at a `yield`: a `finally`, a `with`?"""
    return any(
        _sees_closing(node) and any(isinstance(inner, YIELDS) for inner in own_nodes([node]))
        for node in own_nodes(tree.body)
    )


def _sees_closing(node: ast.AST) -> bool:
    if not isinstance(node, ast.Try):
        return isinstance(node, ast.With)
    return bool(node.finalbody) or any(map(_catches_closing, node.handlers))


def _catches_closing(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return not names.isdisjoint(CATCH_CLOSING)


def rewrite_machine(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """`tree`, a generator function, as a function that takes its frame."""
    start, blocks = _Blocks(tree, job).run()
    (new,) = quote(RESUME, at=tree, START=start, BLOCKS=blocks)
    assert isinstance(new, ast.FunctionDef)
    new.name = tree.name
    declared = [n for n in tree.body if isinstance(n, ast.Global | ast.Nonlocal)]
    new.body[0:0] = declared
    return new


@dataclass(frozen=True)
class Guarded:
    """A `try` around blocks: its handlers, which blocks they go on to, or its `finally`."""

    node: ast.Try
    to: tuple[int, ...] = ()
    final: bool = False


@dataclass
class Piece:
    """Statements that run without a stop, inside some `try`s, the outermost first."""

    around: tuple[Guarded, ...]
    body: list[ast.stmt] = field(default_factory=list)


@dataclass(frozen=True)
class LoopEnds:
    """Where `continue` and `break` go to, and the `try`s around the loop."""

    head: int
    after: int
    around: tuple[Guarded, ...]


class _Blocks:
    """The blocks of one generator."""

    def __init__(self, tree: ast.FunctionDef, job: Job) -> None:
        self.tree, self.job = tree, job
        self.locals = frozenset(scope_of(tree).locals)
        self.blocks: list[Piece] = []
        self.around: tuple[Guarded, ...] = ()
        self.loops: list[LoopEnds] = []
        self.here = self.new()

    def run(self) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """The first block; the others, as one chain of `if`s on the number of the block."""
        self.statements(self.tree.body)
        self.emit("return (True, None, None)", self.tree)
        chain = quote("return (True, None, None)", at=self.tree)
        for number, block in reversed(list(enumerate(self.blocks))[1:]):
            test = ast.Constant(number)
            chain = quote("if at__ == TEST:\n    BODY\nelse:\n    REST", at=self.tree, TEST=test,
                          BODY=self.guarded(block), REST=chain)  # fmt: skip
        return self.guarded(self.blocks[0]), chain

    def guarded(self, block: Piece) -> list[ast.stmt]:
        """The statements of `block` inside the `try`s around it."""
        body = block.body or [ast.copy_location(ast.Pass(), self.tree)]
        for one in reversed(block.around):
            if one.final:
                final = self.renamed(one.node.finalbody)
                body = quote(FINALLY, at=one.node, BODY=body, FINAL=final)
                continue
            handlers = list(map(self.handler, one.node.handlers, one.to))
            body = [ast.copy_location(ast.Try(body, handlers, [], []), one.node)]
        return body

    def handler(self, node: ast.ExceptHandler, to: int) -> ast.ExceptHandler:
        """The handler as it is, or, where it stops, a jump to its first block."""
        kept = frozenset({node.name} if node.name else ())
        body = self.jump_to(to, node)
        if self.stops(node) and node.name:
            target = self.rename(ast.copy_location(ast.Name(node.name, ast.Store()), node))
            body += quote("TARGET = VALUE", at=node, TARGET=target, VALUE=node.name)
        elif not self.stops(node):
            body = [*self.renamed(node.body, kept), *body]
        kind = node.type and self.rename(copy_tree(node.type))
        return ast.copy_location(ast.ExceptHandler(kind, node.name, body), node)

    def stops(self, node: ast.ExceptHandler) -> bool:
        """Has a handler a `yield`, or does it leave the function or a loop?"""
        inside = any(isinstance(one, (*YIELDS, ast.Return)) for one in own_nodes(node.body))
        return inside or any(map(leaves_loop, node.body))

    # ---- blocks

    def new(self) -> int:
        self.blocks.append(Piece(self.around))
        return len(self.blocks) - 1

    def emit(self, template: str, at: ast.AST, **holes: str | ast.expr | list[ast.stmt]) -> None:
        self.blocks[self.here].body += quote(template, at=at, **holes)

    def jump_to(self, number: int, at: ast.AST) -> list[ast.stmt]:
        return quote("at__ = TO", at=at, TO=ast.Constant(number))

    def jump(self, number: int, at: ast.AST) -> None:
        self.blocks[self.here].body += self.jump_to(number, at)

    def go_on(self, number: int, at: ast.AST) -> None:
        """End this block with a jump to `number`, which is the current one from here on."""
        self.jump(number, at)
        self.here = number

    # ---- statements

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Break | ast.Continue):
            self.leave_loop(node)
        elif isinstance(node, ast.Return):
            self.leave(node)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            return
        elif not self.is_split(node):
            self.blocks[self.here].body += self.renamed([node])
        elif isinstance(node, ast.If):
            self.branch(node)
        elif isinstance(node, ast.While):
            self.while_loop(node)
        elif isinstance(node, ast.For):
            self.for_loop(node)
        elif isinstance(node, ast.Try):
            self.attempt(node)
        elif isinstance(node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign):
            self.simple(node)
        else:
            raise self.refused(node, f"a `yield` inside a `{type(node).__name__.lower()}`")

    def is_split(self, node: ast.stmt) -> bool:
        """Does `node` stop in the middle, or leave a loop that does?"""
        if any(isinstance(one, YIELDS) for one in own_nodes([node])):
            return True
        return bool(self.loops) and leaves_loop(node)

    def simple(self, node: ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        """A statement whose value has a `yield` in it."""
        if isinstance(node, ast.Expr) and isinstance(node.value, YIELDS):
            self.stop(node.value)
            return
        self.take_out(node, "value", node)
        self.blocks[self.here].body += self.renamed([node])

    def take_out(self, node: ast.stmt, name: str, whole: ast.AST) -> None:
        """What is sent comes in the place of the `yield` that the field `name` is, or has in it."""
        value = getattr(node, name)
        if isinstance(value, YIELDS):
            self.stop(value)
            setattr(node, name, ast.copy_location(ast.Name("sent__", ast.Load()), value))
        else:
            self.hoist(whole)

    def hoist(self, node: ast.AST, part: ast.AST | None = None) -> None:
        """The one `yield` inside an expression comes first: what precedes it are names only."""
        nodes = list(own_nodes([part or node]))
        found = [one for one in nodes if isinstance(one, YIELDS)]
        inside = {id(one) for one in ast.walk(found[0])}
        others = [one for one in nodes if id(one) not in inside]
        found = [one for one in found if one is found[0] or id(one) not in inside]
        calls = sum(isinstance(one, ast.Call) for one in others)
        plain = not any(isinstance(one, (ast.BoolOp, ast.IfExp, *COMPREHENSIONS)) for one in others)
        if len(found) > 1 or calls > 1 or not plain:
            raise self.refused(found[0], "a `yield` in the middle of an expression")
        self.stop(found[0])
        kept = self.kept("sent", found[0])
        self.emit("KEPT = sent__", found[0], KEPT=kept)
        Exchange(found[0], read_of(kept)).generic_visit(node)

    def stop(self, node: ast.Yield | ast.YieldFrom) -> None:
        """Give a value, and go on with what is sent: `sent__`."""
        if node.value is not None and any(isinstance(o, YIELDS) for o in own_nodes([node.value])):
            self.hoist(node, node.value)
        if isinstance(node, ast.YieldFrom):
            self.delegate(node)
            return
        value = self.rename(node.value) if node.value else ast.Constant(None)
        after = self.new()
        text = "frame__.state = AFTER\nreturn (False, VALUE, None)"
        self.emit(text, node, AFTER=ast.Constant(after), VALUE=value)
        self.here = after
        self.emit("if how__: raise sent__", node)

    def delegate(self, node: ast.YieldFrom) -> None:
        source, count = self.kept("source", node), self.kept("count", node)
        text = f"SOURCE = {DELEGATED}\nCOUNT = 0\nhow__ = 0\nsent__ = None"
        self.emit(text, node, SOURCE=source, VALUE=self.rename(node.value), COUNT=count)
        here = self.new()
        self.go_on(here, node)
        self.emit(
            DELEGATE, node, SOURCE=read_of(source), HERE=ast.Constant(here), COUNT=read_of(count),
            COUNT_TOO=count,
        )  # fmt: skip

    def branch(self, node: ast.If) -> None:
        self.test(node)
        body, orelse, after = self.new(), self.new(), self.new()
        self.choose(node.test, body, orelse)
        for number, part in ((body, node.body), (orelse, node.orelse)):
            self.here = number
            self.statements(part)
            self.jump(after, node)
        self.here = after

    def test(self, node: ast.If | ast.While) -> None:
        if any(isinstance(one, YIELDS) for one in own_nodes([node.test])):
            self.take_out(node, "test", node.test)

    def choose(self, test: ast.expr, body: int, orelse: int) -> None:
        text = "if TEST: at__ = BODY\nelse: at__ = ORELSE"
        self.emit(text, test, TEST=self.rename(test), BODY=ast.Constant(body),
                  ORELSE=ast.Constant(orelse))  # fmt: skip

    def while_loop(self, node: ast.While) -> None:
        head = self.new()
        self.go_on(head, node)
        self.test(node)
        body, orelse, after = self.new(), self.new(), self.new()
        self.choose(node.test, body, orelse)
        self.loop(node, head, body, orelse, after)

    def for_loop(self, node: ast.For) -> None:
        source, count = self.kept("source", node), self.kept("count", node)
        text = f"SOURCE = {DELEGATED}\nCOUNT = 0"
        value = self.rename(node.iter)
        self.emit(text, node, SOURCE=source, VALUE=value, COUNT=count)
        head = self.new()
        self.go_on(head, node)
        body, orelse, after = self.new(), self.new(), self.new()
        self.emit(
            FOR_HEAD, node, SOURCE=read_of(source), COUNT=read_of(count), COUNT_TOO=count,
            AFTER=ast.Constant(orelse), BODY=ast.Constant(body), TARGET=self.rename(node.target),
        )  # fmt: skip
        self.loop(node, head, body, orelse, after)

    def loop(
        self, node: ast.While | ast.For, head: int, body: int, orelse: int, after: int
    ) -> None:
        self.loops.append(LoopEnds(head, after, self.around))
        self.here = body
        self.statements(node.body)
        self.jump(head, node)
        self.loops.pop()
        self.here = orelse
        self.statements(node.orelse)
        self.go_on(after, node)

    def attempt(self, node: ast.Try) -> None:
        """A `try` with a `yield` in its body: each block of the body is inside one."""
        for part in node.finalbody:
            inside = any(isinstance(one, (*YIELDS, ast.Return)) for one in own_nodes([part]))
            if inside or leaves_loop(part):
                raise self.refused(part, "a `yield`, a `return` or a `break` in `finally`")
        outer, after = self.around, self.new()
        if node.finalbody:
            self.around = (*self.around, Guarded(node, final=True))
        ends = self.new()
        inner = self.around
        to = tuple(self.new() if self.stops(one) else ends for one in node.handlers)
        if node.handlers:
            self.around = (*self.around, Guarded(node, to))
        self.go_on(self.new(), node)
        self.statements(node.body)
        self.around = inner
        self.go_on(self.new(), node)
        self.statements(node.orelse)
        self.jump(ends, node)
        for number, handler in zip(to, node.handlers, strict=True):
            if number != ends:
                self.handler_blocks(handler, number)
                self.jump(ends, node)
        self.here, self.around = ends, outer
        if node.finalbody:
            self.go_on(self.new(), node)
            self.blocks[self.here].body += self.renamed(node.finalbody)
        self.go_on(after, node)

    def handler_blocks(self, node: ast.ExceptHandler, first: int) -> None:
        for one in own_nodes(node.body):
            if isinstance(one, ast.Raise) and one.exc is None:
                raise self.refused(one, "a `raise` without an error in an `except` with `yield`")
        self.here = first
        self.statements(node.body)

    def leave_loop(self, node: ast.Break | ast.Continue) -> None:
        loop = self.loops[-1]
        self.leave_trys(loop.around, node)
        self.jump(loop.after if isinstance(node, ast.Break) else loop.head, node)
        self.here = self.new()  # nothing comes here

    def leave(self, node: ast.Return) -> None:
        if node.value is not None and any(isinstance(o, YIELDS) for o in own_nodes([node.value])):
            self.take_out(node, "value", node)
        value = self.rename(node.value) if node.value else ast.Constant(None)
        if any(one.final for one in self.around):
            kept = self.kept("result", node)
            self.emit("KEPT = VALUE", node, KEPT=kept, VALUE=value)
            value = read_of(kept)
            self.leave_trys((), node)
        self.emit("return (True, None, VALUE)", node, VALUE=value)
        self.here = self.new()

    def leave_trys(self, outer: tuple[Guarded, ...], at: ast.stmt) -> None:
        """Run the `finally` of each `try` around this block, up to those of `outer`."""
        before = self.around
        while len(self.around) > len(outer):
            *rest, one = self.around
            self.around = tuple(rest)
            if one.final:
                self.go_on(self.new(), at)
                self.blocks[self.here].body += self.renamed(one.node.finalbody)
        self.around = before

    # ---- names

    def kept(self, stem: str, at: ast.AST) -> ast.expr:
        """A new attribute of the frame, to be set."""
        name = ast.Name("frame__", ast.Load())
        made = ast.Attribute(name, self.job.fresh.name(stem), ast.Store())
        return ast.copy_location(made, at)

    def renamed(
        self, body: Sequence[ast.stmt], kept: frozenset[str] = frozenset()
    ) -> list[ast.stmt]:
        final = any(one.final for one in self.around)
        names = FrameNames(self.locals - kept, self.refused, may_return=not final)
        found = [names.visit(copy_tree(node)) for node in body]
        return [new for one in found for new in (one if isinstance(one, list) else [one])]

    def rename(self, node: ast.expr) -> ast.expr:
        new: ast.expr = FrameNames(self.locals, self.refused).visit(node)
        return new

    def refused(self, node: ast.AST, what: str) -> UnsupportedSyntax:
        return UnsupportedSyntax(
            f"{what} cannot be converted in a generator whose items are taken one by one",
            at=self.job.source.location(node), fix="loop over the generator, or make a list of it",
        )  # fmt: skip
