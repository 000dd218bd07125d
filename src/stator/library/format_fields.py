"""`text.format(*args, **kwargs)` with captured values: fields as Python reads them.

"{} {}"        numbered by themselves, or "{0} {1}" by the string: never both
"{0[k].name}"  items and attributes
"{:{width}}"   fields inside a specification
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from stator.library.text import format_value, fstring
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged

TO_AUTOMATIC = "cannot switch from manual field specification to automatic field numbering"
TO_MANUAL = "cannot switch from automatic field numbering to manual field specification"


def formatted(session: Session, text: str, args: Args, kwargs: Keywords) -> Staged:
    """`text.format(*args, **kwargs)`."""
    return _Fields(session, args, kwargs).text(text, depth=2)


@dataclass
class _Fields:
    session: Session
    args: Args
    kwargs: Keywords
    next: int | None = 0  # the number of the next field without one; None if they have numbers

    def text(self, text: str, *, depth: int) -> Staged:
        """The text with its fields filled in; specifications may have fields once more."""
        if not depth:
            raise ValueError("Max string recursion exceeded")
        parts: list[object] = []
        for literal, field, spec, conversion in string.Formatter().parse(text):
            parts.append(literal)
            if field is None:
                continue
            value = self._value(field)
            spec_text = self.text(spec, depth=depth - 1) if spec else None
            parts.append(format_value(self.session, value, conversion, spec_text))
        return fstring(self.session, *parts)

    def _value(self, field: str) -> Staged:
        ends = [place for place in map(field.find, ".[") if place >= 0]
        first = field[: min(ends)] if ends else field
        value = self._argument(first)
        rest = field[len(first) :]
        while rest:
            value, rest = self._part(value, rest)
        return value

    def _part(self, value: Staged, rest: str) -> tuple[Staged, str]:
        """One item or attribute of `value`, and the text after it."""
        interpreter = self.session.interpreter
        if rest.startswith("["):
            key, closed, after = rest[1:].partition("]")
            if not closed:
                raise ValueError("expected '}' before end of string")
            if not key:
                raise ValueError("Empty attribute in format string")
            if after and after[0] not in ".[":
                raise ValueError("Only '.' or '[' may follow ']' in format field specifier")
            return interpreter.getitem(value, int(key) if key.isdecimal() else key), after
        ends = [place for place in (rest.find(mark, 1) for mark in ".[") if place >= 0]
        end = min(ends, default=len(rest))
        if end == 1:
            raise ValueError("Empty attribute in format string")
        return interpreter.get(value, rest[1:end]), rest[end:]

    def _argument(self, name: str) -> Staged:
        if name and not name.isdecimal():
            given = self.kwargs  # the user's
            return given[name]
        if not name:
            if self.next is None:
                raise ValueError(TO_AUTOMATIC)
            number, self.next = self.next, self.next + 1
        else:
            if self.next:
                raise ValueError(TO_MANUAL)
            number, self.next = int(name), None
        if number >= len(self.args):
            message = f"Replacement index {number} out of range for positional args tuple"
            raise IndexError(message)
        return self.args[number]
