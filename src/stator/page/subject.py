"""PageSubject: what a page is about. saved_subject() makes it of the files of a saved model."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stator.export.contents import ModelContents, read_contents
from stator.export.methods import MODES, Method
from stator.export.sources import EmbeddedSources
from stator.page.encoding import ArgumentNames, names_in_schema
from stator.program.program import Program
from stator.program.types import TensorType

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
class Weight:
    """A tensor of a model, also one that no program uses."""

    name: str
    kind: str  # `parameter`, `buffer`, `constant` or `state`
    type: TensorType
    tied: str | None  # the first name of the same tensor, if it has another


def _unknown(name: str) -> tuple[str, ...]:
    raise LookupError(name)


@dataclass(frozen=True)
class PageSubject:
    """What a page is about."""

    title: str
    programs: tuple[PageProgram, ...]
    weights: tuple[Weight, ...] = ()
    argument_names: ArgumentNames = _unknown
    report: Mapping[str, Any] | None = None  # `Report.to_dict()`
    is_saved: bool = False  # places then name files without their folders
    sources: EmbeddedSources = field(default_factory=dict)  # that a saved model has
    remarks: tuple[str, ...] = ()
    start: int = 0  # the program that is shown first
    entry: tuple[str, int] | None = None  # the file and first line of the function


EMPTY = PageSubject("stator", ())  # no program: the page waits for a file of the reader's


def saved_subject(path: str | os.PathLike[str]) -> PageSubject:
    """The programs of a saved model, by method and mode; FormatError if it is damaged."""
    saved = read_contents(path)
    return subject_of_methods(
        os.path.basename(os.fspath(path)).removesuffix(".stator"),
        saved.methods,
        saved.programs,
        _weights_of(saved),
        saved.sources,
        lambda name: names_in_schema(saved.schemas[name]),
    )


def _weights_of(saved: ModelContents) -> Iterable[Weight]:
    for name, first in saved.names.first_names().items():
        tied = first if first != name else None
        yield Weight(name, saved.entries[name].kind, saved.names.types[name], tied)


def subject_of_methods(
    title: str,
    methods: Mapping[str, Method],
    programs: Mapping[str, Program],
    weights: Iterable[Weight],
    sources: EmbeddedSources,
    argument_names: ArgumentNames,
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
        tuple(weights),
        argument_names,
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
