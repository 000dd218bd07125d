"""try_stmt: Python as long as Python knows what is raised; recorded where only a run does."""

from __future__ import annotations

import functools
from collections.abc import Callable

from stator.capture.blocks import TryNeeded
from stator.capture.errors.capture_artifacts import is_capture_artifact, use_plain_names
from stator.capture.journal import Journal
from stator.capture.raising import refuse_artifact
from stator.capture.scope import Attempt, Mark, may_be_seen
from stator.capture.try_block import capture_try, error_names
from stator.errors import StatorError
from stator.program.ir import Block, Op
from stator.program.opset.queries import may_raise, may_raise_for_sizes
from stator.program.opset.torch_raising import tensors_of
from stator.program.sizes import symbols_in
from stator.program.types import TensorType
from stator.staging.control_flow import if_stmt
from stator.staging.recorded_loops import LoopVariables
from stator.state.handled_errors import caught_cause
from stator.state.session import Session
from stator.values.annotations import Code, Names, Read, Staged, Write
from stator.values.contents import same_state, state_of
from stator.values.exceptions import copy_of
from stator.values.symbolic import CaughtError, Diverged
from stator.values.union import Union

Clause = tuple[Callable[[], Staged], Callable[[Staged], Staged]]  # the classes, and the handler


def try_stmt(
    session: Session,
    body: Code,
    clauses: tuple[Clause, ...],
    orelse: Code,
    read: Read,
    write: Write,
    names: Names,
    *,
    is_finally: bool = False,
) -> None:
    """`try` with handlers.

    `is_finally`: `orelse` is what the one handler does too, before it raises again. Where no one
    would notice that it was left out, an op that may fail by itself needs no recording.
    """
    recorder = session.recorder
    attempt = Attempt(lambda error: _handler_for(clauses, error) is not None, read, is_finally)
    mark, before = recorder.mark(), read()
    noted = len(session.effect_log.effects) if session.effect_log is not None else 0
    outer, recorder.journal = recorder.journal, Journal(recorder.journal)
    recorder.attempts.append(attempt)
    error: Exception | GeneratorExit | None = None
    needed = False
    try:
        body()
    except (TryNeeded, Diverged) as found:
        if not _asks_for(attempt, found):
            recorder.journal.keep()
            raise
        needed = True
    except BaseException as raised:
        if _is_of_the_capture(raised):
            recorder.journal.keep()  # whoever goes back puts the objects back
        if not isinstance(raised, Exception | GeneratorExit) or isinstance(raised, StatorError):
            raise
        if isinstance(raised, Exception):
            refuse_artifact(raised)
        use_plain_names(raised)
        error = raised  # a handler of the user's decides below
    finally:
        recorder.attempts.pop()
        journal, recorder.journal = recorder.journal, outer
    # also where Python knows an error: an op before it may raise, and then that one is caught
    fails = not needed and may_raise_since(session, mark)
    if fails and is_finally and error is None:
        if not _finally_is_observable(session, journal, orelse, read, noted):
            journal.keep()
            return
        journal = Journal(None)  # all is undone
    if needed or fails:
        journal.undo()
        recorder.rewind(mark)
        write(before)
        _record(
            session, attempt, body, clauses, orelse, LoopVariables(names, read, write, counts=False)
        )
        return
    journal.keep()
    if error is None:
        orelse()
        return
    _note_caught(session, error)
    _handle(session, clauses, error)


def _note_caught(session: Session, error: BaseException) -> None:
    recorder = session.recorder
    recorder.exceptions.handled.append(error)
    if isinstance(session.handling[-1] if session.handling else None, CaughtError):
        recorder.exceptions.with_caught_context.append(error)
    if not recorder.provenance.is_external(error):
        recorder.provenance.add_created(error)


def may_raise_since(session: Session, mark: Mark) -> bool:
    """May an op that was recorded since `mark` raise when the program runs?"""
    return _may_raise(mark.scope.block, mark.ops, _given_sizes(session))


def _asks_for(attempt: Attempt, found: TryNeeded | Diverged) -> bool:
    """Must `attempt` be recorded? A `finally` must where every path raises: it comes first."""
    return found.attempt is attempt if isinstance(found, TryNeeded) else attempt.is_finally


def _is_of_the_capture(error: BaseException) -> bool:
    if isinstance(error, Diverged):  # every path raises
        return False
    if isinstance(error, GeneratorExit):
        return False
    if not isinstance(error, Exception) or isinstance(error, StatorError):
        return True
    return is_capture_artifact(error)


def _finally_is_observable(
    session: Session, body: Journal, final: Code, read: Read, noted: int
) -> bool:
    """Run the `finally` body. If its effects are observable, undo everything and return True.

    They are observable if it prints, raises or changes objects, or if an enclosing `try` may read
    its names. Restoring an object to its state before the call does not count as a change, unless
    an enclosing `try` would find what the body has made of the object; the effects logged since
    `noted` no longer mention that object.
    """
    recorder = session.recorder
    outer, recorder.journal = recorder.journal, Journal(body)
    start, held = len(recorder.scope.block.ops), read()
    always_raises = False
    try:
        final()
    except BaseException as error:
        if _is_of_the_capture(error):
            recorder.journal.keep()
            body.keep()
            raise
        always_raises = True  # in place of what the body has raised
    finally:
        journal, recorder.journal = recorder.journal, outer
    ops = recorder.scope.block.ops[start:]
    names = bool(recorder.attempts) and not same_state(held, read())
    pairs = [(obj, _restored(session, journal, obj, old)) for obj, old in journal.changed()]
    restored = [(obj, keys) for obj, keys in pairs if keys is not None]
    # a `finally` around this one that can be seen is recorded, and this one with it
    is_watched = any(one.is_recorded or not one.is_finally for one in recorder.attempts)
    others = len(restored) < len(pairs) or bool(is_watched and pairs)
    if not (always_raises or names or others or may_be_seen(Block((), ops))):
        if session.effect_log is not None:
            session.effect_log.forget(noted, restored)
        journal.keep()
        return False
    journal.undo()
    body.undo()
    return True


def _restored(
    session: Session, journal: Journal, obj: object, old: object
) -> tuple[object, ...] | None:
    """The keys of `obj`, which is the caller's, that were put back as they were before the call.

    `old` is what it was before the code that puts back. None if anything else was changed.
    """
    first, now = journal.first_state(obj), state_of(obj)
    if (
        session.is_local(obj)
        or session.state_inputs.finder_of(obj) is not None
        or not session.provenance.is_external(obj)
    ):
        return None
    if not (isinstance(first, dict) and isinstance(old, dict) and isinstance(now, dict)):
        return () if same_state(first, now) else None
    keys = [key for key in {**old, **now} if not _same_item(old, now, key)]
    return tuple(keys) if all(_same_item(first, now, key) for key in keys) else None


def _same_item(one: dict[object, object], other: dict[object, object], key: object) -> bool:
    if key not in one or key not in other:
        return key not in one and key not in other
    return same_state((one[key],), (other[key],))


def _handle(session: Session, clauses: tuple[Clause, ...], error: BaseException) -> None:
    """Run the handler that catches `error`, as Python would."""
    handler = _handler_for(clauses, error)
    if handler is None:
        raise error
    try:
        raise error  # so that a bare `raise` in the handler finds it
    except type(error):
        _in_handler(session, handler)(error)


def _handler_for(
    clauses: tuple[Clause, ...], error: BaseException
) -> Callable[[object], object] | None:
    for classes, handler in clauses:
        caught = classes()
        if caught is None or isinstance(error, caught):
            return handler
    return None


def _may_raise(block: Block, start: int, given: frozenset[str]) -> bool:
    """May a run raise in `block`? The sizes of the arguments, `given`, fit as they do now."""
    return any(
        may_raise(op)
        or (may_raise_for_sizes(op) and not _sizes_of(op) <= given)
        or any(_may_raise(inner, 0, given) for inner in op.blocks)
        for op in block.ops[start:]
    )


def _sizes_of(op: Op) -> frozenset[str]:
    shapes = (found.shape for found in tensors_of(op))
    return frozenset(name for shape in shapes for size in shape for name in symbols_in(size))


def _given_sizes(session: Session) -> frozenset[str]:
    """The sizes that a call brings: those of its tensors."""
    types = (value.type for value in session.recorder.input_facts)
    shapes = (one.shape for one in types if isinstance(one, TensorType))
    return frozenset(name for shape in shapes for size in shape for name in symbols_in(size))


def _record(
    session: Session,
    attempt: Attempt,
    body: Code,
    clauses: tuple[Clause, ...],
    orelse: Code,
    variables: LoopVariables,
) -> None:
    session.decisions.add("try", "recorded", "whether it raises is known only at run time")
    handlers = [
        (error_names(classes()), _in_handler(session, handler)) for classes, handler in clauses
    ]
    through = capture_try(session.recorder, variables, attempt, body, handlers)
    if_stmt(session, through, orelse, _nothing, variables.read, variables.write, variables.names)


def _in_handler(
    session: Session, handler: Callable[[object], object]
) -> Callable[[object], object]:
    """`handler`, inside of which a bare `raise` has something to raise."""

    def run(error: object) -> Staged:
        session.handling.append(error)
        known = error.known if isinstance(error, CaughtError) else None
        try:
            return handler(error if known is None else known)
        finally:
            session.handling.pop()

    return run


def _nothing() -> None:
    return None


def as_caught(session: Session, error: object) -> object:
    """`error`; what the recorded handler that runs now has caught as just that."""
    active = session.handling[-1] if session.handling else None
    if not isinstance(active, CaughtError) or active.known is None or active.known is not error:
        return error
    active.refuse_changed()
    return active


def raised_from(session: Session, error: Staged, cause: Staged) -> Staged:
    """What `raise error from cause` raises; one of several is raised where it is that one."""
    cause = as_caught(session, cause)
    if isinstance(error, CaughtError):
        raise error.refused()
    for value, is_cause in ((error, False), (cause, True)):
        if isinstance(value, Union):
            apply = functools.partial(_raise_from, session, error, cause, is_cause)
            session.recorder.apply_all(value, apply)
    error = session.interpreter.call(error) if isinstance(error, type) else error
    cause = session.interpreter.call(cause) if isinstance(cause, type) else cause
    if isinstance(cause, CaughtError):
        cause = caught_cause(session, cause)
    if not isinstance(error, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if not isinstance(cause, BaseException | None):
        raise TypeError("exception causes must derive from BaseException")
    error.__cause__ = cause
    return error


def _raise_from(
    session: Session, error: Staged, cause: Staged, is_cause: bool, one: object
) -> None:
    own = copy_of(error) if isinstance(error, Exception) else error
    raise_for_user(
        session, raised_from(session, own, one) if is_cause else raised_from(session, one, cause)
    )


def raise_for_user(session: Session, error: Staged) -> None:
    """Raise `error`, which a `raise` of the user's raises."""
    session.recorder.exceptions.of_users.append(error)
    raise error


def reraised(session: Session) -> Staged:
    """What a bare `raise` raises."""
    active = session.handling[-1] if session.handling else None
    if active is None:
        raise RuntimeError("No active exception to reraise")
    if isinstance(active, CaughtError):
        active.refuse_changed()
        reraise(session, active)
    return active


def reraise(session: Session, error: CaughtError) -> None:
    """`raise` of what a recorded handler has caught: in this very handler."""
    if not session.handling or session.handling[-1] is not error:
        raise error.refused()
    waiting = next((one for one in reversed(session.recorder.attempts) if one.waits), None)
    if waiting is not None:
        raise TryNeeded(waiting)
    session.recorder.emit("stator::reraise", ())
    raise Diverged
