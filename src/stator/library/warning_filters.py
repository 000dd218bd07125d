"""Filters of warnings: what user code sets holds for the warnings that each run shows.

`with warnings.catch_warnings():` is entered by the capture, and what is called inside acts on the
filters of the capture. A warning is shown by each run. So it is given the filters that were put in
front of the caller's when it was captured. Outside of such a block a run sets filters itself.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from stator.errors import UnsupportedCall
from stator.state.callers_arrays import refuse_errors
from stator.state.session import Session

FILTER_CALLS = frozenset({warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings})
CERTAIN = frozenset({"ignore", "error", "always"})  # whatever was warned of before
REDIRECTS = (contextlib.redirect_stdout, contextlib.redirect_stderr)
Filter = tuple[Any, ...]


@contextmanager
def entered(session: Session, manager: Any) -> Iterator[Any]:
    """The block of `manager`, a manager of a library's: as it is, with what cannot be refused."""
    if isinstance(manager, REDIRECTS):
        raise UnsupportedCall(
            "output is redirected: a program prints at run time, and the redirection would end "
            "with the capture",
            fix="redirect it around the call, or build the text itself",
        )  # fmt: skip
    with manager as value:
        if isinstance(manager, warnings.catch_warnings):
            session.filter_scopes[id(warnings.filters)] = session.recorder.scope
        if isinstance(manager, numpy.errstate):
            refuse_errors(session)
        yield value


def sets_filters_in_runs(session: Session, function: object) -> bool:
    """Does a call of `function` set filters that stay after the call?"""
    if function not in FILTER_CALLS:
        return False
    if warnings.filters is session.outer_filters:
        return True
    if session.filter_scopes.get(id(warnings.filters)) is not session.recorder.scope:
        raise UnsupportedCall(
            "warning filters are set in a different branch or loop from the `with "
            "warnings.catch_warnings()` around them",
            fix="set them at the start of the `with`",
        )  # fmt: skip
    return False


def under_filters(session: Session, warn: Callable[..., Any]) -> Callable[..., Any]:
    """`warn`, with the filters that the capture has set by now."""
    if warnings.filters is session.outer_filters:
        return warn
    outer, now = tuple(session.outer_filters), tuple(warnings.filters)
    ways = (k for k in range(len(now) + 1) if _is_rest(now[k:], outer, now[:k]))
    new = next(ways, None)
    is_shown = warnings._showwarnmsg_impl is session.shows_warnings  # type: ignore[attr-defined]
    if new is None or not is_shown or any(one[0] not in CERTAIN for one in now[:new]):
        raise UnsupportedCall(
            "a warning is issued inside a `warnings.catch_warnings` that records warnings, or that "
            'adds filters other than "ignore", "error" and "always"',
            fix="use these filters only, without `record=True`, or use `stator.not_to_static`",
        )  # fmt: skip
    return functools.partial(_warn_under, now[:new], warn)


def _is_rest(rest: tuple[Filter, ...], outer: tuple[Filter, ...], new: tuple[Filter, ...]) -> bool:
    """Is `rest` what `outer` has beside `new`? A filter that is set again moves to the front."""
    return rest == tuple(one for one in outer if one not in new)


def _warn_under(
    new: tuple[Filter, ...], warn: Callable[..., Any], *args: Any, **kwargs: Any
) -> None:
    with warnings.catch_warnings():
        for action, message, category, module, line in reversed(new):
            warnings.filterwarnings(
                action, message.pattern if message else "", category,
                module.pattern if module else "", line,
            )  # fmt: skip
        warn(*args, **kwargs)
