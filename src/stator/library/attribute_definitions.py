"""`hasattr` and `getattr` with a default, written out in Python.

They are converted like user code where code of the user's says whether there is an attribute.
"""

from __future__ import annotations

from stator.values.annotations import Staged


def has_attribute(obj: Staged, name: str) -> Staged:
    """`hasattr(obj, name)`."""
    try:
        getattr(obj, name)
    except AttributeError:
        return False
    return True


def attribute_or(obj: Staged, name: str, default: Staged) -> Staged:
    """`getattr(obj, name, default)`."""
    try:
        return getattr(obj, name)
    except AttributeError:
        return default


def computed_or_fallback(getter: Staged, given: Staged, fallback: Staged, name: str) -> Staged:
    """`given[0].name`: what a property gives, or `__getattr__` where that raises AttributeError."""
    try:
        return getter(*given)
    except AttributeError:
        return fallback(given[0], name)
