"""Call forms: a call taken apart into its tensors and all the rest, so that it takes the short way.

    f(x, 3, mask=y)    ->    tensors (x, y), form (2, TENSOR, (int, 3), "mask", TENSOR)

Two calls of one form differ in their tensors only, so an entry for the tensors is an entry for the
calls. What has no form (other objects, subclasses of containers, a list that is passed twice) takes
the long way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

TENSOR, ALL_TENSORS = object(), object()  # one tensor; as many as the container has items
TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
CONSTANTS = frozenset({int, bool, str, type(None)})  # alike if they are equal, and of one type
STRING = frozenset({str})


class FlatCall(NamedTuple):
    """The parts of a call."""

    form: tuple[Any, ...]
    tensors: list[torch.Tensor]


def flat_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> FlatCall | None:
    """The call in parts; None if it has no form."""
    form: list[Any] = [len(args)]
    tensors: list[torch.Tensor] = []
    seen: set[int] = set()
    for value in args:
        if not _add(value, form, tensors, seen):
            return None
    for name, value in kwargs.items():
        form.append(name)
        if not _add(value, form, tensors, seen):
            return None
    return FlatCall(tuple(form), tensors)


def _add(value: Any, form: list[Any], tensors: list[torch.Tensor], seen: set[int]) -> bool:
    """Take `value` apart; False if it has no form. `seen` has the ids of lists and dicts so far."""
    cls = type(value)
    if cls in TENSORS:
        form.append(TENSOR)
        tensors.append(value)
        return True
    if cls in CONSTANTS:
        form.append((cls, value))
        return True
    if cls is float:
        form.append((cls, repr(value)))  # 0.0 is not -0.0
        return True
    if cls is tuple:
        return _add_items(value, (cls, len(value)), form, tensors, seen)
    if id(value) in seen:
        return False
    seen.add(id(value))
    if cls is list:
        return _add_items(value, (cls, len(value)), form, tensors, seen)
    if cls is dict and STRING.issuperset(map(type, value)):  # 1 and True are one key
        return _add_items(value.values(), (cls, *value), form, tensors, seen)
    return False


def _add_items(
    items: Any, head: tuple[Any, ...], form: list[Any], tensors: list[torch.Tensor], seen: set[int]
) -> bool:
    form.append(head)
    types = list(map(type, items))
    if types.count(torch.Tensor) == len(types) or TENSORS.issuperset(types):  # the first is fast
        form.append(ALL_TENSORS)
        tensors += items
        return True
    return all(_add(item, form, tensors, seen) for item in items)
