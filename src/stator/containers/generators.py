"""StagedGenerator: the loop that uses it becomes its consumer, the generator a plain function."""

from __future__ import annotations

from collections.abc import Callable

from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.symbolic import CannotLeave

Consumer = Callable[[Staged], Staged]  # takes an item; tells whether it wants no more


class StagedGenerator(CannotLeave):
    """A call of a generator function that has not begun."""

    what = "generator"

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

    def __iter__(self) -> Staged:
        raise UnsupportedCall(
            f"library code takes items of the generator `{self.name}` one by one",
            at=current_place(), fix="make a list of it first: `list(...)`",
        )  # fmt: skip

    __next__ = __iter__
