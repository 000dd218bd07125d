"""subject_of(): what there is to show of a program, a traced layer, a model or a saved one."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from stator.debug.report import Report
from stator.english import with_article
from stator.errors import InputError
from stator.export.methods import MODES, Method
from stator.export.saved_model import SavedModel, read_model
from stator.export.sources import EmbeddedSources
from stator.program.program import Program
from stator.static.traced_layer import TracedLayer

NO_TEXT = (
    "This model was saved with file names and line numbers, but no source. "
    "stator.save(..., embed_source=True) keeps the source of its functions."
)


@dataclass(frozen=True)
class PageProgram:
    """One program of the page, and what the reader chooses it by."""

    label: str
    program: Program


@dataclass(frozen=True)
class PageSubject:
    """What a page is about."""

    title: str
    programs: tuple[PageProgram, ...]
    tensors: Mapping[str, torch.Tensor] = field(default_factory=dict)  # of the model that it is
    kinds: Mapping[str, str] = field(default_factory=dict)  # of these, where a file says them
    report: Report | None = None
    is_saved: bool = False  # places then name files without their folders
    sources: EmbeddedSources = field(default_factory=dict)  # that a saved model has
    remarks: tuple[str, ...] = ()
    start: int = 0  # the program that is shown first
    entry: tuple[str, int] | None = None  # the file and first line of the function


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
    return PageSubject("stator", ())


@subject_of.register
def _(source: Program) -> PageSubject:
    return PageSubject(source.name, (PageProgram(source.name, source),))


@subject_of.register
def _(source: TracedLayer) -> PageSubject:
    return subject_of(source.program)


@subject_of.register(str)
@subject_of.register(os.PathLike)
def _(source: str | os.PathLike[str]) -> PageSubject:
    name = os.path.basename(os.fspath(source)).removesuffix(".stator")
    return saved_subject(name, read_model(source))


def saved_subject(title: str, saved: SavedModel) -> PageSubject:
    """The programs of a saved model, by method and mode."""
    kinds = {name: entry.kind for name, entry in saved.entries.items()}
    return subject_of_methods(
        title, saved.methods, saved.programs, saved.tensors, saved.sources, kinds
    )


def subject_of_methods(
    title: str,
    methods: Mapping[str, Method],
    programs: Mapping[str, Program],
    tensors: Mapping[str, torch.Tensor],
    sources: EmbeddedSources,
    kinds: Mapping[str, str],
) -> PageSubject:
    """Each program once, with the methods and modes that run it."""
    labels: dict[str, list[str]] = {}
    remarks = [] if sources else [NO_TEXT]
    for method in sorted(methods, key=lambda name: (name != "forward", name)):
        for mode in sorted(methods[method].programs, key=MODES[::-1].index):
            labels.setdefault(methods[method].programs[mode], []).append(f"{method}, {mode}")
        for mode, reason in methods[method].refused.items():
            remarks.append(f"{method} could not be captured in {mode} mode: {reason}")
    for name in programs:
        labels.setdefault(name, [name])
    shown = tuple(PageProgram(_joined(labels[name]), programs[name]) for name in labels)
    return PageSubject(
        title,
        shown,
        tensors,
        kinds,
        is_saved=True,
        sources=sources,
        remarks=tuple(remarks),
    )


def _joined(labels: list[str]) -> str:
    """`forward, eval` and `forward, train` as `forward`: a method that is the same in both."""
    methods = list(dict.fromkeys(label.rpartition(", ")[0] or label for label in labels))
    if len(labels) == len(MODES) * len(methods):
        return "; ".join(methods)
    return "; ".join(labels)
