"""python_text(): text that Python itself makes during a capture, in which no captured value can be.

`str`, `repr` and `format` of an object ask whatever it holds. If that comes to a value that only a
run has, the text would hold the name that the capture gave to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stator.containers.iteration import CapturedRange
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.torch_private.fake import FakeTensor
from stator.values.staged import python_name
from stator.values.symbolic import CapturedComplex, CapturedText, StandIn
from stator.values.union import Union

WITHOUT_TEXT: tuple[Any, ...] = (
    torch.SymInt, torch.SymFloat, torch.SymBool, FakeTensor, CapturedText, CapturedComplex,
    CapturedRange, StandIn, Union,
)  # fmt: skip
TEXT_METHODS = ("__repr__", "__str__", "__format__")


def no_text(value: object) -> UnsupportedCall:
    """The error for the string form of `value`, which only a run could make."""
    return UnsupportedCall(
        f"the string form of {with_article(python_name(value))} with captured values in it is not "
        "supported",
        fix="format its items one by one",
    )  # fmt: skip


def python_text(make: Callable[[], str], value: object) -> str:
    """`make()`, the string form of `value`; refused if a captured value is asked for its text."""
    with refusing_texts(lambda _: no_text(value)):
        return make()


@contextlib.contextmanager
def refusing_texts(refusal: Callable[[object], Exception]) -> Iterator[None]:
    """Raise `refusal(value)` if a captured value is asked for its text."""

    def refuse(value: object, *_: object) -> str:
        raise refusal(value)

    before = [(cls, name, vars(cls).get(name)) for cls in WITHOUT_TEXT for name in TEXT_METHODS]
    for cls, name, own in before:
        if own is not None or name == "__repr__":
            setattr(cls, name, refuse)
    try:
        yield
    finally:
        for cls, name, own in before:
            if own is not None:
                setattr(cls, name, own)
            elif name == "__repr__":
                del cls.__repr__
