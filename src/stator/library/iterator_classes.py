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
from stator.recursion_limit import users_limit

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
