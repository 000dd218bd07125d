"""The programs of the zoo with `backend="cudagraph"`, each call three times, next to eager code.

The first call of a region runs its ops, the second records them, the third is a replay. Every run
of ops is a region, however short. With `--fused`, runs of ops inside regions are called as compiled
code is, and a fourth call replays that.

    python -m tests.cudagraph.zoo [--names TEXT] [--fused] [--device cuda]

With `--device cuda` the programs get tensors of a GPU, and the graphs are CUDA's.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch
from torch.utils._pytree import tree_map

import stator
from stator.cudagraph.backend import GraphBackend
from stator.cudagraph.region import GraphRegion
from stator.execute import selection
from stator.optimize import fused_rules, graph_rules
from tests.cudagraph.tape import BACKEND, FUSED
from tests.inductor.zoo import RUN
from tests.zoo.harness import differs, outcomes
from tests.zoo.programs import Program


@contextlib.contextmanager
def everything_recorded(backend: GraphBackend = BACKEND) -> Iterator[list[GraphRegion]]:
    """Inside, every run of ops is a region; gives the regions."""
    made: list[GraphRegion] = []

    def region(*given: Any) -> GraphRegion:
        made.append(GraphRegion(*given))
        return made[-1]

    provider = selection.Provider(lambda: backend)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(graph_rules, "LEAST_OPS", 1))
        stack.enter_context(mock.patch.object(fused_rules, "LEAST_FUSED", 1))
        stack.enter_context(mock.patch.dict(selection.PROVIDERS, cudagraph=provider))
        stack.enter_context(mock.patch("stator.cudagraph.backend.GraphRegion", region))
        yield made


def difference(program: Program, device: str = "cpu") -> str | None:
    """Where `program` with recorded regions differs from eager code."""

    def moved(value: Any) -> Any:
        return value.to(device) if isinstance(value, torch.Tensor) else value

    calls = [tree_map(moved, call) for call in program.calls for _ in range(4)]
    eager = outcomes(program, lambda target: target, calls)
    found = outcomes(program, lambda target: stator.to_static(target, backend="cudagraph"), calls)
    for call, want, got in zip(calls, eager, found, strict=True):
        if text := differs(program, want, got, "captured"):
            return f"{program.name}{call}: {text}"
    return None


def main() -> int:
    """Run them all; 1 if one differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--names", default="")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_default_device(given.device)
    wrong, graphs, fused, failed = 0, 0, 0, 0
    chosen = [program for program in RUN if given.names in program.name]
    if given.device != "cpu":  # an index out of bounds ends all work on a GPU
        chosen = [program for program in chosen if not program.may_raise]
    chosen = chosen[given.skip :: given.every]
    backend = FUSED if given.fused else BACKEND
    if given.device != "cpu":
        backend = GraphBackend(fuses=lambda: given.fused, enqueue=lambda job: job())
    for program in chosen:
        if given.device != "cpu":
            print(f"@{program.name}", flush=True)
        with everything_recorded(backend) as regions:
            text = difference(program, given.device)
        graphs += sum(one.layouts for one in regions)
        fusions = [one.fusion for one in regions if one.fusion is not None]
        fused += sum(one.layouts for one in fusions)
        problems = [one.failure for one in regions if one.failure]
        problems += [f"unfused: {one.failure}" for one in fusions if one.failure]
        failed += len(problems)
        for problem in problems:
            print(f"{program.name}: no graph: {problem}", flush=True)
        if text is not None:
            wrong += 1
            print(text, flush=True)
    print(
        f"{len(chosen)} programs, {graphs} graphs with {fused} fused runs, "
        f"{failed} failed, {wrong} wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
