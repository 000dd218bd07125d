"""Ops of torch's dispatcher: overloads, schemas, kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch._C import FunctionSchema
from torch._ops import OpOverload

__all__ = [
    "FunctionSchema",
    "OpOverload",
    "data_of",
    "find_overload",
    "has_composite_kernel",
    "is_pointwise",
    "is_registered",
    "pad_packed",
    "parse_schema",
    "schema",
    "without_generator",
]

data_of = torch.ops.aten.data.default  # `tensor.data`, as an op
pad_packed = torch._VF._pad_packed_sequence  # the op behind `pad_packed_sequence`


def schema(op: OpOverload) -> FunctionSchema:
    """The schema of an op."""
    return op._schema


def gives_dtype(op: OpOverload) -> bool:
    """Is its one result a dtype, which torch calls an `int` as well?"""
    returns = op._schema.returns
    return len(returns) == 1 and str(returns[0].real_type) == "ScalarType"


def is_pointwise(op: OpOverload) -> bool:
    """Does it give, for each element of its broadcast arguments, one of its result?"""
    return torch.Tag.pointwise in op.tags


def without_generator(op: OpOverload, kwargs: dict[str, Any]) -> OpOverload:
    """The overload that takes no generator, if `op` is given None for its own.

    That is the default generator; and torch describes random sizes only without one.
    """
    if "generator" not in op._overloadname or kwargs.get("generator") is not None:
        return op
    plain = op._overloadname.replace("_generator", "").replace("generator", "") or "default"
    found: OpOverload = getattr(op.overloadpacket, plain, op)
    return found


def parse_schema(text: str) -> FunctionSchema:
    """The schema that `text` describes; RuntimeError if it describes none."""
    return torch._C.parse_schema(text)


def is_registered(name: str, overload: str) -> bool:
    """Has the dispatcher an op of this name and overload?"""
    try:
        torch._C._dispatch_find_schema_or_throw(name, overload)
    except RuntimeError:
        return False
    return True


def has_composite_kernel(name: str) -> bool:
    """Is the op `name` made of other ops?"""
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")


def find_overload(
    name: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> OpOverload | None:
    """The overload of ATen's `name` that takes these arguments; None if there is none."""
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        return None
    try:
        overload = torch._C._jit_resolve_packet(f"aten::{name}", *args, **kwargs)
    except RuntimeError:  # no schema takes them
        return None
    found: OpOverload = getattr(packet, overload or "default")
    return found
