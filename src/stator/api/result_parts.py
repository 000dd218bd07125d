"""result_parts(): the leaves of a run that its result consists of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    RuntimeList,
    Structure,
    positions_in,
)


def result_parts(
    structure: Structure, leaves: Sequence[Any] | Mapping[int, Any]
) -> Iterator[tuple[int, Any]]:
    """Each leaf that the result has, with its position; alternatives that do not hold have none."""
    if isinstance(structure, Leaf):
        yield structure.position, leaves[structure.position]
    elif isinstance(structure, Choice):
        tag = int(leaves[structure.tag])
        yield structure.tag, tag
        yield from result_parts(structure.alternatives[tag], leaves)
    elif isinstance(structure, RuntimeList):
        columns = {position: leaves[position] for position in positions_in(structure.item)}
        for position, column in columns.items():
            yield position, len(column)
        for row in zip(*columns.values(), strict=False):
            yield from result_parts(structure.item, dict(zip(columns, row, strict=True)))
    elif not isinstance(structure, ConstantValue):
        for item in structure.items:
            yield from result_parts(item, leaves)
