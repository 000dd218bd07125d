"""ExampleRun: one real run of un-rewritten code, recorded as a program while it happens.

The code is given symbolic tensors, whose sizes are open, and each op that it calls is recorded, as
in any capture. Before that, the same op is run on the real tensors behind the symbolic
ones. So there is one run: random numbers are drawn once, buffers are written once, Python code runs
once, its results are real and carry gradients, and what was recorded is what was run.

NOTE: why the code does not simply run on real tensors. Then a size is a plain number, and no one
could tell whether Python branched on it. A symbolic size that Python asks about is answered with
the real one, and the answer becomes a check of the program, with the line. A value asked about is
refused, with the line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch

from stator.capture.torch_ops import op_name
from stator.errors import CaptureError, DataDependent, StatorError, UnsupportedCall
from stator.static.example_sizes import ExampleSizes
from stator.static.recorder import StaticRecorder
from stator.torch_private.dispatch import no_python_dispatcher
from stator.torch_private.fake import FakeTensor
from stator.torch_private.ops import OpOverload
from stator.torch_private.trees import WeakTensorKeyDictionary, pytree
from stator.values.symbolic import Number

TO_STATIC = "convert the layer with `stator.to_static`, which captures both paths"
# Views whose size torch may not be able to tell from the sizes it is made of.
SLICES = frozenset({"aten::slice.Tensor", "aten::narrow", "aten::split.Tensor", "aten::chunk"})


class ExampleRun(StaticRecorder):
    """Records a run and does it: every symbolic tensor represents a real one."""

    sizes: ExampleSizes
    number_in_words = "a number that comes from data"

    def __init__(self) -> None:
        super().__init__(ExampleSizes())
        self.reals: Any = WeakTensorKeyDictionary()
        self.numbers: dict[sympy.Symbol, Any] = {}  # what the numbers that came from data are

    def stands_for(self, symbolic: torch.Tensor, real: torch.Tensor) -> None:
        """`symbolic` is what the code sees of `real`."""
        self.reals[symbolic] = real
        for size, actual in zip(symbolic.shape, real.shape, strict=True):
            if isinstance(size, torch.SymInt) and isinstance(size.node.expr, sympy.Symbol):
                self.sizes.actual.setdefault(size.node.expr, int(actual))

    def real_of(self, value: Any) -> Any:
        """The real form of a tensor or a number of the run; anything else as it is."""
        if isinstance(value, FakeTensor):
            if value not in self.reals:
                raise UnsupportedCall("a tensor was made by code that the recorder cannot see",
                                      fix="avoid `.data` and raw storage")  # fmt: skip
            return self.reals[value]
        return self._real_number(value) if isinstance(value, Number) else value

    def _real_number(self, number: Number) -> Any:
        expression = number.node.expr.xreplace({**self.sizes.actual, **self.numbers})
        kind = {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}[type(number)]
        return kind(expression)

    # ---- what torch calls

    def record(self, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an op on the real tensors, and record it."""
        real = self._run_real(func, args, kwargs) if isinstance(func, OpOverload) else None
        result = super().record(func, types, args, kwargs)
        self._pair(func, args, result, real)
        return result

    def _run_real(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        args, kwargs = pytree.tree_map(self.real_of, (args, kwargs))
        if op_name(func) == "aten::lift_fresh":  # recorded as a copy: each run has its own
            func = torch.ops.aten.clone.default
        with self.real(), no_python_dispatcher():
            return func(*args, **kwargs)

    def _pair(self, func: Any, args: Any, result: Any, real: Any) -> None:
        """Each result represents the real one; a slice of sizes has a size, not data."""
        symbolic, actual = pytree.tree_leaves(result), pytree.tree_leaves(real)
        for one, other in zip(symbolic, actual, strict=True):
            if isinstance(one, torch.Tensor):
                self.stands_for(one, other)
                if op_name(func) in SLICES and self._are_sizes(args):
                    self.sizes.add_sizes(one)
            elif isinstance(one, Number):
                for symbol in one.node.expr.free_symbols - self.sizes.actual.keys():
                    self.numbers[symbol] = _as_number(other)

    def _are_sizes(self, args: Any) -> bool:
        numbers = [arg for arg in pytree.tree_leaves(args) if isinstance(arg, torch.SymInt)]
        return all(self.sizes.is_size(number.node.expr) for number in numbers)

    def __sym_dispatch__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__sym_dispatch__(func, types, args, kwargs)
        if isinstance(result, Number):
            new = result.node.expr.free_symbols - self.sizes.actual.keys() - self.numbers.keys()
            for symbol in new:  # float arithmetic: each result is a symbol of its own
                self.numbers[symbol] = _as_number(func(*map(self.real_of, args), **(kwargs or {})))
        return result

    def _retry_with_flipped_answers(self, run: Callable[[], Any]) -> Any:
        """The real op has run: the sizes are right, and a failure is the recorder's."""
        try:
            return run()
        except StatorError:
            raise
        except Exception as error:
            raise CaptureError(f"torch cannot trace `{self.dispatching}` with open sizes: {error}",
                               fix="use `stator.to_static`") from error  # fmt: skip

    def needs_value(self, what: str) -> DataDependent:
        """The error for Python code that needs what only a run knows."""
        return DataDependent(
            f"the path through the layer depends on data: Python code needs {what}", fix=TO_STATIC
        )


def _as_number(number: Any) -> sympy.Basic:
    """What represents `number` in an expression; a truth value is 0 or 1 there."""
    return sympy.sympify(int(number) if isinstance(number, bool) else number)
