"""What torch says about its ops: the op that a name names, and its schema as plain data.

This is the only module of `program` that imports torch.

Only ops of torch's dispatcher are found: those of ATen, and custom ops that the process has already
registered. TorchScript's own (`aten::save`, `prim::Print`) are not: some of them reach files.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch

from stator.program.ir import Arg, Literal
from stator.torch_private import ops

Facts = TypeVar("Facts")
NAME = re.compile(r"(?P<space>[A-Za-z_]\w*)::(?P<base>[A-Za-z_]\w*)(\.(?P<overload>\w+))?")


def resolve(name: str) -> ops.OpOverload:
    """`aten::add.Tensor` -> torch.ops.aten.add.Tensor; LookupError if nothing is registered."""
    return _look_up_aten(name) if name.startswith("aten::") else _look_up(name)


def cached_by_op(facts: Callable[[str], Facts]) -> Callable[[str], Facts]:
    """Remember what `facts` returns for a name, for as long as the name is that of the same op.

    A notebook cell that runs again registers its custom ops again, and may change their schemas.
    """
    of_aten = functools.cache(facts)
    known: dict[str, tuple[ops.OpOverload, Facts]] = {}

    @functools.wraps(facts)
    def cached(name: str) -> Facts:
        if name.startswith("aten::"):
            return of_aten(name)
        op, found = resolve(name), known.get(name)
        if found is None or found[0] is not op:
            found = known[name] = (op, facts(name))
        return found[1]

    return cached


def _look_up(name: str) -> ops.OpOverload:
    match = NAME.fullmatch(name)
    if match is None:
        raise LookupError(f"there is no op {name}")
    space, base, overload = match["space"], match["base"], match["overload"] or ""
    if not ops.is_registered(f"{space}::{base}", overload):
        raise LookupError(f"there is no op {name}")
    packet = getattr(getattr(torch.ops, space), base)
    return cast(ops.OpOverload, getattr(packet, overload or "default"))


_look_up_aten = functools.cache(_look_up)


@dataclass(frozen=True, slots=True)
class SchemaArgument:
    """One argument of an op of torch."""

    name: str
    type: str  # `Tensor`, `List[int]`, `Optional[ScalarType]`
    kwarg_only: bool
    has_default: bool
    may_alias: bool  # a result may share its memory
    is_written: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of an op of torch, and what torch declares about the op beside it."""

    arguments: tuple[SchemaArgument, ...]
    returns: tuple[str, ...]  # their types
    tags: frozenset[str]
    is_mutable: bool
    is_view: bool
    is_composite: bool  # made of other ops: torch does not say whether results alias arguments
    text: str


@cached_by_op
def schema_of(name: str) -> Schema:
    """The schema of an op that is registered; LookupError for any other."""
    found = resolve(name)
    schema = ops.schema(found)
    return Schema(
        tuple(map(_argument, schema.arguments)),
        tuple(str(returned.real_type) for returned in schema.returns),
        frozenset(tag.name for tag in found.tags),
        schema.is_mutable,
        bool(found.is_view),
        ops.has_composite_kernel(name),
        str(schema),
    )


def _argument(argument: torch.Argument) -> SchemaArgument:
    alias = argument.alias_info
    return SchemaArgument(
        argument.name,
        str(argument.real_type),
        argument.kwarg_only,
        argument.has_default_value(),
        alias is not None,
        alias is not None and alias.is_write,
    )


@cached_by_op
def argument_names(name: str) -> tuple[str, ...]:
    """What the arguments of an op are called, in order; LookupError if it is not registered.

    >>> argument_names("aten::add.Tensor")
    ('self', 'other', 'alpha')
    """
    return tuple(argument.name for argument in schema_of(name).arguments)


def constant_of(arg: Arg) -> Any:
    """The Python object that `arg`, which is no value, represents."""
    if not isinstance(arg, Literal):
        return arg
    return torch.device(arg.text) if arg.kind == "device" else getattr(torch, arg.text)
