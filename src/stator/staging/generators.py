"""Generators: the loop that uses one becomes its consumer, the generator a plain function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stator.capture.places import current_place
from stator.capture.values import Locals
from stator.errors import UnsupportedCall
from stator.staging.logic import not_
from stator.staging.session import Session

Consumer = Callable[[Any], Any]  # takes an item; tells whether it wants no more


class StagedGenerator:
    """A call of a generator function that has not begun."""

    stator_kind = "generator"  # which no program can give

    def __init__(self, session: Session, name: str, start: Callable[[Consumer], None]) -> None:
        self.session, self.name = session, name
        self._start = start
        self._scope = session.recorder.scope
        self._is_used = False

    def run(self, consumer: Consumer) -> None:
        """Give every item to `consumer`, until it wants no more."""
        if self._is_used or self.session.recorder.scope is not self._scope:
            raise UnsupportedCall(
                f"the generator `{self.name}` is used twice, or in another branch or loop than the "
                "one that made it",
                at=current_place(), fix="call the generator function where its items are used",
            )  # fmt: skip
        self._is_used = True
        self._start(consumer)

    def __iter__(self) -> Any:
        raise UnsupportedCall(
            f"library code takes items of the generator `{self.name}` one by one",
            at=current_place(), fix="make a list of it first: `list(...)`",
        )  # fmt: skip

    __next__ = __iter__


def for_each_yielded(
    session: Session,
    generator: StagedGenerator,
    body: Callable[[Any], Any],
    goes_on: Callable[[], Any],
    frame: Locals,
) -> None:
    """A `for` over a generator: its body runs at each `yield`; what it assigns is state."""

    def consumer(item: Any) -> Any:
        session.note(frame)
        body(item)
        return not_(session, goes_on())

    generator.run(consumer)
