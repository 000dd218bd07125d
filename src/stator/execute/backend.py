"""Backend: what runs programs. The interpreter is one; others are held to what it does.

    backend.prepare(program, options)   once for each program: resolve ops, plan memory
      .bind(stored)                     the program over its live parameters, buffers, constants
        (inputs)                        one run of it -> an Outcome

An `Outcome` is data: the flat outputs, or a `RaisedError` that says what the program raised and
what had happened by then. A backend that is not written in Python fills in a `RaisedError` from
what it knows; it never has to touch a Python exception. What is not an `Exception` (Ctrl-C, the
`RunStop` of an observer) ends a run by being raised.

`Capability` names what only some backends can do. `needs_of` says what a program needs.
`execute/selection.py` chooses between backends by the two.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import torch

from stator.errors import SizeCheckFailed
from stator.execute.observing import Observer
from stator.execute.raised_parts import builtin_exception, complete
from stator.execute.structure import unflatten
from stator.location import Location
from stator.program.opset.queries import NOTES, kind_of
from stator.program.program import Program
from stator.program.raise_fields import FORM, LEAF, is_attribute
from stator.values.exceptions import (
    NO_EXCEPTIONS,
    ExceptionParts,
    KnownExceptions,
    exception_of,
    link,
)

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Capability(enum.Enum):
    """What a backend may be able to do; the value completes "it cannot ..."."""

    OBSERVERS = "report each op to an observer"
    HOST_CALLBACKS = "call back into Python"
    PENDING_EFFECTS = "report the effects that precede an error"
    GRADIENTS = "record gradients"
    KEPT_VALUES = "keep values until their block ends"


class EffectsDone(NamedTuple):
    """The last note that a run passed: its number, and the values that it names."""

    number: int
    values: Sequence[object]


@dataclass(frozen=True, slots=True)
class RaisedError:
    """What a program raised, and what had happened by then."""

    class_name: str  # of a builtin exception, or "SizeCheckFailed"
    args: tuple[object, ...]
    classes: tuple[str, ...] = ()  # that the user wrote, `module.qualname`, the class itself first
    fields: Mapping[str, object] = field(default_factory=dict)  # attributes of a user's exception
    place: Location | None = None  # of the op that raised
    notes: tuple[str, ...] = ()  # for `add_note`: the place, and what the op was given
    involved: Mapping[str, str] = field(default_factory=dict)  # input -> type: SizeCheckFailed
    effects: EffectsDone | None = None
    before_running: bool = False  # a size check failed before anything else ran
    error: Exception | None = None  # the exception itself, notes included, where Python raised it
    context: RaisedError | None = None  # what a handler had caught, which raised this one

    def exception(self, known: KnownExceptions = NO_EXCEPTIONS) -> Exception:
        """The exception to raise: of the user's own class, and whole, if it is `known`."""
        error = self.error if self.error is not None else self._made()
        own = self._whole(error, known)
        if self.context is not None:
            link(own, self.context.exception(known))
        return own

    def _made(self) -> Exception:
        if self.class_name == SizeCheckFailed.__name__:
            problem = str(self.args[0])
            violated = SizeCheckFailed(problem, at=self.place, before_running=self.before_running)
            violated.involved = self.involved
            return violated
        error = builtin_exception(self.class_name, self.args)
        for note in self.notes:
            error.add_note(note)
        return error

    def _whole(self, error: Exception, known: KnownExceptions) -> Exception:
        """`error` with all that user code gave it; its constructor ran when it was captured."""
        number = self.fields.get(FORM)
        if isinstance(number, int) and number < len(known.forms):
            leaves = [value for name, value in self.fields.items() if name.startswith(LEAF)]
            own = unflatten(known.forms[number], leaves, classes=known.records)
            return _completed(own, error)
        fields = {name: value for name, value in self.fields.items() if is_attribute(name)}
        if self.classes and self.classes[0] in known.classes:
            cls: Any = known.classes[self.classes[0]]
            parts = ExceptionParts(error.args, fields)
            return _completed(exception_of(cls, parts), error)
        if not self.classes:
            vars(error).update(fields)
        complete(error, self.fields)
        return error


def _completed(own: Any, error: Exception) -> Exception:
    """`own` in the place of `error`, with the notes that a run has added."""
    for note in getattr(error, "__notes__", ()):
        if note not in getattr(own, "__notes__", ()):
            own.add_note(note)
    result: Exception = own.with_traceback(error.__traceback__)
    return result


Outcome = (
    tuple[object, ...] | RaisedError
)  # the flat outputs: tensors, numbers, lists, strings, None
Run = Callable[[Sequence[object]], Outcome]


def direct_run(run: Run) -> object | None:
    """What the entry of a call may run in place of `run`, if the backend is native."""
    return getattr(run, "direct", None)


RegionState = tuple[Location | None, str]  # where a region begins, and how far it is


def region_states(run: Run) -> tuple[RegionState, ...]:
    """How far each region of a bound program is, in order, if its backend compiles regions."""
    states: Callable[[], tuple[RegionState, ...]] | None = getattr(run, "region_states", None)
    return () if states is None else states()


def values_of(outcome: Outcome) -> tuple[object, ...]:
    """The outputs; an exception for what was raised."""
    if isinstance(outcome, RaisedError):
        try:
            raise outcome.exception()
        finally:
            del outcome  # it holds the exception, whose traceback holds this frame
    return outcome


HostCallback = Callable[[Sequence[Any], Mapping[str, Any]], Sequence[Any]]  # args, attributes
HostCallbacks = Mapping[str, HostCallback]  # by the name of the op


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the runs of a program differ from the default."""

    release: bool = True  # a value is dropped after its last use, not when its block ends
    observer: Observer | None = None
    host: Callable[[], HostCallbacks] | None = None  # makes the callbacks for one run
    gradients: bool = True  # a run may record gradients
    fuses: bool = True  # several ops may be compiled as one, up to rounding


DEFAULT_OPTIONS = RunOptions()


class Executable(Protocol):
    """A program that a backend has prepared. Any number of threads may use it at once."""

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        """The program over these tensors; InputError if one is missing.

        The tensors are the live ones: a run reads them as they are then, and may write to them.
        """


class Backend(Protocol):
    """Runs programs."""

    @property
    def name(self) -> str:
        """What `backend=` calls it."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it can do of what not every backend can."""

    def refusal(self, program: Program) -> str:
        """Why it cannot run `program`, though it has the capabilities; empty if it can."""

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Executable:
        """`program`, ready to be bound and run; it must not be changed afterwards."""


def needs_of(program: Program, options: RunOptions) -> frozenset[Capability]:
    """What a backend must be capable of to run `program` like this."""
    ops = [*program.ops()]
    host = {op.name for op in ops if kind_of(op) == "host"}
    needs = {
        Capability.OBSERVERS: options.observer is not None,
        Capability.HOST_CALLBACKS: not host <= {*NOTES},
        Capability.PENDING_EFFECTS: any(op.name in NOTES for op in ops),
        Capability.GRADIENTS: options.gradients,
        Capability.KEPT_VALUES: not options.release,
    }
    return frozenset(need for need, is_there in needs.items() if is_there)
