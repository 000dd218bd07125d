"""Attributes: read, set and deleted by converted code."""

from __future__ import annotations

import functools
import inspect
import operator
import types
import weakref

import numpy
import torch
from torch.nn.utils import parametrize

from stator.capture.branches import defined
from stator.capture.inputs import read_callers_attribute
from stator.capture.recorder import Recorder
from stator.containers.iteration import CapturedRange
from stator.containers.machine_definitions import Machine, unbound
from stator.errors import UnsupportedCall
from stator.library.attribute_definitions import computed_or_fallback
from stator.library.host_rules import HostMethod
from stator.library.known_arrays import has_known, known_array
from stator.library.number_calls import number_attribute
from stator.library.text_methods import text_attribute
from stator.library.user_methods import (
    has_plainly,
    is_computed_if_absent,
    is_users,
    user_deleter,
    user_method,
    user_property,
    user_setter,
)
from stator.staging.access import shadowed
from stator.state.builtin_names import refuse_replacing
from stator.state.callers_arrays import WRITING, used_array, write_array
from stator.state.host_calls import record_host_call
from stator.state.library_objects import note_object
from stator.state.read_results import Contents
from stator.state.replaced import original_of
from stator.state.session import Session
from stator.state.snapshot import MODULE_TABLES
from stator.state.unconverted import watched
from stator.torch_private.fake import FakeTensor, is_same_memory
from stator.torch_private.ops import data_of
from stator.values.annotations import Staged
from stator.values.arrays import CapturedArray, KnownArray
from stator.values.attributes import class_attribute, own_attribute, own_dict
from stator.values.exceptions import NOTES, CaughtCause, is_kept_inside
from stator.values.slotted import HEAP_TYPE
from stator.values.staged import StagedContainer
from stator.values.symbolic import (
    CapturedComplex,
    CapturedText,
    CaughtError,
    HostObject,
    Number,
    StandIn,
    Undefined,
    refused_exception,
)
from stator.values.union import Union, maybe_absent, over_unions

GRAPH = "the autograd graph is not part of a program"
ABSENT = object()
WITHOUT_ATTRIBUTES = frozenset({
    type(None), bool, int, float, complex, str, bytes, tuple, list, dict, set, frozenset,
})  # fmt: skip
_READ_REQUIRES_GRAD = operator.attrgetter("requires_grad")
REFUSED_ATTRIBUTES = {
    "grad": "the gradient of a tensor changes from step to step",
    "grad_fn": GRAPH,
    "_version": "how often a tensor was written differs from path to path",
}


@over_unions("obj")
def get(session: Session, obj: Staged, name: str) -> Staged:
    """`obj.name`."""
    if isinstance(obj, numpy.ndarray):
        obj = (write_array if name in WRITING else used_array)(session, obj)
    if isinstance(
        obj,
        torch.Tensor | StandIn | StagedContainer | Number | CapturedText | CapturedComplex
        | Exception,
    ):  # fmt: skip
        found = _of_the_capture(session, obj, name)
        if found is not ABSENT:
            return found
    if isinstance(obj, torch.nn.Module):
        session.add_module(obj)
    if has_known(session, obj, name) or (isinstance(obj, CapturedArray) and name == "dtype"):
        return _symbolic_attribute(session, obj, name)
    if isinstance(obj, types.ModuleType):
        own = None if name in vars(obj) else vars(obj).get("__getattr__")
        if is_users(own):
            session.reads.watch_absent(obj, name)
            session.reads.read_attribute(obj, "__getattr__", own)
            return session.interpreter.call(own, name)
    held: Staged = own_dict(obj).get(name)
    if maybe_absent(held) and is_computed_if_absent(obj, name):
        return _or_computed(session, obj, name, held)
    return _get_now(session, obj, name)


def _get_now(session: Session, obj: Staged, name: str) -> Staged:
    """`obj.name`, where Python knows whether `obj` itself has it."""
    cached = inspect.getattr_static(type(obj), name, None)
    if isinstance(cached, functools.cached_property) and name not in vars(obj):
        set_attribute(session, obj, name, session.interpreter.call_method(cached.func, obj))
    getter = user_property(obj, name)
    if getter is not None:
        return _call_getter(session, getter, obj, name)
    if is_parametrized(obj, name):
        return session.interpreter.call(obj.parametrizations[name])
    fallback = user_method(obj, "__getattr__")
    if fallback is not None and not has_plainly(obj, name):
        return session.interpreter.call_method(fallback, obj, name)
    try:
        if user_method(obj, "__getattribute__") is None:
            value = original_of(getattr(obj, name))
        else:
            with watched(session, "getattr"):
                value = original_of(getattr(obj, name))
    except AttributeError as error:
        session.reads.read_absent_attribute(obj, name)
        raise _of_plain_class(error, obj, name) from None
    if maybe_absent(value):
        value = _or_class_attribute(session, obj, name, value)
    return _read(session, obj, name, value)


def _or_computed(session: Session, obj: Staged, name: str, held: Union) -> Staged:
    """`obj.name`, which only some paths have set: on the others the class computes it."""

    def of_a_path(value: Staged) -> Staged:
        if not isinstance(value, Undefined):
            return value
        note_object(session, obj)
        del obj.__dict__[name]  # where this path is taken, it is not there
        return get(session, obj, name)

    return session.recorder.apply_all(held, of_a_path)


def _call_getter(session: Session, getter: Staged, obj: object, name: str) -> Staged:
    """`obj.name`, which a property or a descriptor of the user's gives."""
    given = (obj, type(obj)) if isinstance(getter, types.MethodType) else (obj,)
    _read_descriptor(session, getter, obj, name)
    fallback = user_method(obj, "__getattr__")
    if fallback is None:
        return session.interpreter.call_method(getter, *given)
    if not isinstance(getter, types.MethodType):
        session.reads.read_method(obj, getter)
    session.reads.read_method(obj, fallback)
    return session.interpreter.call(computed_or_fallback, getter, given, fallback, name)


def _read_descriptor(session: Session, method: Staged, obj: object, name: str) -> None:
    """`method` of a descriptor that the class of `obj` has: which one it is, and its own state."""
    if not isinstance(method, types.MethodType):
        return
    owner = next(cls for cls in type(obj).__mro__ if name in vars(cls))
    if not session.is_local(owner):
        session.provenance.add_external(owner)
        session.reads.watch(owner, ("entry", name), lambda: vars(owner).get(name),
                            method.__self__, f"{owner.__name__}.{name}")  # fmt: skip
        session.provenance.add_external(method.__self__)


def _of_plain_class(error: AttributeError, obj: object, name: str) -> AttributeError:
    """The error of eager code, where a container of converted code is a plain list, dict or set."""
    if not isinstance(obj, StagedContainer):
        return error
    text = f"'{obj.plain.__name__}' object has no attribute '{name}'"
    return AttributeError(text, name=name, obj=obj)


@over_unions("obj")
def get_plainly(session: Session, obj: Staged, name: str) -> Staged:
    """`object.__getattribute__(obj, name)`, as a `__getattribute__` of a user's calls it."""
    if isinstance(obj, type | types.ModuleType | torch.Tensor | StandIn | StagedContainer | Number):
        return get(session, obj, name)
    if isinstance(obj, torch.nn.Module):
        session.add_module(obj)
    getter = user_property(obj, name)
    if getter is not None:
        return _call_getter(session, getter, obj, name)
    try:
        value = original_of(object.__getattribute__(obj, name))
    except AttributeError:
        session.reads.read_plain_absence(obj, name)
        raise
    if maybe_absent(value):
        value = _or_class_attribute(session, obj, name, value)
    if name == "__dict__" and type(value) is dict:
        session.provenance.add_attributes(value, obj)
        return value
    session.reads.read_plainly(obj, name, value)
    if own_attribute(obj, name, ABSENT) is ABSENT:
        _read_class_attribute(session, type(obj), name, value)
    return shadowed(session, value)


def _of_the_capture(session: Session, obj: Staged, name: str) -> Staged:
    """`obj.name` of a value that exists only during the capture; ABSENT where Python has it."""
    if name == "__class__":
        return session.interpreter.call(type, obj)
    if isinstance(obj, Number | CapturedComplex | HostObject):
        return _symbolic_attribute(session, obj, name)
    if isinstance(obj, CapturedText):
        return text_attribute(obj, name)
    if isinstance(obj, CaughtError) and name == "args":
        return obj.arguments()
    if isinstance(obj, CaughtError):
        return obj.attribute(name)
    if isinstance(obj, Exception):
        return _of_an_exception(session, obj, name)
    if isinstance(obj, CapturedRange) and not hasattr(obj, name):
        raise UnsupportedCall(f"`.{name}` of a range with data-dependent bounds is not supported",
                              fix="make a list of it first: `list(...)`")  # fmt: skip
    if isinstance(obj, torch.Tensor):
        if name == "grad" and _has_no_gradient(session, obj):
            return None
        _refuse_attribute(session, obj, name)
        read_callers_attribute(obj, name)
        if name == "requires_grad" and (obj.requires_grad or session.recorder.grad_varies):
            return _requires_grad(session, obj)
        if name == "data":
            return session.interpreter.call_library(data_of, (obj,), {})
        session.reads.read_tensor_method(name)
    return ABSENT


def _of_an_exception(session: Session, error: Exception, name: str) -> Staged:
    """What Python itself has set on an exception of this call: not what Stator has caught."""
    if session.provenance.is_external(error):
        return ABSENT
    if name == "__traceback__":
        raise UnsupportedCall("`.__traceback__` of an exception is different in every run",
                              fix="use its text (`str(error)`) or its class")  # fmt: skip
    if name == NOTES and NOTES in vars(error):
        return session.interpreter.call(list, tuple(error.__notes__))
    if name not in ("__cause__", "__context__"):
        return ABSENT
    exceptions = session.recorder.exceptions
    parts = exceptions.parts_of(error)
    found = parts.cause if name == "__cause__" else parts.context
    is_caught = any(error is one for one in exceptions.with_caught_context)
    if isinstance(found, CaughtCause) or (found is None and name == "__context__" and is_caught):
        raise refused_exception()
    return found


def _has_no_gradient(session: Session, tensor: torch.Tensor) -> bool:
    """Is `tensor` a buffer or a constant from outside without `.grad`? Each call checks it then."""
    if tensor.requires_grad or not session.provenance.is_external(tensor):
        return False
    if isinstance(tensor, FakeTensor) or tensor.grad is not None:
        return False
    of = weakref.ref(tensor)
    session.reads.watch(tensor, ("grad",), lambda: getattr(of(), "grad", None), None, "`.grad`")
    return True


def _refuse_attribute(session: Session, tensor: torch.Tensor, name: str) -> None:
    may_require_grad = tensor.requires_grad or session.recorder.grad_varies
    if name in REFUSED_ATTRIBUTES or (name == "is_leaf" and may_require_grad):
        why = REFUSED_ATTRIBUTES.get(name, GRAPH)
        raise UnsupportedCall(f"`.{name}` cannot be captured: {why}",
                              fix="read it where you call the function")  # fmt: skip


def _or_class_attribute(session: Session, obj: object, name: str, value: Union) -> Staged:
    """`obj.name`, where only some paths have set it: its class may have one for the others."""
    found = class_attribute(obj, name, ABSENT)
    if found is not ABSENT:
        return session.recorder.apply_all(
            value, lambda one: found if isinstance(one, Undefined) else one
        )
    error: Exception = AttributeError(
        f"'{type(obj).__name__}' object has no attribute '{name}'", name=name, obj=obj
    )
    if isinstance(obj, Machine):  # whose variables are attributes
        error = unbound(name)
    return defined(session.recorder, value, error)


def _read(session: Session, obj: Staged, name: str, value: Staged) -> Staged:
    """`value`, which `obj` has under `name`, as converted code sees it."""
    if name == "__dict__" and type(value) is dict and not isinstance(obj, types.ModuleType):
        session.provenance.add_attributes(value, obj)
        return value
    if isinstance(obj, type) and obj.__flags__ & HEAP_TYPE and not session.is_local(obj):
        session.provenance.add_external(obj)  # also as `type(self)`, or the `cls` of a method
    session.reads.read_attribute(obj, name, value)
    if own_attribute(obj, name, ABSENT) is ABSENT and not isinstance(obj, type | torch.Tensor):
        _read_class_attribute(session, type(obj), name, value)
    return shadowed(session, value)


def _read_class_attribute(session: Session, cls: type, name: str, value: object) -> None:
    """An attribute that an object has of its class: of an object that the call makes, too."""
    owner = next((base for base in cls.__mro__ if name in vars(base)), None)
    if owner is not None and owner.__flags__ & HEAP_TYPE and vars(owner)[name] is value:
        if not session.is_local(owner):
            session.provenance.add_external(owner)
        session.reads.read_attribute(owner, name, value)


def _requires_grad(session: Session, tensor: torch.Tensor) -> Staged:
    """`tensor.requires_grad`, which each run asks after a branch that one side leaves without."""
    if not session.recorder.grad_varies:
        return True
    return record_host_call(
        session, _READ_REQUIRES_GRAD, (tensor,), {}, name="Tensor.requires_grad", result=bool
    )


def _symbolic_attribute(session: Session, obj: Staged, name: str) -> Staged:
    if isinstance(obj, KnownArray):
        return known_array(session, getattr(obj.value, name), (obj,))
    if isinstance(obj, CapturedArray):
        return numpy.dtype(str(obj.tensor.dtype).removeprefix("torch."))
    if isinstance(obj, HostObject):
        return HostMethod(obj, name)
    return number_attribute(session, obj, name)


def is_parametrized(obj: object, name: str) -> bool:
    """Is `obj.name` computed by parametrizations, which users may have written?"""
    return isinstance(obj, torch.nn.Module) and parametrize.is_parametrized(obj, name)


@over_unions("obj")
def set_attribute(session: Session, obj: object, name: str, value: object) -> None:
    """`obj.name = value`."""
    if isinstance(obj, CaughtError):
        raise obj.refused()
    refuse_replacing(obj, name)
    own = user_method(obj, "__setattr__")
    if own is not None:
        session.interpreter.call_method(own, obj, name, value)
        return
    setter = user_setter(obj, name)
    if setter is not None:
        _read_descriptor(session, setter, obj, name)
        session.interpreter.call_method(setter, obj, value)
        return
    if name == "requires_grad" and isinstance(obj, torch.Tensor):
        session.interpreter.call(session.interpreter.get(obj, "requires_grad_"), value)
        return
    if name == "data" and _is_its_own(session.recorder, obj, value):
        return
    if name == "__class__":
        raise UnsupportedCall(
            "the class of an object is changed",
            fix="create an object of each class, and choose between them",
        )
    if name == "__dict__":
        raise UnsupportedCall("the `__dict__` of an object is replaced",
                              fix="set its attributes one by one")  # fmt: skip
    cls = session.interpreter.call(type, obj)
    if cls in WITHOUT_ATTRIBUTES:
        obj = cls()  # also for one of the program: to set it raises, in Python's words
    elif isinstance(obj, torch.nn.Module):
        _watch_place(session, obj, name)
    if isinstance(obj, BaseException) and is_kept_inside(obj, name):
        _refuse_earlier(session, obj, name)
    if cls not in WITHOUT_ATTRIBUTES:
        note_object(session, obj)
        session.wrote(obj, name)
    setattr(obj, name, value)


def _is_its_own(recorder: Recorder, tensor: object, value: object) -> bool:
    """Is `value` already the `.data` of this tensor? A `to` that changes nothing gives it."""
    if not (isinstance(tensor, torch.Tensor) and isinstance(value, torch.Tensor)):
        return False
    is_outside = not isinstance(tensor, FakeTensor)
    return is_outside and is_same_memory(recorder.as_fake(tensor), recorder.as_fake(value))


def _refuse_earlier(session: Session, error: BaseException, name: str) -> None:
    """Only what is in its `__dict__` is part of what a branch or a loop leaves of an exception."""
    if not session.provenance.created_since(session.recorder.scope)(error):
        raise UnsupportedCall(
            f"`.{name}` is set of an exception that was made outside this branch or loop",
            fix="make the exception where it is raised",
        )


def _watch_place(session: Session, module: torch.nn.Module, name: str) -> None:
    """Where a module keeps what is set depends on which of its tables have the name."""
    tables = {one: vars(module)[one] for one in MODULE_TABLES if one in vars(module)}

    def found() -> Contents:
        return Contents(tuple(name in table for table in tables.values()))

    what = f"where {type(module).__name__} keeps `{name}`"
    session.reads.watch(module, ("place", name), found, found(), what, *tables.values())


@over_unions("obj")
def delete_attribute(session: Session, obj: object, name: str) -> None:
    """`del obj.name`."""
    own = user_method(obj, "__delattr__")
    if own is not None:
        session.interpreter.call_method(own, obj, name)
        return
    deleter = user_deleter(obj, name)
    if deleter is not None:
        _read_descriptor(session, deleter, obj, name)
        session.interpreter.call_method(deleter, obj)
        return
    note_object(session, obj)
    held = own_attribute(obj, name)
    if maybe_absent(held):
        text = f"'{type(obj).__name__}' object has no attribute '{name}'"
        defined(session.recorder, held, AttributeError(text))
    else:  # whether it is there decides what the call does
        session.interpreter.call(hasattr, obj, name)
    delattr(obj, name)
