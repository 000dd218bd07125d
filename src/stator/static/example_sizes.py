"""ExampleSizes: what torch and Python ask about sizes, answered as one real run has them.

An answer that another size would change becomes a check of the program. Inside an op, a question
about 0 or 1 (empty, broadcast, contiguous) leaves no check where the real size is neither: the op
then means the same for every size.
"""

from __future__ import annotations

from typing import Any

import sympy
import torch

from stator.capture.sizes import Sizes, _is_condition


class ExampleSizes(Sizes):
    """The shape environment of a run on real tensors; `actual` is what each size is in it."""

    def __init__(self) -> None:
        super().__init__()
        self.actual: dict[sympy.Symbol, int] = {}
        self.from_sizes: set[sympy.Symbol] = set()  # of inputs, or made from those

    def add_sizes(self, tensor: torch.Tensor) -> None:
        """The open sizes of `tensor` are sizes, not data."""
        for size in tensor.shape:
            if isinstance(size, torch.SymInt):
                self.from_sizes |= size.node.expr.free_symbols

    def is_size(self, expression: Any) -> bool:
        """Is `expression` made of sizes of the inputs alone?"""
        return bool(expression.free_symbols <= self.from_sizes)

    def evaluate_expr(
        self, orig_expr: Any, hint: Any = None, fx_node: Any = None, size_oblivious: bool = False,
        fallback_value: bool | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Torch's answer where it knows one, else that of this run."""
        if fallback_value is None:
            return super().evaluate_expr(orig_expr, hint, fx_node, size_oblivious, **options)
        question = self.replace(orig_expr)
        if self._maybe_evaluate_static(question) is None and self._is_unusual(question):
            return self._answer(question)
        return super().evaluate_expr(
            orig_expr, hint, fx_node, size_oblivious, fallback_value, **options
        )

    def guard_or_defer_runtime_assert(  # type: ignore[override]  # torch types it as its cache
        self, orig_expr: Any, msg: str, fx_node: torch.fx.Node | None = None
    ) -> bool:
        """Does it hold in this run? Then the program checks that it does in each."""
        if self._in_this_run(orig_expr) is False:
            return False
        return super().guard_or_defer_runtime_assert(orig_expr, msg, fx_node)

    def _in_this_run(self, question: Any) -> bool | None:
        """The answer that the real sizes give; None where data decides."""
        answer = question.xreplace(self.actual) if isinstance(question, sympy.Basic) else question
        if answer in (sympy.true, sympy.false, True, False):
            return bool(answer)
        return None

    def _is_unusual(self, question: Any) -> bool:
        """Is the answer of this run another one than most sizes give: is something 0 or 1?"""
        answer = self._in_this_run(question)
        return answer is not None and answer != self._typical_answer(question)

    def _answer(self, question: Any) -> Any:
        recorder = self.recorder
        assert recorder is not None
        inside_op = recorder.dispatching is not None
        if not self.is_size(question) and not (inside_op and _is_condition(question)):
            raise recorder.refuse_question(question)
        if not _is_condition(question):
            return self._fixed(question)
        answer = self._in_this_run(question)
        if answer is None:  # a size that this op makes itself
            return super()._answer(question)
        if not inside_op or self._is_unusual(question) or not self._is_zero_one(question):
            self._check(question if answer else sympy.Not(question))
        return sympy.true if answer else sympy.false

    def _fixed(self, expression: Any) -> Any:
        """A size as a plain number: what it is in this run, and in every run."""
        for symbol in sorted(expression.free_symbols, key=str):
            self._check(sympy.Eq(symbol, self.actual[symbol]))
        return expression.xreplace(self.actual)

    def _check(self, fact: Any) -> None:
        """The program goes on only where `fact` holds."""
        if self._known(fact) or self.recorder is None:
            return
        self.facts[-1].add(fact)
        self.recorder.demand(fact)
        self._to_learn.append(fact)
        if self.recorder.dispatching is None:
            self.learn()
