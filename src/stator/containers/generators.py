"""StagedGenerator: the loop that uses it becomes its consumer, the generator a plain function."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable

from stator.containers.machine_definitions import taken_by_a_library
from stator.errors import UnsupportedCall
from stator.frames import converted_frames
from stator.location import Location
from stator.state.session import Session
from stator.values.annotations import Staged
from stator.values.sites import Shared, Site
from stator.values.symbolic import CannotLeave

Consumer = Callable[[Staged], Staged]  # takes an item; tells whether it wants no more


DEEPEST = 4  # of one generator function: blocks inside each other in which it runs


class StagedGenerator(CannotLeave):
    """A call of a generator function that has not begun."""

    what = "generator"

    def __init__(
        self,
        session: Session,
        function: types.FunctionType,
        start: Callable[[Consumer], None],
        *,
        has_machine: bool = True,
        acts_when_closed: bool = False,
    ) -> None:
        self.session, self.name, self.function = session, function.__name__, function
        self.acts_when_closed = acts_when_closed  # at a `yield` inside a `try` or `with`
        self._start, self._has_machine = start, has_machine
        self._scope = session.recorder.scope
        self._is_used = False

    def run(self, consumer: Consumer) -> None:
        """Give every item to `consumer`, until it wants no more."""
        if self._is_used or self.session.recorder.scope is not self._scope:
            raise self.one_by_one()
        self._is_used = True
        running = self.session.running_generators
        running.append((self.function.__code__, self._scope))
        try:
            self._refuse_recursion()
            self._run(consumer)
        finally:
            running.pop()

    def _refuse_recursion(self) -> None:
        """An error where the generator runs itself as often as the data says: for ever, here."""
        code = self.function.__code__
        blocks = {id(scope) for one, scope in self.session.running_generators if one is code}
        if len(blocks) > DEEPEST:
            raise UnsupportedCall(
                f"the generator `{self.name}` iterates over itself recursively, to a "
                "data-dependent depth",
                fix="let an ordinary function that calls itself append the items to a list",
            )  # fmt: skip

    def _run(self, consumer: Consumer) -> None:
        passed: list[StopIteration] = []

        def consume(item: Staged) -> Staged:
            try:
                return consumer(item)
            except StopIteration as error:
                passed.append(error)
                raise

        try:
            self._start(consume)
        except StopIteration as error:
            if any(error is one for one in passed):  # of the loop's body
                raise
            raise RuntimeError("generator raised StopIteration") from error

    def one_by_one(self) -> BaseException:
        """The capture starts again, with generators of this function as machines."""
        if not self._has_machine:
            return UnsupportedCall(
                "items of a generator expression with a function in it are taken one by one",
                fix="make a list of it first: `list(...)`",
            )
        sites = frozenset({machine_site(self.function)})
        return Shared(sites, taken_by_a_library(self.name))

    def __iter__(self) -> Staged:
        raise self.one_by_one()

    __next__ = __iter__

    def __getattr__(self, name: str) -> Staged:
        if name in ("send", "throw", "close"):
            raise self.one_by_one()
        raise AttributeError(f"'generator' object has no attribute '{name}'")


def has_a_name(generator: object) -> bool:
    """Has a variable of the user's it, so that Python frees it later than a loop over it ends?"""
    return any(
        value is generator and not name.endswith("__")  # those that the rewrite has made
        for frame in converted_frames(sys._getframe(1), None)
        for name, value in frame.f_locals.items()
    )


def machine_site(function: types.FunctionType) -> Site:
    """The site of the generators of `function`: where it is known, they are machines."""
    code = function.__code__
    place = Location(code.co_filename, code.co_firstlineno, 0, code.co_qualname)
    return (place, "generator")
