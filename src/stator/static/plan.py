"""Plan: a program made ready as a strategy says; the form that fits is chosen for each run.

plain       as recorded; used under another autocast than the program was made under
recording   for runs that record gradients: nothing that a backward pass could notice
quiet       for runs that record none: equal ops are merged, results overwrite their arguments
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch

from stator.capture.modes import Modes
from stator.execute.backend import Executable, Outcome, RunOptions
from stator.execute.selection import prepare
from stator.first_use import FirstUse
from stator.locks import ForkSafeLock
from stator.optimize.fold import fold
from stator.optimize.fold_tensors import fold_tensors
from stator.optimize.in_place import in_place
from stator.optimize.merge import merge
from stator.optimize.prune import drop_unused_stored, prune
from stator.program.program import Program
from stator.program.verifier import verify
from stator.static.strategy import BuildStrategy, ExecutionStrategy

THREADS = ForkSafeLock()  # torch's number of threads is one for the process


@dataclass(frozen=True)
class PreparedProgram:
    """A program ready to run, and the tensors that were worked out for it."""

    program: Program
    executable: Executable
    folded: Mapping[str, torch.Tensor]


class Plan:
    """`program` under a build strategy; without one, it is run as it was recorded.

    `tensors` are those it finds beside itself, `private` the constants that no one else holds.
    """

    def __init__(
        self,
        program: Program,
        tensors: Mapping[str, torch.Tensor],
        strategy: BuildStrategy | None,
        *,
        private: frozenset[str] = frozenset(),
        modes: Modes | None = None,
        backend: str | None = None,
    ) -> None:
        self.program, self.strategy = program, strategy and replace(strategy)
        self._tensors, self._private, self._modes = tensors, private, modes
        self._backend = backend
        self._turns_grad_on = any(
            op.name == "stator::set_grad" and op.args[0] is True for op in program.ops()
        )

    def run(
        self, inputs: Sequence[object], stored: Mapping[str, torch.Tensor],
        execution: ExecutionStrategy,
    ) -> Outcome:  # fmt: skip
        """One run."""
        with _threads(execution.num_threads), _inference(execution.inference_mode):
            form = self._form([*inputs, *stored.values()])
            return form.executable.bind({**stored, **form.folded})(inputs)

    def _form(self, tensors: Sequence[object]) -> PreparedProgram:
        if self.strategy is None or (
            self._modes and Modes.current().autocast != self._modes.autocast
        ):
            return self.plain
        grad = torch.is_grad_enabled() or self._turns_grad_on
        if grad and any(isinstance(one, torch.Tensor) and one.requires_grad for one in tensors):
            return self.recording
        return self.quiet

    @FirstUse
    def plain(self) -> PreparedProgram:
        """The program as it was recorded."""
        return self._made(self.program, {})

    @FirstUse
    def recording(self) -> PreparedProgram:
        """The program for runs that record gradients."""
        return self._optimized(gradients=True)

    @FirstUse
    def quiet(self) -> PreparedProgram:
        """The program for runs that record none."""
        return self._optimized(gradients=False)

    def _optimized(self, *, gradients: bool) -> PreparedProgram:
        program, strategy, folded = self.program, self.strategy, dict[str, torch.Tensor]()
        assert strategy is not None
        if strategy.constant_folding:
            program, tensors = fold_tensors(
                verify(fold(program)), self._tensors, private=self._private
            )
            folded = {name: t for name, t in tensors.items() if name not in self._tensors}
        if strategy.merge_equal_ops:
            program = verify(merge(verify(program), gradients=gradients))
        if strategy.enable_inplace and not gradients:
            program = verify(in_place(program))
        return self._made(verify(drop_unused_stored(verify(prune(program)))), folded)

    def _made(self, program: Program, folded: Mapping[str, torch.Tensor]) -> PreparedProgram:
        strategy = self.strategy
        options = RunOptions(
            release=strategy is None or strategy.memory_reuse,
            fuses=strategy is None or strategy.fuse_ops,
        )
        return PreparedProgram(program, prepare(self._backend, program, options), folded)


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """`count` threads for torch's ops inside; None leaves the number as it is."""
    if count is None:
        yield
        return
    with THREADS:
        before = torch.get_num_threads()
        torch.set_num_threads(count)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def _inference(enabled: bool) -> contextlib.AbstractContextManager[object]:
    return torch.inference_mode() if enabled else contextlib.nullcontext()
