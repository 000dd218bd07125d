"""judge(): what becomes of a random program at each stage, next to eager PyTorch."""

from __future__ import annotations

import random
import re
import signal
import tempfile
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stator import StatorError
from tests.fuzz.around import AROUND
from tests.fuzz.stateful import reset_of, watch_of
from tests.fuzz.stateful_around import STATEFUL_AROUND
from tests.fuzz.writer import random_text
from tests.rewrite.random_programs import function_from
from tests.zoo.comparison import compare
from tests.zoo.harness import Outcome, at_stage, differs, groups, outcomes
from tests.zoo.programs import Program, f, i

STAGES = ("captured", "saved")
STATEFUL_STAGES = ("captured",)  # what is outside of a function, a saved one refuses to change
EAGER_LIMIT = 0.5  # seconds: what takes longer in eager does not end
LIMIT = 20  # seconds for one stage: a program takes milliseconds in eager
INPUTS = (
    (f(1.0, -2.0, 3.0), i(2)),
    (f(-1.0, -0.5, 0.25), i(0)),
    (f(2.0, 0.5), i(5)),
    (f([-3.0]), i(-1)),
    (f(0.5, 4.0, 1.0, -1.0), i(1)),
    (f([]), i(3)),
)


class Hang(BaseException):
    """No answer in time. Neither the program nor what runs it catches this one."""


@dataclass(frozen=True)
class Verdict:
    """What one stage made of a program: `kind` is same, refused, endless, wrong, crash or hang.

    Endless is what has no answer in eager either: nothing was compared.
    """

    kind: str
    stage: str
    detail: str = ""
    why: str = ""  # what failures of one cause have in common

    @property
    def failed(self) -> bool:
        return self.kind not in ("same", "refused", "endless")


@dataclass(frozen=True)
class Case:
    """A program's text, and the calls that it is judged on, in this order."""

    text: str
    calls: tuple[int, ...]
    trains: bool
    stateful: bool = False

    @property
    def around(self) -> str:
        """What is before the program."""
        return STATEFUL_AROUND if self.stateful else AROUND

    def program(self) -> Program:
        function = function_from(self.text, "f")
        around = function.__globals__
        if self.stateful:
            return Program(
                function, tuple(INPUTS[k] for k in self.calls), dynamic=({0}, None),
                may_raise=True, watch=watch_of(around), reset=reset_of(around),
            )  # fmt: skip

        def reset() -> None:
            around["box"].__init__()
            around["TOTAL"] = 0

        def watch() -> Any:
            value = around["box"].value
            kept = value.detach().clone() if isinstance(value, torch.Tensor) else value
            return around["box"].count, kept, around["TOTAL"]

        return Program(
            function, tuple(INPUTS[k] for k in self.calls), dynamic=({0}, None),
            trains=self.trains, may_raise=True, watch=watch, reset=reset,
        )  # fmt: skip


def draw_case(source: random.Random) -> Case:
    """A program, and which inputs it is called with, in which order."""
    text, trains = random_text(source), source.random() < 0.4
    trains = trains and "box.value" not in text  # it would keep a graph from call to call
    if trains:  # a leaf that requires grad cannot be written: the program works on a copy
        text = text.replace("def f(x, y):\n", "def f(x, y):\n    x = x * 1.0\n")
    return Case(text, tuple(source.sample(range(len(INPUTS)), 3)), trains)


def draw_stateful_case(source: random.Random) -> Case:
    """A program with state and effects; some of its calls are alike."""
    text = random_text(source, stateful=True)
    calls = [source.randrange(len(INPUTS)) for _ in range(source.choice((2, 2, 3)))]
    return Case(text, (*calls, source.choice(calls)), False, True)


def judge(case: Case, stages: tuple[str, ...] | None = None) -> list[Verdict]:
    """The verdict of each of `stages`."""
    program = case.program()
    stages = stages or (STATEFUL_STAGES if case.stateful else STAGES)
    with tempfile.TemporaryDirectory() as folder:
        return [_judge_stage(program, stage, Path(folder)) for stage in stages]


def _judge_stage(program: Program, stage: str, folder: Path) -> Verdict:
    worst = Verdict("endless", stage)
    for calls in groups(program.calls, stage):
        eager = _eager(program, calls)
        if eager is None:
            continue
        worst = Verdict("same", stage) if worst.kind == "endless" else worst
        try:
            with bounded(LIMIT):
                staged = outcomes(
                    program, lambda t, c=calls: at_stage(program, t, c, stage, folder), calls
                )
        except StatorError as error:
            return _of_error(error, stage)
        except Hang:
            return Verdict("hang", stage, f"no answer after {LIMIT} s", "hang")
        except Exception as error:  # noqa: BLE001  # what eager raises too is no failure of `save`
            if any(_same_class(one.error, error) for one in eager):
                continue
            return Verdict("crash", stage, f"saving raises {error!r}", f"saving {_class_of(error)}")
        for call, want, got in zip(calls, eager, staged, strict=True):
            found = _compare(program, want, got, stage)
            if found.failed:
                return Verdict(found.kind, stage, f"f{call}: {found.detail}", found.why)
            worst = found if found.kind != "same" else worst
            if found.kind == "refused" or _has_lost_effects(program, want, got, stage):
                break  # the next call finds another state than in eager
    return worst


def _has_lost_effects(program: Program, want: Outcome, got: Outcome, stage: str) -> bool:
    """Is a part of what a call that raises wrote outside not there? docs/faq.md says when."""
    if want.error is None or not _writes_outside(program):
        return False
    return stage == "saved" or compare(want.watched, got.watched) is not None


def _writes_outside(program: Program) -> bool:
    names = program.target.__code__.co_names
    return "begin" in program.target.__globals__ or "bump" in names or "box" in names


def _eager(program: Program, calls: list[Any]) -> list[Outcome] | None:
    """What eager does; None where it does not end, or has no gradient: a value was overwritten."""
    try:
        with bounded(EAGER_LIMIT):
            return outcomes(program, lambda target: target, calls)
    except (Hang, RuntimeError):
        return None


def _of_error(error: StatorError, stage: str) -> Verdict:
    if error.code == "ST900":
        why = re.sub(r"%\d+", "%", error.problem)[:60]  # the number of a value is no cause
        return Verdict("crash", stage, str(error), f"ST900 {why}")
    if error.at is None and stage != "saved":
        return Verdict(
            "crash", stage, f"a refusal without a line: {error}", f"no line {error.code}"
        )
    return Verdict("refused", stage, str(error), f"{error.code} {error.problem}")


def _compare(program: Program, want: Outcome, got: Outcome, stage: str) -> Verdict:
    if isinstance(got.error, StatorError):
        return _of_error(got.error, stage)
    if want.error is not None or got.error is not None:
        return _compare_errors(want, got, stage)
    try:
        found = differs(program, want, got, stage)
    except StatorError as unreadable:
        return Verdict("wrong", stage, f"a result is unreadable: {unreadable}", "unreadable result")
    if found is None:
        return Verdict("same", stage)
    return Verdict("wrong", stage, found, "wrong " + found.split(" ")[0].split("[")[0])


def _compare_errors(want: Outcome, got: Outcome, stage: str) -> Verdict:
    """The same class, the same text where it is the program's own, the same prints before it."""
    classes = f"{_class_of(got.error)} for {_class_of(want.error)}"
    if not _same_class(want.error, got.error):
        kind = "crash" if got.error is not None else "wrong"
        return Verdict(kind, stage, f"raises {got.error!r}, eager {want.error!r}", classes)
    if _is_raised_by_program(want.error) and _text(want.error) != _text(got.error):
        found = f"the text is {_text(got.error)!r}, in eager {_text(want.error)!r}"
        return Verdict("wrong", stage, found, f"text of {_class_of(want.error)}")
    if _without_addresses(want.printed) != _without_addresses(got.printed):
        found = f"prints {got.printed!r}, eager {want.printed!r}, before {want.error!r}"
        return Verdict("wrong", stage, found, "printed before an error")
    return Verdict("same", stage)


def _without_addresses(text: str) -> str:
    return re.sub(r"<[^<>]* at 0x\w+>", "<an object>", text)


def _text(error: BaseException | None) -> str:
    try:
        return _without_addresses(str(error))
    except StatorError as unreadable:
        return f"unreadable: {unreadable.problem}"


def _class_of(error: BaseException | None) -> str:
    return "nothing" if error is None else type(error).__name__


def _same_class(one: BaseException | None, other: BaseException | None) -> bool:
    if isinstance(one, NameError) and isinstance(other, NameError):
        return True  # a free variable of a nested function is a local of a rewritten block
    return type(one) is type(other)


def _is_raised_by_program(error: BaseException | None) -> bool:
    """Whether `raise` or `assert` of the program raised it: then its text is the program's too."""
    frame = traceback.extract_tb(error.__traceback__)[-1] if error is not None else None
    return frame is not None and (frame.line or "").startswith(("raise ", "assert "))


@contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """Raise Hang after so many seconds of CPU time, and again each second: C code may drop it."""

    def stop(signum: int, frame: types.FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, 1)
        raise Hang

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


torch.set_num_threads(1)
