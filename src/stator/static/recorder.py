"""StaticRecorder: records code that is not rewritten.

What Python asks about sizes becomes a check of the program; what it asks about data is refused.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

import sympy

from stator.capture.branches import apply_to_all, apply_variant
from stator.capture.recorder import Recorder
from stator.capture.sizes import Sizes
from stator.capture.torch_ops import op_name
from stator.errors import DataDependent, StatorError
from stator.program.ir import Op
from stator.static.watching import Refusals, refuse_foreign_code
from stator.torch_private.ops import OpOverload


class StaticRecorder(Recorder):
    """A recorder whose questions about sizes go to `sizes`."""

    sees_managers = False
    number_in_words = "a number"  # in the error for code that asks for the value of one

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(apply_variant, apply_to_all)
        self.sizes = sizes
        self.sizes.recorder = self
        self.fake.shape_env = self.sizes
        self.refusals = Refusals()
        self.literals: set[str] = set()  # stored tensors that the code itself wrote down
        self.path_checks: list[Op] = []  # what Python asked about sizes

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        try:
            refuse_foreign_code()
            name = op_name(func) if isinstance(func, OpOverload) else ""
            if name == "aten::is_nonzero":
                raise self.needs_value("the truth value of a tensor")
            result = self.record(func, types, args, kwargs or {})
            if name == "aten::lift_fresh":
                value = self.find(args[0])
                self.literals.update(item.name for item in self.stored if item.value is value)
            return result
        except StatorError as error:
            raise self.refusals.keep(error) from error.__cause__

    def record(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Record one call of an op."""
        return super().__torch_dispatch__(func, types, args, kwargs)

    def demand(self, fact: sympy.Basic) -> None:
        """The program goes on only where `fact` holds; Python's own questions are remembered."""
        ops = self.scope.block.ops
        before = len(ops)
        super().demand(fact)
        self.note_checks([op for op in ops[before:] if op.name == "stator::demand"])

    def note_checks(self, checks: Sequence[Op]) -> None:
        """Remember these checks if Python asked for them."""
        if self.dispatching is None:
            self.path_checks += checks

    def refuse_question(self, question: sympy.Basic) -> Exception:
        """The error for Python code that asks for a value."""
        del question
        return self.refusals.keep(self.needs_value(self.number_in_words))

    @abc.abstractmethod
    def needs_value(self, what: str) -> DataDependent:
        """The error for Python code that needs what only a run knows."""
