"""LoadedState: what a loaded model keeps between runs; its tensors are part of the state dict.

Each state is a flat list of values, as a run takes and gives them. In the state dict a tensor has
the name of the attribute that it was in, and the way to it: `cache`, `cache.0`, `stats.mean`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from stator.errors import SpecMismatch
from stator.execute.structure import unflatten
from stator.export.states import SavedState, named_tensors, value_fits
from stator.program.program import Program
from stator.program.structure import Choice, Leaf, RuntimeList, Structure
from stator.program.types import ListType, NumberType, OptionalType, TensorType, Type
from stator.program.typing_rules import present
from stator.program.unions import presence_of, tag_of

Change = Callable[[torch.Tensor], torch.Tensor]


class LoadedState:
    """The states of one loaded model."""

    def __init__(self, states: Mapping[str, SavedState]) -> None:
        self.states = dict(states)
        self.values: dict[str, list[Any]] = {}
        self.reset()

    def reset(self) -> None:
        """Everything is as it was when the model was saved."""
        self.values = {
            name: [_mapped(torch.clone, value) for value in state.initial]
            for name, state in self.states.items()
        }

    def before(self, program: Program) -> list[Any]:
        """The values that a run of `program` takes; SpecMismatch if they no longer fit."""
        taken = [value for use in program.state for value in self.values[use.name]]
        types = [kind for use in program.state for kind in self.states[use.name].types]
        names = [use.name for use in program.state for _ in range(use.count)]
        for name, value, kind in zip(names, taken, types, strict=True):
            if not value_fits(value, kind):
                raise SpecMismatch(
                    f"the state `{name}` is no longer {kind}, which the program was captured for",
                    fix="move the model that was saved to this dtype, and save it again",
                )
        return taken

    def after(self, program: Program, values: Sequence[Any]) -> None:
        """A run of `program` has left these values."""
        left = iter(values)
        for use in program.state:
            self.values[use.name] = [next(left) for _ in range(use.count)]

    def apply(self, change: Change) -> None:
        """Change every tensor: of now, and of the first state."""
        for name, state in self.states.items():
            self.values[name] = [_mapped(change, value) for value in self.values[name]]
            first = tuple(_mapped(change, value) for value in state.initial)
            self.states[name] = SavedState(state.structure, state.types, first)

    def as_saved(self) -> dict[str, SavedState]:
        """The state as it is now, to be saved."""
        return {
            name: SavedState(state.structure, state.types, tuple(self.values[name]))
            for name, state in self.states.items()
        }

    def value(self, name: str) -> Any:
        """What the attribute of the original would hold now; None where it would not exist."""
        return unflatten(self.states[name].structure, self.values[name])

    # ---- the state dict

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The tensors of the state by name."""
        for name, state in self.states.items():
            paths = leaf_paths(state.structure, name)
            for position, value in enumerate(self.values[name]):
                if position in paths:
                    yield from named_tensors(paths[position], value)

    def take(self, given: Mapping[str, torch.Tensor]) -> Iterator[str]:
        """Make `given` the tensors of the state; yields what is wrong with it.

        A state of which `given` has nothing stays as it is.
        """
        for name, state in self.states.items():
            paths = leaf_paths(state.structure, name)
            found = {
                position: value
                for position, path in paths.items()
                if (value := _gathered(given, path, state.types[position])) is not None
            }
            if not found:
                continue
            new = _replaced(state.types, self.values[name], found)
            if isinstance(new, str):
                yield f"the state `{name}` cannot be taken from the state dict: {new}"
            else:
                self.values[name] = new

    def names_in(self, keys: Sequence[str]) -> list[str]:
        """Those of `keys` that belong to the state."""
        return [
            key
            for key in keys
            if any(key == name or key.startswith(f"{name}.") for name in self.states)
        ]


def leaf_paths(structure: Structure, path: str) -> dict[int, str]:
    """For each leaf of a state the way to it; the items of a list come after that."""
    if isinstance(structure, Leaf):
        return {structure.position: path}
    if isinstance(structure, RuntimeList):
        return leaf_paths(structure.item, path)
    if isinstance(structure, Choice):
        parts = [leaf_paths(one, path) for one in structure.alternatives]
    else:
        keys = getattr(structure, "keys", ())
        items = getattr(structure, "items", ())
        parts = [leaf_paths(item, f"{path}.{key}") for key, item in zip(keys, items, strict=True)]
    return {position: name for part in parts for position, name in part.items()}


def _gathered(given: Mapping[str, torch.Tensor], path: str, kind: Type) -> Any:
    """What `given` has for a value of this type; None if it has nothing that fits."""
    inner = present(kind)
    if isinstance(inner, TensorType):
        found = given.get(path)
        return found if found is not None and value_fits(found, inner) else None
    if not isinstance(inner, ListType) or not _holds_tensors(inner):
        return None
    items: list[Any] = []
    while (item := _gathered(given, f"{path}.{len(items)}", inner.element)) is not None:
        items.append(item)
    return items or None


def _holds_tensors(kind: Type) -> bool:
    if isinstance(kind, ListType | OptionalType):
        return _holds_tensors(kind.element)
    return isinstance(kind, TensorType)


def _replaced(
    types: Sequence[Type], values: Sequence[Any], found: Mapping[int, Any]
) -> list[Any] | str:
    """`values` with what was found; where a union is another one now, only that; or the problem."""
    new = list(values)
    chosen: dict[str, int] = {}
    for position, value in found.items():
        new[position] = value
        present = presence_of(types[position])
        if present is not None:
            chosen[present.union] = present.alternatives[0]
    for position, kind in enumerate(types):
        tag, present = tag_of(kind), presence_of(kind)
        if tag is not None and tag.union in chosen:
            new[position] = chosen[tag.union]
        if present is None or present.union not in chosen or position in found:
            continue
        is_there = chosen[present.union] in present.alternatives
        if is_there and new[position] is None and isinstance(kind, OptionalType):
            if isinstance(kind.element, NumberType):
                return "it has numbers, which a state dict does not hold"
            return "some of its tensors are missing"
        if not is_there:
            new[position] = None
    lengths = {len(new[k]) for k in found if isinstance(new[k], list)}
    return "its lists differ in length" if len(lengths) > 1 else new


def _mapped(change: Change, value: Any) -> Any:
    if isinstance(value, list):
        return [_mapped(change, item) for item in value]
    return change(value) if isinstance(value, torch.Tensor) else value


def refuse_shared_inputs(program: Program, leaves: Sequence[Any], state: Sequence[Any]) -> None:
    """SpecMismatch if an argument is in the memory of the state, and the program writes to one."""
    held = {key for value in state for key in _memory(value)}
    for value, leaf in zip(program.call_inputs, leaves, strict=False):
        if any(key in held for key in _memory(leaf)):
            raise SpecMismatch(
                f"`{value.name}` shares memory with what the model has kept, and this call changes "
                "one of the two in place",
                fix=f"pass a copy: `{value.name}.clone()`",
            )


def _memory(value: Any) -> Iterator[int]:
    if isinstance(value, torch.Tensor) and value.numel():
        yield value.untyped_storage().data_ptr()
    elif isinstance(value, list):
        for item in value:
            yield from _memory(item)
