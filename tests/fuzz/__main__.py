"""Runs random programs as long as asked: `python -m tests.fuzz --seconds 600 --seed 1`.

Prints how many came out right, were refused or failed, the reasons, and for each kind of failure
the smallest program found. Ends with 1 if any failed.
"""

from __future__ import annotations

import argparse
import collections
import logging
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.judge import INPUTS, Case, Verdict, draw_case, draw_stateful_case, judge
from tests.fuzz.reduce import reduced


@dataclass
class Tally:
    """What was found so far; of each kind of failure, the first `each` are made small and shown."""

    each: int = 1
    kinds: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: collections.Counter[tuple[str, str]] = field(default_factory=collections.Counter)

    def add(self, verdict: Verdict) -> bool:
        """Count it; whether it is a failure to be shown."""
        self.kinds[verdict.stage, verdict.kind] += 1
        if verdict.kind == "refused":
            self.reasons[verdict.why] += 1
        if verdict.failed:
            self.failures[verdict.kind, verdict.why] += 1
            return self.failures[verdict.kind, verdict.why] <= self.each
        return False

    def text(self) -> str:
        """The rates, then the most frequent refusals."""
        lines = []
        for stage in dict.fromkeys(stage for stage, _ in self.kinds):
            counts = {kind: n for (s, kind), n in self.kinds.items() if s == stage}
            whole = sum(counts.values())
            rates = (f"{kind} {n} ({n / whole:.1%})" for kind, n in sorted(counts.items()))
            lines.append(f"{stage} {whole}: " + ", ".join(rates))
        lines += ["refusals:", *(f"{n:6} {why}" for why, n in self.reasons.most_common(15))]
        lines += ["failures:", *(f"{n:6} {k} {why}" for (k, why), n in self.failures.most_common())]
        return "\n".join(lines)


def shown(case: Case, verdict: Verdict, seed: int) -> str:
    """A failure as a reader wants it: what, then the program."""
    calls = "\n".join(f"#   f{INPUTS[k]}" for k in case.calls)
    head = f"# {verdict.kind.upper()} {verdict.stage} (seed {seed}): {verdict.detail}"
    return f"{head}\n# called:\n{calls}\n{case.text.removeprefix(case.around)}"


DRAWN = {"plain": (draw_case,), "state": (draw_stateful_case,)}
DRAWN["both"] = DRAWN["plain"] + DRAWN["state"]


def fuzz(seconds: float, first: int, each: int, out: Path | None, kind: str = "both") -> Tally:
    """Judge program after program until the time is over."""
    tally, until, seed = Tally(each), time.monotonic() + seconds, first
    while time.monotonic() < until:
        for draw in DRAWN[kind]:
            case = draw(random.Random(seed))
            for verdict in judge(case):
                if tally.add(verdict):
                    report(shown(*reduced(case, verdict), seed), out)
        seed += 1
    return tally


def report(text: str, out: Path | None) -> None:
    """Print a failure, and add it to the file."""
    print(text, flush=True)
    if out is not None:
        with out.open("a") as file:
            file.write(text + "\n\n")


def main() -> int:
    """Parse, run, print."""
    parser = argparse.ArgumentParser(description="random programs next to eager PyTorch")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0, help="the first program; each adds one")
    parser.add_argument("--each", type=int, default=1, help="how many failures of a kind to show")
    parser.add_argument("--kind", choices=DRAWN, default="both", help="with state, or without")
    parser.add_argument("--out", type=Path, help="a file that failures are added to")
    given = parser.parse_args()
    logging.getLogger(
        "torch._subclasses.fake_tensor"
    ).disabled = True  # it logs what a capture handles
    tally = fuzz(given.seconds, given.seed, given.each, given.out, given.kind)
    print(tally.text())
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
