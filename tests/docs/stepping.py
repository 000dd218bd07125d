"""The made parts of "Step by step" in docs/debugging.md: a callback's, and a prompt's."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Mapping
from typing import Any

import torch

import stator
from docs.examples import stepping
from stator.debug.stepping.prompt import Prompt

X, LIMIT = torch.tensor([4.0, 2.0, 1.0]), torch.tensor(1.0)
SESSION = ("n", "vars", "b 14", "c", "loops", "p mean", "o", "values rounds", "cl", "out", "w", "c")


def callback() -> str:
    """The function that sets a breakpoint with a callback."""
    return inspect.getsource(stepping.watched).rstrip()


def source() -> str:
    """The function that is stepped through."""
    return inspect.getsource(stepping.smooth).rstrip()


def seen() -> str:
    """What the callback sees."""
    return "\n".join(stepping.watched(X, LIMIT)[0])


def values() -> str:
    """What the history has."""
    return "\n".join(stepping.watched(X, LIMIT)[1])


class _Echo(io.StringIO):
    """The lines that are typed, shown as a terminal shows them."""

    def __init__(self, lines: tuple[str, ...], out: io.StringIO) -> None:
        super().__init__("".join(f"{line}\n" for line in lines))
        self.out = out

    def readline(self, *size: Any) -> str:
        """The next line, which is also written to the output."""
        line = super().readline(*size)
        self.out.write(line)
        return line


def session() -> str:
    """A whole session at the prompt."""
    out = io.StringIO()
    stepper = stator.debug.step(stepping.smooth, lambda frame: prompt(frame))
    prompt = Prompt(stepper, stdin=_Echo(SESSION, out), stdout=out)
    prompt.use_rawinput = False
    with stepper:
        stepper(X, LIMIT)
    return out.getvalue().replace(stepping.__file__, "stepping.py").rstrip()


MAKERS: Mapping[str, Callable[[], str]] = {
    "step-source": source,
    "step-callback": callback,
    "step-seen": seen,
    "step-values": values,
    "step-session": session,
}
