"""TryNames: what the names of each `try` hold wherever its body may raise, for its handlers."""

from __future__ import annotations

from collections.abc import Callable

from stator.capture.journal import Journal
from stator.capture.listeners import Listener
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt, Scope, TryState
from stator.program.ir import Op
from stator.values.contents import state_of
from stator.values.describe import describe, describe_state, generalise
from stator.values.kinds import Kind
from stator.values.symbolic import refused_arguments, refused_exception
from stator.values.union import Union

ELSEWHERE = frozenset({"stator::call", "host::call"})  # they raise what was made elsewhere


class TryNames(Listener):
    """Tells each `try` around an op that may raise what its names hold there."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._is_keeping = False  # the ops that say what the names hold raise nothing

    def before(self, op: Op, *, may_raise: bool) -> None:
        """Notes, or records, what the names hold, should the op raise."""
        if not may_raise or self._is_keeping:
            return
        root = self._recorder.scope.root
        for attempt in self._recorder.attempts:
            if attempt.root is None or attempt.root is root:
                if attempt.tracks_arguments:
                    attempt.arguments = self._parts(op, attempt)
                if attempt.keep is not None:
                    self._keep(attempt.keep)
                elif attempt.scope is not None:
                    attempt.seen.append(self._seen(attempt, attempt.scope))

    def _keep(self, keep: Callable[[], None]) -> None:
        self._is_keeping = True
        try:
            keep()
        finally:
            self._is_keeping = False

    def _parts(self, op: Op, attempt: Attempt) -> tuple[object, ...] | None:
        """The arguments and attributes of what `op` raises; None where that is its text only."""
        exceptions = self._recorder.exceptions
        if op.name == "stator::reraise" and exceptions.caught:
            caught = exceptions.caught[-1]
            if attempt.tracks_whole:
                return (caught.exception(),)
            return (caught.arguments(), *map(caught.held, attempt.asked))
        if op.name in ELSEWHERE:
            raise refused_arguments()
        if attempt.tracks_whole:
            self._refuse_known(attempt)
            return (self._whole(exceptions.caught[-1].exception() if exceptions.caught else None),)
        if exceptions.arguments is None:
            return None
        return (exceptions.arguments, *map(exceptions.attribute, attempt.asked))

    def _refuse_known(self, attempt: Attempt) -> None:
        """A handler gets a copy of what is raised: no other name may have that very exception."""
        raised = self._recorder.exceptions.raised
        assert attempt.scope is not None
        is_new = self._recorder.provenance.created_since(attempt.scope)
        if not is_new(raised) or any(value is raised for value in attempt.read()):
            raise refused_exception()

    def _whole(self, handled: object) -> object:
        if isinstance(handled, Union):
            return self._recorder.apply_all(handled, self._whole)
        assert handled is None or isinstance(handled, BaseException)
        made = self._recorder.exceptions.whole(handled)
        self._recorder.provenance.add_created(made)
        return made

    def _seen(self, attempt: Attempt, scope: Scope) -> TryState:
        """What the names, and the objects that the `try` body has changed, hold at this point."""
        is_new = self._recorder.provenance.created_since(scope)
        names = tuple((v, generalise(describe(v, is_new))) for v in attempt.read())
        found: dict[int, tuple[object, object, Kind]] = {}
        journal: Journal | None = self._recorder.journal
        while journal is not None and journal is not attempt.journal:
            for obj, _ in journal.noted():
                if id(obj) not in found and not is_new(obj):
                    state = state_of(obj)
                    found[id(obj)] = (obj, state, generalise(describe_state(state, is_new)))
            journal = journal.parent
        return TryState(names, found)
