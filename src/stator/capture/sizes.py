"""Sizes: what torch asks about sizes that are not known yet.

A dynamic size is an unbacked symbol: torch's own code then takes the path that is right for every
size wherever it has one. Where it insists on an answer (`GuardOnDataDependentSymNode`), a typical
size (a prime >= 5) gives it, and the question is either
    forgotten   it is about layout or 0/1 broadcasting in an op, where both answers mean the same
    demanded    anything else: the answer becomes a check of the program, with the user's line

NOTE: what torch learns inside a branch or a loop must not leak out of it (the other branch may run
instead), so replacements, ranges and axioms are learned at the top block only; inner blocks keep
their own list of facts.

Private torch API, checked on torch 2.13 and 2.11: ShapeEnv.evaluate_expr,
guard_or_defer_runtime_assert, _maybe_guard_rel, _maybe_evaluate_static, _set_replacement,
_get_stack_summary, _log_create_unbacked_symbol.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import sympy
import torch

from stator.torch_private.symbols import (
    GuardOnDataDependentSymNode,
    ShapeEnv,
    SLoc,
    evaluate,
    functions,
    truth_of,
)


class SizeRecorder(Protocol):
    """What the sizes need of the recorder: where we are, and a way to demand."""

    dispatching: str | None

    @property
    def depth(self) -> int:
        """How many blocks are open around the current one."""

    def demand(self, fact: sympy.Basic) -> None:
        """The program goes on only where `fact` holds."""

    def note_learned(self, fact: sympy.Basic) -> None:
        """A size check has just established `fact`, and the sizes are simplified by it."""

    def refuse_question(self, question: sympy.Basic) -> Exception:
        """The error where Python code needs the answer to `question`, which is data-dependent."""


class Sizes(ShapeEnv):
    """The shape environment of one capture."""

    def __init__(self) -> None:
        super().__init__()
        self.recorder: SizeRecorder | None = None
        self.names: dict[sympy.Symbol, str] = {}  # those that the user has given
        self.facts: list[set[sympy.Basic]] = [set()]
        self.data: set[sympy.Symbol] = set()  # numbers that came from data, not from a size
        self.opaque: set[sympy.Symbol] = set()  # truth values and floats
        self._named: dict[str, torch.SymInt] = {}
        self._typical: dict[sympy.Symbol, int] = {}
        self.asked: list[sympy.Basic] = []  # what the op at hand wanted to know
        self.flipped: frozenset[sympy.Basic] = frozenset()  # answered the other way, in a retry
        self._to_learn: list[sympy.Basic] = []
        self.broadcast: dict[frozenset[Any], torch.SymInt] = {}  # what sizes broadcast to
        self._parts: dict[sympy.Symbol, frozenset[Any]] = {}  # a size that came of broadcasting
        self.descriptions: dict[object, Any] = {}  # `descriptions` has those of symbolic sizes here
        self.consulted = 0  # how often more was needed than what torch knows of the sizes by itself

    def named_size(self, name: str | None, fresh: Callable[[], torch.SymInt]) -> torch.SymInt:
        """The size that has this name; a `fresh` one that has it from now on, or has none."""
        if name is None:
            return fresh()
        if name not in self._named:
            self._named[name] = fresh()
            self.names[self._named[name].node.expr] = name
        return self._named[name]

    def add_broadcast(self, size: torch.SymInt, parts: frozenset[Any]) -> None:
        """`size` is what the sizes `parts` broadcast to."""
        self.broadcast[parts] = size
        self._parts[size.node.expr] = parts

    def parts_of(self, size: Any) -> frozenset[Any]:
        """The sizes that have broadcast to `size`; itself if there are none."""
        self.consulted += 1
        return self._parts.get(size, frozenset({size}))

    def is_known(self, fact: Any) -> bool:
        """Has `fact` been checked already?"""
        return self._known(fact)

    def add_fact(self, fact: Any) -> None:
        """`fact` is checked from here on, in this block."""
        self.facts[-1].add(fact)

    def settle(self, expression: Any) -> bool:
        """If a size of broadcasting is compared with one that it came of, they must be equal.

        Does that tell more of `expression`? Code that compares them takes it for granted.
        """
        found = False
        self.consulted += 1
        if self.recorder is None or self.recorder.depth:
            return found
        symbols = expression.free_symbols
        for size in [symbol for symbol in symbols if symbol in self._parts]:
            for part in [part for part in self._parts[size] if part in symbols]:
                fact = sympy.Eq(size, part)
                if self.replace(fact) != sympy.true and not self._known(fact):
                    self.facts[-1].add(fact)
                    for other in self._parts[size] - {part}:
                        wanted = sympy.Or(sympy.Eq(other, part), sympy.Eq(other, 1))
                        self.recorder.demand(wanted)
                        self.recorder.note_learned(wanted)
                    self._set_replacement(size, self.replace(part), "broadcasting")
                    found = True
        return found

    def settle_quotients(self, sizes: Sequence[int | torch.SymInt]) -> bool:
        """`settle`, for the sizes of results: where they divide one size by the other."""
        found = False
        if self._parts:
            for size in sizes:
                if isinstance(size, torch.SymInt):
                    for part in size.node.expr.atoms(*QUOTIENTS):
                        found = self.settle(part) or found
        return found

    def create_unbacked_symint(self, *args: Any, **kwargs: Any) -> Any:
        """A new int, which counts as data until it is made a size."""
        self.consulted += 1
        number = super().create_unbacked_symint(*args, **kwargs)
        self.data |= number.node.expr.free_symbols
        return number

    def create_unbacked_symfloat(self, *args: object, **kwargs: object) -> Any:
        """A new float; no question about it has a typical answer."""
        self.consulted += 1
        number = super().create_unbacked_symfloat(*args, **kwargs)
        self.opaque |= number.node.expr.free_symbols
        return number

    def create_unbacked_symbool(self) -> Any:
        """A new truth value; no question about it has a typical answer."""
        self.consulted += 1
        number = super().create_unbacked_symint()
        self.opaque |= number.node.expr.free_symbols
        return truth_of(self, number)

    def _constrain_range_for_size(self, a: Any, *args: Any, **kwargs: Any) -> None:
        self.data.discard(a)
        super()._constrain_range_for_size(a, *args, **kwargs)

    def evaluate_expr(self, orig_expr: sympy.Basic, *args: Any, **kwargs: Any) -> Any:
        """Torch's own answer where it has one, else the answer at typical sizes."""
        try:
            return super().evaluate_expr(orig_expr, *args, **kwargs)
        except GuardOnDataDependentSymNode:
            return self._answer(self.replace(orig_expr))

    def guard_or_defer_runtime_assert(  # type: ignore[override]  # torch types it as its cache
        self, orig_expr: object, msg: str, fx_node: torch.fx.Node | None = None
    ) -> bool:
        """What is known of `orig_expr`; where nothing is, it is demanded and taken to hold."""
        known = evaluate(self, orig_expr)
        if known is None and self._parts and self.settle(orig_expr):
            orig_expr = self.replace(orig_expr)
            known = evaluate(self, orig_expr)
        if known is not None:
            return bool(known)
        if not self._known(orig_expr):
            self._demand(orig_expr)
        return True

    def _maybe_guard_rel(  # type: ignore[override]  # torch types it as its cache
        self, expr: object
    ) -> None:
        if self.recorder is None or self.recorder.depth == 0:
            super()._maybe_guard_rel(expr)

    def _get_stack_summary(self, *args: object, **kwargs: object) -> tuple[SLoc, str]:
        """Where torch learns of a size, for its own messages; those of Stator have their lines.

        To find it, torch imports `torch.export` and walks the stack for each number.
        """
        return HERE, ""

    def _log_create_unbacked_symbol(self, *args: object, **kwargs: object) -> None:
        """Nothing: torch would describe its own stack, for which it imports the same."""

    def _answer(self, question: object) -> Any:
        """The answer to `question` at typical sizes, remembered as it must be."""
        self.consulted += 1
        recorder = self.recorder
        if self._parts and self.settle(question):
            question = self.replace(question)
            if question in (sympy.true, sympy.false):
                return question
        inside_op = recorder is not None and recorder.dispatching is not None
        if not _is_condition(question) or self._only_a_run_knows(question, inside_op):
            assert recorder is not None
            raise recorder.refuse_question(question)
        if self._known(question):
            return sympy.true
        if self._known(sympy.Not(question)):
            return sympy.false
        answer = self._typical_answer(question)
        if not (inside_op and self._is_zero_one(question)):
            answer = answer is not (question in self.flipped)
            self.asked.append(question)
            self._demand(question if answer else sympy.Not(question))
        return sympy.true if answer else sympy.false

    def _only_a_run_knows(self, question: Any, inside_op: bool) -> bool:
        """A truth value or a float never has a typical value; an int has one as a size of an op."""
        symbols = question.free_symbols
        return any(s in self.opaque or (s in self.data and not inside_op) for s in symbols)

    def _typical_answer(self, question: Any) -> bool:
        if isinstance(question, sympy.Eq | sympy.Ne) and not any(
            side.is_number for side in question.args
        ):  # two sizes compared: the code is about to demand that they agree
            return isinstance(question, sympy.Eq)
        sizes = {symbol: self._typical_size(symbol) for symbol in question.free_symbols}
        return bool(question.xreplace(sizes))

    def _typical_size(self, symbol: sympy.Symbol) -> int:
        if symbol not in self._typical:
            self._typical[symbol] = int(sympy.prime(10 + len(self._typical)))
        return self._typical[symbol]

    def _known(self, fact: sympy.Basic) -> bool:
        self.consulted += 1
        return any(fact in facts for facts in self.facts)

    def _demand(self, fact: object) -> None:
        self.facts[-1].add(fact)
        if self.recorder is None:
            return
        if self.recorder.dispatching is None:  # Python code of a library asks: it takes a path
            self.recorder.demand(fact)
        elif _is_size_check(fact):
            return
        elif not self._is_zero_one(fact) or self.recorder.dispatching in RANK_DEPENDS_ON_ONE:
            self.recorder.demand(fact)
        self._to_learn.append(fact)
        if self.recorder.dispatching is None:
            self.learn()

    def learn(self) -> None:
        """What was demanded at the top of the program holds from there on."""
        assert self.recorder is not None
        facts, self._to_learn = self._to_learn, []
        if self.recorder.depth == 0:
            for fact in facts:
                super()._maybe_guard_rel(fact)
                if not isinstance(fact, sympy.Ne):  # of which torch learns nothing
                    self.recorder.note_learned(fact)

    def forget(self, facts: set[sympy.Basic]) -> None:
        """Go back to `facts`: the op that asked has failed."""
        self._to_learn = []
        self.facts[-1] = facts

    def _is_zero_one(self, question: object) -> bool:
        """Is this a question of 0 or 1 (empty, broadcast, contiguous), not of the data itself?"""
        recorder = self.recorder
        if recorder is not None and recorder.dispatching in RANK_DEPENDS_ON_ONE:
            return False
        return all(_is_zero_one_atom(atom) for atom in _relations(question))


HERE = SLoc("a capture", None)
QUOTIENTS = (functions.FloorDiv, functions.CleanDiv, functions.Mod, functions.PythonMod)

# Ops whose result has another rank when a size is 1: there the question is not about layout alone.
RANK_DEPENDS_ON_ONE = frozenset({
    "aten::squeeze", "aten::squeeze.dim", "aten::squeeze.dims",
    "aten::squeeze_", "aten::squeeze_.dim", "aten::squeeze_.dims",
})  # fmt: skip


def _is_condition(question: object) -> bool:
    """Sympy's Symbol counts as a Boolean, so the classes are named."""
    return question in (sympy.true, sympy.false) or isinstance(
        question, sympy.core.relational.Relational | sympy.And | sympy.Or | sympy.Not
    )


def _relations(question: object) -> tuple[object, ...]:
    if isinstance(question, sympy.And | sympy.Or | sympy.Not):
        return tuple(atom for part in question.args for atom in _relations(part))
    return (question,)


def _is_zero_one_atom(atom: object) -> bool:
    if not isinstance(atom, sympy.core.relational.Relational):
        return atom in (sympy.true, sympy.false)
    numbers = [side for side in atom.args if side.is_number]
    return len(numbers) == 1 and numbers[0] in (0, 1)


def _is_size_check(fact: object) -> bool:
    """`size >= 0`: the op that takes the size raises by itself."""
    return isinstance(fact, sympy.Ge | sympy.Le | sympy.Gt | sympy.Lt) and any(
        side.is_number and side in (0, -1) for side in fact.args
    )
