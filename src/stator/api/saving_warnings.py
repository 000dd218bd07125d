"""Warnings of `save`, each a log message: what the saved model lacks, where it always fails."""

from __future__ import annotations

import linecache
from collections.abc import Collection, Iterable, Iterator

import torch

from stator.location import Location
from stator.logs import LOGGER
from stator.program.ir import Block, Op
from stator.program.program import Program
from stator.torch_private.scripts import is_exported

RAISING = ("raise", "assert")


def warn_of_exported_methods(owner: torch.nn.Module, saved: Collection[str]) -> None:
    """Name the methods that are marked with `torch.jit.export` and are not saved."""
    of_class = dict.fromkeys(name for cls in reversed(type(owner).__mro__) for name in vars(cls))
    missing = [
        name for name in of_class
        if name not in saved and is_exported(getattr(type(owner), name, None))
    ]  # fmt: skip
    if missing:
        LOGGER.warning(
            "methods marked with torch.jit.export are saved only if they have a spec, so the saved "
            "model does not have %s: pass methods={'%s': [...], ...}",
            ", ".join(f"`{name}`" for name in missing), missing[0],
        )  # fmt: skip


def warn_of_failing_paths(programs: Iterable[Program]) -> None:
    """Name the lines that raise whenever they are reached, though they are no `raise`."""
    found: dict[str, None] = {}
    for program in programs:
        for block in program.blocks:
            found.update(dict.fromkeys(_failing_paths(block, None)))
    for text in found:
        LOGGER.warning("%s", text)


def _failing_paths(block: Block, around: Location | None) -> Iterator[str]:
    for op in block.ops:
        if op.name == "stator::raise" and _is_unmeant(op, around):
            place = op.place.short if op.place else ""
            yield f"{place} raises {op.args[0]} on every run that reaches it: {_message(op)}"
        for inner in op.blocks:
            yield from _failing_paths(inner, op.place)


def _message(op: Op) -> str:
    """The first line of the message of a `raise`, as far as it is known."""
    message = op.args[1] if len(op.args) > 1 else ""
    if not isinstance(message, str):
        return "a message that depends on the run"
    return message.splitlines()[0] if message else "no message"


def _is_unmeant(op: Op, around: Location | None) -> bool:
    """Is it an error of a line, on a path of its own? Checks of values are on the line itself."""
    place = op.place
    if op.args[0] == "UnboundLocalError":  # of a generator: where it goes on follows from its state
        return False
    if place is None or (around is not None and _line(around) == _line(place)):
        return False
    text = linecache.getline(place.file, place.line).strip()
    return bool(text) and not text.startswith(RAISING)


def _line(place: Location) -> tuple[str, int]:
    return place.file, place.line
