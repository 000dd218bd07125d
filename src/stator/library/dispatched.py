"""Functions under `functools.singledispatch`: the one for the class of the argument is called.

Which one that is, is guarded: others may be registered between calls. The class of a captured
value is that of the value that a run has.
"""

from __future__ import annotations

import functools
import types
from typing import Any

from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.union import Union

FUNCTION = "singledispatch.<locals>.wrapper"
METHOD = "singledispatchmethod.__get__.<locals>._method"
CODES = frozenset({FUNCTION, METHOD})


def is_dispatching(function: object) -> bool:
    """Does `function` choose another one by the class of its first argument?"""
    return (
        isinstance(function, types.FunctionType)
        and function.__code__.co_filename == functools.__file__
        and function.__code__.co_qualname in CODES
    )


def call_dispatched(session: Session, function: Any, args: Args, kwargs: Keywords) -> Staged:
    """`function(*args, **kwargs)`."""
    if not args:
        return function(*args, **kwargs)  # which raises, in Python's words
    if isinstance(args[0], Union):
        rest = args[1:]
        call = functools.partial(call_dispatched, session, function)
        return session.recorder.apply(args[0], lambda one: call((one, *rest), kwargs))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    is_method = function.__code__.co_qualname == METHOD
    dispatcher = cells["self"].cell_contents.dispatcher if is_method else function
    cls = session.interpreter.call(type, args[0])
    chosen = dispatcher.dispatch(cls)
    session.provenance.add_external(dispatcher)
    session.reads.watch(
        dispatcher, ("dispatch", cls), functools.partial(dispatcher.dispatch, cls), chosen,
        f"what {dispatcher.__name__} calls for a {cls.__name__}",
    )  # fmt: skip
    if is_method:
        chosen = chosen.__get__(cells["obj"].cell_contents, cells["cls"].cell_contents)
    return session.interpreter.call(chosen, *args, **kwargs)
