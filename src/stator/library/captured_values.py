"""Questions that several builtins ask of their arguments."""

from __future__ import annotations

import types

import torch

from stator.capture.recorder import Recorder
from stator.containers import lists
from stator.containers.generators import StagedGenerator
from stator.containers.iteration import CapturedRange, Indexed, indexed
from stator.containers.iterators import StagedIterator
from stator.containers.machine_definitions import Machine
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray, KnownArray, array_item
from stator.values.staged import StagedList, is_table
from stator.values.symbolic import CapturedText, Number
from stator.values.union import Union

WHOLE_NUMBERS = (bool, int, torch.SymBool, torch.SymInt)
FLOATS = (float, torch.SymFloat)
SYMBOLIC = torch.Tensor | Number | Union | CapturedText


SEQUENCES = (
    torch.Tensor, Indexed, CapturedRange, CapturedText, Union, StagedGenerator, StagedIterator,
    Machine,
)  # fmt: skip


def is_symbolic(value: object) -> bool:
    """Is `value` one that only a run knows, or a tuple with one in it?"""
    if isinstance(value, tuple):
        return any(map(is_symbolic, value))
    return isinstance(value, SYMBOLIC) or lists.is_captured(value)


def takes_captured_list(args: Args, kwargs: Keywords) -> bool:
    """Is a list of the program among these arguments?"""
    return any(map(lists.is_captured, (*args, *kwargs.values())))


def is_captured(items: object) -> bool:
    """Is `items` a symbolic sequence, or a container with something symbolic in it?"""
    if isinstance(items, SEQUENCES) or lists.is_captured(items) or is_table(items):
        return True
    if isinstance(items, dict):
        items = list(items.values())
    values = items if isinstance(items, list | tuple | set) else ()
    return any(
        isinstance(one, SYMBOLIC) or (isinstance(one, tuple | list) and is_captured(one))
        for one in values
    )


def is_runtime_sequence(recorder: Recorder, value: object) -> bool:
    """Does only a run know how many items `value` has?"""
    if isinstance(value, StagedIterator):
        return not isinstance(value.more(), bool)
    if isinstance(value, CapturedArray) and not isinstance(value, KnownArray):
        value = value.tensor
    is_known = isinstance(value, StagedGenerator | Machine) or is_table(value)
    return is_known or indexed(recorder, value) is not None


def rows(value: object) -> Staged:
    """The rows of a tensor or an array that Python iterates over; any other value unchanged."""
    if isinstance(value, torch.Tensor):
        return [value[k] for k in range(value.shape[0])]
    if isinstance(value, CapturedArray) and not isinstance(value, KnownArray):
        tensor = value.tensor
        if tensor.dim() and isinstance(tensor.shape[0], int):
            return [array_item(tensor[k], k) for k in range(tensor.shape[0])]
    return value


def flat_classes(classes: object) -> tuple[object, ...]:
    """The classes in the second argument of `isinstance`, out of unions and nested tuples."""
    if isinstance(classes, types.UnionType):
        classes = classes.__args__
    if not isinstance(classes, tuple):
        return (classes,)
    return tuple(one for part in classes for one in flat_classes(part))


def hold_numbers(*sequences: Staged, or_equal: bool) -> bool:
    """Are they of known length, and hold nothing but numbers?

    Floats only where Python looks at them in any case, or only `<` does: `same` refuses nan.
    """
    if any(isinstance(items, StagedList) and items.is_open for items in sequences):
        return False
    is_even = len(set(map(len, sequences))) == 1 and not or_equal
    last = len(sequences[0]) - 1 if is_even else 0
    return all(
        isinstance(item, WHOLE_NUMBERS) or (isinstance(item, FLOATS) and k in (0, last))
        for items in sequences
        for k, item in enumerate(items)
    )


def is_made_since(start: int, obj: object) -> bool:
    """Is it a list of converted code that was made after the tick `start`?"""
    return isinstance(obj, StagedList) and obj.created_at > start
