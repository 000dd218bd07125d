"""Writes docs/reliability.md: what holds, by runs of the probes.

    python -m tests.docs.reliability [--calls 60] [--interrupts 5000] [--forks 200] [--files 100000]
                                        [--seconds 600]

`make fuzz` and the tests run the same probes; this page has their figures side by side.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from pathlib import Path

import torch

import stator
from bench.growth import table
from tests.export.fuzz import fuzz as fuzz_files
from tests.export.hostile_cases import CASES
from tests.export.op_fuzz import fuzz, names
from tests.export.test_hostile import ended_by
from tests.staging.forks import fork_beside
from tests.staging.interrupts import interrupt

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
TEXT = """# Reliability

What holds, with the figures of runs of the probes: `python -m tests.docs.reliability` makes this
page. They ran with {versions} on the CPU.

## Files of unknown origin

[SECURITY.md](../SECURITY.md) states the promise.

- Crafted files, loaded and run: {files} files, {ended} end the process.
- Ops that a file may call, on wild arguments that lie against pages without access: {overloads}
  of {every} overloads, {calls} calls of each. {died} end the process; {slow} calls took longer
  than 4 s by the clock.
- Mutated files, loaded and, where they load, run: {mutated} files, of which {refused} were refused
  with `FormatError` and {loaded} loaded, {endless} of them with a program that was stopped after
  1 s. {faults} did anything else, or took more than 10 s of processor time to load, or more memory
  than twice their size and a fixed part.

## Ctrl-C

{interrupts} captures were interrupted at random moments: {others} ended with something else than
`KeyboardInterrupt`, {left} left a mode of torch on.

## Forks

{forks} children were forked beside a thread that captures: {hung} hung, {failed} failed.

## Depth

Nested calls and recursion are as deep as `sys.getrecursionlimit()` allows in eager code. Stator's
own frames do not count.

## The cost of a capture

Processor time of the first call, in seconds, the best of 3. The seconds depend on the machine and
on what else it does; the exponents, which are ratios within one run, hardly do. An exponent is the
slope from the first size to the last, both as logarithms: 1 means in proportion.

{growth}
"""


def page(calls: int, interrupts: int, forks: int, files: int, seconds: float) -> str:
    """The page, by runs that take about five times `seconds` at most, and those of `files`."""
    todo = names()
    with tempfile.TemporaryDirectory() as folder:
        counts, faults = fuzz_files(files, 0, Path(folder))
    ops = fuzz(todo, calls, seed=0, seconds=seconds)
    stopped = interrupt(interrupts, seed=0, seconds=seconds)
    forked = fork_beside(forks, seconds=seconds)
    return TEXT.format(
        versions=f"Stator {stator.__version__} and torch {torch.__version__}",
        files=len(CASES), ended=len(ended_by()), overloads=ops.overloads, every=len(todo),
        calls=calls, died=len(ops.died), slow=len(ops.slow), interrupts=stopped.interrupts,
        others=stopped.others.total(), left=stopped.left.total(), growth=table(),
        forks=forked.forks, hung=forked.ends["hung"],
        failed=forked.ends.total() - forked.ends["hung"], mutated=files,
        refused=counts.get("refused", 0), endless=counts.get("endless", 0), faults=len(faults),
        loaded=counts.get("loaded", 0) + counts.get("endless", 0),
    )  # fmt: skip


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--interrupts", type=int, default=5000)
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=600)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    PAGE.write_text(page(**vars(options)))


if __name__ == "__main__":
    main()
