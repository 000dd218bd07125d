"""Names for what converted code passes around.

`Staged` is a value of the user's function: any Python object, or what represents one during the
capture (a tensor, a symbolic number or text, a union, a staged container). Only the user knows its
type, so the type checker asks no questions. A value that is merely passed on or tested with
`isinstance` is annotated with `object` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Staged: TypeAlias = Any
Args: TypeAlias = tuple[Staged, ...]  # of a call, by position
Keywords: TypeAlias = dict[str, Staged]  # of a call, by name
Code: TypeAlias = Callable[[], Staged]  # a block of converted code
Read: TypeAlias = Callable[[], tuple[Staged, ...]]  # the values of a block's names
Write: TypeAlias = Callable[[tuple[Staged, ...]], None]  # gives the names these values
Names: TypeAlias = tuple[str, ...]  # the names that a block assigns
