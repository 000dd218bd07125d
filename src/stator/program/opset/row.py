"""OpRow: all that the rest of Stator knows about one op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from stator.program.ir import Op
from stator.program.opset.conditions import Condition

Kind = Literal[
    "number",  # Python numbers in, one out
    "text",
    "list",  # lists whose length is data-dependent
    "branch",
    "region",  # ops that a backend may compile as one
    "loop",
    "call",
    "try",
    "keep",  # stores values for the handlers of a `try`, or for the time after an error
    "raise",
    "check",  # raises unless its first operand is true
    "output",
    "mode",  # changes what later ops do: grad mode, inference mode, autocast
    "gradient",  # talks to autograd
    "host",  # calls back into the Python process that captured the program
    "torch",
]


class Raises(Enum):
    """When an op raises an error that the user's code could catch.

    Errors about sizes and dtypes are settled by the capture, which has run the op on sizes: it
    failed there, or sizes that would make it fail are refused by a check before the op. Only an
    error that depends on values must be expected when the program runs.
    """

    NEVER = "never"
    SIZES = "sizes"  # never for the sizes that the program's checks let through
    VALUES = "values"


Rule = Callable[[Op], Raises]


def never(_op: Op) -> Raises:
    """The op is total."""
    return Raises.NEVER


def settled(_op: Op) -> Raises:
    """The op fails for wrong sizes and dtypes only."""
    return Raises.SIZES


def by_value(_op: Op) -> Raises:
    """The op raises for some values, or may do so: the answer where nothing is known."""
    return Raises.VALUES


@dataclass(frozen=True, slots=True)
class OpRow:
    """One op. The defaults are the safe answers: it may raise, is not pure, and may alias."""

    name: str
    kind: Kind
    signature: str = ""  # operands, attributes and results with their types, for Stator's own ops
    meaning: str = ""  # one line, for docs/format.md
    blocks: tuple[str, ...] = ()  # what each is for; a last name that ends in `...` may repeat
    raises: Rule = by_value
    reads: bool = True  # the contents of tensors, not only their sizes and dtypes
    writes: frozenset[str] = frozenset()  # the arguments whose contents it changes
    mutates: bool = False  # an argument in any way: its contents, sizes or part in autograd
    aliases: frozenset[str] | Literal["all"] = "all"  # the arguments that a result may share
    random: bool = False
    pure: bool = False  # equal arguments give equal results, and nothing else happens
    in_file: bool = True  # may be part of a saved model
    conditions: tuple[Condition, ...] = ()  # what torch leaves to the caller; each run checks it
    verb: str = ""  # what an explanation of a program says that it does
