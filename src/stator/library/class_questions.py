"""asking(): `isinstance` and `issubclass`, where a class of the user's has a say."""

from __future__ import annotations

import abc
import contextlib
import sys
from collections.abc import Iterable, Iterator

from stator.library.user_methods import are_asked
from stator.state.session import Session
from stator.state.unconverted import watched


@contextlib.contextmanager
def asking(session: Session, name: str, classes: Iterable[object]) -> Iterator[None]:
    """Inside, the question `name` is asked about `classes`.

    An abstract class may get another subclass between two calls, by its `register`.
    """
    classes = tuple(classes)
    if any(isinstance(one, abc.ABCMeta) and not _is_standard(one) for one in classes):
        session.reads.watch_call(abc.get_cache_token, (), abc.get_cache_token())
    with watched(session, name) if are_asked(classes) else contextlib.nullcontext():
        yield


def _is_standard(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in sys.stdlib_module_names
