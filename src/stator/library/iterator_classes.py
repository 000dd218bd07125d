"""iterator_class(): what an iterator of the program is in eager code."""

from __future__ import annotations

import inspect
import itertools
import sys
import types
from typing import Any

from stator.containers import definitions, lazy_definitions, standard_definitions
from stator.containers.generators import StagedGenerator
from stator.containers.iterators import StagedIterator
from stator.containers.machine_definitions import Machine
from stator.library.lazy_iterators import TEE
from stator.recursion_limit import users_limit
from stator.values.annotations import Staged
from stator.values.staged import StagedList

ITERATOR_OF_A_LIST: type = type(iter([]))
WRITTEN: dict[Any, type] = {  # generators of Stator's own
    standard_definitions.one_after_another: itertools.chain,
    standard_definitions.accumulate: itertools.accumulate,
    standard_definitions.takewhile: itertools.takewhile,
    standard_definitions.dropwhile: itertools.dropwhile,
    standard_definitions.filterfalse: itertools.filterfalse,
    standard_definitions.compress: itertools.compress,
    standard_definitions.pairwise: itertools.pairwise,
    standard_definitions.groupby: itertools.groupby,
    standard_definitions.zip_longest: itertools.zip_longest,
    definitions.enumerated: enumerate, lazy_definitions.sliced: itertools.islice,
    lazy_definitions.mapped: map, lazy_definitions.mapped_rows: map, lazy_definitions.ones: zip,
    lazy_definitions.starred: itertools.starmap, lazy_definitions.filtered: filter,
    lazy_definitions.zipped_in_turn: zip, lazy_definitions.branch_of_tee: TEE,
    lazy_definitions.reversed_by_index: reversed,
    lazy_definitions.zipped_longest: itertools.zip_longest,
    lazy_definitions.zipped: zip, lazy_definitions.zipped_strictly: zip,
    lazy_definitions.repeated: itertools.cycle,
    lazy_definitions.accumulated: itertools.accumulate, lazy_definitions.groups: itertools.groupby,
    lazy_definitions.pairwise: itertools.pairwise,
}  # fmt: skip
QUESTIONS: dict[Any, Any] = {
    inspect.isgenerator: lambda session, value: session.interpreter.call(
        isinstance, value, types.GeneratorType
    ),
    sys.getrecursionlimit: lambda session: session.interpreter.call_library(users_limit, (), {}),
}


def iterator_class(value: object) -> type | None:
    """The class of an iterator of the program in eager code; None of any other value."""
    if isinstance(value, StagedIterator):
        return value.cls
    if isinstance(value, StagedGenerator | Machine):
        return WRITTEN.get(value.function, types.GeneratorType)
    return None


def class_of_new(value: Staged) -> type:
    """The class of `iter(value)` in eager code."""
    try:
        return type(iter(value)) if not isinstance(value, StagedList) else ITERATOR_OF_A_LIST
    except Exception:  # noqa: BLE001 (only the name of a class is asked for)
        return ITERATOR_OF_A_LIST
