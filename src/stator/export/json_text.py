"""parse(): untrusted JSON; a text that would take too much memory is refused before parsing.

NOTE: why the memory is estimated. A list of two bytes, `[]`, takes 64 bytes in Python, so a small
file could ask for much. The marks that make objects, lists and items are counted first, which
takes no memory; what each costs at most was measured.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

COSTS = ((b"{", 184), (b"[", 72), (b",", 60), (b":", 80))  # bytes of memory for each such mark
MEMORY_FLOOR = 2**26  # bytes that any file may take, however small it is


class NotJson(ValueError):
    """What is wrong with a text that was to be JSON."""


def parse(text: bytes, *, size: int) -> Any:
    """The data that `text` says; it may take as much as `size`, the bytes of all files."""
    needed, allowed = memory_needed(text), max(size, MEMORY_FLOOR)
    if needed > allowed:
        raise NotJson(f"its data would take {needed} bytes of memory, more than {allowed}")
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except NotJson:
        raise
    except ValueError as error:
        raise NotJson(str(error)) from None


def memory_needed(text: bytes) -> int:
    """About the most memory that the data of `text` can take."""
    return sum(cost * text.count(mark) for mark, cost in COSTS)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise NotJson(f"an object has the key {twice[:100]!r} twice")
    return made


def _no_constant(name: str) -> NoReturn:
    raise NotJson(f"{name} is not JSON")
