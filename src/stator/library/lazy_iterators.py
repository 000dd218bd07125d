"""lazily(): does this capture take the items of an iterator function one by one, as data decides?

Python's own `zip`, `tee`, `groupby` and others run during a capture as long as nothing can tell
when they take their items. Where something can, `needed` starts the capture again, and each of them
is then a generator of Stator's own, which is a machine.
"""

from __future__ import annotations

import itertools
from typing import Any

from stator.containers import lazy_definitions, standard_definitions
from stator.containers.generators import machine_site
from stator.containers.machine_definitions import taken_by_a_library
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.sites import Shared

TEE: type = type(itertools.tee(())[0])
OF_CLASSES: dict[type, Any] = {
    zip: lazy_definitions.zipped_in_turn, TEE: lazy_definitions.branch_of_tee,
    itertools.groupby: lazy_definitions.groups, itertools.pairwise: lazy_definitions.pairwise,
    itertools.accumulate: lazy_definitions.accumulated,
    itertools.takewhile: standard_definitions.takewhile,
    itertools.dropwhile: standard_definitions.dropwhile,
    itertools.filterfalse: standard_definitions.filterfalse,
}  # fmt: skip
TAKE_BY_NEXT = (  # their first argument has to be an iterator
    lazy_definitions.accumulated, lazy_definitions.pairwise, lazy_definitions.groups,
)  # fmt: skip

MADE_BY: dict[Any, tuple[Any, ...]] = {
    lazy_definitions.groups: (lazy_definitions.group,),
    lazy_definitions.zipped_in_turn: (lazy_definitions.ones,),
}


def lazily(session: Session, definition: Staged) -> bool:
    """Has this capture found that the items of `definition` have to be taken one by one?"""
    return session.pooled.group_of(machine_site(definition)) is not None


def needed(definition: Staged, refusal: Exception | None = None) -> BaseException:
    """The capture starts again, with `definition`; `refusal` where that was done already."""
    refusal = refusal or taken_by_a_library(definition.__name__)
    made = (definition, *MADE_BY.get(definition, ()))
    return Shared(frozenset(map(machine_site, made)), refusal)


def needed_for(cls: type, refusal: Exception) -> BaseException:
    """The same for iterators of the class `cls`; `refusal` itself where there is no definition."""
    definition = OF_CLASSES.get(cls)
    return refusal if definition is None else needed(definition, refusal)


def called_lazily(session: Session, definition: Staged, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments for `definition`, which may take items by `next`."""
    if definition in TAKE_BY_NEXT and args:
        return (session.interpreter.call(iter, args[0]), *args[1:])
    return args


def teed(session: Session, iterable: Staged, n: Staged = 2) -> Staged:
    """`itertools.tee(iterable, n)`."""
    call = session.interpreter.call
    definition = lazy_definitions.branch_of_tee
    if not lazily(session, definition) or not isinstance(n, int):
        return session.interpreter.call_library(itertools.tee, (iterable, n), {})
    shared = call(lazy_definitions.Teed, call(iter, iterable))
    return tuple(call(definition, shared) for _ in range(n))


def zipped_in_turn(session: Session, values: tuple[Staged, ...]) -> Staged:
    """`zip(*values)`, which takes an item of each in turn."""
    call = session.interpreter.call
    rows = call(lazy_definitions.ones, values[0])
    for value in values[1:]:
        rows = call(lazy_definitions.zipped_in_turn, rows, call(iter, value))
    return rows


def reversed_by_index(session: Session, sequence: Staged) -> Staged:
    """`reversed` of an object that has `__len__` and `__getitem__`."""
    return session.interpreter.call(lazy_definitions.reversed_by_index, sequence)
