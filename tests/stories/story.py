"""A story: a function or module, several calls, and what the world looks like after each.

A story is made twice, once for eager code and once for `stator.to_static`. Each call is an input,
or a function that is given the subject and calls it. What the calls give or raise, and what
`look()` shows after each, must be the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

import stator


@dataclass(frozen=True)
class Story:
    subject: Any
    calls: Sequence[Any]
    look: Callable[[], Any] | None = None


def told(make: Callable[[], Story], convert: Callable[[Any], Any]) -> list[str]:
    """What each call gives or raises, and what the world looks like afterwards."""
    story = make()
    subject = convert(story.subject)
    return [_one(story, subject, call) for call in story.calls]


def _one(story: Story, subject: Any, call: Any) -> str:
    try:
        given = call(subject) if callable(call) else subject(call)
        given = given.tolist() if isinstance(given, torch.Tensor) else given
    except Exception as error:  # noqa: BLE001  # both sides must raise the same
        given = f"{type(error).__name__}: {error}"
    return repr(given) + (f" / {story.look()!r}" if story.look is not None else "")


def check(make: Callable[[], Story]) -> None:
    """The static form of a story goes as the eager one."""
    assert told(make, stator.to_static) == told(make, lambda subject: subject)
