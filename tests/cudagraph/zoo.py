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
from stator.execute import selection
from stator.optimize import fused_rules, graph_rules
from stator.regions.operators import REGIONS
from tests.cudagraph.tape import BACKEND, FUSED
from tests.inductor.zoo import RUN
from tests.zoo.harness import differs, outcomes
from tests.zoo.programs import Program


@contextlib.contextmanager
def everything_recorded(
    *, on_tapes: bool = True, backend: GraphBackend = BACKEND
) -> Iterator[None]:
    """Inside, every run of ops is a region."""
    provider = selection.Provider(lambda: backend)
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(graph_rules, "LEAST_OPS", 1))
        stack.enter_context(mock.patch.object(fused_rules, "LEAST_FUSED", 1))
        if on_tapes:
            stack.enter_context(mock.patch.dict(selection.PROVIDERS, cudagraph=provider))
        yield


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
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_default_device(given.device)
    wrong, graphs, failed = 0, 0, 0
    chosen = [program for program in RUN if given.names in program.name]
    if given.device != "cpu":  # an index out of bounds ends all work on a GPU
        chosen = [program for program in chosen if not program.may_raise]
    for program in chosen[given.skip :]:
        if given.device != "cpu":
            print(f"@{program.name}", flush=True)
        backend = FUSED if given.fused else BACKEND
        with everything_recorded(on_tapes=given.device == "cpu", backend=backend):
            text = difference(program, given.device)
        live = set(REGIONS.values())
        graphs += sum(one.layouts for one in live)
        problems = [one.failure for one in live if one.failure]
        fusions = (getattr(one, "fusion", None) for one in live)
        problems += [f"unfused: {one.failure}" for one in fusions if one and one.failure]
        failed += len(problems)
        for problem in problems:
            print(f"{program.name}: no graph: {problem}", flush=True)
        REGIONS.clear()
        if text is not None:
            wrong += 1
            print(text, flush=True)
    print(f"{len(chosen)} programs, {graphs} graphs, {failed} failed, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
