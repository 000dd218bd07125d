"""caught_cause(): what represents the exception that a recorded handler has caught, in a run."""

from __future__ import annotations

from stator.state.session import Session
from stator.values.exceptions import CaughtCause
from stator.values.symbolic import CaughtError


def caught_cause(session: Session, error: CaughtError) -> CaughtCause:
    """Stands for `error`; an error unless the innermost of the recorded handlers has caught it."""
    recorded = (one for one in reversed(session.handling) if isinstance(one, CaughtError))
    if next(recorded, None) is not error:
        raise error.refused()
    return CaughtCause()


def handled_now(session: Session) -> BaseException | None:
    """What `sys.exc_info()` has in eager code here."""
    active = session.handling[-1] if session.handling else None
    if isinstance(active, CaughtError):
        return caught_cause(session, active)
    return active if isinstance(active, BaseException) else None
