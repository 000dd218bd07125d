"""Iterators over what only a run can count: `iter`, `next`, and the first item of a search."""

from __future__ import annotations

import torch

from stator.capture.branches import capture_if
from stator.capture.conditions import choose, known, raise_if
from stator.containers.iteration import Indexed
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.symbolic import StandIn


class StagedIterator(StandIn):
    """`iter(...)` of a sequence of the program: its state is how many items were taken."""

    def __init__(self, items: Indexed) -> None:
        self.items, self.position = items, 0

    def rest(self, session: Session) -> Indexed:
        """What is left, as a sequence; taking an item from it moves the iterator on."""
        items, start = self.items, self.position

        def item(index: Staged) -> Staged:
            session.note(self)
            self.position = start + index + 1
            return items.item(start + index)

        return Indexed(
            lambda index: items.more(start + index), item, lambda: items.length() - start
        )


def new_iterator(session: Session, items: Indexed) -> StagedIterator:
    """`iter(items)`."""
    made = StagedIterator(items)
    session.provenance.add_created(made)
    return made


def next_item(session: Session, iterator: StagedIterator, *default: object) -> Staged:
    """`next(iterator, *default)`."""
    rest = iterator.rest(session)
    more = known(session.recorder, rest.more(0))
    if not default:
        over = not more if isinstance(more, bool) else torch.sym_not(more)
        raise_if(session.recorder, over, StopIteration())
        return rest.item(0)
    if isinstance(more, bool):
        return rest.item(0) if more else default[0]
    return capture_if(session.recorder, more, lambda: rest.item(0), lambda: default[0])


def first(session: Session, found: object, *default: object) -> Staged:
    """The item of `found`, which has one or none."""
    some = session.interpreter.compare(session.interpreter.call(len, found), ">", 0)
    if default:
        return choose(
            session.recorder,
            some,
            lambda: session.interpreter.getitem(found, 0),
            lambda: default[0],
        )
    over = not some if isinstance(some, bool) else torch.sym_not(some)
    raise_if(session.recorder, over, StopIteration())
    return session.interpreter.getitem(found, 0)
