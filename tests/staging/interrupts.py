"""Ctrl-C at random moments of captures: what comes out, and is torch as it was before?

python -m tests.staging.interrupts --interrupts 5000 --seed 0
"""

from __future__ import annotations

import argparse
import collections
import random
import signal
import sys
import time
import types
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import _get_current_dispatch_mode

import stator

KEYS = torch._C._TorchDispatchModeKey


def grown(x):
    """A list, branches and loops: most of what a capture is made of."""
    kept = []
    for i in range(6):
        if x.sum() > i:
            x = x + 1
            kept.append(x)
        else:
            x = x * 2
    while x.sum() < 100:
        if x.max() > 3:
            x = x * 2
        x = x + 1
    return x, len(kept)


def left_behind() -> list[str]:
    """The modes of torch that are on, and should not be."""
    checks = {
        "a dispatch mode": _get_current_dispatch_mode() is not None,
        "the dispatch stack": torch._C._len_torch_dispatch_stack() > 0,
        "the function stack": torch._C._len_torch_function_stack() > 0,
        "the pre-dispatch stack": torch._ops._len_torch_dispatch_stack_pre_dispatch() > 0,
        "no_grad": not torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": torch.is_autocast_enabled("cpu"),
    }
    for key in (KEYS.PROXY, KEYS.FAKE, KEYS.FUNCTIONAL):
        checks[str(key)] = torch._C._get_dispatch_mode(key) is not None
    found = [name for name, is_on in checks.items() if is_on]
    made = torch.ones(2) + 1
    return found if type(made) is torch.Tensor and made.tolist() == [2, 2] else [*found, "ops"]


@dataclass
class Report:
    """What a run found."""

    interrupts: int = 0
    tries: int = 0
    signals: int = 0  # each should be an interrupt; Python drops those in callbacks of weakrefs
    others: collections.Counter[str] = field(default_factory=collections.Counter)
    left: collections.Counter[str] = field(default_factory=collections.Counter)

    @property
    def is_clean(self) -> bool:
        """Nothing but KeyboardInterrupt came out, and nothing stayed."""
        return not self.others and not self.left


def _capture(x: torch.Tensor) -> None:
    stator.to_static(grown)(x)


def interrupt(count: int, seed: int, seconds: float = float("inf")) -> Report:
    """Interrupt `count` captures; stop at the first that leaves something in torch."""
    rng, report, x = random.Random(seed), Report(), torch.ones(2)

    def handler(number: int, frame: types.FrameType | None) -> None:
        report.signals += 1
        signal.default_int_handler(number, frame)

    before = signal.signal(signal.SIGALRM, handler)
    end = time.monotonic() + seconds
    try:
        _capture(x)
        usual = -time.perf_counter()
        _capture(x)
        usual += time.perf_counter()
        while report.interrupts < count and time.monotonic() < end and not report.left:
            _interrupt_once(x, rng.random() * usual + 1e-4, report)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return report


def _interrupt_once(x: torch.Tensor, after: float, report: Report) -> None:
    report.tries += 1
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        _capture(x)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        report.interrupts += 1
    except Exception as error:  # noqa: BLE001  # it is what the run looks for
        report.others[f"{type(error).__name__}: {error}"] += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    report.left.update(left_behind())


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interrupts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    report = interrupt(options.interrupts, options.seed, options.seconds)
    print(
        f"{report.interrupts} of {report.tries} captures were interrupted: "
        f"{report.others.total()} ended with something else than KeyboardInterrupt, "
        f"{report.left.total()} modes of torch stayed on; Python dropped "
        f"{report.signals - report.interrupts} of {report.signals} signals"
    )
    for text, number in (report.others + report.left).items():
        print(f"  {number} times: {text}")
    return 0 if report.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
