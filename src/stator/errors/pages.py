"""The page of each error: the docstring of its class."""

from __future__ import annotations

import inspect
import sys

from stator.errors.base import StatorError, nearest
from stator.errors.inputs import UnknownOption

PUBLIC_MODULE = "stator.errors"


def all_errors() -> dict[str, type[StatorError]]:
    """Every class of the tree, by its code."""
    found, pending = {}, [StatorError]
    while pending:
        cls = pending.pop()
        found[cls.code] = cls
        pending += cls.__subclasses__()
    return {code: cls for code, cls in sorted(found.items()) if cls.__module__ == PUBLIC_MODULE}


def explain(error: str | StatorError | type[StatorError]) -> None:
    """Print what an error means, an example that fails, and what to write instead.

    >>> explain("ST204")  # doctest: +ELLIPSIS
    ST204 UnsupportedCall
    <BLANKLINE>
    A call whose effect a program cannot express...
    """
    sys.stdout.write(page(error) + "\n")


def page(error: str | StatorError | type[StatorError]) -> str:
    """The page of an error: its code and class, and the text of the class."""
    known = all_errors()
    code = error.upper() if isinstance(error, str) else error.code
    if code not in known:
        raise UnknownOption(
            f"there is no error {code}", fix=f"give one of {', '.join(known)}",
            edit=nearest(error, known),
        )  # fmt: skip
    cls = known[code]
    return f"{code} {cls.__name__}\n\n{inspect.getdoc(cls)}"
