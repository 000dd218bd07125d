"""`hasattr`, `getattr` with a default, and the call of an Enum class, written out in Python.

They are converted like user code where code of the user's says whether there is an attribute, and
where only a run knows the value.
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


def member_of(members: Staged, name: str, value: Staged) -> Staged:
    """The member of an Enum class, of its values and members, that has this value."""
    for known, member in members:
        if known == value:
            return member
    raise ValueError(f"{value!r} is not a valid {name}")
