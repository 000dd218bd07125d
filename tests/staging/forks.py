"""Forks while another thread captures: does the child capture, too, and end?

python -m tests.staging.forks --forks 200
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from dataclasses import dataclass, field

import torch

import stator
from tests.staging.interrupts import grown, left_behind

SECONDS = 60.0  # a child that takes longer hangs
RIGHT, WRONG, FAILED = 0, 1, 2


@dataclass
class ForkReport:
    """How the children ended."""

    forks: int = 0
    captures: int = 0  # of the thread beside
    ends: collections.Counter[str] = field(default_factory=collections.Counter)

    @property
    def is_clean(self) -> bool:
        """Each child has captured, given the right result, and found torch as it should be."""
        return not self.ends


def fork_beside(count: int, seconds: float = float("inf")) -> ForkReport:
    """Fork `count` children, one after the other, beside a thread that captures all the time."""
    report, done, x = ForkReport(), threading.Event(), torch.ones(2)
    torch.set_num_threads(1)  # a child has none of its parent's other threads
    stator.to_static(grown)(x)  # a fork in the middle of an import is Python's own matter

    def capture() -> None:
        while not done.is_set():
            stator.to_static(grown)(x)
            report.captures += 1

    thread = threading.Thread(target=capture)
    thread.start()
    end = time.monotonic() + seconds
    try:
        while report.forks < count and time.monotonic() < end:
            report.forks += 1
            report.ends.update(_fork_once(x))
    finally:
        done.set()
        thread.join()
    return report


def _fork_once(x: torch.Tensor) -> list[str]:
    """What is wrong with one child; nothing if it captures as its parent does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: fork beside threads
        child = os.fork()
    if child == 0:
        os._exit(_work(x))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return [] if code == RIGHT else [f"ended with {code}"]
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return ["hung"]


def _work(x: torch.Tensor) -> int:
    faulthandler.dump_traceback_later(SECONDS / 2)
    try:
        value, count = stator.to_static(grown)(x)
        wanted, wanted_count = grown(x)
        same = torch.equal(value, wanted) and count == wanted_count
        return RIGHT if same and not left_behind() else WRONG
    except BaseException:  # noqa: BLE001  # it is what the run looks for
        traceback.print_exc()
        return FAILED


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forks", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    report = fork_beside(options.forks, options.seconds)
    print(
        f"{report.forks} forks beside {report.captures} captures of another thread: "
        f"{report.ends['hung']} hung, {report.ends.total() - report.ends['hung']} failed"
    )
    for text, number in report.ends.items():
        print(f"  {number} times: {text}")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
