"""Calls of classes: what a user wrote of `__call__`, `__new__` and `__init__` is converted."""

from __future__ import annotations

import dataclasses
import enum
import functools
import types
from collections.abc import Callable

import torch

from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library import attribute_definitions
from stator.library.dataclass_calls import makes_dataclass, new_dataclass
from stator.library.numpy_random import refuse_unseeded
from stator.library.progress_bars import is_progress_bar, new_progress_bar
from stator.library.user_methods import is_users, user_method
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.symbolic import CapturedText, Number
from stator.values.union import Union

Call = Callable[[Staged, Args, Keywords], Staged]
ATTRS = "<attrs generated"  # the name of a file in which `attrs` writes methods


class NewObjects:
    """Makes the objects of one capture; `run` converts a function, `library` leaves it as it is."""

    def __init__(
        self, session: Session, run: Call, library: Call, is_library: Callable[[Staged], bool]
    ) -> None:
        self.session, self.run, self.library, self._is_library = session, run, library, is_library

    def call(self, cls: Staged, args: Args, kwargs: Keywords) -> Staged:
        """`cls(*args, **kwargs)`."""
        own = user_method(cls, "__call__")
        if own is not None:
            return self.run(own, (cls, *args), kwargs)
        return self.make(cls, args, kwargs)

    def make(self, cls: Staged, args: Args, kwargs: Keywords) -> Staged:
        """`type.__call__(cls, *args, **kwargs)`."""
        init = cls.__init__
        if issubclass(cls, BaseException):
            return self._new_exception(cls, init, args, kwargs)
        if _is_looked_up(cls, args, kwargs):
            members = tuple((member.value, member) for member in cls)
            return self.run(attribute_definitions.member_of, (members, cls.__qualname__, *args), {})
        if is_progress_bar(cls):
            return new_progress_bar(self.session, cls, args, kwargs)
        _refuse_finalizer(cls)
        refuse_unseeded(cls, args, kwargs)
        if makes_dataclass(cls):
            return new_dataclass(self.session, cls, args, kwargs)
        is_called_by_user = is_users(type(cls).__call__)
        plainly = is_called_by_user or type(cls).__call__ is type.__call__
        if plainly:
            if is_users(cls.__new__):
                return self._new_by_user(cls, args, kwargs)
            if cls.__new__ is object.__new__ and self._is_converted(cls, init):
                return self.new_object(cls, init, args, kwargs)
        made = self.library(
            functools.partial(type.__call__, cls) if is_called_by_user else cls, args, kwargs
        )
        for one in made.alternatives if isinstance(made, Union) else (made,):
            if not isinstance(one, torch.Tensor):
                self.session.provenance.add_created(one)
        return made

    def new_object(self, cls: Staged, init: Staged, args: Args, kwargs: Keywords) -> Staged:
        """An object of a class without a `__new__`."""
        new = object.__new__(cls)
        self.session.provenance.add_created(new)
        self.run(init, (new, *args), kwargs)
        return new

    def _new_by_user(self, cls: Staged, args: Args, kwargs: Keywords) -> Staged:
        """What a user's `__new__` gives, which `__init__` gets if it is of this class."""
        init = cls.__init__
        begin = self.run if self._is_converted(cls, init) else self.library

        def initialized(new: Staged) -> Staged:
            if isinstance(new, cls) and init is not object.__init__:
                begin(init, (new, *args), kwargs)
            return new

        new = self.run(cls.__new__, (cls, *args), kwargs)
        if isinstance(new, Union):
            return self.session.recorder.apply_all(new, initialized)
        return initialized(new)

    def _new_exception(self, cls: Staged, init: object, args: Args, kwargs: Keywords) -> Staged:
        """An exception keeps the captured values it is given: `raise` looks at them."""
        if not self._is_converted(cls, init):
            new = cls(*args, **kwargs)
            self.session.provenance.add_created(new)
            return new
        new = cls.__new__(cls, *args, **kwargs)
        self.session.provenance.add_created(new)
        self.run(init, (new, *args), kwargs)
        return new

    def _is_converted(self, cls: type, init: object) -> bool:
        return (
            isinstance(init, types.FunctionType)
            and not self._is_library(init)
            and not _is_generated(cls, init)
        )


def _is_generated(cls: type, init: types.FunctionType) -> bool:
    """Have `dataclass` or `attrs` written it? Then all that it does is to set attributes."""
    file = init.__code__.co_filename
    return file.startswith(ATTRS) or (file == "<string>" and dataclasses.is_dataclass(cls))


def _refuse_finalizer(cls: type) -> None:
    if any("__del__" in vars(base) and is_users(vars(base)["__del__"]) for base in cls.__mro__):
        raise UnsupportedCall(
            f"{with_article(cls.__name__)} is created, and a program cannot call its "
            "`__del__`",
            fix="create it outside, or clean up in a method or a `with` statement",
        )  # fmt: skip


def _is_looked_up(cls: type, args: Args, kwargs: Keywords) -> bool:
    """Is it the member of an Enum for a value that only a run knows?"""
    if not issubclass(cls, enum.Enum) or issubclass(cls, enum.Flag) or len(args) != 1 or kwargs:
        return False
    is_plain = cls._missing_.__func__ is enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    return is_plain and isinstance(args[0], Number | CapturedText)
