"""resolve(): the torch op that an op's name names; constant_of(): the object that a constant is.

What execute, optimize and export ask of torch.

Only ops of torch's dispatcher are found: those of ATen, and custom ops that the process has already
registered. TorchScript's own (`aten::save`, `prim::Print`) are not: some of them reach files.
"""

from __future__ import annotations

import functools
import re
from typing import Any, cast

import torch
from torch._ops import OpOverload

from stator.program.ir import Arg, Literal

NAME = re.compile(r"(?P<space>[A-Za-z_]\w*)::(?P<base>[A-Za-z_]\w*)(\.(?P<overload>\w+))?")


@functools.cache
def resolve(name: str) -> OpOverload:
    """`aten::add.Tensor` -> torch.ops.aten.add.Tensor; LookupError if nothing is registered."""
    match = NAME.fullmatch(name)
    if match is None:
        raise LookupError(f"there is no op {name}")
    space, base, overload = match["space"], match["base"], match["overload"] or ""
    try:
        torch._C._dispatch_find_schema_or_throw(f"{space}::{base}", overload)
    except RuntimeError:
        raise LookupError(f"there is no op {name}") from None
    packet = getattr(getattr(torch.ops, space), base)
    return cast(OpOverload, getattr(packet, overload or "default"))


@functools.cache
def argument_names(name: str) -> tuple[str, ...]:
    """What the arguments of an op are called, in order; LookupError if it is not registered.

    >>> argument_names("aten::add.Tensor")
    ('self', 'other', 'alpha')
    """
    return tuple(argument.name for argument in resolve(name)._schema.arguments)


def constant_of(arg: Arg) -> Any:
    """The Python object that `arg`, which is no value, stands for."""
    if not isinstance(arg, Literal):
        return arg
    return torch.device(arg.text) if arg.kind == "device" else getattr(torch, arg.text)
