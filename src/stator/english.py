"""English: small words that depend on the word after them."""

from __future__ import annotations

STARTS = ("A", "E", "I", "O", "a", "e", "i", "o", "nd")  # not u: a union, a UserDict


def with_article(name: str) -> str:
    """The name of a class with its article.

    >>> [with_article(name) for name in ("list", "OrderedDict", "ndarray", "UserDict")]
    ['a list', 'an OrderedDict', 'an ndarray', 'a UserDict']
    """
    return f"{'an' if name.startswith(STARTS) else 'a'} {name}"


def counted(number: int, noun: str) -> str:
    """A number with what it counts.

    >>> [counted(number, "op") for number in (0, 1, 2)]
    ['0 ops', '1 op', '2 ops']
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def in_one_line(error: Exception) -> str:
    """The class of an error, and the first line of what it says.

    >>> in_one_line(ValueError("no such size"))
    'ValueError: no such size'
    """
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]
