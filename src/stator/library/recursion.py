"""Recursion whose depth only a run knows: the function becomes one of the program's functions.

A call runs inline as long as it can. When a function is found several calls deep inside itself,
each under a condition of the program, the outermost of these calls is undone and captured as a
function.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable

from stator.capture.functions import CapturedFunction
from stator.capture.journal import Journal
from stator.recursion_limit import users_limit
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged

INLINE_CALLS = 3  # this deep inside itself a function is still unrolled


class RecursionFound(BaseException):
    """`activation` calls itself under captured conditions: unwind to it."""

    def __init__(self, activation: RunningCall) -> None:
        self.activation = activation


class RunningCall:
    """One running call of a converted function."""

    def __init__(self, depth: int) -> None:
        self.depth = depth


class Recursion:
    """The running calls of one capture, and the functions of its program."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._running: dict[types.FunctionType, list[RunningCall]] = {}
        self._captured: dict[types.FunctionType, list[CapturedFunction]] = {}
        self._depth = 0  # of calls that run now

    def run(
        self, function: types.FunctionType, new: Callable[..., Staged], args: Args, kwargs: Keywords
    ) -> Staged:
        """`new(*args, **kwargs)`, the converted form of `function`: inline, or as a function."""
        args, kwargs = _with_defaults(function, args, kwargs)
        call = (tuple(args), tuple(kwargs), tuple(kwargs.values()))
        known = self._known(function, call)
        if known is not None:
            return known.call(call)
        if self._depth >= users_limit():
            raise RecursionError("maximum recursion depth exceeded")
        recorder = self.session.recorder
        running = self._running.setdefault(function, [])
        nested = [one for one in running if one.depth < recorder.depth]
        if len(nested) >= INLINE_CALLS:
            raise RecursionFound(nested[0])
        activation, mark = RunningCall(recorder.depth), recorder.mark()
        outer, recorder.journal = recorder.journal, Journal(recorder.journal)
        running.append(activation)
        self._depth += 1
        try:
            result = new(*args, **kwargs)
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
        return self._capture(function, new, call)

    def _known(self, function: types.FunctionType, call: object) -> CapturedFunction | None:
        """The captured form that takes this call: one being captured takes any."""
        return next(
            (
                one
                for one in self._captured.get(function, ())
                if not one.is_done or one.covers(call)
            ),
            None,
        )

    def _capture(self, function: Staged, new: Callable[..., Staged], call: Staged) -> Staged:
        forms = self._captured.setdefault(function, [])
        name = f"{function.__name__}_{len(self.session.recorder.functions) + len(forms)}"
        self.session.decisions.add("call", "recorded", f"{function.__qualname__} calls itself")
        form = CapturedFunction(self.session.recorder, name, call)
        forms.append(form)
        try:
            form.capture(lambda c: new(*c[0], **dict(zip(c[1], c[2], strict=True))))
        except BaseException:
            forms.remove(form)
            raise
        return form.call(call)


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
