"""The fields of a `stator::raise` that only the process that captured it can read.

form__    the number of the structure of the whole exception
leaf_0__  the leaves of that structure, in order
text__    `str(error)`, where it is not what the builtin class makes of the arguments
"""

from __future__ import annotations

FORM, LEAF, TEXT = "form__", "leaf_", "text__"


def is_of_process(name: str) -> bool:
    """Is `name` one of these, and no attribute of the exception?"""
    return name in (FORM, TEXT) or (name.startswith(LEAF) and name.endswith("__"))
