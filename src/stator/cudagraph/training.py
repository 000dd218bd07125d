"""RecordedStep: a region as two recordings, of its ops and of their gradients.

    call      -> copy the inputs into place, replay the ops, copy the results out
    backward  -> copy the gradients of the results into place, replay, copy those of the inputs out

The backward recording reads what the forward one left in its memory. That memory belongs to one
call at a time, its *owner*. Another call, or the backward pass of another call, first copies it for
the owner, if the owner can still run backward: a region in a loop, or two calls before one backward
pass, get the values of their own call. In a plain training loop nothing is copied.

autograd records the ops as it does in eager code, and its formulas give the gradients. Where a
result has no gradient, the backward pass is itself differentiated or autocast is around it, the ops
of the region run again from its inputs, with the random numbers and the casts of the call.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from stator.cudagraph.generators import RandomState
from stator.cudagraph.memory import NotRecorded, memory_of
from stator.cudagraph.target import GraphRecording, GraphTarget
from stator.regions.gradients import gradients_of_ops
from stator.regions.region import Ops
from stator.torch_private.cuda import copy_all
from stator.torch_private.dispatch import has_autocast


@dataclass(eq=False)
class RecordedStep:
    """The two recordings of a region for one layout, and the memory that they share."""

    forward: GraphRecording
    backward: GraphRecording
    places: Sequence[tuple[int, torch.Tensor]]  # of each input that is copied: its number
    results: Sequence[torch.Tensor]
    is_open: Sequence[bool]  # of each result: whether it has a gradient
    tangents: Sequence[torch.Tensor]  # where the gradients of open results are read
    gradients: Sequence[torch.Tensor | None]  # of each input, in memory of the backward recording
    memory: Sequence[torch.Tensor]  # of the forward recording, that the backward one reads
    checked: SavedValues
    has_random: bool
    _owner: Callable[[], OwnedCall | None] = lambda: None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self, tensors: Sequence[torch.Tensor], ops: Ops, join: Callable[[], None]
    ) -> Sequence[torch.Tensor]:
        """The results for these inputs, with their history. `ops` runs the region on tensors."""
        results: Sequence[torch.Tensor] = _Step.apply(self, ops, join, *tensors)  # type: ignore[no-untyped-call]
        return results

    def replay_forward(
        self, owner: OwnedCall, tensors: Sequence[torch.Tensor], join: Callable[[], None]
    ) -> list[torch.Tensor]:
        """The results; the memory is the owner's from now on."""
        with self._lock:
            join()
            self._leave_memory()
            copy_all([tensors[n] for n, _ in self.places], [p for _, p in self.places])
            self.forward.replay()
            self._owner = weakref.ref(owner)
            return [result.clone() for result in self.results]

    def replay_backward(
        self, owner: OwnedCall, tangents: Sequence[torch.Tensor], join: Callable[[], None]
    ) -> list[torch.Tensor | None]:
        """The gradients of the inputs, for the gradients of the open results."""
        with self._lock:
            join()
            if self._owner() is not owner:
                self._leave_memory()
                assert owner.kept is not None  # it was the owner, and can run backward
                copy_all(owner.kept, self.memory)
                self._owner, owner.kept = weakref.ref(owner), None
            copy_all(tangents, self.tangents)
            self.backward.replay()
            return [None if one is None else one.clone() for one in self.gradients]

    def _leave_memory(self) -> None:
        """Copy the memory for its owner, unless the owner will not read it."""
        owner = self._owner()
        if owner is not None and not owner.saved.expired():  # type: ignore[no-untyped-call]
            owner.kept = [one.clone() for one in self.memory]


@dataclass(eq=False)
class OwnedCall:
    """A call of a step, as other calls see it.

    They may be in other threads, so they see nothing of autograd's own object for the call: it has
    no lock, and to read what it saved while its thread frees that is a crash.
    """

    saved: StorageWeakRef  # of a tensor that autograd saves: it is freed with the others
    kept: list[torch.Tensor] | None = None  # the memory, if another call needed it


@dataclass(frozen=True)
class SavedValues:
    """What a call saves of its inputs and results: autograd sees whether they are written to."""

    inputs: tuple[int, ...]
    results: tuple[int, ...]


class _Step(torch.autograd.Function):
    """One call of a recorded step."""

    @staticmethod
    def forward(
        ctx: Any, step: RecordedStep, ops: Ops, join: Callable[[], None], *tensors: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """The results."""
        device = tensors[0].device
        ctx.random = RandomState.of(device) if step.has_random else None
        mark = torch.empty(0)
        ctx.call = OwnedCall(StorageWeakRef(mark.untyped_storage()))  # type: ignore[no-untyped-call]
        results = step.replay_forward(ctx.call, tensors, join)
        saved = [*(tensors[n] for n in step.checked.inputs)]
        saved += [results[n] for n in step.checked.results]
        ctx.save_for_backward(mark, *saved)
        ctx.set_materialize_grads(False)
        closed = [r for r, is_open in zip(results, step.is_open, strict=True) if not is_open]
        ctx.mark_non_differentiable(*closed)
        ctx.step, ctx.ops, ctx.join, ctx.inputs = step, ops, join, tensors
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor | None) -> tuple[Any, ...]:
        """The gradients of the inputs."""
        _ = ctx.saved_tensors  # autograd compares versions, and knows what was freed
        step: RecordedStep = ctx.step
        given = [g for g, is_open in zip(gradients, step.is_open, strict=True) if is_open]
        needed = ctx.needs_input_grad[3:]
        is_as_recorded = not torch.is_grad_enabled() and not has_autocast()
        if not is_as_recorded or any(gradient is None for gradient in given):
            with contextlib.ExitStack() as stack:
                if ctx.random is not None:
                    stack.enter_context(ctx.random.restored())
                found = gradients_of_ops(ctx.ops, ctx.inputs, needed, gradients)
        else:
            tangents = [gradient for gradient in given if gradient is not None]
            made = step.replay_backward(ctx.call, tangents, ctx.join)
            found = [g if wanted else None for g, wanted in zip(made, needed, strict=True)]
        return (None, None, None, *found)


@dataclass(eq=False)
class _Saving:
    """What autograd saves for the backward pass while a region is recorded."""

    tensors: list[torch.Tensor] = field(default_factory=list)

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Recording begins, with nothing saved."""
        self.tensors.clear()
        hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, self.tensors.__getitem__)
        with torch.enable_grad(), hooks:
            yield

    def _pack(self, tensor: torch.Tensor) -> int:
        self.tensors.append(tensor.detach())
        return len(self.tensors) - 1


def record_step(
    target: GraphTarget,
    given: Sequence[torch.Tensor],
    places: Sequence[tuple[int, torch.Tensor]],
    record_ops: Callable[[], Sequence[torch.Tensor]],
    *,
    has_random: bool,
) -> RecordedStep | None:
    """Record a region on `given`, some of which require gradients, and then its gradients.

    None if no result depends on those.
    """
    saving = _Saving()

    def forward_ops() -> Sequence[torch.Tensor]:
        with saving.here():
            return record_ops()

    forward, results = target.record(forward_ops)
    check_dense(results)
    open_results = [result for result in results if result.requires_grad]
    if not open_results:
        return None
    tangents = [torch.empty_like(one.detach()) for one in open_results]
    wanted = [number for number, one in enumerate(given) if one.requires_grad]

    def backward_ops() -> tuple[torch.Tensor | None, ...]:
        casts = torch.autocast(tangents[0].device.type, enabled=False)  # as a backward pass runs
        with casts, torch.autograd.set_multithreading_enabled(False):  # here, where it is recorded
            return torch.autograd.grad(
                open_results, [given[n] for n in wanted], tangents,
                retain_graph=True, allow_unused=True,
            )  # fmt: skip

    backward, found = target.record(backward_ops)
    gradients: list[torch.Tensor | None] = [None] * len(given)
    for number, gradient in zip(wanted, found, strict=True):
        gradients[number] = gradient
    stored = [one for n, one in enumerate(given) if n not in dict(places)]
    return RecordedStep(
        forward, backward, places, [one.detach() for one in results],
        [one.requires_grad for one in results], tangents, gradients,
        _memory_of(saving.tensors, stored), _checked(saving.tensors, given, results), has_random,
    )  # fmt: skip


def check_dense(tensors: Sequence[torch.Tensor]) -> None:
    """A copy of each has the same strides, or else it cannot be recorded."""
    for one in tensors:
        if torch.empty_like(one, device="meta").stride() != one.stride():
            raise NotRecorded("a result is not dense in memory")


def _memory_of(saved: Sequence[torch.Tensor], stored: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The memory of what is saved, once each, without that of stored tensors."""
    known = set(map(memory_of, stored))
    found: list[torch.Tensor] = []
    for tensor in saved:
        if tensor.numel() and memory_of(tensor) not in known:
            known.add(memory_of(tensor))
            memory = tensor.untyped_storage()
            found.append(torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(memory))
    return found


def _checked(
    saved: Sequence[torch.Tensor], given: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
) -> SavedValues:
    addresses = {memory_of(one) for one in saved if one.numel()}

    def places(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
        return tuple(n for n, one in enumerate(tensors) if memory_of(one) in addresses)

    return SavedValues(places(given), places(results))
