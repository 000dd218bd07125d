"""select_outputs(): a program that gives only some of its results; the rest can then be pruned.

A key is a position, a dict key or the name of a field; a tuple of keys leads further in:
`output_spec=["logits", ("hidden", 0)]`. What is chosen keeps its place in the structure around it,
except that positions close up.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from stator.errors import SpecMismatch
from stator.program import structure as shape
from stator.program.layout import map_layout
from stator.program.program import Program
from stator.program.structure import positions_in


def select_outputs(program: Program, output_spec: Iterable[Any]) -> Program:
    """`program` with the results that `output_spec` names, and no others."""
    wanted = [key if isinstance(key, tuple) else (key,) for key in output_spec]
    if not wanted:
        raise SpecMismatch("output_spec names no output", fix="name one, or leave it out")
    structure = _selected(program.output_structure, wanted, "the result")
    kept = sorted(set(positions_in(structure)))
    made, body = copy.copy(program), copy.copy(program.body)
    made.output_structure = renumbered(structure, kept)
    chosen = (body.outputs[position] for position in kept)
    body.outputs = (*chosen, *program.state_outputs)
    made.body = body
    return made


def _selected(structure: shape.Structure, wanted: list[tuple[Any, ...]], at: str) -> Any:
    if () in wanted:
        return structure
    if not isinstance(structure, shape.Sequence | shape.Mapping | shape.Record):
        raise SpecMismatch(f"{at} has no parts for {wanted[0][0]!r} of the output_spec to name",
                           fix="name the whole of it")  # fmt: skip
    keys = structure.keys
    chosen = _by_key(keys, wanted, at)
    items = {
        key: _selected(item, chosen[key], f"{at}[{key!r}]")
        for key, item in zip(keys, structure.items, strict=True)
        if key in chosen
    }
    return _with_items(structure, tuple(items), tuple(items.values()))


def _by_key(
    keys: Sequence[Any], wanted: list[tuple[Any, ...]], at: str
) -> dict[Any, list[tuple[Any, ...]]]:
    """For each key the rest of each path that begins with it."""
    found: dict[Any, list[tuple[Any, ...]]] = {}
    for key, *rest in wanted:
        if key not in keys or isinstance(key, bool):
            listed = ", ".join(map(repr, keys))
            raise SpecMismatch(f"{at} has no {key!r}; it has {listed}",
                               fix="name outputs that are there in output_spec")  # fmt: skip
        found.setdefault(key, []).append(tuple(rest))
    return found


def _with_items(structure: Any, keys: tuple[Any, ...], items: tuple[Any, ...]) -> Any:
    if isinstance(structure, shape.Sequence):
        return shape.Sequence(structure.kind, items)
    if isinstance(structure, shape.Mapping):
        return shape.Mapping(keys, items)
    return shape.Record(structure.kind, structure.type_name, keys, items)


def renumbered(structure: shape.Structure, kept: Sequence[int]) -> shape.Structure:
    """`structure` for leaves of which only those at the positions `kept` are left."""

    def renumber(node: shape.Structure) -> shape.Structure:
        if isinstance(node, shape.Leaf):
            return shape.Leaf(kept.index(node.position))
        return replace(node, tag=kept.index(node.tag)) if isinstance(node, shape.Choice) else node

    return map_layout(renumber, structure)
