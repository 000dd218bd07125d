"""Recursion whose depth only a run knows: the function becomes one of the program's functions.

A call runs inline as long as it can. When a function is found several calls deep inside itself,
each under a condition of the program, the outermost of these calls is undone and captured as a
function.
"""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable
from dataclasses import dataclass

from stator.capture.functions import CapturedFunction, catches_overflow
from stator.capture.journal import Journal
from stator.capture.scope import may_be_seen
from stator.errors import UnsupportedCall
from stator.recursion_limit import users_limit
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.contents import state_of
from stator.values.describe import describe, generalise
from stator.values.merge import merge

INLINE_CALLS = 3  # this deep inside itself a function with other arguments is still unrolled
StagedForm = Callable[[], Callable[..., Staged]]  # notes the variables that the form writes


class RecursionFound(BaseException):
    """`activation` calls itself under captured conditions: unwind to it."""

    def __init__(self, activation: RunningCall) -> None:
        self.activation = activation


class RunningCall:
    """One running call of a converted function."""

    def __init__(self, depth: int, args: object) -> None:
        self.depth, self._args = depth, args

    def is_repeated_by(self, args: object) -> bool:
        """Are `args` of the same kind, so that Python knows of no end to this?"""
        kind = generalise(describe(self._args))
        return merge(kind, describe(args)) == kind


@dataclass(eq=False)
class Captured:
    """A function of the program, and the state outside of it that its capture relied on."""

    form: CapturedFunction
    held: tuple[object, ...] = ()  # the values of the variables of enclosing functions
    writes: int = -1  # the number of writes to objects before it

    def holds(self, session: Session, held: tuple[object, ...]) -> bool:
        """Is that state unchanged, so that another capture would give the same function?"""
        return (
            self.writes == session.journal.writes
            and len(held) == len(self.held)
            and all(map(operator.is_, held, self.held))
            and self.form.is_seen()
        )


class Recursion:
    """The running calls of one capture, and the functions of its program."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._running: dict[types.FunctionType, list[RunningCall]] = {}
        self._captured: dict[types.FunctionType, list[Captured]] = {}
        self._depth = 0  # of calls that run now
        self._writes = 0  # to objects, when the outermost of them began
        self._count = 0  # of the functions captured so far, those that were given up included

    def run(
        self, function: types.FunctionType, staged: StagedForm, args: Args, kwargs: Keywords
    ) -> Staged:
        """`staged()(*args, **kwargs)`, the form of `function`: inline, or as a function."""
        args, kwargs = _with_defaults(function, args, kwargs)
        call = (tuple(args), tuple(kwargs), tuple(kwargs.values()))
        known = self._known(function, call)
        if known is not None:
            return known.call(call)
        if self._depth >= users_limit():
            self._refuse_counting()
            raise RecursionError("maximum recursion depth exceeded")
        recorder = self.session.recorder
        running = self._running.setdefault(function, [])
        nested = [one for one in running if one.depth < recorder.depth]
        again = next((one for one in nested if one.is_repeated_by(call)), None)
        if again is not None or len(nested) >= INLINE_CALLS:
            raise RecursionFound(again or nested[0])
        if not self._depth:
            self._writes = self.session.journal.writes
        activation, mark = RunningCall(recorder.depth, call), recorder.mark()
        outer, recorder.journal = recorder.journal, Journal(recorder.journal)
        running.append(activation)
        self._depth += 1
        try:
            result = staged()(*args, **kwargs)
            recorder.journal.keep()
            return result
        except RecursionFound as found:
            if found.activation is not activation:
                recorder.journal.keep()
                raise
            recorder.journal.undo()
            recorder.rewind(mark)
        except BaseException:
            recorder.journal.keep()
            raise
        finally:
            self._depth -= 1
            running.remove(activation)
            recorder.journal = outer
        return self._capture(function, staged, call)

    def _refuse_counting(self) -> None:
        """An error where it can be seen how deep the calls were when the stack overflowed.

        How deep that is in eager code depends on the frames around the call.
        """
        recorder = self.session.recorder
        wrote = self.session.journal.writes != self._writes
        if wrote or catches_overflow(recorder) or may_be_seen(recorder.scope.block):
            raise UnsupportedCall(
                "a function calls itself more often than Python's limit allows, and what it does "
                "before the RecursionError depends on how many frames there were before it",
                fix="count the depth, and stop at a limit of your own",
            )  # fmt: skip

    def _known(self, function: types.FunctionType, call: object) -> CapturedFunction | None:
        """The captured form that takes this call: one being captured takes any."""
        forms = self._captured.get(function, ())
        held = _held_by(function)
        return next(
            (
                one.form
                for one in forms
                if not one.form.is_done or (one.holds(self.session, held) and one.form.covers(call))
            ),
            None,
        )

    def _capture(self, function: Staged, staged: StagedForm, call: Staged) -> Staged:
        session = self.session
        name = f"{function.__name__}_{self._count}"
        self._count += 1
        session.decisions.add("call", "recorded", f"{function.__qualname__} calls itself")
        captured = Captured(CapturedFunction(session.recorder, name, call))
        forms = self._captured.setdefault(function, [])
        forms.append(captured)
        try:
            captured.form.capture(lambda c: staged()(*c[0], **dict(zip(c[1], c[2], strict=True))))
        except BaseException:
            forms.remove(captured)
            raise
        result = captured.form.call(call)
        captured.held, captured.writes = _held_by(function), session.journal.writes
        return result


def _held_by(function: types.FunctionType) -> tuple[object, ...]:
    """What the closures of `function`, and of the functions in these, hold now."""
    seen: dict[int, object] = {}
    waiting: list[object] = [function]
    while waiting:
        one = waiting.pop()
        for cell in getattr(one, "__closure__", None) or ():
            for value in state_of(cell).values():
                if id(value) not in seen:
                    seen[id(value)] = value
                    waiting += [value] if isinstance(value, types.FunctionType) else []
    return tuple(seen.values())


def _with_defaults(
    function: types.FunctionType, args: Args, kwargs: Keywords
) -> tuple[Staged, Staged]:
    """The same call with positional arguments that it leaves out given by their defaults."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    first = len(names) - len(defaults)  # the first name that has a default
    if not defaults or code.co_flags & inspect.CO_VARARGS or len(args) < first:
        return args, kwargs
    left = {key: value for key, value in kwargs.items() if key not in names[len(args) :]}
    given = [
        kwargs[name] if name in kwargs else defaults[k - first]
        for k, name in enumerate(names)
        if k >= len(args)
    ]
    return (*args, *given), left
