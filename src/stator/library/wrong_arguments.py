"""handled(): calls of builtins by their handlers; wrong arguments raise as they do in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stator.errors import UnsupportedCall
from stator.frames import traces_of
from stator.values.annotations import Args, Keywords, Staged


def handled(function: Any, handler: Callable[..., Any], args: Args, kwargs: Keywords) -> Staged:
    """`function(*args, **kwargs)`, by `handler`."""
    try:
        return handler(*args, **kwargs)
    except TypeError as error:
        if not _is_of_binding(error):
            raise
    function(*args, **kwargs)  # which raises, in Python's words, before it looks at a value
    raise UnsupportedCall(f"`{function.__name__}` with these arguments is not supported",
                          fix="pass fewer of them, or by position")  # fmt: skip


def _is_of_binding(error: TypeError) -> bool:
    """Does the handler not take the arguments? Then it, or what is around it, has not begun."""
    *_, last = traces_of(error)
    code = last.tb_frame.f_code
    return code is handled.__code__ or code.co_qualname.startswith("over_unions.")
