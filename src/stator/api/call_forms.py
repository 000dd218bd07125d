"""Call forms: a call taken apart into its tensors and all the rest, so that it takes the short way.

    f(x, 3, mask=y)    ->    tensors (x, y), form (2, TENSOR, (int, 3), "mask", TENSOR)

Two calls of one form differ in their tensors only, so an entry for the tensors is an entry for the
calls. In the open form, numbers are there by their type: it is for programs that take any. What has
no form (other objects, subclasses of containers, a list that is passed twice) takes
the long way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from stator.program.numbers import fits

TENSOR, ALL_TENSORS = object(), object()  # one tensor; as many as the container has items
TENSORS = frozenset({torch.Tensor, torch.nn.Parameter})
CONSTANTS = frozenset({int, bool, str, type(None)})  # alike if they are equal, and of one type
STRING = frozenset({str})
NUMBERS = frozenset({int, float})
LONG = 16  # items of a list whose types are left to the entry, which compares them one by one


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
    if head[0] is list and len(items) > LONG and type(items[0]) is type(items[-1]) is torch.Tensor:
        form.append(ALL_TENSORS)
        tensors += items
        return True
    types = list(map(type, items))
    if types.count(torch.Tensor) == len(types) or TENSORS.issuperset(types):  # the first is fast
        form.append(ALL_TENSORS)
        tensors += items
        return True
    return all(_add(item, form, tensors, seen) for item in items)


def open_form(form: tuple[Any, ...]) -> tuple[Any, ...]:
    """`form` with numbers by their types alone."""
    return tuple(
        part[0] if type(part) is tuple and part[0] in NUMBERS else part for part in form
    )  # fmt: skip


def leaves_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...] | None:
    """The leaves of a call that has a form, in the order of its signature.

    None if there is an int that is too large for a program.
    """
    leaves: list[Any] = []
    pending: list[Any] = [kwargs, args]
    while pending:
        value = pending.pop()
        cls = type(value)
        if cls in TENSORS or cls is float or cls is str:
            leaves.append(value)
        elif cls is int:
            if not fits(value):
                return None
            leaves.append(value)
        elif cls is tuple or cls is list:
            pending += value[::-1]
        elif cls is dict:
            pending += reversed(value.values())
    return tuple(leaves)
