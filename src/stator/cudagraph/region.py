"""GraphRegion: a region of a program with its recordings; what a call of it does.

    call -> recorded for its layout     copy the inputs into place, replay, copy the results out
            the first of its layout     run the ops: torch and its libraries set themselves up
            the second of its layout    record the ops, then replay; ask for fused code
            fused code has come         record once more with it, and compare the two recordings

What a program stores (parameters, buffers) is read where it is; a stored tensor in another place is
another layout. So is another setting of autocast: its casts are part of a recording (`casts`).
Where gradients are recorded, a recording has a backward pass (`training`). Under dispatch modes,
`torch.func`, forward-mode gradients and hooks on saved tensors, and for subclasses of tensors, the
ops run.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from stator.cudagraph.casts import CastSettings, own_casts
from stator.cudagraph.fusing import FusedLayout, GraphFusion, Unfused
from stator.cudagraph.generators import RandomState
from stator.cudagraph.memory import NotRecorded
from stator.cudagraph.numbers import host_tensor
from stator.cudagraph.origins import NEW, is_always_new, tag_tensor
from stator.cudagraph.recorder import GraphRecorder, RecordedResults
from stator.cudagraph.target import GraphRecording, GraphTarget
from stator.cudagraph.training import RecordedStep, check_dense, record_step
from stator.inductor.checking import agree
from stator.logs import LOGGER
from stator.optimize.graph_rules import draws
from stator.optimize.stored_writes import written_inputs
from stator.program.ir import Value, ops_in
from stator.program.program import Program
from stator.regions.region import ProgramRegion, State
from stator.regions.running import warn_of
from stator.torch_private.cuda import copy_all, current_stream, kernel_settings
from stator.torch_private.dispatch import has_autocast, has_saved_tensor_hooks, is_plain_call

MOST_RECORDINGS = 8  # of one region; the one that was not used for longest makes room
MOST_SEEN = 1024  # layouts that were met once
MOST_TRIALS = 64  # recordings in all, after which new layouts are not recorded

Key = tuple[Any, ...]
FusingState = Literal["none", "compiling", "compiled"]  # of the code that would replace its ops


@dataclass(eq=False)
class RecordedRegion:
    """A recording: where it takes its inputs from, and where it leaves its results."""

    recording: GraphRecording
    places: Sequence[tuple[int, torch.Tensor]]  # of each input that is copied: its number
    results: RecordedResults
    tags: torch.Tensor | None  # of all results, where one differs between runs
    fusing: FusingState = "none"

    def run(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The results for these inputs, none of which requires gradients where they are recorded.

        They are in memory of their own, or are inputs themselves.
        """
        copy_all([tensors[n] for n, _ in self.places], [p for _, p in self.places])
        self.recording.replay()
        outcomes, iterations, alternatives, _ = self.results
        made, tags = outcomes[0 if iterations is None else int(iterations)]
        known: Sequence[Any] = tags if self.tags is None else self.tags.tolist()
        return [
            one.clone() if tag == NEW else alternatives[tag].of(tensors)
            for one, tag in zip(made, known, strict=True)
        ]


@dataclass(eq=False)
class GraphRegion(ProgramRegion):
    """A region; any number of threads may call it."""

    program: Program  # the region as a program
    stored: frozenset[Value]  # what the program stores
    visible: Sequence[bool]  # of each result: whether a caller can tell what memory it is in
    target_of: Callable[[torch.device], GraphTarget]
    fusion: GraphFusion | None
    enqueue: Callable[[Callable[[], None]], None]  # has code compiled, now or in the background
    differentiates: bool = False  # whether it is recorded where gradients are
    _recorded: OrderedDict[Key, RecordedRegion | RecordedStep] = field(default_factory=OrderedDict)
    _seen: set[Key] = field(default_factory=set)
    _trials: int = 0
    _stream: Any = None  # the one that the last call was on
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        super().__post_init__()
        tensors = self.inputs[: len(self.types)]
        self._is_stored = [value in self.stored for value in tensors]
        self._has_random = any(map(draws, ops_in(self.program.body)))
        written = written_inputs(self.program)
        self._written = [n for n, one in enumerate(tensors) if one in written]
        self._counted = [n for n, one in enumerate(tensors) if written.get(one)]

    @property
    def state(self) -> State:
        """How far it is."""
        if self.failure:
            return "failed"
        recorded = [one for one in self._recorded.values() if isinstance(one, RecordedRegion)]
        if any(one.fusing == "compiling" for one in recorded):
            return "compiling"
        return "ready" if self._recorded else "not called"

    @property
    def layouts(self) -> int:
        """For how many layouts of its inputs it is recorded."""
        return len(self._recorded)

    def __call__(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> Sequence[torch.Tensor]:
        """The results for these inputs."""
        needed = [torch.is_grad_enabled() and tensor.requires_grad for tensor in tensors]
        if not self.failure and self._may_be_recorded(tensors, needed):
            with self._lock:
                recorded = self._recorded_for(tensors, numbers, needed)
                if isinstance(recorded, RecordedRegion):  # no result has a gradient
                    self._join_stream(tensors)
                    with torch.set_grad_enabled(torch.is_grad_enabled() and not any(needed)):
                        return self._counting(tensors, recorded.run(tensors))
            if recorded is not None:
                casts = CastSettings.here(_device_of(tensors).type)
                found = recorded.run(
                    tensors,
                    lambda given: self._run_again(given, numbers, casts),
                    lambda: self._join_stream(tensors),
                )
                return self._counting(tensors, found)
        return self._run_ops(tensors, numbers)

    def _counting(
        self, tensors: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
    ) -> Sequence[torch.Tensor]:
        """The results; autograd learns what a replay has written to."""
        written = [tensors[n] for n in self._counted if not tensors[n].is_inference()]
        if written:
            torch.autograd.graph.increment_version(written)
        return results

    def _run_again(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int], casts: CastSettings
    ) -> list[torch.Tensor]:
        """The ops, for their gradients: what the program stores is as it was afterwards."""
        with self._unwritten(tensors), casts.restored():
            return self._run_ops(tensors, numbers)

    @contextlib.contextmanager
    def _unwritten(self, tensors: Sequence[torch.Tensor]) -> Iterator[None]:
        """What is written inside is undone."""
        before = [(tensors[n].data, tensors[n].detach().clone()) for n in self._written]
        try:
            yield
        finally:
            for place, value in before:
                place.copy_(value)

    def _run_ops(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> list[torch.Tensor]:
        found = self.ops([*tensors, *numbers])
        return [one if isinstance(one, torch.Tensor) else host_tensor(one) for one in found]

    def _may_be_recorded(self, tensors: Sequence[torch.Tensor], needed: Sequence[bool]) -> bool:
        if any(needed) and (not self.differentiates or has_saved_tensor_hooks()):
            return False
        return is_plain_call(tensors, may_cast=True)

    def _recorded_for(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int], needed: Sequence[bool]
    ) -> RecordedRegion | RecordedStep | None:
        layouts = tuple(
            (tensor.shape, tensor.stride(), tensor.data_ptr() if is_stored else 0)
            for tensor, is_stored in zip(tensors, self._is_stored, strict=True)
        )
        casts = CastSettings.here(_device_of(tensors).type)
        key = (layouts, tuple(numbers), tuple(needed), casts, kernel_settings())
        found = self._recorded.get(key)
        if found is not None:
            self._recorded.move_to_end(key)
            if isinstance(found, RecordedRegion) and found.fusing == "compiled":
                self._fuse(key, found, tensors, numbers)
            return self._recorded[key]
        if key not in self._seen:
            if len(self._seen) >= MOST_SEEN:
                self._seen.clear()
            self._seen.add(key)
            return None
        return self._record(key, tensors, numbers, needed)

    def _record(
        self,
        key: Key,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
        needed: Sequence[bool],
    ) -> RecordedRegion | RecordedStep | None:
        if self._trials >= MOST_TRIALS:
            return None
        self._trials += 1
        while len(self._recorded) >= MOST_RECORDINGS:
            self._recorded.popitem(last=False)
        try:
            with torch.inference_mode(False), torch.no_grad():
                step = self._new_step(tensors, numbers, needed) if any(needed) else None
                if step is not None:
                    self._recorded[key] = step
                else:
                    recorded = self._recorded[key] = self._new_recording(tensors, numbers)
                    if not has_autocast():  # compiled code makes no casts
                        self._ask_for_code(recorded, tensors, numbers)
        except Exception as error:  # noqa: BLE001  # a library may refuse in its own way
            problem = (
                str(error) if isinstance(error, NotRecorded) else f"{type(error).__name__}: {error}"
            )
            self.failure = problem.splitlines()[0][:300]
            LOGGER.info("the region at %s runs without a graph: %s", self.place, problem)
            return None
        return self._recorded[key]

    def _ask_for_code(
        self, recorded: RecordedRegion, tensors: Sequence[torch.Tensor], numbers: Sequence[int]
    ) -> None:
        """Have the code compiled that a recording with fused code needs."""
        fusion = self.fusion
        if fusion is None or fusion.failure:
            return
        fusion.missing = []
        with fusion.attempt():
            self._new_recording(tensors, numbers, fusion)  # only to see the layouts
        missing, fusion.missing = fusion.missing, []
        recorded.fusing = "compiling"
        self.enqueue(functools.partial(_compile, fusion, recorded, missing))

    def _fuse(
        self,
        key: Key,
        plain: RecordedRegion,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
    ) -> None:
        """Replace a recording by one with fused code, if that gives the same."""
        fusion = self.fusion
        assert fusion is not None
        plain.fusing = "none"
        if not fusion.failure:
            with fusion.attempt(), torch.inference_mode(False), torch.no_grad():
                fused = self._new_recording(tensors, numbers, fusion)
                self._join_stream(tensors)
                if not agree(self._trial(fused, tensors), self._trial(plain, tensors)):
                    raise Unfused("its results differ from those of the ops")
                self._recorded[key] = fused
        if fusion.failure and not fusion.is_told:
            fusion.is_told = True
            warn_of(
                self.place,
                f"a CUDA graph of `{self.program.name}` runs without fused code: {fusion.failure}",
            )

    def _trial(
        self, recorded: RecordedRegion, tensors: Sequence[torch.Tensor]
    ) -> list[torch.Tensor]:
        """What a recording gives; nothing is written, and no random numbers are drawn."""
        with self._unwritten(tensors):
            if not self._has_random:
                return recorded.run(tensors)
            with RandomState.of(_device_of(tensors)).restored():
                return recorded.run(tensors)

    def _new_recording(
        self,
        tensors: Sequence[torch.Tensor],
        numbers: Sequence[int],
        fusion: GraphFusion | None = None,
    ) -> RecordedRegion:
        given, places = self._places_for(tensors)
        device = _device_of(tensors)
        target = self.target_of(device)

        def ops() -> tuple[RecordedResults, torch.Tensor | None]:
            program = self.program if fusion is None else fusion.program
            recorder = GraphRecorder(program, target, device, self.visible, fusion)
            with own_casts():
                made = recorder.results([*given, *numbers])
            tags = made.outcomes[0].tags
            if all(isinstance(tag, int) for tag in tags):
                return made, None
            return made, torch.stack([tag_tensor(tag, device) for tag in tags])

        recording, (results, tags) = target.record(ops)
        check_dense([one for outcome in results.outcomes for one in outcome.tensors])
        return RecordedRegion(recording, places, results, tags)

    def _new_step(
        self, tensors: Sequence[torch.Tensor], numbers: Sequence[int], needed: Sequence[bool]
    ) -> RecordedStep | None:
        given, places = self._places_for(tensors)
        for one, is_needed in zip(given, needed, strict=True):
            one.requires_grad_(is_needed)
        device = _device_of(tensors)
        target = self.target_of(device)

        def ops() -> Sequence[torch.Tensor]:
            recorder = GraphRecorder(self.program, target, device, self.visible)
            with own_casts():
                (made,) = recorder.results([*given, *numbers]).outcomes
            if not all(map(is_always_new, made.tags)):
                raise NotRecorded("a result is an input, or a part of one")
            return made.tensors

        return record_step(target, given, places, ops, has_random=self._has_random)

    def _places_for(
        self, tensors: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], list[tuple[int, torch.Tensor]]]:
        """The tensors that are recorded, and those of them that inputs are copied to."""
        given, places = list[torch.Tensor](), list[tuple[int, torch.Tensor]]()
        for number, (tensor, is_stored) in enumerate(zip(tensors, self._is_stored, strict=True)):
            place = tensor.detach() if is_stored else _place_for(tensor)
            given.append(place)
            if not is_stored:
                places.append((number, place))
        return given, places

    def _join_stream(self, tensors: Sequence[torch.Tensor]) -> None:
        """A call on another stream than the last one waits for it: both use the same memory."""
        if not tensors or not tensors[0].is_cuda:
            return
        address = current_stream(tensors[0].get_device())
        if self._stream is not None and self._stream.cuda_stream == address:
            return
        stream = torch.cuda.current_stream(tensors[0].device)
        if self._stream is not None:
            stream.wait_stream(self._stream)
        self._stream = stream


def _compile(fusion: GraphFusion, recorded: RecordedRegion, missing: list[FusedLayout]) -> None:
    """Compile in the background; the next call records with it."""
    fusion.compile_all(missing)
    recorded.fusing = "compiled"


def _device_of(tensors: Sequence[torch.Tensor]) -> torch.device:
    return tensors[0].device if tensors else torch.device("cuda")


def _place_for(tensor: torch.Tensor) -> torch.Tensor:
    """Memory for a tensor of that layout, with what it holds now."""
    place = torch.empty_strided(
        tensor.shape, tensor.stride(), dtype=tensor.dtype, device=tensor.device
    )
    if any(
        size > 1 and stride == 0 for size, stride in zip(place.shape, place.stride(), strict=True)
    ):
        raise NotRecorded("an input is expanded: several of its elements are one in memory")
    return place.copy_(tensor)
