"""subject_of(): what there is to show of a program, a traced layer, a model or a saved one."""

from __future__ import annotations

import functools
import os
from typing import Any

from stator.english import with_article
from stator.errors import InputError
from stator.page.subject import EMPTY, PageProgram, PageSubject, saved_subject
from stator.program.program import Program
from stator.program.registry import argument_names
from stator.static.traced_layer import TracedLayer


@functools.singledispatch
def subject_of(source: Any) -> PageSubject:
    """What `source` shows; `stator.api` adds the types of the packages above this one."""
    raise InputError(
        f"{with_article(type(source).__name__)} cannot be viewed",
        fix="pass a static function that has been called, a program, a loaded model, or the path "
        "of a saved one",
    )


class EmptyPage:
    """No program: the page waits for a file of the reader's."""


@subject_of.register
def _(_: EmptyPage) -> PageSubject:
    return EMPTY


@subject_of.register
def _(source: Program) -> PageSubject:
    shown = (PageProgram(source.name, source),)
    return PageSubject(source.name, shown, argument_names=argument_names)


@subject_of.register
def _(source: TracedLayer) -> PageSubject:
    return subject_of(source.program)


@subject_of.register(str)
@subject_of.register(os.PathLike)
def _(source: str | os.PathLike[str]) -> PageSubject:
    return saved_subject(source)
