"""The table of ops in `NAME.stator`: the schema of each op of torch as its writer knew it.

A reader in another language learns from it what arguments an op takes, and their defaults. Here it
tells whether this torch still means the same by a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from stator.errors import FormatError
from stator.export.checking import Damage, checked
from stator.export.encoding import Json
from stator.program.opset.queries import STATOR_OPS, row_of
from stator.program.program import Program
from stator.program.registry import resolve, schema_of
from stator.torch_private import ops

ADDED_BY = MappingProxyType(  # what each version has added
    {
        2: frozenset({"stator::note"}),
        3: frozenset(
            f"stator::text_{name}"
            for name in ("slice", "find", "code", "case", "is", "int", "float")
        ),
    }
)
SCHEMA = re.compile(r"[\w:.]+\([^()]*(\([^()]*\)[^()]*)*\) -> [^\n]*")  # brackets two deep
SCHEMA_LIMIT = 4000  # characters


def op_set_of(programs: Mapping[str, Program]) -> int:
    """The first version of Stator's own ops that has all those of `programs`."""
    names = _names(programs)
    return max((version for version, added in ADDED_BY.items() if names & added), default=1)


def encode_ops(programs: Mapping[str, Program]) -> Json:
    """The schemas of the ops of torch that `programs` use, by name."""
    of_torch = sorted(_names(programs) - STATOR_OPS)
    for name in of_torch:
        if not row_of(name).in_file:
            raise FormatError(
                f"the program calls {name}, which a saved model may not",
                fix="write it with public functions of torch",
            )
    return {name: schema_text(name) for name in of_torch}


def _names(programs: Mapping[str, Program]) -> set[str]:
    return {op.name for program in programs.values() for op in program.ops()}


def schema_text(name: str) -> str:
    """The schema of an op that is registered."""
    return schema_of(name).text


def check_ops(data: Json, programs: Mapping[str, Program], at: str) -> None:
    """Damage if a program uses an op without a schema, or one that this torch has changed."""
    for name in sorted(_names(programs) - STATOR_OPS):
        if name not in data:
            raise Damage(at, f"has no schema of {name}")
        check_schema(name, checked(data[name], str, f"{at}.{name}"), f"{at}.{name}")


def check_schema(name: str, saved: str, at: str) -> None:
    """Damage unless calls that fit the `saved` schema fit the op that this torch has."""
    own = schema_text(name)
    if saved == own:
        return
    try:
        current: Any = ops.schema(resolve(name))  # torch does not annotate the method that is asked
        holds = current.is_backward_compatible_with(_parsed(saved))
    except (RuntimeError, ValueError):
        raise Damage(at, "is no schema") from None
    if not holds:
        raise Damage(at, f"is {saved!r}, and this torch has {own!r}")


def _parsed(text: str) -> ops.FunctionSchema:
    """The schema that `text` says; torch's parser sees only what cannot take it far down."""
    if len(text) > SCHEMA_LIMIT or text.count("[") > 64 or SCHEMA.fullmatch(text) is None:
        raise ValueError("no schema")
    return ops.parse_schema(text)
