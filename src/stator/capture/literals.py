"""Literals: the program's form of numbers, strings, dtypes, devices and the like."""

from __future__ import annotations

import torch

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Literal, Value
from stator.program.numbers import fits, shown

CONTIGUOUS_FORMATS = {
    torch.contiguous_format: "contiguous_format",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
    torch.preserve_format: "preserve_format",
}


def literal_arg(value: object) -> Arg:
    """The program's form of `value`, which nothing has captured."""
    if isinstance(value, int):
        return integer_arg(value)
    if isinstance(value, float):
        return float(value)  # numpy's own is one, too
    if value is None or isinstance(value, complex | str):
        return value
    if isinstance(value, torch.dtype):
        return Literal("dtype", str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return Literal("device", str(value))
    if isinstance(value, torch.layout):
        return Literal("layout", str(value).removeprefix("torch."))
    if isinstance(value, torch.memory_format):
        return Literal("memory_format", CONTIGUOUS_FORMATS[value])
    raise UnsupportedCall(
        f"an op receives {with_article(type(value).__name__)}, which a program cannot hold",
        fix="pass tensors, numbers or strings",
    )


def integer_arg(value: int) -> int:
    """`value`, which a program can hold only if it has at most 64 bits."""
    if fits(value):
        return value
    raise UnsupportedCall(
        f"{shown(value)} does not fit into 64 bits with a sign, which the integers of a "
        "program have",
        fix="use a float, or keep it out of what is captured",
    )  # fmt: skip


def hashable(arg: Arg) -> object:
    """A key that is equal for equal arguments; 0.0 and -0.0, 1 and True differ."""
    if isinstance(arg, Value):
        return id(arg)
    if isinstance(arg, tuple):
        return tuple(hashable(item) for item in arg)
    return (type(arg), repr(arg) if isinstance(arg, float | complex) else arg)
