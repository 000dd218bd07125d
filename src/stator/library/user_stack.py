"""called_from_here(): a function that each run calls as if user code were calling it.

`logging` and `warnings` look for the line that calls them: they walk the stack. In a run there are
frames of Stator. So a host call goes through a frame for each function of the user that led to it
when it was captured: with its file, line, name and globals.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stator.frames import CAPTURE_FILE, is_own_file, is_same_function, is_users

MOST_FRAMES = 16  # of those outside the call of the static function


class CallSite(NamedTuple):
    """A line of user code that calls."""

    file: str
    line: int
    name: str
    qualified: str
    names: dict[str, Any]


def called_from_here(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, such that what it finds on the stack is the user code that calls it now."""
    sites = tuple(_sites(_captured_frames()))

    def call(*args: Any, **kwargs: Any) -> Any:
        level = kwargs.get("stacklevel", 1)
        beyond = isinstance(level, int) and level > len(sites)
        outer = tuple(_sites(_outer_frames())) if beyond else ()
        return functools.reduce(_through, (*sites, *outer), function)(*args, **kwargs)

    return call


def _captured_frames() -> Iterator[types.FrameType]:
    """The frames of user code that the capture runs, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != CAPTURE_FILE:
        if is_users(frame):
            yield frame
        frame = frame.f_back


def _outer_frames() -> Iterator[types.FrameType]:
    """The frames around the call of a static function, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_own_file(frame.f_code.co_filename):
        frame = frame.f_back
    for _ in range(MOST_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _sites(frames: Iterator[types.FrameType]) -> Iterator[CallSite]:
    """A place for each function; the rewrite makes several of one, which are as many frames."""
    inner: types.FrameType | None = None  # where the function is
    last: types.FrameType | None = None
    for frame in frames:
        if last is not None and inner is not None and not is_same_function(last, within=frame):
            yield _site(inner, last)
            inner = None
        inner, last = inner or frame, frame
    if inner is not None and last is not None:
        yield _site(inner, last)


def _site(inner: types.FrameType, whole: types.FrameType) -> CallSite:
    code = whole.f_code
    return CallSite(
        code.co_filename, inner.f_lineno, code.co_name, code.co_qualname, whole.f_globals
    )


def _through(function: Callable[..., Any], site: CallSite) -> Callable[..., Any]:
    """`function`, called by a frame that is at `site`."""
    code = _forward.__code__.replace(
        co_filename=site.file, co_firstlineno=site.line, co_name=site.name,
        co_qualname=site.qualified,
    )  # fmt: skip
    return functools.partial(types.FunctionType(code, site.names), function)


# on one line, which becomes the user's
_forward: Any = lambda function, /, *args, **kwargs: function(*args, **kwargs)  # noqa: E731
