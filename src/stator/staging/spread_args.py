"""The arguments of a call: `*values` and `**values`.

What Python would refuse is passed on as a `WrongSpread`: only the call knows whose argument it is.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from stator.containers import lists
from stator.containers.dict_calls import is_mapping_in_python
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.library.star_args import SPREAD, Rest, SpreadUnion, WrongSpread, merged
from stator.library.tensor_calls import unbind
from stator.staging import literals
from stator.staging.unpacking import all_items
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.symbolic import StandIn
from stator.values.union import Union


def positionals(session: Session, values: Staged, *, is_only: bool) -> Staged:
    """`*values` of a call; `is_only`: it has no other positional arguments."""
    values = all_items(session, values)
    if is_partial(values):
        values = for_each_way(session, values, tuple)
    if isinstance(values, Union):
        return (SpreadUnion(values),)
    if isinstance(values, torch.Tensor):
        return _rows(session, values)
    if lists.is_captured(values):
        return (Rest(values),)
    if is_only and not _is_iterable(values):
        name = session.interpreter.call(type, values).__name__
        return (WrongSpread(f"argument after * must be an iterable, not {name}"),)
    return values


def _is_iterable(values: object) -> bool:
    is_sequence = hasattr(type(values), "__getitem__")
    return is_sequence or isinstance(values, Iterable | StandIn)


def _rows(session: Session, tensor: torch.Tensor) -> Staged:
    """The rows of a tensor, as arguments."""
    if isinstance(tensor.shape[0], int):
        return tuple(tensor[k] for k in range(tensor.shape[0]))
    return positionals(session, unbind(session, tensor), is_only=False)


def gathered(session: Session, values: tuple[object, ...]) -> Staged:
    """`*args` of a converted function."""
    if not any(type(value) is Rest for value in values):
        return values
    spread = [literals.Spread(v.items) if type(v) is Rest else v for v in values]
    return literals.new_tuple(session, spread)


def keywords(
    session: Session, names: tuple[str | None, ...], values: tuple[object, ...]
) -> dict[str, object]:
    """The keyword arguments of a call; None is the name of `**value`."""
    result: dict[str, object] = {}
    for number, (name, value) in enumerate(zip(names, values, strict=True)):
        if name is not None:
            part: Staged = {name: value}
        elif is_mapping_in_python(value):
            part = session.interpreter.call(dict, value)
        else:
            part = {f"{SPREAD}{number}": value} if isinstance(value, Union) else value
        result = merged(result, part)
    return result
