"""The state of a saved model: what it keeps between runs, and what it is at first.

    "steps": {"structure": {"leaf": 0}, "types": [{"number": "int"}], "initial": [0]}

A state is a flat list of values, as a run takes and gives them, and a structure that says what they
are in Python. A tensor of `initial` is the name of an entry of the table of tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from stator.export.checking import Damage, checked, field
from stator.export.decoding import Dialect, decode_constant, decode_structure, decode_type
from stator.export.encoding import (
    Json,
    check_nesting,
    encode_constant,
    encode_structure,
    encode_type,
)
from stator.program.program import Program
from stator.program.structure import Structure, positions_in
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType, Type
from stator.program.typing_rules import present
from stator.program.unions import tag_of

TENSOR = "tensor"


@dataclass(frozen=True)
class SavedState:
    """One state: how its values are put together, their types, and what they are at first."""

    structure: Structure
    types: tuple[Type, ...]
    initial: tuple[Any, ...]  # tensors, numbers, strings, None, and lists of these


def state_tensors(states: Mapping[str, SavedState]) -> dict[str, torch.Tensor]:
    """The tensors of what the state is at first, by the names that they have in the file."""
    return {
        name: tensor.detach()
        for state_name, state in states.items()
        for number, value in enumerate(state.initial)
        for name, tensor in named_tensors(f"{state_name}:{number}", value)
    }


def named_tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in a value of a state, each with a name: those of lists have their number."""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from named_tensors(f"{name}.{index}", item)


def encode_states(states: Mapping[str, SavedState]) -> Json:
    """The table of states."""
    return {name: _encode_state(name, states[name]) for name in sorted(states)}


def _encode_state(name: str, state: SavedState) -> Json:
    return {
        "structure": encode_structure(state.structure),
        "types": [encode_type(one) for one in state.types],
        "initial": [
            _encode_value(f"{name}:{number}", value) for number, value in enumerate(state.initial)
        ],
    }


def _encode_value(name: str, value: Any, depth: int = 0) -> Json:
    check_nesting(depth)
    if isinstance(value, torch.Tensor):
        return {TENSOR: name}
    if isinstance(value, list):
        return [_encode_value(f"{name}.{k}", item, depth + 1) for k, item in enumerate(value)]
    return encode_constant(value)


def decode_states(
    data: Json,
    programs: Mapping[str, Program],
    tensors: Mapping[str, torch.Tensor],
    dialect: Dialect,
) -> dict[str, SavedState]:
    """The states that a file describes; Damage unless every program uses them as they are."""
    table = checked(data, dict, "states")
    states = {
        name: _state(item, f"states.{name}", tensors, dialect) for name, item in table.items()
    }
    for name, program in programs.items():
        _check_uses(program, states, f"programs.{name}.state")
    return states


def _state(
    data: Json, at: str, tensors: Mapping[str, torch.Tensor], dialect: Dialect
) -> SavedState:
    structure = decode_structure(
        field(data, "structure", dict, at), f"{at}.structure", dialect.names
    )
    types = tuple(
        decode_type(one, f"{at}.types[{k}]", dialect)
        for k, one in enumerate(field(data, "types", list, at))
    )
    given = field(data, "initial", list, at)
    if len(given) != len(types):
        raise Damage(f"{at}.initial", f"has {len(given)} values, and {len(types)} types")
    if any(not 0 <= position < len(types) for position in positions_in(structure)):
        raise Damage(f"{at}.structure", f"names a leaf beyond the {len(types)} that there are")
    initial = tuple(
        _value(item, kind, f"{at}.initial[{k}]", tensors)
        for k, (item, kind) in enumerate(zip(given, types, strict=True))
    )
    return SavedState(structure, types, initial)


def _value(data: Json, kind: Type, at: str, tensors: Mapping[str, torch.Tensor]) -> Any:
    value = _plain_value(data, kind, at, tensors)
    if not value_fits(value, kind):
        raise Damage(at, f"is no {kind}")
    return value


def _plain_value(data: Json, kind: Type, at: str, tensors: Mapping[str, torch.Tensor]) -> Any:
    inner = present(kind)
    if isinstance(data, list) and isinstance(inner, ListType):
        return [_value(item, inner.element, f"{at}[{k}]", tensors) for k, item in enumerate(data)]
    if isinstance(data, dict) and [*data] == [TENSOR]:
        name = checked(data[TENSOR], str, at)
        if name not in tensors:
            raise Damage(at, f"names the tensor {name!r}, which is not there")
        return tensors[name]
    return decode_constant(data, at)


def value_fits(value: Any, kind: Type) -> bool:
    """May a run be given `value` for a state of this type?"""
    if isinstance(kind, OptionalType):
        return value is None or value_fits(value, kind.element)
    if isinstance(kind, ListType):
        return isinstance(value, list) and all(value_fits(item, kind.element) for item in value)
    if isinstance(kind, TensorType):
        return isinstance(value, torch.Tensor) and _tensor_fits(value, kind)
    if isinstance(kind, TextType):
        return isinstance(value, str)
    if isinstance(kind, NumberType):
        tag = tag_of(kind)
        in_range = tag is None or (type(value) is int and 0 <= value < tag.count)
        return type(value).__name__ == kind.kind and in_range
    return False


def _tensor_fits(tensor: torch.Tensor, kind: TensorType) -> bool:
    return (
        str(tensor.dtype).removeprefix("torch.") == kind.dtype
        and tensor.dim() == len(kind.shape)
        and all(
            size == found or not isinstance(size, int)
            for size, found in zip(kind.shape, tensor.shape, strict=True)
        )
    )


def _check_uses(program: Program, states: Mapping[str, SavedState], at: str) -> None:
    values = iter(program.state_inputs)
    for use in program.state:
        if use.name not in states:
            raise Damage(at, f"names the state {use.name!r}, which is not there")
        types = states[use.name].types
        if use.count != len(types):
            raise Damage(at, f"has {use.count} values of `{use.name}`, which has {len(types)}")
        for kind in types:
            if not same_form(next(values).type, kind):
                raise Damage(at, f"takes `{use.name}` for something else than {kind}")


def same_form(one: Type, other: Type) -> bool:
    """Are two types the same but for the names of sizes and unions?"""
    if type(one) is not type(other):
        return False
    if isinstance(one, TensorType) and isinstance(other, TensorType):
        sizes = zip(one.shape, other.shape, strict=False)
        return (
            (one.dtype, len(one.shape)) == (other.dtype, len(other.shape))
            and all(a == b or not (isinstance(a, int) or isinstance(b, int)) for a, b in sizes)
        )  # fmt: skip
    if isinstance(one, OptionalType) and isinstance(other, OptionalType):
        parts = [kind.present.alternatives if kind.present else None for kind in (one, other)]
        return parts[0] == parts[1] and same_form(one.element, other.element)
    if isinstance(one, ListType) and isinstance(other, ListType):
        return same_form(one.element, other.element)
    if isinstance(one, NumberType) and isinstance(other, NumberType):
        tags = [kind.tag.count if kind.tag else None for kind in (one, other)]
        return one.kind == other.kind and tags[0] == tags[1]
    return True
