"""diff: two saved models, or what would be saved of two objects."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from stator.cli.failures import FOUND, OK
from stator.cli.origin import Origin
from stator.cli.screen import CommandOutcome, working
from stator.cli.targets import is_object
from stator.english import counted
from stator.export.contents import read_contents
from stator.export.model_difference import (
    ModelChanges,
    WeightChange,
    have_same_weights,
    model_changes,
)
from stator.program.difference import Change

SIGNS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow")}


def diff(
    first: str,
    second: str,
    origin: Origin,
) -> CommandOutcome:
    """All differences."""
    with working("comparing"):
        changes = _changes(first, second, origin)
    return CommandOutcome(
        {"before": first, "after": second, **changes.to_dict()},
        lambda screen: _show(screen, changes),
        OK if changes.is_same else FOUND,
    )


def _changes(first: str, second: str, origin: Origin) -> ModelChanges:
    """Models whose weights are the same bytes are compared without torch."""
    if not is_object(first) and not is_object(second):
        before, after = read_contents(first), read_contents(second)
        if have_same_weights(before, after):
            return model_changes(before, after, lambda _: None)
    objects = importlib.import_module("stator.cli.comparing_objects")
    found: ModelChanges = objects.changes(first, second, origin)
    return found


def _show(screen: Console, changes: ModelChanges) -> None:
    if changes.contract:
        screen.print(Text("contract", style="bold"))
        for line in changes.contract:
            screen.print(_line("changed", line))
    alike: dict[tuple[Change, ...], list[str]] = {}
    for program in changes.programs:
        alike.setdefault(program.changes, []).extend(program.runs)
    for found, runs in alike.items():
        if found:
            screen.print(Text(", ".join(runs), style="bold"))
            _show_program(screen, found)
    if changes.weights:
        screen.print(Text("weights", style="bold"))
        for weight in changes.weights:
            screen.print(_line(weight.kind, _weight_text(weight)), soft_wrap=True)
    moved = max((program.moved for program in changes.programs), default=0)
    said = "the same" if changes.is_same else _summary(changes)
    if moved:
        said += f"; {counted(moved, 'op')} on other lines"
    screen.print(Text(said, style="bold green" if changes.is_same else "bold red"))


def _show_program(screen: Console, changes: Sequence[Change]) -> None:
    where = ""
    for change in changes:
        if change.where != where:
            where = change.where
            screen.print(Text(f"  in {where or 'the body'}", style="dim"))
        for line in _change_lines(change):
            screen.print(line, soft_wrap=True)


def _change_lines(change: Change) -> list[Text]:
    text = change.before or change.after
    if change.before and change.after and change.before != change.after:
        text = f"{change.before} -> {change.after}"
    places = dict.fromkeys(place for place in (change.before_place, change.after_place) if place)
    first = _line(change.kind, text)
    if places:
        first.append(f"  # {' -> '.join(places)}", style="dim")
    return [first, *(Text(f"      {detail}") for detail in change.details)]


def _weight_text(weight: WeightChange) -> str:
    if weight.kind != "changed":
        return f"{weight.name}: {weight.before or weight.after}"
    kinds = weight.before if weight.before == weight.after else f"{weight.before} -> {weight.after}"
    details = ", ".join(weight.details)
    if weight.max_difference is not None:
        details += f", at most {weight.max_difference:.3g} apart"
    return f"{weight.name}: {kinds}: {details}"


def _line(kind: str, text: str) -> Text:
    sign, style = SIGNS[kind]
    return Text("  ").append(f"{sign} ", style=style).append(text)


def _summary(changes: ModelChanges) -> str:
    ops = {change for program in changes.programs for change in program.changes}
    parts = [
        counted(len(changes.contract), "change") + " of the contract" if changes.contract else "",
        counted(len(ops), "change") + " in programs" if ops else "",
        counted(len(changes.weights), "weight") if changes.weights else "",
    ]
    return "they differ: " + ", ".join(part for part in parts if part)
