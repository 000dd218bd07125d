"""Iterators over what only a run can count: `iter`, `next`, and the first item of a search."""

from __future__ import annotations

from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.staging.iteration import Indexed
from stator.staging.session import Session
from stator.staging.truth import known


class StagedIterator:
    """`iter(...)` of a sequence of the program: its state is how many items were taken."""

    def __init__(self, items: Indexed) -> None:
        self.items, self.position = items, 0

    def rest(self, session: Session) -> Indexed:
        """What is left, as a sequence; taking an item from it moves the iterator on."""
        items, start = self.items, self.position

        def item(index: Any) -> Any:
            session.note(self)
            self.position = start + index + 1
            return items.item(start + index)

        return Indexed(
            lambda index: items.more(start + index), item, lambda: items.length() - start
        )


def new_iterator(session: Session, items: Indexed) -> StagedIterator:
    """`iter(items)`."""
    made = StagedIterator(items)
    session.recorder.born(made)
    return made


def next_item(session: Session, iterator: StagedIterator, *default: Any) -> Any:
    """`next(iterator, *default)`."""
    rest = iterator.rest(session)
    more = known(session.recorder, rest.more(0))
    if not default:
        over = not more if isinstance(more, bool) else torch.sym_not(more)
        session.raise_if(over, StopIteration())
        return rest.item(0)
    if isinstance(more, bool):
        return rest.item(0) if more else default[0]
    return capture_if(session.recorder, more, lambda: rest.item(0), lambda: default[0])


def first(session: Session, found: Any, *default: Any) -> Any:
    """The item of `found`, which has one or none."""
    some = session.compare(session.call(len, found), ">", 0)
    if default:
        return session.choose(some, lambda: session.getitem(found, 0), lambda: default[0])
    over = not some if isinstance(some, bool) else torch.sym_not(some)
    session.raise_if(over, StopIteration())
    return session.getitem(found, 0)
