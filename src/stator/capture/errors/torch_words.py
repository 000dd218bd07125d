"""torch_error(): an error of torch's own tracing in one line, without the names of its classes."""

from __future__ import annotations

import re

NUMBERS = {"Int": "an int of the run", "Float": "a float of the run", "Bool": "a bool of the run"}
WORDS = (  # what torch traces with, and what it is to the reader of a message
    (re.compile(r"non-nested (?=Sym)"), lambda _: ""),
    (re.compile(r"\b(?:torch\.)?Sym(Int|Float|Bool)\b"), lambda found: NUMBERS[found[1]]),
    (re.compile(r"\bFakeTensor\b"), lambda _: "tensor"),
)


def torch_error(error: Exception) -> str:
    """The class of `error` and its first line.

    >>> torch_error(TypeError("unhashable type: non-nested SymInt"))
    'TypeError: unhashable type: an int of the run'
    """
    first = next((line for line in str(error).splitlines() if line.strip()), "-")
    for pattern, word in WORDS:
        first = pattern.sub(word, first)
    return f"{type(error).__name__}: {first}"
