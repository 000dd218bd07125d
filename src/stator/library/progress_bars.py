"""Bars of tqdm: each run makes its own, and moves it as eager code does."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from stator.library.progress_definitions import ProgressBar
from stator.state.host_calls import record_host_call
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged


def is_progress_bar(cls: type) -> bool:
    """Is it a class of tqdm's own?"""
    base = _base()
    return base is not None and issubclass(cls, base) and cls.__module__.split(".")[0] == "tqdm"


def _base() -> Any:
    return getattr(sys.modules.get("tqdm.std"), "tqdm", None)


def new_progress_bar(session: Session, cls: Staged, args: Args, kwargs: Keywords) -> Staged:
    """`tqdm(*args, **kwargs)`."""
    bound = inspect.signature(_base().__init__).bind(None, *args, **kwargs)
    options: dict[str, Any] = dict(bound.arguments)
    options.pop("self")
    options |= options.pop("kwargs", {})
    iterable = options.pop("iterable", None)
    if options.get("total") is None and iterable is not None:
        options["total"] = _length(session, iterable)
    shown = None
    if not _is_disabled(options):
        shown = record_host_call(session, cls, (), options, name=cls.__name__, result=object)
    bar = object.__new__(ProgressBar)
    session.provenance.add_created(bar)
    given = (bar, shown, iterable, options.get("total"), options.get("initial", 0))
    session.interpreter.call(ProgressBar.__init__, *given)
    return bar


def _is_disabled(options: dict[str, Any]) -> bool:
    disable = options.get("disable", False)
    if disable is None:  # where the stream is no terminal
        return not getattr(options.get("file") or sys.stderr, "isatty", lambda: True)()
    return bool(disable)


def _length(session: Session, iterable: Staged) -> Staged:
    """How many items there are; None where Python has no `len` of it."""
    try:
        return session.interpreter.call(len, iterable)
    except (TypeError, AttributeError):
        return None
