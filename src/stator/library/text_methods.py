"""Methods of strings on symbolic values: what prints and error messages need."""

from __future__ import annotations

import string

from stator.containers import definitions
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.library.captured_values import is_runtime_sequence
from stator.library.text import empty_text, format_value, fstring
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.union import distribute, first_union


def call_text_method(
    session: Session, owner: Staged, name: str, args: Args, kwargs: Keywords
) -> Staged:
    """`owner.name(*args, **kwargs)`, such as `", ".join(captured)`."""
    call = session.interpreter.call
    if first_union(args) is not None:
        return distribute(lambda *a: call(getattr(owner, name), *a, **kwargs), args, {})
    if name == "format" and isinstance(owner, str):
        return _format_text(session, owner, args, kwargs)
    if name == "join" and len(args) == 1 and is_runtime_sequence(session.recorder, args[0]):
        return session.interpreter.run(
            definitions.joined, empty_text(session.recorder), owner, args[0]
        )
    if name == "join" and len(args) == 1:
        parts = [part for item in args[0] for part in (owner, item)][1:]
        return fstring(session, *parts)
    raise UnsupportedCall(
        f"`str.{name}` of captured values is not supported", at=current_place(),
        fix="use an f-string",
    )  # fmt: skip


def _format_text(session: Session, text: str, args: Args, kwargs: Keywords) -> Staged:
    """`text.format(*args, **kwargs)`, field by field."""
    parts: list[object] = []
    position = 0
    for literal, field, spec, conversion in string.Formatter().parse(text):
        parts.append(literal)
        if field is None:
            continue
        if field == "":
            field, position = str(position), position + 1
        value = args[int(field)] if field.isdigit() else kwargs[field]
        parts.append(format_value(session, value, conversion, spec or None))
    return fstring(session, *parts)
