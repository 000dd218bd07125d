"""Context managers: those that users write run through staging, torch's own as they are."""

from __future__ import annotations

import contextlib
from typing import Any

from stator.staging.cleanups import StagedCleanup
from stator.staging.protocols import user_method
from stator.staging.session import Session


class StagedContext:
    """Stands in for the manager of a `with` statement."""

    def __init__(self, session: Session, call: Any, manager: Any) -> None:
        self.session, self.call, self.manager = session, call, manager
        self.cleanup = StagedCleanup(session)
        if isinstance(manager, contextlib._GeneratorContextManager):
            self._note_arguments()

    def _note_arguments(self) -> None:
        """A generator behind `@contextmanager` runs as Python: what it is given, it may change."""
        function = self.manager.func
        self.session.guards.global_names(function.__globals__)
        self.session.note(function.__globals__)
        for cell in function.__closure__ or ():
            self.session.note(cell)
        for value in (*self.manager.args, *self.manager.kwds.values()):
            if isinstance(value, list | dict | set) or self.session.is_user_object(value):
                self.session.note(value)

    def __enter__(self) -> Any:
        method = user_method(self.manager, "__enter__")
        value = self.manager.__enter__() if method is None else self.call(method, self.manager)
        self.cleanup.__enter__()
        return value

    def __exit__(self, *error: Any) -> Any:
        self.cleanup.__exit__()
        method = user_method(self.manager, "__exit__")
        with self.cleanup.running():
            if method is None:
                return self.manager.__exit__(*error)
            return self.call(method, self.manager, *error)
