"""Which calls of the standard library are host calls, and what they give.

A call is a host call if it acts on the world outside (a log, a stream, a file) or reads a clock.
`@stator.host_call` makes one of any function.
"""

from __future__ import annotations

import functools
import io
import logging
import sys
import time
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from stator.library.markers import host_mark
from stator.library.progress_bars import is_progress_bar
from stator.library.python_random import HOST_NAME, RESULTS, draw_of_run, is_draw
from stator.library.user_stack import called_from_here
from stator.library.warning_filters import sets_filters_in_runs, under_filters
from stator.state.handled_errors import caught_cause, handled_now
from stator.state.host_calls import record_host_call
from stator.state.session import Session
from stator.values.symbolic import CaughtError, HostObject

LOG_METHODS = frozenset(
    {"debug", "info", "warning", "warn", "error", "critical", "fatal", "exception", "log"}
)
LOGGER_PROTOCOL = ("debug", "info", "warning", "error", "critical", "exception", "log")
LOGGING_FUNCTIONS = frozenset(getattr(logging, name) for name in LOG_METHODS - {"fatal"})
STREAM_METHODS: Mapping[str, type | None] = {
    "write": int, "writelines": None, "flush": None, "close": None, "__enter__": object,
    "__exit__": object,
}  # fmt: skip
CLOCKS: Mapping[Any, type | None] = {
    time.time: float, time.perf_counter: float, time.monotonic: float, time.process_time: float,
    time.thread_time: float, time.time_ns: int, time.perf_counter_ns: int, time.monotonic_ns: int,
    time.process_time_ns: int, time.sleep: None,
}  # fmt: skip


@dataclass(frozen=True)
class HostRule:
    """What a host call calls, and the type of what it gives."""

    function: Callable[..., Any]
    name: str
    result: type | None
    logs: bool = False

    @property
    def makes_text(self) -> bool:
        """Does it only make text of its arguments?"""
        return self.logs


def host_rule(session: Session, function: Any) -> HostRule | None:
    """How a call of `function` is made by each run; None if it is no host call."""
    mark = host_mark(function)
    if mark is not None:
        return HostRule(function, getattr(function, "__qualname__", "a function"), mark.result)
    if is_draw(session, function):
        return HostRule(function, f"random.{function.__name__}", RESULTS[function.__name__])
    if isinstance(function, types.MethodType | types.BuiltinMethodType):
        found = _method_rule(function, session)
        if found is not None:
            return found
    if not isinstance(function, types.FunctionType | types.BuiltinFunctionType | type):
        return None
    if function in CLOCKS:
        return HostRule(function, f"time.{function.__name__}", CLOCKS[function])
    if function in LOGGING_FUNCTIONS:
        return HostRule(called_from_here(function), f"logging.{function.__name__}", None, logs=True)
    if function is warnings.warn:
        warn = under_filters(session, called_from_here(function))
        return HostRule(warn, "warnings.warn", None)
    if sets_filters_in_runs(session, function):
        return HostRule(function, f"warnings.{function.__name__}", None)
    if function is io.open:
        return HostRule(function, "open", object)
    return None


def with_error(session: Session, rule: HostRule, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments; a logging call that asks for it gets the exception that is being handled."""
    if not rule.logs:
        return dict(kwargs)
    asked = kwargs.get("exc_info", rule.name.endswith(".exception"))
    if isinstance(asked, CaughtError):
        return {**kwargs, "exc_info": caught_cause(session, asked)}
    if asked is not True and asked != 1:
        return dict(kwargs)
    return {**kwargs, "exc_info": handled_now(session)}


def _method_rule(method: Any, session: Session) -> HostRule | None:
    owner, name = method.__self__, method.__name__
    is_cached = isinstance(getattr(method, "__func__", None), functools._lru_cache_wrapper)
    if (name in LOG_METHODS or is_cached) and _is_logger(owner):  # cached: `warning_once`
        return HostRule(called_from_here(method), f"{type(owner).__name__}.{name}", None, logs=True)
    if name == "write" and isinstance(owner, type) and is_progress_bar(owner):
        return HostRule(method, f"{owner.__name__}.write", None)
    if _is_stream(owner, session) and name in STREAM_METHODS:
        return HostRule(method, f"{type(owner).__name__}.{name}", STREAM_METHODS[name])
    return None


def _is_logger(owner: Any) -> bool:
    """A logger of the standard library, or an object that has the methods of one."""
    if isinstance(owner, logging.Logger | logging.LoggerAdapter):
        return True
    cls = type(owner)
    return not isinstance(owner, torch.nn.Module) and all(
        callable(getattr(cls, name, None)) for name in LOGGER_PROTOCOL
    )


def _is_stream(owner: Any, session: Session) -> bool:
    """A file or stream that others see: one that the capture has created is Python's business."""
    is_stream = isinstance(owner, io.IOBase) or owner is sys.stdout or owner is sys.stderr
    return is_stream and not session.is_local(owner)


@dataclass(frozen=True)
class HostMethod:
    """A method of an object that only a run has."""

    owner: HostObject
    name: str

    def __call__(self, owner: Any, *args: Any, **kwargs: Any) -> Any:
        """Call the method of the object that the run has."""
        return getattr(owner, self.name)(*args, **kwargs)


def call_host_object(session: Session, method: HostMethod, args: Any, kwargs: Any) -> Any:
    """A call of such a method, which each run makes."""
    if not session.recorder.sees_value(method.owner.value):
        raise method.owner.refused()
    if method.owner.name == HOST_NAME:
        return draw_of_run(session, method.owner, method.name, args, kwargs)
    return record_host_call(
        session, method, (method.owner, *args), kwargs,
        name=f"{method.owner.name}(...).{method.name}",
        result=STREAM_METHODS.get(method.name, object),
    )  # fmt: skip
