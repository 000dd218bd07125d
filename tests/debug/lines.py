"""What eager Python shows line by line, next to what a stepper shows of the program."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

import stator
from stator.debug.stepping.frame import Way
from stator.debug.stepping.history import copied, is_same
from stator.debug.stepping.variables import ForeignValue

EVERY_LINE = Way("next_line", sys.maxsize)
COMPREHENSIONS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
PLAIN = (bool, int, float, complex, str, type(None), torch.Tensor)


@dataclasses.dataclass(frozen=True)
class Event:
    """A line that is about to run, and what the names of its function hold."""

    function: str
    line: int
    variables: dict[str, Any]


def eager_lines(function: Callable[..., Any], file: str, *args: Any) -> list[Event]:
    """Each line of `file` that Python comes to."""
    events: list[Event] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        code = frame.f_code
        if code.co_filename != file or code.co_name in COMPREHENSIONS:
            return None
        if event == "line":
            events.append(Event(code.co_name, frame.f_lineno, _plain(frame.f_locals)))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*copy.deepcopy(args))
    except Exception:  # noqa: BLE001  # what it raises is compared elsewhere
        pass
    finally:
        sys.settrace(before)
    return events


def program_lines(function: Any, *args: Any) -> list[Event]:
    """Each line that the program comes to."""
    events: list[Event] = []

    def on_stop(frame: Any) -> None:
        if frame.why == "line":
            events.extend(
                Event(one.place.function, one.place.line, _plain(one.variables))
                for one in frame.lines[frame.depth :]
            )
        frame.go(EVERY_LINE)

    with stator.debug.step(function, on_stop) as stepper, contextlib.suppress(Exception):
        stepper(*copy.deepcopy(args))  # what it raises is compared elsewhere
    return events


def differences(eager: list[Event], program: list[Event]) -> Iterator[str]:
    """Where the program shows another value than eager has there.

    A line that eager does not come to is left out: jumps are lowered to flags, which are asked
    at the head of a loop. So are names that eager has nowhere on that line: a comprehension's.
    A line that changes an object, and has its first op then, may show what the next one has.
    """
    start = 0
    for event in program:
        there = [
            k
            for k in range(start, len(eager))
            if (eager[k].function, eager[k].line) == (event.function, event.line)
        ]
        found = next((k for k in there if not _differs(eager, k, event)), None)
        if found is not None:
            start = found
        elif there:
            yield f"{event.function}:{event.line}: {_differs(eager, there[0], event)}"


def _differs(eager: list[Event], at: int, event: Event) -> str:
    now = eager[at].variables
    after = (one.variables for one in eager[at + 1 :] if one.function == event.function)
    then = next(after, now)
    for name, value in event.variables.items():
        known = [held[name] for held in (now, then) if name in held]
        if isinstance(value, ForeignValue) or not known or not all(map(_is_plain, known)):
            continue
        if not any(is_same(one, value) for one in known):
            return f"{name} is {value!r}, in eager {known[0]!r}"
    return ""


def _plain(held: Any) -> dict[str, Any]:
    return {name: copied(value) for name, value in held.items()}


def _is_plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(map(_is_plain, value.values()))
    return isinstance(value, PLAIN) and not isinstance(value, torch.nn.Parameter)
