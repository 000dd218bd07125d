"""short_run(): a program that reads and sets attributes of objects, run without detours.

`self.steps += 1` makes the attribute an input of the program, and sets it to an output after each
run. The general way finds out at each call how each place is read and how each effect is made. For
plain attributes that is found out once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stator.api.attribute_writes import write_attributes
from stator.api.concrete import ConcreteProgram
from stator.execute.backend import RaisedError, direct_run
from stator.execute.structure import unflatten
from stator.program.structure import Leaf
from stator.staging.trace import PLAIN
from stator.state.holding import is_own
from stator.state.live_state import AnySlot
from stator.state.slots import EMPTY, Slot


class AttributePlace(NamedTuple):
    """An attribute that each run reads."""

    owner: Callable[[], Any]
    name: str


def short_run(concrete: ConcreteProgram) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of the arguments, all of them tensors, for their call; None if it needs more."""
    places = _places(concrete.captured.live)
    writes = concrete.attribute_writes
    run: Any = direct_run(concrete.run) or concrete.run
    if places is None or writes is None or not concrete.takes_all:
        return None
    structure, classes = concrete.program.output_structure, concrete.captured.classes
    position = structure.position if isinstance(structure, Leaf) else None

    def call(args: tuple[Any, ...]) -> Any:
        inputs = [*args]
        for owner, name in places:
            value = owner().__dict__.get(name, EMPTY)
            if type(value) not in PLAIN:
                return concrete(args, (args, {}))
            inputs.append(value)
        outputs = run(inputs)
        if type(outputs) is RaisedError:
            return concrete.finished(outputs, (args, {}))
        if not write_attributes(writes, outputs):
            concrete.do_effects(outputs, (args, {}))
        if position is not None:
            return outputs[position]
        return unflatten(structure, outputs, classes=classes)

    return call


def _places(slots: Sequence[AnySlot]) -> tuple[AttributePlace, ...] | None:
    """Where `slots` are, if they are attributes that are in the dicts of their objects."""
    places = []
    for slot in slots:
        if not isinstance(slot, Slot) or isinstance(slot.owner, type | dict):
            return None
        own = getattr(slot.owner, "__dict__", None)
        if type(own) is not dict or type(slot.key) is not str or slot.key not in own:
            return None
        places.append(AttributePlace(_owner(slot.owner), slot.key))
    return tuple(places)


def _owner(obj: Any) -> Callable[[], Any]:
    return weakref.ref(obj) if is_own(obj) else lambda: obj
