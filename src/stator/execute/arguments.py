"""flatten_inputs(): a call's arguments, taken apart into a program's inputs, and checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence as SequenceOf
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn

import numpy
import torch

from stator.english import with_article
from stator.errors import ProgramError, SpecMismatch
from stator.program.ir import InputFacts
from stator.program.numbers import fits
from stator.program.signatures import structure_text
from stator.program.sizes import Symbol, evaluate
from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
    Structure,
    positions_in,
)
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType, Type
from stator.program.typing_rules import present
from stator.values.containers import DATACLASS, NAMED_TUPLE, Containers

RECORDS = Containers(NAMED_TUPLE, DATACLASS)


@dataclass(slots=True)
class InputMatch:
    """What has been found so far: the leaves, and the size that each symbol represents."""

    types: SequenceOf[Type]
    facts: SequenceOf[InputFacts | None] = ()
    leaves: dict[int, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)


def flatten_inputs(
    structure: Structure,
    args: SequenceOf[object],
    kwargs: MappingOf[str, object],
    *,
    types: SequenceOf[Type],
    facts: SequenceOf[InputFacts | None] = (),
    names: SequenceOf[str] = (),
) -> tuple[Any, ...]:
    """The leaves of a call in the order of the program's inputs, whose types are `types`.

    `facts` are what the capture assumed of them: the layout, if any, is checked. `structure` is
    that of `(args, kwargs)`. SpecMismatch says which argument does not fit, and why; `names` are
    those of the positional parameters, as far as they are known.
    """
    positional, keywords = call_structure(structure)
    taken = InputMatch(types, facts)
    if len(args) != len(positional):
        raise SpecMismatch(f"args must have {len(positional)} items, not {len(args)}")
    for index, (item, given) in enumerate(zip(positional, args, strict=True)):
        path = names[index] if index < len(names) else f"args[{index}]"
        _take(item, given, path, taken)
    _take_keywords(keywords, kwargs, taken)
    leaves = tuple(taken.leaves[position] for position in range(len(types)))
    _check_distinct(
        [leaf for leaf, fact in zip(leaves, facts, strict=False) if fact and fact.distinct]
    )
    return leaves


def call_structure(structure: Structure) -> tuple[tuple[Structure, ...], Mapping]:
    """The structures of the positional arguments of a call, and that of the keyword arguments."""
    match structure:
        case Sequence(items=(Sequence() as positional, Mapping() as keywords)):
            return positional.items, keywords
    raise ProgramError("an input structure is a pair: a tuple of arguments and a dict of them")


def _take(structure: Structure, given: Any, path: str, taken: InputMatch) -> None:
    TAKERS[type(structure)](structure, given, path, taken)


def _take_leaf(structure: Leaf, given: Any, path: str, taken: InputMatch) -> None:
    kind = taken.types[structure.position]
    try:
        check_type(kind, given, path, taken.sizes)
    except SpecMismatch as error:
        error.fix = _conversion(kind, given) or error.fix
        raise
    facts = taken.facts[structure.position] if taken.facts else None
    if facts is not None and isinstance(given, torch.Tensor):
        _check_layout(facts, given, path)
    taken.leaves[structure.position] = given


def _conversion(kind: Type, given: object) -> str:
    """How the caller makes the tensor that is wanted of what was passed; "" if that is not it."""
    if not isinstance(kind, TensorType) or given is None:
        return ""
    if isinstance(given, numpy.ndarray):
        return "pass a tensor: `torch.from_numpy(...)`"
    if not isinstance(given, torch.Tensor):
        return "pass a tensor: `torch.tensor(...)`"
    if str(given.dtype) != f"torch.{kind.dtype}":
        return f"convert it, `.to(torch.{kind.dtype})`, or capture a program for this dtype"
    return ""


def _check_distinct(tensors: SequenceOf[Any]) -> None:
    if len({id(tensor) for tensor in tensors}) < len(tensors):
        raise SpecMismatch(
            "one tensor is given twice: the program compares its arguments with `is`, and was "
            "captured for different ones",
            fix="call the original function, or compare before the call and pass a flag",
        )


def _check_layout(facts: InputFacts, given: torch.Tensor, path: str) -> None:
    if facts.layout == "contiguous" and not given.is_contiguous():
        raise SpecMismatch(f"{path} must be contiguous, as it was when the program was captured",
                           fix="call `.contiguous()`")  # fmt: skip
    if isinstance(facts.layout, tuple) and given.stride() != facts.layout:
        raise SpecMismatch(
            f"{path} must have the strides {list(facts.layout)}, as it had when the program was "
            f"captured, not {list(given.stride())}"
        )


def _take_fixed(structure: ConstantValue, given: Any, path: str, _: InputMatch) -> None:
    value = structure.value
    both_nan = isinstance(value, float) and math.isnan(value) and given != given
    if type(given) is not type(value) or not (given == value or both_nan):
        _refuse(path, f"must be {value!r}, as it was when the program was captured", given)


def _take_sequence(structure: Sequence, given: Any, path: str, taken: InputMatch) -> None:
    if not isinstance(given, list if structure.kind == "list" else tuple):
        _refuse(path, f"must be a {structure.kind}", given)
    if len(given) != len(structure.items):
        raise SpecMismatch(f"{path} must have {len(structure.items)} items, not {len(given)}")
    for index, (item, part) in enumerate(zip(structure.items, given, strict=True)):
        _take(item, part, f"{path}[{index}]", taken)


def _take_mapping(structure: Mapping, given: Any, path: str, taken: InputMatch) -> None:
    if not isinstance(given, dict):
        _refuse(path, "must be a dict", given)
    for key in given:
        if key not in structure.keys:
            raise SpecMismatch(f"{path}[{key!r}] is not an input of the program")
    for key, item in zip(structure.keys, structure.items, strict=True):
        if key not in given:
            raise SpecMismatch(f"{path}[{key!r}] is missing")
        _take(item, given[key], f"{path}[{key!r}]", taken)


def _take_keywords(structure: Mapping, given: MappingOf[str, object], taken: InputMatch) -> None:
    for name in given:
        if name not in structure.keys:
            raise SpecMismatch(f"`{name}` is not an input of the program")
    for key, item in zip(structure.keys, structure.items, strict=True):
        if key not in given:
            raise SpecMismatch(f"`{key}` is missing")
        _take(item, given[str(key)], str(key), taken)


def _take_record(structure: Record, given: Any, path: str, taken: InputMatch) -> None:
    parts = RECORDS.parts(given)
    if parts is None or parts.keys != structure.fields:
        name, fields = structure.type_name.rpartition(":")[2], ", ".join(structure.fields)
        _refuse(path, f"must be a {structure.kind} {name}({fields})", given)
    for name, item, part in zip(structure.fields, structure.items, parts.items, strict=True):
        _take(item, part, f"{path}.{name}", taken)


def _take_list(structure: RuntimeList, given: Any, path: str, taken: InputMatch) -> None:
    if not isinstance(given, list):
        _refuse(path, "must be a list", given)
    positions = tuple(positions_in(structure.item))
    element = {position: _element(taken.types[position]) for position in positions}
    columns: dict[int, list[Any]] = {position: [] for position in positions}
    for index, part in enumerate(given):
        row = InputMatch([element.get(place, kind) for place, kind in enumerate(taken.types)])
        _take(structure.item, part, f"{path}[{index}]", row)
        for position in positions:
            columns[position].append(row.leaves[position])
    taken.leaves.update(columns)


def _element(kind: Type) -> Type:
    if not isinstance(kind, ListType):
        raise ProgramError(f"a column of a list has the type {kind}")
    return kind.element


def _take_choice(structure: Choice, given: Any, path: str, taken: InputMatch) -> None:
    """The alternative that `given` fits; the leaves of the others are absent."""
    types = [present(kind) for kind in taken.types]
    for number, alternative in enumerate(structure.alternatives):
        attempt = InputMatch(types, taken.facts, sizes=dict(taken.sizes))
        try:
            _take(alternative, given, path, attempt)
        except SpecMismatch:
            continue
        absent = dict.fromkeys(positions_in(structure))
        taken.leaves |= absent | attempt.leaves | {structure.tag: number}
        taken.sizes |= attempt.sizes
        return
    _refuse(path, f"must be {_in_words(structure, types, given)}", given)


def _in_words(structure: Structure, types: SequenceOf[Type], given: object) -> str:
    """`a str or None`."""
    if isinstance(structure, Choice):
        words = [_in_words(one, types, given) for one in reversed(structure.alternatives)]
        return " or ".join(words)
    if not isinstance(structure, Leaf):
        return structure_text(structure, types)
    kind = types[structure.position]
    if isinstance(kind, NumberType):
        named = "an int" if kind.kind == "int" else f"a {kind.kind}"
        return f"{named} of 64 bits" if type(given) is int and kind.kind == "int" else named
    return "a str" if isinstance(kind, TextType) else f"a tensor {kind}"


TAKERS: MappingOf[type, Callable[[Any, Any, str, InputMatch], None]] = MappingProxyType(
    {
        Leaf: _take_leaf,
        ConstantValue: _take_fixed,
        Sequence: _take_sequence,
        Mapping: _take_mapping,
        Record: _take_record,
        Choice: _take_choice,
        RuntimeList: _take_list,
    }
)


def check_type(kind: Type, given: Any, path: str, sizes: dict[str, int]) -> None:
    """SpecMismatch unless `given` is of type `kind`; `sizes` holds the symbols seen so far."""
    CHECKS[type(kind)](kind, given, path, sizes)


def _check_tensor(kind: TensorType, given: Any, path: str, sizes: dict[str, int]) -> None:
    if not isinstance(given, torch.Tensor):
        _refuse(path, f"must be a tensor {kind}", given)
    dtype = str(given.dtype).removeprefix("torch.")
    if dtype != kind.dtype:
        _refuse_tensor(path, kind, given, f"its dtype is {dtype}, not {kind.dtype}")
    if given.dim() != len(kind.shape):
        _refuse_tensor(path, kind, given, f"its rank is {given.dim()}, not {len(kind.shape)}")
    for index, (size, expected) in enumerate(zip(given.shape, kind.shape, strict=True)):
        if isinstance(expected, Symbol):
            sizes.setdefault(expected.name, size)
        wanted = evaluate(expected, sizes)
        if wanted is not None and size != wanted:
            reason = f"its size {index} is {size}, "
            reason += (
                f"not {expected}" if expected == wanted else f"and {expected} is {wanted} elsewhere"
            )
            _refuse_tensor(path, kind, given, reason)


def _check_number(kind: NumberType, given: Any, path: str, _: dict[str, int]) -> None:
    if kind.kind == "int" and isinstance(given, torch.SymInt):  # torch.export traces with it
        return
    if type(given).__name__ != kind.kind:
        _refuse(path, f"must be {'an' if kind.kind == 'int' else 'a'} {kind.kind}", given)
    if kind.kind == "int" and not fits(given):
        _refuse(path, "must be an int of 64 bits", given)


def _check_text(_: TextType, given: Any, path: str, __: dict[str, int]) -> None:
    if not isinstance(given, str):
        _refuse(path, "must be a str", given)


def _check_optional(kind: OptionalType, given: Any, path: str, sizes: dict[str, int]) -> None:
    if given is not None:
        check_type(kind.element, given, path, sizes)


def _check_list(kind: ListType, given: Any, path: str, sizes: dict[str, int]) -> None:
    if not isinstance(given, list):
        _refuse(path, "must be a list", given)
    for index, item in enumerate(given):
        check_type(kind.element, item, f"{path}[{index}]", dict(sizes))


CHECKS: MappingOf[type, Callable[[Any, Any, str, dict[str, int]], None]] = MappingProxyType(
    {
        TensorType: _check_tensor,
        NumberType: _check_number,
        TextType: _check_text,
        OptionalType: _check_optional,
        ListType: _check_list,
    }
)


def _refuse(path: str, rule: str, given: object) -> NoReturn:
    raise SpecMismatch(f"{path} {rule}, not {describe(given)}")


def _refuse_tensor(path: str, kind: TensorType, given: torch.Tensor, reason: str) -> NoReturn:
    raise SpecMismatch(f"{path} must be a tensor {kind}, not {describe(given)}: {reason}")


def describe(item: object) -> str:
    """A tensor as its type, a constant as it is written, anything else by the name of its class."""
    if isinstance(item, torch.Tensor):
        dtype = str(item.dtype).removeprefix("torch.")
        return str(TensorType(dtype, tuple(item.shape), str(item.device)))
    if isinstance(item, bool | int | float | complex | str | None):
        return repr(item)
    if isinstance(item, list):
        return f"[{', '.join(map(describe, item))}]"
    return with_article(type(item).__name__)
