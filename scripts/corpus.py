"""Scores Stator on a folder of conformance programs: right, silently wrong, or refused and why.

    python scripts/corpus.py [FOLDER] [--groups g,h] [--cases n,m] [--peers p,q] [--out FILE]

The folder, `conformance/` by default, has the programs (`corpuslib.py`, `cases/`), the machinery
that runs one of them in a forked child with a time limit (`run_peers.py`), and a plugin that says
how Stator captures it (`stator_plugin.py`). Eager PyTorch is the oracle.

    right    every input gives eager's values, dtypes, shapes, structure, errors and gradients
    wrong    no error, another answer
    refused  an error of Stator's own, with its code
    failed   any other error, an error that says it is our bug, a crash or a hang

The exit status is 1 when anything is wrong or crashed or hung: those are never acceptable.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import multiprocessing
import re
import runpy
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

Verdict = Literal["right", "wrong", "refused", "failed"]
VERDICTS: tuple[Verdict, ...] = ("right", "wrong", "refused", "failed")
CONFORMANCE = Path(__file__).parents[1] / "conformance"
REFUSAL = re.compile(r"\[ST(?!900)\d{3}\]")  # ST900 is a bug in Stator, not a refusal


@dataclass(frozen=True)
class Machinery:
    """What a corpus folder brings: its cases by name, and the function that runs one."""

    cases: dict[str, Any]
    run_one: Callable[[Any, str, float], dict[str, Any]]


@dataclass(frozen=True)
class Score:
    """How one program fared with one peer."""

    group: str
    case: str
    peer: str
    verdict: Verdict
    died: bool
    why: str
    gradients: str
    seconds: float


@cache
def load_machinery(folder: Path, plugin: Path, groups: tuple[str, ...]) -> Machinery:
    """Import the corpus; cached, so that forked workers find it already there."""
    sys.dont_write_bytecode = True  # the folder may be read-only
    sys.path.insert(0, str(folder))
    corpuslib = importlib.import_module("corpuslib")
    # NOTE: why not run_peers.main(): it imports the ONNX tools that other peers need.
    run_peers = importlib.import_module("run_peers")
    run_peers.CAP.update(runpy.run_path(str(plugin))["PEERS"])
    with contextlib.suppress(ImportError):  # once, before the workers fork
        importlib.import_module("stator.api.onnx_saving")
        importlib.import_module("stator.torch_private.onnx_library").warm_up()
    for module in ("torch._dynamo", "torch.export", "stator.torch_private.exporting"):
        importlib.import_module(module)
    cases = {case.name: case for case in corpuslib.load_cases(groups or None)}
    return Machinery(cases, run_peers.run_one)


def score_one(
    folder: Path, plugin: Path, groups: tuple[str, ...], case_name: str, peer: str, limit: float
) -> Score:
    """Run one program with one peer and judge it."""
    machinery = load_machinery(folder, plugin, groups)
    case = machinery.cases[case_name]
    found = machinery.run_one(case, peer, limit)
    return Score(
        group=case.group,
        case=case_name,
        peer=peer,
        verdict=judge(found),
        died=found.get("stage") in ("crash", "hang"),
        why=reason(found, case),
        gradients=found["grad"],
        seconds=found["sec"],
    )


def judge(found: dict[str, Any]) -> Verdict:
    """The verdict on what `run_one` found."""
    if found["status"] == "ok":
        return "right"
    if found["status"] == "wrong":
        return "wrong"
    return "refused" if REFUSAL.search(found.get("why", "")) else "failed"


def reason(found: dict[str, Any], case: Any) -> str:
    """Why it is not right, and at which input; for a program that prints, how often it did not."""
    notes = []
    if "why" in found:
        at = f"input {found['input']}: " if "input" in found else f"{found.get('stage', 'run')}: "
        notes.append(at + found["why"])
    printed, wanted = found.get("stdout_tags"), len(case.inputs)
    if printed is not None and printed != wanted:
        notes.append(f"printed {printed} times, eager {wanted}")
    return "; ".join(notes)


def score_all(
    folder: Path, plugin: Path, groups: tuple[str, ...], jobs: list[tuple[str, str]], limit: float
) -> Iterator[Score]:
    """Score every (case, peer) in two worker processes, as they come in."""
    fork = multiprocessing.get_context("fork")  # the workers inherit what is imported
    with ProcessPoolExecutor(max_workers=2, mp_context=fork) as pool:
        running: list[Future[Score]] = [
            pool.submit(score_one, folder, plugin, groups, case, peer, limit) for case, peer in jobs
        ]
        for future in as_completed(running):
            yield future.result()


def print_tables(scores: list[Score], peers: list[str]) -> None:
    """Totals by peer, then by group, then each program that is not right, with its reason."""
    print_counts("peer", {peer: [s for s in scores if s.peer == peer] for peer in peers})
    for peer in peers:
        mine = [s for s in scores if s.peer == peer]
        groups = dict.fromkeys(s.group for s in mine)
        print_counts(f"{peer}, by group", {g: [s for s in mine if s.group == g] for g in groups})
    for verdict in ("wrong", "failed", "refused"):
        print_reasons(verdict, [s for s in scores if s.verdict == verdict])
    print_reasons("right, but", [s for s in scores if s.verdict == "right" and s.why])


def print_counts(title: str, rows: dict[str, list[Score]]) -> None:
    """One line of counts for each row."""
    width = max(len(title), *map(len, rows))
    print(f"\n{title:<{width}}  " + "".join(f"{v:>9}" for v in VERDICTS) + "   right %")
    for name, scores in rows.items():
        counts = Counter(s.verdict for s in scores)
        share = 100 * counts["right"] / len(scores)
        print(
            f"{name:<{width}}  " + "".join(f"{counts[v]:>9}" for v in VERDICTS) + f"{share:>9.1f}"
        )


def print_reasons(title: str, scores: list[Score]) -> None:
    """Each program with its reason."""
    if not scores:
        return
    print(f"\n{title}")
    width = max(len(f"{s.group}/{s.case}") for s in scores)
    for s in scores:
        print(f"  {f'{s.group}/{s.case}':<{width}}  {s.peer:<7} {s.why}")


def names(text: str) -> tuple[str, ...]:
    """The names in a list with commas."""
    return tuple(text.split(","))


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=CONFORMANCE)
    parser.add_argument("--peers", type=names, default=("static", "saved"))
    parser.add_argument("--groups", type=names, default=())
    parser.add_argument("--cases", type=names, default=())
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--out", type=Path, help="also write the scores to this JSON file")
    parser.add_argument("--plugin", type=Path, help="default: stator_plugin.py of the folder")
    return parser.parse_args()


def main() -> int:
    """Score, print, and say whether anything was wrong or died."""
    arguments = parse_arguments()
    folder = arguments.folder.resolve()
    plugin = (arguments.plugin or folder / "stator_plugin.py").resolve()
    out = arguments.out.resolve() if arguments.out else None
    machinery = load_machinery(folder, plugin, arguments.groups)
    chosen = arguments.cases or tuple(machinery.cases)
    if unknown := [name for name in chosen if name not in machinery.cases]:
        sys.exit(f"no such case: {', '.join(unknown)}")
    jobs = [(case, peer) for case in chosen for peer in arguments.peers]
    order = {job: k for k, job in enumerate(jobs)}
    started = time.monotonic()
    scores: list[Score] = []
    # run_one writes a file to the current folder for each program that prints
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        for score in score_all(folder, plugin, arguments.groups, jobs, arguments.limit):
            scores.append(score)
            done = f"[{len(scores)}/{len(jobs)}]"
            print(f"{done} {score.case} {score.peer}: {score.verdict}", flush=True)
    scores.sort(key=lambda s: order[s.case, s.peer])
    print_tables(scores, list(arguments.peers))
    print(f"\n{len(jobs)} runs in {time.monotonic() - started:.0f} s")
    if out:
        out.write_text(json.dumps([asdict(s) for s in scores], indent=1) + "\n")
    return int(any(s.verdict == "wrong" or s.died for s in scores))


if __name__ == "__main__":
    sys.exit(main())
