"""unflatten(): results put together from flat leaves, as their structure says."""

from __future__ import annotations

import collections
import functools
import sys
from collections.abc import Callable
from collections.abc import Mapping as MappingOf
from collections.abc import Sequence as SequenceOf
from types import MappingProxyType
from typing import Any

from stator.errors import ProgramError
from stator.program.structure import (
    Choice,
    ConstantValue,
    Conversion,
    Leaf,
    Mapping,
    Record,
    RuntimeList,
    Sequence,
    Structure,
    positions_in,
)
from stator.values.containers import DATACLASS, NAMED_TUPLE, OBJECT, Entries, record_fields

Leaves = SequenceOf[Any] | MappingOf[int, Any]  # below a RuntimeList, one row: position -> item
Classes = MappingOf[str, type]
Made = dict[int, Any]


def unflatten(
    structure: Structure,
    leaves: Leaves,
    *,
    classes: Classes = MappingProxyType({}),
    made: Made | None = None,
) -> Any:
    """The object that `structure` describes, with `leaves` in their places.

    A structure that is in several places is one object: `made` has those that are there
    already, by the structure's id. A record's class is looked for in `classes`, then among the
    modules already imported; a named tuple of the same fields replaces one that is not there.
    """
    if isinstance(structure, Leaf):
        return leaves[structure.position]
    made = {} if made is None else made
    if id(structure) not in made:
        made[id(structure)] = BUILDERS[type(structure)](structure, leaves, classes, made)
    return made[id(structure)]


def _build_fixed(structure: ConstantValue, _: Leaves, __: Classes, ___: Made) -> Any:
    return structure.value


def _build_sequence(structure: Sequence, leaves: Leaves, classes: Classes, made: Made) -> Any:
    items = [unflatten(item, leaves, classes=classes, made=made) for item in structure.items]
    return items if structure.kind == "list" else tuple(items)


def _build_mapping(structure: Mapping, leaves: Leaves, classes: Classes, made: Made) -> Any:
    items = (unflatten(item, leaves, classes=classes, made=made) for item in structure.items)
    return dict(zip(structure.keys, items, strict=True))


def _build_record(structure: Record, leaves: Leaves, classes: Classes, made: Made) -> Any:
    items = tuple(unflatten(item, leaves, classes=classes, made=made) for item in structure.items)
    found = find_record_class(structure, classes)
    if issubclass(found, tuple):
        entry = NAMED_TUPLE
    else:
        entry = OBJECT if structure.kind == "object" else DATACLASS
    return entry.new(found, Entries(structure.fields, items))


def _build_conversion(structure: Conversion, leaves: Leaves, classes: Classes, made: Made) -> Any:
    return structure.convert(unflatten(structure.items[0], leaves, classes=classes, made=made))


def _build_choice(structure: Choice, leaves: Leaves, classes: Classes, made: Made) -> Any:
    chosen = structure.alternatives[int(leaves[structure.tag])]
    return unflatten(chosen, leaves, classes=classes, made=made)


def _build_list(structure: RuntimeList, leaves: Leaves, classes: Classes, _: Made) -> Any:
    columns = {position: leaves[position] for position in positions_in(structure.item)}
    if len({len(column) for column in columns.values()}) != 1:
        raise ProgramError("the columns of a list have no common length")
    if isinstance(structure.item, Leaf):
        built = list(columns[structure.item.position])
    else:
        built = [
            unflatten(structure.item, dict(zip(columns, row, strict=True)), classes=classes)
            for row in zip(*columns.values(), strict=True)
        ]
    return {"list": list, "tuple": tuple, "dict": dict}[structure.kind](built)


BUILDERS: MappingOf[type, Callable[[Any, Leaves, Classes, Made], Any]] = MappingProxyType(
    {
        ConstantValue: _build_fixed,
        Sequence: _build_sequence,
        Mapping: _build_mapping,
        Record: _build_record,
        Choice: _build_choice,
        RuntimeList: _build_list,
        Conversion: _build_conversion,
    }
)


def find_record_class(structure: Record, classes: Classes = MappingProxyType({})) -> type:
    """The class that `structure` names, if it is there and has these fields; else a stand-in."""
    found = classes.get(structure.type_name) or _imported(structure.type_name)
    count = len(structure.fields)
    if isinstance(found, type) and record_fields(found, count) == structure.fields:
        return found
    if structure.kind == "object" and structure.type_name in classes:
        return classes[structure.type_name]  # only what this process captured itself
    return _stand_in(structure.type_name, structure.fields)


def _imported(type_name: str) -> object:
    """What is at `module:qualname`; nothing is imported, no `__getattr__` of a module runs."""
    module, _, qualname = type_name.partition(":")
    found: object = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, "__dict__", {}).get(part)
    return found


@functools.cache
def _stand_in(type_name: str, fields: tuple[str, ...]) -> type:
    name = type_name.rpartition(":")[2].rpartition(".")[2]
    return collections.namedtuple(name if name.isidentifier() else "Record", fields, rename=True)
