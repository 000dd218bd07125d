"""The base class of all errors: the problem, the place, the fix, and the edit that applies it."""

from __future__ import annotations

import difflib
import linecache
import re
from collections.abc import Iterable, Mapping

from stator.frames import current_place
from stator.location import Location

Edit = tuple[str, str]  # a pattern and its replacement, as `re.sub` takes them


class StatorError(Exception):
    """The base class of all errors of Stator: catch it to catch every refusal.

    Exceptions of your own code (an `IndexError`, a `raise`) are not among these. They pass through
    unchanged, with a note that names your line.

    Fails::

        import secrets

        import stator
        import torch

        @stator.to_static
        def draw(x):
            return x * secrets.randbelow(6)

        draw(torch.ones(2))

    Instead::

        import secrets

        import stator
        import torch

        @stator.to_static
        def draw(x):
            return x * secrets.randbelow(6)

        try:
            draw(torch.ones(2))
        except stator.StatorError as error:
            print(error.code, error.problem, error.at, error.fix)
    """

    code = "ST000"
    otherwise = ""  # the fix where an error names none
    beside = "with"  # the word before the variables that it names

    def __init__(
        self,
        problem: str,
        *,
        at: Location | None = None,
        fix: str = "",
        edit: Edit | None = None,
    ) -> None:
        self.problem, self.at, self.fix = problem, at or current_place(), fix or self.otherwise
        self.edit = edit
        self.involved: Mapping[str, str] = {}  # variables of that line, and what they are
        super().__init__(problem)

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.problem}"]
        if self.at:
            lines.append(f"  at {self.at}")
        if self.involved:
            named = ", ".join(f"{name}: {kind}" for name, kind in self.involved.items())
            lines.append(f"  {self.beside} {named}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join([*lines, *self.diff])

    def __reduce__(self) -> tuple[object, ...]:
        """By its parts: `args` has only the problem."""
        return _restored, (type(self), self.problem, vars(self))

    @property
    def diff(self) -> tuple[str, ...]:
        """The edit that fixes the line, as the lines of a small diff; empty if there is none."""
        if self.edit is None or self.at is None:
            return ()
        before = linecache.getline(self.at.file, self.at.line).strip()
        after = re.sub(*self.edit, before, count=1)
        return ("  edit:", f"    - {before}", f"    + {after}") if after != before else ()


def _restored(cls: type[StatorError], problem: str, fields: dict[str, object]) -> StatorError:
    error = cls(problem)
    vars(error).update(fields)
    return error


def nearest(name: object, known: Iterable[str]) -> Edit | None:
    r"""The edit that replaces `name` with the most similar known name; None if none is similar.

    >>> nearest("lops", ["loops", "calls"])
    ('\\blops\\b', 'loops')
    """
    found = difflib.get_close_matches(str(name), list(known), n=1)
    return (rf"\b{re.escape(str(name))}\b", found[0]) if found else None
