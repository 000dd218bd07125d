"""ModelState: which attributes of a model its methods change, and in which form each is saved.

It begins with none. Each capture tells what it changes outside and what it leaves; an attribute
that is changed becomes state of the model, and a form that does not cover what is left is widened.
When a round of captures tells nothing new, the model can be saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from stator.api.cells import find_cell
from stator.api.held_objects import held_objects, outer_variables
from stator.capture.inputs import Argument
from stator.english import with_article
from stator.errors import CaptureError
from stator.export.states import SavedState
from stator.optimize.alias import Aliases
from stator.program.ir import Op, StateUse, Value, drop_ops, operands_of, values_in
from stator.program.program import Program
from stator.program.structure import Choice, Leaf, Mapping, Structure
from stator.program.types import TensorType
from stator.staging.trace import CaptureResult
from stator.state.effects import Effect
from stator.state.reads import Read
from stator.state.saved_state import (
    NotState,
    SavedSlot,
    containers_in,
    kind_of_state,
    merged,
    not_state,
    parts_of,
    state_leaves,
)
from stator.state.slots import Slot
from stator.torch_private.modules import tables
from stator.values.kinds import leaf_types

ROUNDS = 16
TABLES = frozenset({"_parameters", "_buffers", "_modules"})


@dataclass
class ModelState:
    """The state of one model, as far as it is known."""

    owner: torch.nn.Module | None
    slots: dict[str, SavedSlot]
    initial: dict[str, Any]
    structures: dict[str, Structure]
    unkept: dict[str, tuple[tuple[Slot, ...], CaptureError]]  # only written, so no call needs them
    reads: list[Read]  # of all captures

    @staticmethod
    def of(owner: torch.nn.Module | None) -> ModelState:
        """That of a model of which nothing is known."""
        return ModelState(owner, {}, {}, {}, {}, [])

    def learn(self, captured: CaptureResult, function: Any) -> bool:
        """What a capture tells; True if the forms are others now, so that it must be made again."""
        before = len(self.slots)
        self.reads += [read for read in captured.guards.reads if read.holder is not None]
        final = [(effect, True) for effect in captured.effects]
        on_the_way = [(effect, False) for effects in captured.noted for effect in effects]
        for effect, is_final in (*final, *on_the_way):
            for name, places in self._places(captured.program, effect, function, is_final):
                self._add(name, places)
        for name, places in self._written_tensors(captured, function):
            self._add(name, places)
        self._refuse_unkept()
        changed = len(self.slots) > before
        left = captured.left
        if left is None:
            return changed
        uses = zip(captured.program.state, left.kinds, left.structures, strict=True)
        for use, kind, structure in uses:
            slot = self.slots[use.name]
            self.structures[use.name] = structure
            wider = merged(slot.kind, kind)
            if wider != slot.kind:
                self.slots[use.name] = replace(slot, kind=wider)
                changed = True
        return changed

    def saved(self) -> dict[str, SavedState]:
        """The state as it is written: its form, and what it holds now."""
        return {
            name: SavedState(
                self.structures[name],
                tuple(leaf_types(slot.kind)),
                tuple(state_leaves(slot.kind, self.initial[name])),
            )
            for name, slot in sorted(self.slots.items())
            if name in self.structures
        }

    def leaves_out(self, error: CaptureError) -> bool:
        """Is `error` about an attribute that cannot be state? Then no call may need that it is."""
        found = error.__context__
        if not isinstance(found, NotState) or found.name not in self.slots:
            return False
        self.unkept[found.name] = (self.slots.pop(found.name).places, error)
        del self.initial[found.name]
        self.structures.pop(found.name, None)
        self._refuse_unkept()
        return True

    def _refuse_unkept(self) -> None:
        for places, error in self.unkept.values():
            if any(_is_read(place, read) for place in places for read in self.reads):
                raise error

    def _add(self, name: str, places: tuple[Slot, ...]) -> None:
        if name in self.slots or name in self.unkept:
            return
        slot = SavedSlot(name, places, None)  # type: ignore[arg-type]  # found next
        value = slot.read()
        known = {id(c): c for other in self.initial.values() for c in containers_in(other)}
        try:
            kind = kind_of_state(value, known)
        except NotState as found:
            self.unkept[name] = (places, not_state(name, found))
            return
        for other in [one for one in self.slots if one.startswith(f"{name}.")]:
            del self.slots[other], self.initial[other]  # the whole object is state now
            self.structures.pop(other, None)
        self.slots[name], self.initial[name] = replace(slot, kind=kind), value

    # ---- where the objects are that a call changes

    def _places(
        self, program: Program, effect: Effect, function: Any, is_final: bool
    ) -> Iterator[tuple[str, tuple[Slot, ...]]]:
        """The attributes that must be state for an effect to be kept."""
        for prefix, module in self._modules():
            table = tables(module).buffers
            if effect.target is table:
                for key in keys_of(effect):
                    name = _joined(prefix, key)
                    if not (is_final and is_plain_write(program, effect, key)):
                        yield name, (Slot(table, key),)
                return
            if effect.target is module:
                self._refuse_deleted(effect, function)
                for key in keys_of(effect):
                    yield _joined(prefix, key), self._all_places(module, key)
                return
        for name, obj in self._objects(function):
            if effect.target is obj:
                self._refuse_deleted(effect, function)
                for key in keys_of(effect):
                    yield _joined(name, key), (Slot(obj, key),)
                return
        found = self._root_of(effect.target, function)
        if found is not None:
            yield found
        elif is_final:
            raise refused(effect, function)

    def _written_tensors(
        self, captured: CaptureResult, function: Any
    ) -> Iterator[tuple[str, tuple[Slot, ...]]]:
        """The attributes that hold a tensor which a run writes to, and which is no buffer."""
        constants = [one for one in captured.program.stored if one.kind == "constant"]
        aliases = Aliases(captured.program) if constants else None
        for stored in constants:
            if aliases is not None and aliases.is_written(stored.value):
                found = self._root_of(captured.tensors[stored.name], function)
                if found is not None:
                    yield found

    def _modules(self) -> Iterator[tuple[str, torch.nn.Module]]:
        if self.owner is not None:
            yield from self.owner.named_modules()

    def _objects(self, function: Any) -> list[tuple[str, Any]]:
        """The objects that attributes of modules, or variables in the closure of `function`, hold.

        An attribute of such an object can be state by itself, unless a call puts another object
        in its place: then the whole object is.
        """
        roots = [
            (_joined(prefix, key), value)
            for prefix, module in self._modules()
            for key, value in vars(module).items()
            if key not in TABLES
        ]
        every = held_objects((*roots, *outer_variables(function)))
        return [(name, obj) for name, obj in every if not self._is_within_state(name)]

    def _is_within_state(self, name: str) -> bool:
        parts = name.split(".")
        return any(".".join(parts[:count]) in self.slots for count in range(1, len(parts) + 1))

    def _root_of(self, target: object, function: Any) -> tuple[str, tuple[Slot, ...]] | None:
        """The attribute of a module or of an object that holds `target`, however deep inside."""
        for name, obj in reversed(self._objects(function)):
            for key, value in vars(obj).items():
                if any(one is target for one in (value, *parts_of(value))):
                    return _joined(name, key), (Slot(obj, key),)
        for prefix, module in self._modules():
            for key, value in vars(module).items():
                if key in TABLES or key.startswith(("_forward", "_backward")):
                    continue
                if any(one is target for one in (value, *parts_of(value))):
                    return _joined(prefix, key), self._all_places(module, key)
        return None

    def _all_places(self, module: torch.nn.Module, key: Any) -> tuple[Slot, ...]:
        """The attribute, and those of other modules that hold the same container."""
        value = vars(module).get(key)
        places = [Slot(module, key)]
        if not any(one is value for one in containers_in(value)):
            return tuple(places)
        for _, other in self._modules():
            for name, held in vars(other).items():
                if held is value and (other, name) != (module, key):
                    places.append(Slot(other, name))
        return tuple(places)

    def _refuse_deleted(self, effect: Effect, function: Any) -> None:
        gone = [key for key in effect.deleted if key not in keys_of(effect)]
        if gone:
            raise refused(
                effect, function, f"deletes `{gone[0]}` of {with_article(_class(effect))}"
            )


def _is_read(place: Slot, read: Read) -> bool:
    """Was `place` among what was read? All of its owner is, where a read has no name."""
    return place.is_same_place(Slot(read.holder, place.key if read.key is None else read.key))


def keys_of(effect: Effect) -> tuple[Any, ...]:
    """The attributes, or the keys, that an effect sets."""
    return tuple(dict.fromkeys(_keys(effect.state)))


def _keys(state: Structure) -> Iterator[Any]:
    if isinstance(state, Mapping):
        yield from state.keys
    elif isinstance(state, Choice):
        for one in state.alternatives:
            yield from _keys(one)


def is_plain_write(program: Program, effect: Effect, key: Any) -> bool:
    """May the run copy the new value into the buffer, because its dtype and sizes stay the same?"""
    buffer, state = effect.target.get(key), effect.state
    if buffer is None or not isinstance(state, Mapping) or effect.deleted or effect.absent:
        return False
    item = state.items[state.keys.index(key)]
    output = program.body.outputs[item.position] if isinstance(item, Leaf) else None
    return isinstance(output, Value) and output.type == type_of(buffer)


def type_of(tensor: torch.Tensor) -> TensorType:
    """The type of a tensor that is there."""
    dtype = str(tensor.dtype).removeprefix("torch.")
    return TensorType(dtype, tuple(tensor.shape), str(tensor.device))


def refused(effect: Effect, function: Any, what: str | None = None) -> CaptureError:
    """The refusal of an effect on something that is not the model's."""
    cell = find_cell(effect.target, function)
    changed = what or f"changes {cell.words if cell else _target(effect)}"
    return CaptureError(
        f"a call {changed}, which is not part of a saved model",
        at=cell.place if cell else effect.place,
        fix="return the new value, or keep it in an attribute of the model",
    )


def _target(effect: Effect) -> str:
    if isinstance(effect.target, Argument):
        return "a list or dict that it is given"
    keys = keys_of(effect)
    return (
        f"`{keys[0]}` of {with_article(_class(effect))}" if keys else with_article(_class(effect))
    )


def _class(effect: Effect) -> str:
    return type(effect.target).__name__


def _joined(prefix: str, key: object) -> str:
    return f"{prefix}.{key}" if prefix else str(key)


# ---- programs with state


def without_unused(program: Program) -> Program:
    """`program` without the state that it neither reads nor changes."""
    ops = [*program.ops()]
    notes = [op for op in ops if op.name == "stator::note"]
    used = {value for op in ops if op.name != "stator::note" for value in operands_of(op)}
    used |= {v for op in ops for b in op.blocks for v in values_in(b.outputs)}
    used |= set(values_in(program.call_outputs))
    kept: list[StateUse] = []
    places: list[int] = []
    at = 0
    for use in program.state:
        span = range(at, at + use.count)
        at += use.count
        before = program.state_inputs
        touched = any(
            before[k] in used
            or program.state_outputs[k] is not before[k]
            or any(note.args[k] is not before[k] for note in notes)
            for k in span
        )
        if touched:
            kept.append(use)
            places += span
    inputs = (*program.call_inputs, *(program.state_inputs[k] for k in places))
    outputs = (*program.call_outputs, *(program.state_outputs[k] for k in places))
    for note in notes:
        note.args = tuple(note.args[k] for k in places)
    body = replace(program.body, outputs=outputs)
    made = replace(program, inputs=inputs, body=body, state=tuple(kept))
    if not kept:
        for block in made.blocks:
            drop_ops(block, "stator::note")
    return made


def refuse_shared(programs: Sequence[Program], state: ModelState) -> None:
    """An error if state shares memory with other state, or with a tensor of the model.

    That is so only where some program writes to one of them in place: the other would change too.
    """
    graphs = [(program, Aliases(_without_notes(program))) for program in programs]
    written = {name for program, aliases in graphs for name in _written(program, aliases)}
    for program, aliases in graphs:
        roots = [*_named_state(program), *((item.name, item.value) for item in program.stored)]
        after = _named_outputs(program)
        for name, value, own in after:
            for other, root in (*roots, *((n, v) for n, v, _ in after)):
                if other == name or value is own or not {name, other} & written:
                    continue
                if aliases.share(value, root):
                    raise _shared(name, other)
    held = [(name, t) for name, value in state.initial.items() for t in _tensors_in(value)]
    model = [] if state.owner is None else [
        *state.owner.named_parameters(), *state.owner.named_buffers()
    ]  # fmt: skip
    for number, (name, tensor) in enumerate(held):
        for other, one in (*held[:number], *model):
            shares = tensor.untyped_storage().data_ptr() == one.untyped_storage().data_ptr()
            if shares and tensor.numel() and {name, other} & written:
                raise _shared(name, other)


def _shared(name: str, other: str) -> CaptureError:
    return CaptureError(
        f"`{name}` shares memory with `{other}`, and one of them is changed in place: a saved "
        "model cannot keep that",
        fix="keep a copy: `.clone()`",
    )


def _without_notes(program: Program) -> Program:
    def block(one: Any) -> Any:
        ops = [_op(op) for op in one.ops if op.name != "stator::note"]
        return replace(one, ops=ops)

    def _op(op: Op) -> Op:
        return replace(op, blocks=tuple(map(block, op.blocks))) if op.blocks else op

    return program.with_blocks(block)


def _written(program: Program, aliases: Aliases) -> Iterator[str]:
    for name, value in _named_state(program):
        if aliases.is_written(value):
            yield name
    for item in program.stored:
        if aliases.is_written(item.value):
            yield item.name


def _named_state(program: Program) -> list[tuple[str, Value]]:
    names = [use.name for use in program.state for _ in range(use.count)]
    return list(zip(names, program.state_inputs, strict=True))


def _named_outputs(program: Program) -> list[tuple[str, Value, Value]]:
    """Each state with the value that it becomes, and the one that it was."""
    return [
        (name, after, before)
        for (name, before), after in zip(_named_state(program), program.state_outputs, strict=True)
        if isinstance(after, Value)
    ]


def _tensors_in(value: Any) -> Iterator[torch.Tensor]:
    return (one for one in (value, *parts_of(value)) if isinstance(one, torch.Tensor))
