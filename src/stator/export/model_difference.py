"""model_changes(): how one saved model differs from another: methods, programs, weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

from stator.export.contents import ModelContents
from stator.export.methods import MODES
from stator.export.tensor_entries import Entry
from stator.program.difference import Change, program_changes
from stator.program.program import Program

# The largest distance of the values that two models hold under a name; None if they are the same.
Distance = Callable[[str], float | None]


@dataclass(frozen=True)
class ProgramDifference:
    """What differs in a program, and the methods and modes that run it."""

    runs: tuple[str, ...]  # `forward (train)`
    changes: tuple[Change, ...]
    moved: int  # ops that are the same, on other lines


@dataclass(frozen=True)
class WeightChange:
    """A tensor that differs."""

    kind: OneOf["added", "removed", "changed"]
    name: str
    before: str  # `float32[4, 4] parameter`
    after: str
    details: tuple[str, ...] = ()
    max_difference: float | None = None  # of values, where the types are the same


@dataclass(frozen=True)
class ModelChanges:
    """All differences: what a caller sees, what the programs do, the weights."""

    contract: tuple[str, ...]
    programs: tuple[ProgramDifference, ...]
    weights: tuple[WeightChange, ...]

    @property
    def is_same(self) -> bool:
        """Do both models compute the same?"""
        return not (self.contract or self.weights or any(one.changes for one in self.programs))

    def to_dict(self) -> dict[str, Any]:
        """All of it as dicts, lists, numbers and strings."""
        return {"same": self.is_same, **dataclasses.asdict(self)}


def model_changes(before: ModelContents, after: ModelContents, distance: Distance) -> ModelChanges:
    """How `after` differs from `before`; `distance` compares the values of tensors."""
    return ModelChanges(
        tuple(_contract(before, after)),
        tuple(_programs(before, after)),
        tuple(_weights(before, after, distance)),
    )


def have_same_weights(before: ModelContents, after: ModelContents) -> bool:
    """Do the files of two models hold the same bytes for each tensor?"""
    return before.digests == after.digests and before.names.keys == after.names.keys


def _contract(before: ModelContents, after: ModelContents) -> Iterator[str]:
    for name in dict.fromkeys((*before.methods, *after.methods)):
        if name not in before.methods or name not in after.methods:
            yield f"method {name}: {'removed' if name in before.methods else 'added'}"
            continue
        mine, other = before.methods[name], after.methods[name]
        for mode in MODES:
            if (mode in mine.programs) != (mode in other.programs):
                done = "no longer captured" if mode in mine.programs else "captured now"
                yield f"method {name}: {done} in {mode} mode"
    if before.training != after.training:
        yield f"saved in {_mode(before)} mode -> {_mode(after)} mode"
    for key in dict.fromkeys((*before.properties, *after.properties)):
        was, now = (repr(model.properties.get(key)) for model in (before, after))
        if was != now:
            yield f"property {key}: {was} -> {now}"


def _mode(model: ModelContents) -> str:
    return "train" if model.training else "eval"


def _programs(before: ModelContents, after: ModelContents) -> Iterator[ProgramDifference]:
    """Each pair of programs that run for the same call, once."""
    runs: dict[tuple[str, str], list[str]] = {}
    for name in before.methods:
        for mode in MODES:
            mine = before.methods[name].programs.get(mode)
            other = after.methods[name].programs.get(mode) if name in after.methods else None
            if mine is not None and other is not None:
                runs.setdefault((mine, other), []).append(f"{name} ({mode})")
    for (mine, other), said in runs.items():
        yield _program(before.programs[mine], after.programs[other], tuple(said))


def _program(before: Program, after: Program, runs: tuple[str, ...]) -> ProgramDifference:
    found = program_changes(before, after)
    return ProgramDifference(runs, tuple(found.changes), found.moved)


def _weights(
    before: ModelContents, after: ModelContents, distance: Distance
) -> Iterator[WeightChange]:
    for name in dict.fromkeys((*before.entries, *after.entries)):
        if name not in after.entries:
            yield WeightChange("removed", name, _text(before, name), "")
        elif name not in before.entries:
            yield WeightChange("added", name, "", _text(after, name))
        else:
            change = _weight(before, after, name, distance)
            if change is not None:
                yield change


def _weight(
    before: ModelContents, after: ModelContents, name: str, distance: Distance
) -> WeightChange | None:
    details = list(_entry_details(before.entries[name], after.entries[name]))
    ties = [_tied(model, name) for model in (before, after)]
    if ties[0] != ties[1]:
        details.append(f"one with {ties[0] or 'none'} -> one with {ties[1] or 'none'}")
    largest = None
    if before.names.types[name] != after.names.types[name]:
        details.append("another dtype or shape")
    elif (largest := distance(name)) is not None:
        details.append("other values")
    if not details:
        return None
    texts = [_text(model, name) for model in (before, after)]
    return WeightChange("changed", name, texts[0], texts[1], tuple(details), largest)


def _entry_details(before: Entry, after: Entry) -> Iterator[str]:
    for field in dataclasses.fields(Entry):
        mine, other = getattr(before, field.name), getattr(after, field.name)
        if mine != other:
            yield f"{field.name}: {mine} -> {other}"


def _tied(model: ModelContents, name: str) -> str:
    """The other names of the tensor."""
    keys = model.names.keys
    return ", ".join(other for other, key in keys.items() if key == keys[name] and other != name)


def _text(model: ModelContents, name: str) -> str:
    kind = model.names.types[name]
    return f"{model.entries[name].kind} {kind.dtype}{list(kind.shape)}"
