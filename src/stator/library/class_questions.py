"""`isinstance`, `issubclass` and `type`: of captured values, and where a user's class has a say."""

from __future__ import annotations

import abc
import collections
import contextlib
import functools
import sys
from collections.abc import Iterable, Iterator

import torch

from stator.capture.try_block import error_names
from stator.containers import lists
from stator.containers.iteration import CapturedRange
from stator.library.captured_values import flat_classes
from stator.library.iterator_classes import iterator_class
from stator.library.user_methods import are_asked
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.values.annotations import Staged
from stator.values.pooled import PooledObject
from stator.values.staged import (
    StagedCounter,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedOrderedDict,
    StagedSet,
)
from stator.values.symbolic import CapturedComplex, CapturedText, CaughtError, CaughtType, Undefined
from stator.values.union import distribute, first_union, over_unions

PYTHON_TYPES = {
    torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool, CapturedComplex: complex,
    CapturedText: str, StagedDeque: collections.deque, StagedList: list,
    StagedDefaultDict: collections.defaultdict, StagedCounter: collections.Counter,
    StagedOrderedDict: collections.OrderedDict, StagedDict: dict, StagedSet: set,
    CapturedRange: range,
}  # fmt: skip


@contextlib.contextmanager
def _asking(session: Session, name: str, classes: Iterable[object]) -> Iterator[None]:
    """Inside, the question `name` is asked about `classes`.

    An abstract class may get another subclass between two calls, by its `register`.
    """
    classes = tuple(classes)
    if any(isinstance(one, abc.ABCMeta) and not _is_standard(one) for one in classes):
        session.reads.watch_call(abc.get_cache_token, (), abc.get_cache_token())
    with watched(session, name) if are_asked(classes) else contextlib.nullcontext():
        yield


@over_unions("value", undefined=True)
def is_instance(session: Session, value: Staged, classes: Staged) -> Staged:
    """`isinstance(value, classes)`."""
    if isinstance(value, Undefined):
        raise value.error()
    if first_union(classes) is not None:
        return distribute(lambda one: is_instance(session, value, one), (classes,), {})
    if lists.is_captured(value) and value.is_tuple:
        value = ()
    wanted = flat_classes(classes)
    if isinstance(value, CaughtError):
        return value.is_a(error_names(wanted))
    cls = iterator_class(value)
    if cls is not None or isinstance(value, StagedDeque):
        known = cls or collections.deque
        return issubclass(known, tuple(c for c in wanted if isinstance(c, type)))
    for captured, python in PYTHON_TYPES.items():
        if isinstance(value, captured):
            return issubclass(python, tuple(c for c in wanted if isinstance(c, type))) or (
                isinstance(value, classes)
            )
    with _asking(session, "isinstance", wanted):
        return isinstance(value, classes)


def is_subclass(session: Session, cls: Staged, classes: Staged) -> Staged:
    """`issubclass(cls, classes)`."""
    if first_union((cls, classes)) is not None:
        return distribute(functools.partial(is_subclass, session), (cls, classes), {})
    if isinstance(cls, CaughtType):
        return cls.error.is_a(error_names(flat_classes(classes)))
    with _asking(session, "issubclass", flat_classes(classes)):
        return issubclass(cls, classes)


@over_unions("args")
def type_of(_session: Session, *args: Staged, **kwargs: Staged) -> Staged:
    """`type(*args)`."""
    if len(args) != 1:
        return type(*args, **kwargs)
    value = args[0]
    cls = iterator_class(value)
    if cls is not None:
        return cls
    if isinstance(value, CaughtError):
        return CaughtType(value)
    if isinstance(value, PooledObject):
        return value.__class__
    if isinstance(value, torch.Tensor) and type(value) is not torch.nn.Parameter:
        is_parameter = isinstance(value, torch.nn.Parameter)
        return torch.nn.Parameter if is_parameter else torch.Tensor
    if lists.is_captured(value) and value.is_tuple:
        return tuple
    return next((p for c, p in PYTHON_TYPES.items() if isinstance(value, c)), type(value))


def _is_standard(cls: type) -> bool:
    return cls.__module__.partition(".")[0] in sys.stdlib_module_names
