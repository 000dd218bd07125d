"""English: small words that depend on the word after them."""

from __future__ import annotations

STARTS = ("A", "E", "I", "O", "a", "e", "i", "o", "nd")  # not u: a union, a UserDict


def with_article(name: str) -> str:
    """The name of a class with its article.

    >>> [with_article(name) for name in ("list", "OrderedDict", "ndarray", "UserDict")]
    ['a list', 'an OrderedDict', 'an ndarray', 'a UserDict']
    """
    return f"{'an' if name.startswith(STARTS) else 'a'} {name}"
