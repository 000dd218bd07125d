"""Functions of torch that are replaced as long as a capture runs, and what they were.

Python code of torch that is not converted calls other functions of torch. A capture replaces a few
of them, for its own thread, so that it sees those calls. Converted code, and guards, see the
original function everywhere.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

_originals: dict[
    int, Callable[..., Any]
] = {}  # by the id of the replacement, which its owner keeps


def original_of(value: object) -> Any:
    """What `value` replaces; `value` itself if it replaces nothing."""
    if not _originals:
        return value
    if isinstance(value, types.MethodType) and id(value.__func__) in _originals:
        return types.MethodType(_originals[id(value.__func__)], value.__self__)
    return _originals.get(id(value), value)


@contextlib.contextmanager
def replaced(owner: object, name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Inside, this thread calls `replacement` where torch calls `owner.name`."""
    original = vars(owner)[name]
    is_classmethod = isinstance(original, classmethod)
    function = original.__func__ if is_classmethod else original
    thread = threading.get_ident()

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        chosen = replacement if threading.get_ident() == thread else function
        return chosen(*args, **kwargs)

    installed: Any = classmethod(call) if is_classmethod else call
    _originals[id(call)] = function
    _originals[id(installed)] = original
    setattr(owner, name, installed)
    try:
        yield
    finally:
        setattr(owner, name, original)
        del _originals[id(call)]
        _originals.pop(id(installed), None)
