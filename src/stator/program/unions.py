"""Unions: a value that is one of several alternatives, as a tag and the parts of each alternative.

    %1: tag(2, t0), %2: f32[3]?(t0=0), %3: i64[]?(t0=1) = stator::if(%c) { yield 0, %x, None } ...

The tag and the parts are in one list of values (the results of an op, the inputs of a block or a
function) and share the name of the union, which means nothing outside that list. A part is there
exactly if the tag is one of its alternatives; where the tag itself is absent, all parts are. A pass
may drop the tag or a part that is not used: what is left then says less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stator.program.ir import Arg, Op, Value
from stator.program.program import Program
from stator.program.types import NumberType, OptionalType, Presence, Tag, Type


def tag_of(kind: Type) -> Tag | None:
    """The tag that a value of this type is; that of an inner union may be absent."""
    found = kind.element if isinstance(kind, OptionalType) else kind
    return found.tag if isinstance(found, NumberType) else None


def presence_of(kind: Type) -> Presence | None:
    """The alternatives for which a value of this type is there."""
    return kind.present if isinstance(kind, OptionalType) else None


def list_faults(values: Sequence[Value]) -> Iterator[str]:
    """What is wrong with the unions of one list of values."""
    tags: dict[str, Tag] = {}
    for value in values:
        tag = tag_of(value.type)
        if tag is not None and tags.setdefault(tag.union, tag) is not tag:
            yield f"%{value.name} is a second tag of the union {tag.union}"
    for value in values:
        present = presence_of(value.type)
        tag = tags.get(present.union) if present is not None else None
        if present and tag and not all(0 <= one < tag.count for one in present.alternatives):
            yield f"%{value.name} is a part of alternatives that {tag} does not have"


def given_faults(values: Sequence[Value], given: Sequence[Arg]) -> Iterator[str]:
    """What is wrong with `given` as what `values` are to be: the tag says which parts are there."""
    chosen: dict[str, int] = {}
    for value, arg in zip(values, given, strict=True):
        tag = tag_of(value.type)
        if tag is not None and isinstance(arg, int):
            chosen[tag.union] = arg
            if not 0 <= arg < tag.count:
                yield f"%{value.name} is given {arg}, and is a {tag}"
    for value, arg in zip(values, given, strict=True):
        present = presence_of(value.type)
        if present is None or present.union not in chosen:
            continue
        if chosen[present.union] in present.alternatives:
            if arg is None:
                yield f"%{value.name} is absent, and {present} says that it is there"
        elif not _may_be_absent(arg):
            yield f"%{value.name} is there, and {present} says that it is absent"


def _may_be_absent(arg: Arg) -> bool:
    return arg is None or (isinstance(arg, Value) and isinstance(arg.type, OptionalType))


def op_faults(op: Op, program: Program) -> Iterator[str]:
    """What is wrong with the unions that `op` is given, hands to its blocks and gives."""
    yield from list_faults(op.results)
    for block in op.blocks:
        yield from list_faults(block.inputs)
    for values, given in _handed(op, program):
        if len(values) == len(given):
            yield from given_faults(values, given)


def _handed(op: Op, program: Program) -> Iterator[tuple[Sequence[Value], Sequence[Arg]]]:
    """Lists of values, and what they are given."""
    if op.name in ("stator::if", "stator::try", "stator::region"):
        yield from ((op.results, block.outputs) for block in op.blocks)
    elif op.name == "stator::while":
        (body,) = op.blocks
        yield from ((body.inputs, given) for given in (op.args[1:], body.outputs[1:]))
        yield from ((op.results, given) for given in (op.args[1:], body.outputs[1:]))
    elif op.name == "stator::call":
        function = program.functions[str(op.attributes["function"])]
        yield from ((function.inputs, op.args), (op.results, function.outputs))
