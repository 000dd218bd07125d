"""trace(): run a function on symbolic arguments, staged, and give the program that it is.

inputs  ->  converted function runs under the recorder  ->  results, effects  ->  Program
"""

from __future__ import annotations

import contextvars
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.graph import saved_tensors_hooks
from torch.nn.utils import parametrize

from stator.capture.blocks import record_raise
from stator.capture.foreign_errors import says_captured
from stator.capture.inputs import InputReader, Inputs
from stator.capture.involved import add_involved
from stator.capture.places import place_of
from stator.capture.results import Results
from stator.capture.scope import may_be_seen
from stator.capture.shown import tensors_shown
from stator.capture.values import (
    Diverged,
)
from stator.capture.variables import Scenes, Watch
from stator.debugger import stepping_around
from stator.errors import CaptureError, StatorError
from stator.logs import frames_are_shown
from stator.program.ir import Block
from stator.program.naming import renumber
from stator.program.program import Program
from stator.program.structure import Fixed, Structure
from stator.program.verifier import verify
from stator.staging.effects import (
    Effect,
    Given,
    Notes,
    drop_notes,
    effects_of,
    given_back,
    written_slots,
)
from stator.staging.guards import Guards
from stator.staging.live_state import AnySlot, install
from stator.staging.operators import Staging
from stator.staging.session import Decision, Session

SYMBOLIC = (torch.SymInt, torch.SymFloat, FakeTensor)
ONE_AT_A_TIME = threading.RLock()  # torch's pre-dispatch slot is shared between threads


@dataclass(frozen=True)
class Captured:
    """A program, and what it needs of this process to run as the function did."""

    program: Program
    tensors: dict[str, torch.Tensor]  # the stored ones, live
    effects: tuple[Effect, ...]
    classes: dict[str, type]
    guards: Guards
    decisions: tuple[Decision, ...]
    errors: dict[str, type]  # the classes of exceptions that users wrote
    live: tuple[AnySlot, ...] = ()  # Python state that every run reads anew: the last inputs
    written: tuple[AnySlot, ...] = ()  # Python state that a run has read and changed
    given: tuple[tuple[Structure, Given], ...] = ()  # what is in the results as it was given
    hooked: Mapping[str, torch.nn.Module] = field(default_factory=dict)  # by name, for their hooks
    noted: tuple[tuple[Effect, ...], ...] = ()  # what is changed before the program may raise
    scenes: Scenes | None = None  # what the user's names hold at each op, where that was asked for


def trace(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    name: str,
    owner: torch.nn.Module | None = None,
    live: tuple[AnySlot, ...] = (),
    watched: bool = False,
) -> Captured:
    """Capture `function(*args, **kwargs)`, whose tensors are given as `TensorSpec`s.

    What the slots `live` hold become further inputs, after those of the arguments. With `watched`,
    what the user's names hold is noted op by op.
    """
    with ONE_AT_A_TIME, _apart():
        apart = contextvars.copy_context()  # what user code does to context variables stays in it
        return apart.run(_trace, function, args, kwargs, name, owner, live, watched)


def _trace(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    owner: torch.nn.Module | None,
    live: tuple[AnySlot, ...],
    watched: bool,
) -> Captured:
    session = Session()
    staging = Staging(session)
    recorder = session.recorder
    watch = Watch(recorder) if watched else None
    if owner is not None:
        name_tensors(session, owner)
    with recorder.quiet():
        inputs = InputReader(recorder).read(args, kwargs)
        install(session, live, inputs.values)
    for obj in inputs.objects:
        session.guards.own(obj)
    session.guards.own(getattr(function, "__self__", None) or function)
    written: tuple[AnySlot, ...] = ()
    given: tuple[tuple[Structure, Given], ...] = ()
    notes = session.notes = recorder.before_raise = Notes(session, inputs, live)
    with _recording(session):
        try:
            with watch.watching() if watch is not None else nullcontext():
                value = staging.call(function, *inputs.args, **inputs.kwargs)
            results = Results(recorder, session.guards.is_outside, session.plain)
            structure = results.structure_of(value)
            effects = effects_of(session, inputs, results, live)
            written = written_slots(session)
            given = given_back(session, inputs, results)
        except StatorError as error:
            add_involved(error)
            raise
        except Exception as error:
            if not (may_be_seen(recorder.scope.block) or says_captured(error)):
                add_involved(error)
                notes.keep_for(error)
                raise  # nothing of the program comes before it
            record_raise(recorder, error)
            results, structure = Results(recorder, session.guards.is_outside), Fixed(None)
            effects = ()
        except Diverged:
            results, structure = Results(recorder, session.guards.is_outside), Fixed(None)
            effects = ()
        finally:
            recorder.journal.undo()
    recorder.scope.block.outputs = tuple(results.leaves)
    if not any(notes.effects):
        drop_notes(recorder.scope.block)
    program = _program(session, name, inputs, structure)
    session.guards.read_tensors(recorder.stored_tensors)
    return Captured(
        program, recorder.stored_tensors, effects, results.classes | notes.classes, session.guards,
        tuple(session.decisions),
        recorder.errors, live, written, given, session.hooked, tuple(notes.effects),
        watch.scenes if watch is not None else None,
    )  # fmt: skip


def read_state(slots: Sequence[AnySlot]) -> list[Any]:
    """What `slots` hold, but for what another thread's capture has put there for its time."""
    held = [leaf for slot in slots for leaf in slot.leaves()]
    if not any(isinstance(value, SYMBOLIC) for value in held):
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


def _plain_saving() -> AbstractContextManager[Any]:
    """Hooks on saved tensors that are set around the call do not see the capture's."""
    if torch._C._autograd._top_saved_tensors_default_hooks(True) is None:
        return nullcontext()
    return saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


@contextmanager
def _apart() -> Iterator[None]:
    """Nothing that is going on around the call takes part in its capture.

    Function transforms (`torch.func.grad`, `vmap`) and hooks on saved tensors (a checkpoint around
    the call) apply when the program runs; a cached parametrization would keep a symbolic tensor
    for the time after.
    """
    caching = parametrize._cache_enabled
    parametrize._cache_enabled = 0
    try:
        with temporarily_clear_interpreter_stack(), _plain_saving():
            yield
    finally:
        parametrize._cache_enabled = caching


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
            stepping_around(),
        ):
            yield
    except StatorError:
        raise
    except Exception as error:
        if type(error).__module__.startswith("torch."):
            raise CaptureError(
                f"torch cannot trace this: {type(error).__name__}: {_first_line(error)}",
                at=place_of(error),
                fix="leave this code out with `stator.not_to_static`, or write it with other ops",
            ) from error
        raise
    finally:
        torch.set_grad_enabled(grad)


@contextmanager
def _quiet_meta() -> Iterator[None]:
    """Torch logs its stack where an op is given what it cannot take; the user gets the error."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
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


def _first_line(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "")


def _program(session: Session, name: str, inputs: Inputs, structure: Structure) -> Program:
    recorder = session.recorder
    body: Block = recorder.scope.block
    program = Program(
        name, tuple(inputs.values), tuple(recorder.stored), body, inputs.structure, structure,
        recorder.functions,
    )  # fmt: skip
    return verify(renumber(program))
