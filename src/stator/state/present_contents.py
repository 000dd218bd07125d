"""What library code sees of the caller's lists, sets and deques: what the call has made of them.

    table["a"].append(7)      # `table` is the caller's; the list has a stand-in, and 7 is in it
    json.dumps(table)         # library code is given `table`, and follows it to the list itself

While such code runs, the caller's containers hold what their stand-ins hold. What it puts into them
is in the stand-ins afterwards.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.containers import is_plain_object, own_attributes
from stator.values.contents import ObjectState, restore, same_state, state_of
from stator.values.staged import StagedContainer

DEEPEST = 6


@contextmanager
def present_contents(session: Session, values: Iterable[object]) -> Iterator[None]:
    """The caller's containers are as the call has left them; library code is given `values`."""
    changed = session.stand_ins.changed()
    if not changed:
        yield
        return
    unknown = first_reached(values, {id(external) for external, one in changed if one.is_open})
    if unknown is not None:
        raise UnsupportedCall(
            f"library code receives an object that holds {with_article(type(unknown).__name__)} "
            "from outside, whose items depend on the data",
            fix="pass what it needs of the object instead",
        )  # fmt: skip
    put = [(external, one, state_of(external), state_of(one))
           for external, one in changed if not one.is_open]  # fmt: skip
    for external, _, _, now in put:
        restore(external, now)
    try:
        yield
    finally:
        for external, stand_in, before, now in put:
            _put_back(session, external, stand_in, before, now)


def _put_back(
    session: Session,
    external: object,
    stand_in: StagedContainer,
    before: ObjectState,
    now: ObjectState,
) -> None:
    """Put `external` back to `before`; the stand-in gets what library code has changed."""
    left = state_of(external)
    if not same_state(now, left):
        session.note(stand_in)
        restore(stand_in, left)
    restore(external, before)


def first_reached(values: Iterable[object], wanted: Container[int]) -> object:
    """The first object with one of the `wanted` ids that is in `values`, or in what they hold."""
    seen: set[int] = set()
    level = list(values)
    for _ in range(DEEPEST):
        found = next((value for value in level if id(value) in wanted), None)
        if found is not None:
            return found
        seen.update(map(id, level))
        level = [part for value in level for part in _parts(value) if id(part) not in seen]
    return None


def _parts(value: object) -> list[object]:
    if isinstance(value, StagedContainer) and value.is_open:
        return []
    if isinstance(value, dict):
        return list(dict.values(value))
    if isinstance(value, list | tuple):
        return list(value)
    return list(own_attributes(value).values()) if is_plain_object(value) else []
