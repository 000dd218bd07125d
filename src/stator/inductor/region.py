"""CompiledRegion: a region of a program with its compiled code; what a call of it does.

    call -> code for its layout is there    run it; the first time, beside the ops, to compare
            none is there                   ask for it, and run the ops
            no code will do                 run the ops

No code will do if compiling has failed, if its results were not those of the ops, or if a region
has been compiled `MOST_LAYOUTS` times. Compiled code also knows nothing of autocast, dispatch
modes, `torch.func`, forward-mode gradients, subclasses of tensors and empty tensors: the ops run.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.english import in_one_line
from stator.inductor.autograd import RegionStep
from stator.inductor.checking import agree, same_strides, share_memory
from stator.inductor.compiling import CompiledCode, compile_region
from stator.inductor.layouts import DynamicSize, RegionLayout, layout_of
from stator.logs import LOGGER
from stator.program.ir import Block, Value
from stator.regions.region import ProgramRegion, State
from stator.torch_private.dispatch import is_plain_call

MOST_LAYOUTS = 8
MOST_CALLS_KNOWN = 256  # combinations of sizes whose code is looked up at once

Compile = Callable[[Block, Sequence[Value], RegionLayout], CompiledCode]


@dataclass(eq=False)
class CodeInUse:
    """Compiled code, and what its runs have proven."""

    code: CompiledCode
    region: CompiledRegion
    has_run: bool = False
    is_proven: bool = False  # in the backward pass

    def reject(self, problem: str) -> None:
        """The region runs uncompiled from now on."""
        self.region.fail(problem)


@dataclass(eq=False)
class CompiledRegion(ProgramRegion):
    """A region; any number of threads may call it."""

    request: Callable[[CompiledRegion, RegionLayout], None]  # has it compiled, now or later
    compile: Compile = compile_region
    _codes: list[CodeInUse] = field(default_factory=list)
    _pending: list[RegionLayout] = field(default_factory=list)
    _requests: int = 0
    _known: dict[Any, CodeInUse] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def state(self) -> State:
        """How far it is."""
        if self.failure:
            return "failed"
        if self._pending:
            return "compiling"
        return "ready" if self._codes else "not called"

    @property
    def layouts(self) -> int:
        """For how many layouts there is code."""
        return len(self._codes)

    def fail(self, problem: str) -> None:
        """The region runs uncompiled from now on."""
        with self._lock:
            if self.failure:
                return
            self.failure = problem
            self._known.clear()
        LOGGER.info("the region at %s runs uncompiled: %s", self.place, problem)

    def compile_for(self, layout: RegionLayout) -> None:
        """Compile it; what goes wrong is a failure of the region."""
        try:
            code = self.compile(self.op.blocks[0], self.inputs, layout)
        except Exception as error:  # noqa: BLE001  # torch's compiler may raise anything
            self.fail(in_one_line(error))
            code = None
        with self._lock:
            self._pending.remove(layout)
            if code is not None:
                self._codes.append(CodeInUse(code, self))

    def __call__(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """The results for these inputs."""
        code = None if self.failure else self._code_for(tensors, numbers)
        if code is None:
            return self.ops([*tensors, *numbers])
        rules = code.code.layout.numbers
        dynamic = [n for n, r in zip(numbers, rules, strict=True) if isinstance(r, DynamicSize)]
        if not code.has_run:
            return self._first_run(code, tensors, numbers, dynamic)
        if code.code.backward is None:
            return code.code.forward([*tensors, *dynamic])
        return self._with_gradients(code, tensors, numbers, dynamic)

    def _with_gradients(
        self,
        code: CodeInUse,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
        dynamic: Sequence[int],
    ) -> Sequence[torch.Tensor]:
        count = len(tensors)

        def ops(given: Sequence[Any]) -> Sequence[torch.Tensor]:
            return self.ops([*given[:count], *numbers])

        results: Sequence[torch.Tensor] = RegionStep.apply(  # type: ignore[no-untyped-call]
            code.code, ops, code, *tensors, *dynamic
        )
        return results

    def _first_run(
        self,
        code: CodeInUse,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
        dynamic: Sequence[int],
    ) -> Sequence[torch.Tensor]:
        """The ops run, and the code beside them: it is used from the next call on if it agrees."""
        expected = self.ops([*tensors, *numbers])
        try:
            with torch.no_grad():
                found = code.code.forward([*tensors, *dynamic])[: len(expected)]
                plain = [one.detach() for one in expected]
                if not agree(found, plain):
                    self.fail("its results differ from those of the ops")
                elif not same_strides(found, plain) or share_memory(found, tensors):
                    self.fail("its results have another memory layout than those of the ops")
        except Exception as error:  # noqa: BLE001  # compiled code is not trusted yet
            self.fail(f"{type(error).__name__} when it was run: {error}"[:300])
        code.has_run = True
        return expected

    def _code_for(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> CodeInUse | None:
        """The code for a call; None if there is none, which may be asked for."""
        gradients = torch.is_grad_enabled()
        key = (
            gradients, tuple((t.shape, t.stride(), t.requires_grad) for t in tensors), *numbers
        )  # fmt: skip
        if not is_plain_call(tensors):
            return None
        found = self._known.get(key)
        if found is None:
            found = self._found(tensors, numbers, gradients=gradients)
            if found is None:
                return None
            if len(self._known) >= MOST_CALLS_KNOWN:
                self._known.clear()
            self._known[key] = found
        return found

    def _found(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int], *, gradients: bool
    ) -> CodeInUse | None:
        if any(not tensor.numel() for tensor in tensors):
            return None
        for one in tuple(self._codes):
            sizes = one.code.layout.dynamic_sizes(tensors, numbers, gradients=gradients)
            if sizes is not None and one.code.holds_for(sizes):
                return one
        layout = layout_of(self.types, tensors, numbers, gradients=gradients)
        with self._lock:
            if self.failure or layout in self._pending or self._requests >= MOST_LAYOUTS:
                return None
            self._requests += 1
            self._pending.append(layout)
        self.request(self, layout)
        return None
