"""The programs of the zoo with `backend="inductor"`, each call three times, next to eager code.

The first call of a region has it compiled, at once; the second compares the code with the ops; from
the third on the code gives the results. Every region is taken, whatever the cost rule says of it.

    python -m tests.inductor.zoo [--traced] [--names TEXT]

With `--traced` graphs are traced and run op by op: minutes, not hours.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from unittest import mock

import stator
from stator.inductor.queue import QUEUE
from stator.optimize import region_rules
from stator.regions.operators import REGIONS
from tests.inductor.traced import run_traced
from tests.zoo.harness import differs, outcomes
from tests.zoo.programs import Program
from tests.zoo.whole import PROGRAMS

COMPILER = "stator.torch_private.inductor.compile_graph"
RUN = tuple(
    program
    for program in PROGRAMS
    if "captured" in program.stages and not program.refused and not program.pending
)


@contextlib.contextmanager
def everything_compiled(*, traced: bool) -> Iterator[None]:
    """Inside, every run of ops is a region, and is compiled when it is called first."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(region_rules, "LEAST_FUSED", 1))
        stack.enter_context(mock.patch.object(region_rules, "LEAST_ELEMENTS", 0))
        stack.enter_context(mock.patch.object(QUEUE, "add", lambda job: job()))
        if traced:
            stack.enter_context(mock.patch(COMPILER, run_traced))
        yield


def difference(program: Program) -> str | None:
    """Where `program` with compiled regions differs from eager code."""
    calls = [call for call in program.calls for _ in range(3)]
    eager = outcomes(program, lambda target: target, calls)
    found = outcomes(program, lambda target: stator.to_static(target, backend="inductor"), calls)
    for call, want, got in zip(calls, eager, found, strict=True):
        if text := differs(program, want, got, "captured"):
            return f"{program.name}{call}: {text}"
    return None


def main() -> int:
    """Run them all; 1 if one differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--traced", action="store_true")
    parser.add_argument("--names", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    wrong, regions, failed = 0, 0, 0
    chosen = [program for program in RUN if given.names in program.name]
    for program in chosen:
        with everything_compiled(traced=given.traced):
            text = difference(program)
        live = set(REGIONS.values())
        regions += sum(one.layouts for one in live)
        problems = [one.failure for one in live if one.failure]
        failed += len(problems)
        for problem in problems:
            print(f"{program.name}: uncompiled: {problem}", flush=True)
        REGIONS.clear()
        if text is not None:
            wrong += 1
            print(text, flush=True)
    print(f"{len(chosen)} programs, {regions} compilations, {failed} failed, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
