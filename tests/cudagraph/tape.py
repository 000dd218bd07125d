"""TapeTarget: recordings on a CPU, so that all but CUDA itself is tested without a GPU.

Like a CUDA graph, a tape holds ops on fixed memory: a replay runs each op again on the tensors that
it had, and puts what it gives where its first results are.
"""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch.utils._pytree import tree_leaves

from stator.cudagraph.backend import GraphBackend
from stator.inductor.compiling import run_ops
from stator.optimize.graph_rules import GraphRules
from stator.optimize.training_rules import TrainingGraphRules
from stator.torch_private.dispatch import TorchDispatchMode, disable_current_modes


def storages(tree):
    return {
        one.untyped_storage()._cdata for one in tree_leaves(tree) if isinstance(one, torch.Tensor)
    }


@dataclass
class Tape(TorchDispatchMode):
    outside: dict  # of each storage that was there before the recording: what it held
    made: set  # storages that the recording made
    steps: list = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for one in tree_leaves((args, kwargs)):
            if isinstance(one, torch.Tensor):
                self._note(one.untyped_storage())
        result = func(*args, **kwargs)
        self.made |= storages(result) - self.outside.keys()
        made = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
        shared = storages((args, kwargs))
        fresh = [one.detach() for one in made if one.untyped_storage()._cdata not in shared]
        is_view = made and not fresh and not func._schema.is_mutable
        is_view = is_view or torch.Tag.inplace_view in func.tags  # no memory is written
        if not is_view:
            self.steps.append(lambda: self._again(func, args, kwargs, fresh))
        return result

    def _note(self, storage):
        if storage._cdata not in self.made and storage._cdata not in self.outside:
            self.outside[storage._cdata] = (storage, storage.clone())

    @staticmethod
    def _again(func, args, kwargs, fresh):
        result = func(*args, **kwargs)
        made = [one for one in tree_leaves(result) if isinstance(one, torch.Tensor)]
        for old, new in zip(fresh, made, strict=False):
            old.copy_(new)

    def replay(self):
        with torch.autocast(
            "cpu", enabled=False
        ):  # a graph has the casts that it was recorded with
            for step in self.steps:
                step()


class TapeTarget:
    def __init__(self):
        self.tapes = []
        self.nodes = []  # which conditional nodes were recorded
        self._lock = threading.Lock()  # several regions share a target

    def record(self, ops):
        with self._lock:
            return self._record(ops)

    def _record(self, ops):
        self.tapes, self.nodes = [], []
        self.outside, self.made = {}, set()
        state = torch.get_rng_state()
        with self._tape() as tape:
            result = ops()
        torch.set_rng_state(state)  # CUDA draws and writes nothing while it records
        for storage, before in self.outside.values():
            storage.copy_(before)
        return tape, result

    @contextmanager
    def _tape(self):
        tape = Tape(self.outside, self.made)
        self.tapes.append(tape)
        try:
            with tape:
                yield tape
        finally:
            self.tapes.pop()

    def call(self, code, given):
        with self._apart():
            made = list(code([*given]))

        def again():
            for old, new in zip(made, code([*given]), strict=True):
                old.copy_(new)

        self.tapes[-1].steps.append(again)
        return made

    def branch(self, condition, then, orelse):
        self.nodes.append("if")
        around = self.tapes[-1]
        with self._apart():
            with self._tape() as first:
                then()
            with self._tape() as second:
                if orelse is not None:
                    orelse()
        around.steps.append(lambda: (first if condition else second).replay())

    def loop(self, condition, body):
        self.nodes.append("while")
        around = self.tapes[-1]
        with self._apart(), self._tape() as inner:
            body()

        def replay():
            while condition:
                inner.replay()

        around.steps.append(replay)

    @contextmanager
    def _apart(self):
        """Ops are not recorded by the tapes around."""
        with disable_current_modes():
            yield


class CpuRules(GraphRules):
    device = "cpu"


class CpuTrainingRules(TrainingGraphRules):
    device = "cpu"


TARGET = TapeTarget()
BACKEND = GraphBackend(
    CpuRules, CpuTrainingRules, target_of=lambda device: TARGET, fuses=lambda: False
)


def uncompiled(block, inputs, layout, places):
    """The ops in the place of compiled code, with results where they are wanted."""

    def run(given):
        tensors = given[: len(layout.tensors)]
        values = dict(zip(inputs, [*tensors, *layout.numbers], strict=True))
        results = run_ops(block, values)
        for result, place in zip(results, places, strict=True):
            if place is not None:
                given[place].copy_(result)
        return [one for one, place in zip(results, places, strict=True) if place is None]

    return run


FUSED = GraphBackend(  # with ops that are compiled at once, by Inductor or not at all
    CpuRules, CpuTrainingRules, lambda device: TARGET, lambda: True, uncompiled, lambda job: job()
)
COMPILED = GraphBackend(CpuRules, CpuTrainingRules, lambda device: TARGET, lambda: True)
