"""trace(): run a function on symbolic arguments, staged, and give the program that it is.

inputs  ->  converted function runs under the recorder  ->  results, effects  ->  Program
"""

from __future__ import annotations

import contextvars
import logging
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

import torch
from torch.autograd.graph import saved_tensors_hooks

from stator.capture.closures import close_functions
from stator.capture.errors.boundary import PutIn
from stator.capture.errors.capture_artifacts import says_captured
from stator.capture.errors.line_variables import attach_line_variables
from stator.capture.errors.tensor_repr import tensors_shown
from stator.capture.errors.torch_words import torch_error
from stator.capture.inputs import Argument, InputReader, Inputs, Untagged
from stator.capture.raising import record_raise, refuse_artifact
from stator.capture.recorder import Recorder
from stator.capture.scope import may_be_seen
from stator.debugger import stepping_around
from stator.errors import CaptureError, StatorError, UnsupportedCall
from stator.frames import current_place, place_of, place_of_result
from stator.garbage import fewer_collections
from stator.library.calls_inside_torch import calls_inside_torch
from stator.locks import ONE_AT_A_TIME
from stator.logs import frames_are_shown
from stator.program.ir import Block, StateUse, drop_ops
from stator.program.naming import renumber
from stator.program.program import Program
from stator.program.structure import ConstantValue, Structure
from stator.program.verifier import verify
from stator.recursion_limit import more_frames
from stator.signals import DeferredSignals
from stator.staging.operators import Staging
from stator.state.callers_arrays import settle_arrays
from stator.state.decisions import Decision
from stator.state.effects import (
    Effect,
    EffectRecorder,
    KeptEffects,
    Origin,
    effects_of,
    given_back,
    new_results,
    written_slots,
)
from stator.state.guards import Guards
from stator.state.host_calls import HostCall
from stator.state.live_modules import reads_without_modules, refuse_departures
from stator.state.live_state import AnySlot, install
from stator.state.live_tensors import generalized
from stator.state.saved_state import LeftState, SavedSlot, StateRecorder
from stator.state.session import Session
from stator.state.unconverted import stop_watching
from stator.torch_private.dispatch import (
    enable_python_dispatcher,
    has_saved_tensor_hooks,
    leave_pre_dispatch,
    temporarily_clear_interpreter_stack,
)
from stator.torch_private.fake import LOGGER_NAME, FakeTensor
from stator.torch_private.loading import load_parts
from stator.torch_private.modules import no_parametrization_cache
from stator.values.annotations import Args, Keywords, Staged
from stator.values.exceptions import KnownExceptions
from stator.values.sites import Shared, SiteGroups
from stator.values.symbolic import CapturedText, Diverged

SYMBOLIC = (torch.SymInt, torch.SymFloat, CapturedText, FakeTensor)
PLAIN = frozenset({int, float, str, torch.Tensor})  # types of most live state, and never symbolic
Listening = Callable[[Recorder], AbstractContextManager[None]]  # adds a listener
FORK_WAITS = 2.0  # seconds, for a capture of another thread to end
ONE_AT_A_TIME.waits_at_fork(FORK_WAITS, leave_pre_dispatch)


@dataclass(frozen=True)
class CaptureResult:
    """A program, and what it needs of this process to run as the function did."""

    program: Program
    tensors: dict[str, torch.Tensor]  # the stored ones, live
    effects: tuple[Effect, ...]
    classes: dict[str, type]
    guards: Guards
    decisions: tuple[Decision, ...]
    exceptions: KnownExceptions  # that the program may raise
    live: tuple[AnySlot, ...] = ()  # Python state that every run reads again: the last inputs
    written: tuple[AnySlot, ...] = ()  # Python state that a run has read and changed
    given: tuple[tuple[Structure, Origin], ...] = ()  # what is in the results as it was given
    hooked: Mapping[str, torch.nn.Module] = field(default_factory=dict)  # by name, for their hooks
    noted: tuple[tuple[Effect, ...], ...] = ()  # what is changed before the program may raise
    host_calls: tuple[HostCall, ...] = ()  # by number
    containers: tuple[Argument, ...] = ()  # the lists and dicts that a call is given
    outside: Mapping[int, object] = field(default_factory=dict)  # those it knows otherwise, by id
    left: LeftState | None = None  # what a program that is to be saved needs of the state
    untagged: tuple[Untagged, ...] = ()  # attributes that tensors among the arguments have not


@dataclass(frozen=True)
class FailedCapture:
    """A capture that ended with the user's own error."""

    error: Exception
    kept: KeptEffects


def trace(
    function: Staged,
    args: Args,
    kwargs: Keywords,
    **options: Staged,
) -> CaptureResult:
    """`attempt`, for callers that only want a program: the user's own error is raised."""
    captured = attempt(function, args, kwargs, **options)
    if isinstance(captured, FailedCapture):
        try:
            raise captured.error
        finally:
            del captured  # it holds the exception, whose traceback holds this frame
    return captured


def attempt(
    function: object,
    args: Args,
    kwargs: Keywords,
    *,
    name: str,
    owner: torch.nn.Module | None = None,
    live: tuple[AnySlot, ...] = (),
    saved: tuple[SavedSlot, ...] = (),
    listening: Listening | None = None,
) -> CaptureResult | FailedCapture:
    """Capture `function(*args, **kwargs)`, whose tensors are given as `TensorSpec`s.

    What the slots `live` hold become further inputs, after those of the arguments; so do the slots
    `saved`, and what they hold in the end further outputs. User code runs inside
    `listening(recorder)`, if that is given.
    """
    signals = DeferredSignals()
    with ONE_AT_A_TIME, signals, more_frames(), fewer_collections(), _isolated():
        load_parts()
        context = contextvars.copy_context()  # changes to context variables stay in it
        given = (args, kwargs, name, owner, live, saved, listening)
        return context.run(_attempt, signals, function, *given)


def _attempt(
    signals: DeferredSignals, function: Staged, *given: Staged
) -> CaptureResult | FailedCapture:
    pooled = SiteGroups()
    while True:
        try:
            return _attempt_once(Session(Staging, pooled), signals, function, *given)
        except Shared as shared:
            if not pooled.add(shared.sites):
                raise shared.refusal from None


def _attempt_once(
    session: Session, signals: DeferredSignals, function: Staged, *given: Staged
) -> CaptureResult | FailedCapture:
    sizes = session.recorder.sizes
    session.recorder.signals = signals
    try:
        return _trace(session, function, *given)
    except StatorError:
        raise
    except PutIn as found:
        raise found.error from None
    except Exception as error:
        log = session.effect_log
        if not isinstance(log, EffectRecorder) or log.kept is None:
            raise
        return FailedCapture(error, log.kept)
    finally:
        stop_watching()
        session.close()
        sizes.recorder = None  # torch keeps the sizes of captures for a while


def _trace(
    session: Session,
    function: object,
    args: Args,
    kwargs: Keywords,
    name: str,
    owner: torch.nn.Module | None,
    live: tuple[AnySlot, ...],
    saved: tuple[SavedSlot, ...],
    listening: Listening | None,
) -> CaptureResult:
    recorder = session.recorder
    if owner is not None:
        name_tensors(session, owner)
    with recorder.quiet():
        inputs = InputReader(recorder).read(args, kwargs)
        state = _install(session, live, saved, inputs)
    _add_given(session, function, inputs)
    written: tuple[AnySlot, ...] = ()
    given: tuple[tuple[Structure, Origin], ...] = ()
    read_again = (*live, *(place for slot in saved for place in slot.places))
    notes = session.effect_log = EffectRecorder(session, inputs, read_again, saved=state)
    left: LeftState | None = None
    recorder.listeners.append(notes)
    with _recording(session):
        try:
            value = _called(session, function, inputs, listening)
            with _at_end_of(function):
                results = new_results(session)
                structure = results.structure_of(value)
                left = None if state is None else state.finish(results)
                effects = effects_of(session, inputs, results, read_again)
                written = written_slots(session)
                given = given_back(session, inputs, results)
        except StatorError as error:
            attach_line_variables(error, recorder)
            raise
        except Exception as error:
            refuse_artifact(error)
            if not (may_be_seen(recorder.scope.block) or says_captured(error)):
                notes.keep(error)
                if notes.kept is None or notes.kept.is_known:
                    attach_line_variables(error, recorder)
                    raise  # nothing of the program comes before it
            record_raise(recorder, error)
            results, structure, effects = new_results(session), ConstantValue(None), ()
            left = None if state is None else state.finish(results, raises=True)
        except Diverged:
            results, structure, effects = new_results(session), ConstantValue(None), ()
            left = None if state is None else state.finish(results, raises=True)
        finally:
            recorder.journal.undo()
    recorder.scope.block.outputs = (*results.leaves, *(left.leaves if left is not None else ()))
    if not any(notes.effects):
        drop_ops(recorder.scope.block, "host::note")
    program = _program(session, name, inputs, structure, _uses(saved, left))
    settle_arrays(session, program.ops())
    session.reads.read_tensors(recorder.stored_tensors)
    changed = [effect for group in (effects, *notes.effects) for effect in group]
    return CaptureResult(
        program, recorder.stored_tensors, effects,
        results.classes | notes.classes | session.host_classes,
        _guards(session, live, structure, changed),
        tuple(session.decisions),
        recorder.exceptions.known(), live, written, given, session.hooked_modules,
        tuple(notes.effects),
        tuple(session.host_calls), *_given_and_known(session, inputs), left,
        tuple(inputs.untagged),
    )  # fmt: skip


@contextmanager
def _at_end_of(function: object) -> Iterator[None]:
    """An error inside, when no line of `function` runs any more, is where it returns."""
    try:
        yield
    except StatorError as error:
        if error.at == current_place():
            error.at = place_of_result(function) or error.at
        raise


def _called(
    session: Session, function: object, inputs: Inputs, listening: Listening | None
) -> Staged:
    """The result of the call; an error if it leaves a mode that a run would put back.

    Or a generator that Python would close afterwards.
    """
    grad = torch.is_grad_enabled()
    with listening(session.recorder) if listening is not None else nullcontext():
        value = session.interpreter.call(function, *inputs.args, **inputs.kwargs)
    session.interpreter.machine("refuse_open")
    if torch.is_grad_enabled() != grad:
        ops = session.recorder.scope.block.ops
        places = (op.place for op in reversed(ops) if op.place is not None)
        raise UnsupportedCall(
            f"the call turns gradients {'off' if grad else 'on'} and does not restore them",
            at=next(places, None), fix="use `with torch.set_grad_enabled(...)`",
        )  # fmt: skip
    return value


def _guards(
    session: Session, live: tuple[AnySlot, ...], structure: Structure, changed: list[Effect]
) -> Guards:
    """What the capture read must stay; the tensors and modules that are inputs may be others."""
    stored = tuple(session.recorder.stored_tensors.values())
    refuse_departures(session, live, structure, changed)
    reads = reads_without_modules(session.reads, live, stored)
    return Guards(generalized(session.reads, reads, session.replaced, stored))


def _add_given(session: Session, function: object, inputs: Inputs) -> None:
    """The function, and the objects that it is given, are external."""
    for obj in inputs.objects:
        session.provenance.add_external(obj)
    session.provenance.add_external(getattr(function, "__self__", None) or function)
    if isinstance(function, types.MethodType):
        session.reads.read_target(function)


def _install(
    session: Session, live: tuple[AnySlot, ...], saved: tuple[SavedSlot, ...], inputs: Inputs
) -> StateRecorder | None:
    """Make what `live` and `saved` hold inputs; if that fails, every place is as it was."""
    try:
        install(session, live, inputs.values)
        return StateRecorder(session, saved, inputs.values) if saved else None
    except BaseException:
        session.journal.undo()
        raise


def _given_and_known(
    session: Session, inputs: Inputs
) -> tuple[tuple[Argument, ...], dict[int, object]]:
    """The containers that the call was given; if there are any, those that it knows otherwise."""
    given = tuple(Argument(path) for _, path in inputs.containers.values())
    known = session.provenance.external_containers() if given else ()
    return given, {id(obj): obj for obj in known}


def read_state(slots: Sequence[AnySlot]) -> list[object]:
    """What `slots` hold, but for what another thread's capture has put there for its time."""
    held = [leaf for slot in slots for leaf in slot.leaves()]
    if PLAIN.issuperset(map(type, held)) or not any(isinstance(one, SYMBOLIC) for one in held):
        return held
    with ONE_AT_A_TIME:
        return [leaf for slot in slots for leaf in slot.leaves()]


def name_tensors(session: Session, owner: torch.nn.Module) -> None:
    """Parameters and buffers keep the names their module gives them; a tied one its first."""
    known = session.recorder.known_names
    for name, parameter in owner.named_parameters():
        known.setdefault(id(parameter), ("parameter", name))
    for name, buffer in owner.named_buffers():
        known.setdefault(id(buffer), ("buffer", name))


def _plain_saving() -> AbstractContextManager[object]:
    """Hooks on saved tensors that are set around the call do not see the capture's."""
    if not has_saved_tensor_hooks():
        return nullcontext()
    return saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


@contextmanager
def _isolated() -> Iterator[None]:
    """Suspend function transforms, saved-tensor hooks and parametrization caches.

    Function transforms (`torch.func.grad`, `vmap`) and hooks on saved tensors (a checkpoint around
    the call) apply when the program runs; a cached parametrization would keep a symbolic tensor
    for the time after.
    """
    with temporarily_clear_interpreter_stack(), _plain_saving(), no_parametrization_cache():
        yield


@contextmanager
def _recording(session: Session) -> Iterator[None]:
    recorder = session.recorder
    grad = torch.is_grad_enabled()
    try:
        with (
            recorder.fake,
            enable_python_dispatcher(),
            recorder,
            _quiet_meta(),
            tensors_shown(recorder),
            calls_inside_torch(session),
            stepping_around(),
        ):
            yield
    except StatorError:
        raise
    except Exception as error:
        if type(error).__module__.startswith("torch."):
            raise CaptureError(
                f"torch cannot trace this: {torch_error(error)}",
                at=place_of(error),
                fix="leave this code out with `stator.not_to_static`, or write it with other ops",
            ) from error
        raise
    finally:
        torch.set_grad_enabled(grad)


@contextmanager
def _quiet_meta() -> Iterator[None]:
    """Torch logs its stack where an op is given what it cannot take; the user gets the error."""
    logger = logging.getLogger(LOGGER_NAME)
    if frames_are_shown():
        yield
        return
    logger.addFilter(_is_not_meta)
    try:
        yield
    finally:
        logger.removeFilter(_is_not_meta)


def _is_not_meta(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith("failed while attempting to run meta")


def _uses(saved: tuple[SavedSlot, ...], left: LeftState | None) -> tuple[StateUse, ...]:
    counts = left.counts if left is not None else ()
    return tuple(StateUse(slot.name, count) for slot, count in zip(saved, counts, strict=True))


def _program(
    session: Session,
    name: str,
    inputs: Inputs,
    structure: Structure,
    state: tuple[StateUse, ...],
) -> Program:
    recorder = session.recorder
    body: Block = recorder.scope.block
    stored = [one.value for one in recorder.stored]
    functions = close_functions(body, recorder.functions, stored)
    program = Program(
        name, tuple(inputs.values), tuple(recorder.stored), body, inputs.structure, structure,
        functions, recorder.facts_of(inputs.values), state,
    )  # fmt: skip
    names = {symbol.name: name for symbol, name in recorder.sizes.names.items()}
    return verify(renumber(program, names))
