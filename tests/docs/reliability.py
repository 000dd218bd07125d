"""Writes docs/reliability.md: what holds, by runs of the probes.

    python -m tests.docs.reliability                  every part, then the page
    python -m tests.docs.reliability files forks      these parts; the others as they were last

`make fuzz` and the tests run the same probes; this page has their figures side by side. A run takes
hours on a busy machine, so the figures of each part are kept, in build/reliability.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

import stator
from bench.growth import table
from tests.export.fuzz import MEMORY, SECONDS
from tests.export.fuzz import fuzz as fuzz_files
from tests.export.hostile_cases import CASES
from tests.export.op_fuzz import fuzz, names
from tests.export.test_hostile import ended_by
from tests.staging.forks import fork_beside
from tests.staging.interrupts import interrupt

ROOT = Path(__file__).parents[2]
PAGE, KEPT = ROOT / "docs" / "reliability.md", ROOT / "build" / "reliability"
TEXT = """# Reliability

What Stator promises about hostile files, interrupts, forks and growing code, with measured results.
`python -m tests.docs.reliability` runs the probes and writes this page. They ran with {versions}
on the CPU.

## Files of unknown origin

[SECURITY.md](../SECURITY.md) states the promise.

- Crafted files, loaded and run: {files} files, of which {ended} crash the process.
- Ops that a file may call, with random arguments next to inaccessible memory pages: {overloads}
  of {every} overloads, {calls} calls of each. {died} crash the process; {slow} calls took longer
  than 4 s of wall time.
- Mutated files, loaded and, if they load, run: {mutated} files, of which {refused} were refused
  with `FormatError` and {loaded} loaded; {endless} of those had a program that was stopped after
  1 s. {faults} did anything else, or took more than {seconds} s of processor time to load or to
  refuse, or more memory than the size of the file plus {memory} MB.

## Ctrl-C

{interrupts} captures were interrupted at random moments: {others} raised anything other than
`KeyboardInterrupt`, and {left} left a mode of torch enabled.

## Forks

{forks} child processes were forked while another thread was capturing: {hung} hung, {failed}
failed.

## Depth

Nested calls and recursion are as deep as `sys.getrecursionlimit()` allows in eager code. Stator's
own frames do not count.

## The cost of a capture

Processor time of the first call, in seconds, the best of 3. The seconds depend on the machine and
its load; the exponents, which are ratios within one run, hardly do. An exponent is the slope from
the first size to the last on a log-log scale: 1 means that time grows in proportion. The last
column is the part of the largest capture that rewriting the source takes; of calls inside each
other, which are functions of one line with one op each, it is the largest.

{growth}
"""


def _crafted(_: argparse.Namespace) -> dict[str, Any]:
    return {"files": len(CASES), "ended": len(ended_by())}


def _mutated(options: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        counts, faults = fuzz_files(options.files, options.seed, Path(folder))
    endless = counts.get("endless", 0)
    return {
        "mutated": options.files, "refused": counts.get("refused", 0), "endless": endless,
        "loaded": counts.get("loaded", 0) + endless, "faults": len(faults),
        "seconds": SECONDS, "memory": MEMORY // 10**6,
    }  # fmt: skip


def _ops(options: argparse.Namespace) -> dict[str, Any]:
    todo = names()
    ops = fuzz(todo, options.calls, seed=options.seed)
    return {
        "overloads": ops.overloads, "every": len(todo), "calls": options.calls,
        "died": len(ops.died), "slow": len(ops.slow),
    }  # fmt: skip


def _interrupts(options: argparse.Namespace) -> dict[str, Any]:
    stopped = interrupt(options.interrupts, seed=options.seed)
    return {
        "interrupts": stopped.interrupts, "others": stopped.others.total(),
        "left": stopped.left.total(),
    }  # fmt: skip


def _forks(options: argparse.Namespace) -> dict[str, Any]:
    forked = fork_beside(options.forks)
    hung = forked.ends["hung"]
    return {"forks": forked.forks, "hung": hung, "failed": forked.ends.total() - hung}


def _growth(_: argparse.Namespace) -> dict[str, Any]:
    return {"growth": table()}


PARTS: Mapping[str, Callable[[argparse.Namespace], dict[str, Any]]] = MappingProxyType(
    {
        "crafted": _crafted,
        "files": _mutated,
        "ops": _ops,
        "interrupts": _interrupts,
        "forks": _forks,
        "growth": _growth,
    }
)


def page() -> str | None:
    """The page, by the figures that are kept; None where some are missing."""
    figures: dict[str, Any] = {}
    for name in PARTS:
        file = KEPT / f"{name}.json"
        if not file.exists():
            return None
        figures |= json.loads(file.read_text())
    versions = f"Stator {stator.__version__} and torch {torch.__version__}"
    return TEXT.format(versions=versions, **figures)


def main() -> None:
    """Run the parts, and write the page if none is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--interrupts", type=int, default=5000)
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    KEPT.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        figures = PARTS[name](options)
        print(name, figures, flush=True)
        (KEPT / f"{name}.json").write_text(json.dumps(figures))
    text = page()
    if text is not None:
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
