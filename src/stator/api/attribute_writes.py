"""Attribute writes: the effects that most programs with state have, by the short way.

`self.steps += 1` sets an attribute of one object to an output of the program. What such an effect
needs is found once, so that each call does nothing but set the attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stator.capture.inputs import Argument
from stator.program.structure import Leaf, Mapping
from stator.state.effects import Effect
from stator.state.holding import Getter, reference
from stator.state.live_trees import HeldContainer
from stator.values.slotted import slots_of

ELSEWHERE = (type, dict, Argument, HeldContainer)  # targets whose attributes do not change


class AttributeWrite(NamedTuple):
    """An attribute of an object that becomes the output at `position`."""

    target: Getter
    cls: type  # as long as it is the target's, its attributes are in a plain dict
    name: str
    position: int


def writes_of(effects: Sequence[Effect]) -> tuple[AttributeWrite, ...] | None:
    """What `effects` do; None if one of them does something else."""
    found: list[AttributeWrite] = []
    for effect in effects:
        if not _sets_attributes(effect):
            return None
        found += _writes(effect)
    return tuple(found)


def write_attributes(writes: Sequence[AttributeWrite], outputs: Sequence[object]) -> bool:
    """Do them; False, with nothing done, if a target is of another class by now."""
    held = []
    for getter, cls, _, _ in writes:
        target = getter()
        if type(target) is not cls or type(target.__dict__) is not dict:
            return False
        held.append(target.__dict__)
    for attributes, (_, _, name, position) in zip(held, writes, strict=True):
        attributes[name] = outputs[position]
    return True


def _sets_attributes(effect: Effect) -> bool:
    """Does it only set attributes, each to an output, of an object that keeps them in a dict?"""
    target, state = effect.target, effect.state
    if effect.deleted or effect.absent or not isinstance(state, Mapping):
        return False
    if isinstance(target, ELSEWHERE) or slots_of(type(target)):
        return False
    names_only = all(type(key) is str for key in state.keys)
    leaves_only = all(isinstance(item, Leaf) for item in state.items)
    return names_only and leaves_only and type(getattr(target, "__dict__", None)) is dict


def _writes(effect: Effect) -> Iterator[AttributeWrite]:
    assert isinstance(effect.state, Mapping)
    target = reference(effect.target)
    for name, item in zip(effect.state.keys, effect.state.items, strict=True):
        assert isinstance(item, Leaf)
        assert isinstance(name, str)
        yield AttributeWrite(target, type(effect.target), name, item.position)
