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
from stator.frames import current_place
from stator.torch_private.fake import FakeTensor
from stator.values.staged import python_name
from stator.values.symbolic import CapturedComplex, CapturedText, StandIn
from stator.values.union import Union

WITHOUT_TEXT: tuple[Any, ...] = (
    torch.SymInt, torch.SymFloat, torch.SymBool, FakeTensor, CapturedText, CapturedComplex,
    CapturedRange, StandIn, Union,
)  # fmt: skip


def no_text(value: object) -> UnsupportedCall:
    """The error for the string form of `value`, which only a run could make."""
    return UnsupportedCall(
        f"the string form of {with_article(python_name(value))} with captured values in it is not "
        "supported",
        at=current_place(), fix="print its items one by one",
    )  # fmt: skip


def python_text(make: Callable[[], str], value: object) -> str:
    """`make()`, the string form of `value`; refused if a captured value is asked for its text."""
    with _refused(value):
        return make()


@contextlib.contextmanager
def _refused(value: object) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> str:
        raise no_text(value)

    before = [vars(cls).get("__repr__") for cls in WITHOUT_TEXT]
    for cls in WITHOUT_TEXT:
        cls.__repr__ = refuse
    try:
        yield
    finally:
        for cls, own in zip(WITHOUT_TEXT, before, strict=True):
            if own is None:
                del cls.__repr__
            else:
                cls.__repr__ = own
