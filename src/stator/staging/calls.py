"""call(): convert the callee, record it, or leave it alone?

The first row of `Caller.rules` whose predicate holds takes the call. User code is converted and
run; library code (torch, numpy, the standard library) runs as it is, with captured values torn
apart into what it can take.
"""

from __future__ import annotations

import collections
import contextvars
import copy
import dataclasses
import functools
import inspect
import random
import types
from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from stator.capture.arrays import CapturedArray
from stator.capture.branches import capture_if
from stator.capture.numbers import Number
from stator.capture.places import current_place, is_library_file
from stator.capture.values import (
    CapturedText,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
    Undefined,
    Variant,
    distribute,
    first_variant,
)
from stator.errors import DataDependent, UnsupportedCall
from stator.location import Location
from stator.rewrite.convert import Converted, convert
from stator.staging import definitions, lists
from stator.staging.access import note_object
from stator.staging.builtin_calls import BuiltinCalls
from stator.staging.callbacks import WRITTEN_OUT, calls_back, is_transform, python_of
from stator.staging.contexts import FollowedAutocast
from stator.staging.dataclass_calls import makes_dataclass, new_dataclass
from stator.staging.deques import call_deque_method
from stator.staging.dict_calls import call_dict_method
from stator.staging.generators import StagedGenerator
from stator.staging.gradients import apply_function, is_function_apply, requires_grad
from stator.staging.library_objects import (
    call_variable,
    refuse_unfollowed,
    watch_object,
    watch_the_world,
)
from stator.staging.logic import same
from stator.staging.marks import is_left_alone, original_function
from stator.staging.modules import call_module, may_call_user_code, watch_tree
from stator.staging.number_calls import MATH_FUNCTIONS
from stator.staging.numpy_calls import call_numpy, is_numpy_function, numpy_dtype
from stator.staging.recursion import Recursion
from stator.staging.session import Session
from stator.staging.spreading import Rest, spread_rest
from stator.staging.tables import call_set_method
from stator.staging.tensor_calls import REFUSED_CALLS, TENSOR_METHODS, TORCH_FUNCTIONS

Args = tuple[Any, ...]
Keywords = dict[str, Any]
MUTABLE = (list, dict, set, collections.deque, contextvars.ContextVar)
MAKES_OBJECTS = frozenset({dataclasses.replace, copy.copy, copy.deepcopy})
WORLD = frozenset({"random", "secrets", "uuid", "_random"})
BUILTIN_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
COMPARING: dict[str, Any] = {
    "index": definitions.index_of, "count": definitions.count_of,
    "remove": definitions.remove_from,
}  # fmt: skip
FUNCTIONS: dict[Any, Any] = {
    **TORCH_FUNCTIONS, **MATH_FUNCTIONS, definitions.same: same, torch.autocast: FollowedAutocast,
}  # fmt: skip
SPREAD = "stator_spread__"  # the keyword under which `**variant` arrives
STAND_IN = 0.3141592653589793  # a probability, a momentum, a small number: what ops take
UNIFORM = (r"\b(?:(?:np|numpy)\.)?random\.(?:random|rand)\(\)", "torch.rand(())")


class Spread:
    """`*variant` in the arguments of a call."""

    def __init__(self, values: Variant) -> None:
        self.values = values


def _named(name: str, value: Any) -> dict[str, Any]:
    """A keyword argument that may be absent."""
    return {} if isinstance(value, Undefined) else {name: value}


def _may_be_absent(name: str, value: Any) -> bool:
    """Does it depend on the path whether this keyword is passed?"""
    return isinstance(value, Variant) and (
        name == SPREAD or any(isinstance(one, Undefined) for one in value.alternatives)
    )


class Caller:
    """Makes the calls of one capture."""

    def __init__(self, session: Session, staging: object) -> None:
        self.session, self.staging = session, staging
        self.builtins = BuiltinCalls(session, self)
        self.recursion = Recursion(session)
        self.rules: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
            (lambda f: isinstance(f, Variant), self._call_variant),
            (is_left_alone, self._call_left_alone),
            (is_function_apply, lambda f, a, k: apply_function(session, f, a, k)),
            (lambda f: isinstance(f, functools.partial), self._call_partial),
            (lambda f: isinstance(f, functools._lru_cache_wrapper), self._call_cached),
            (self.builtins.knows, self.builtins.call),
            (is_numpy_function, self._call_numpy),
            (lambda f: original_function(f) is not None, self._call_static_function),
            (lambda f: isinstance(f, types.MethodType), self._call_method),
            (lambda f: isinstance(f, BUILTIN_METHODS), self._call_builtin_method),
            (lambda f: isinstance(f, torch.nn.Module), self._call_module),
            (lambda f: isinstance(f, types.FunctionType), self._call_function),
            (lambda f: isinstance(f, type), self._call_class),
            (_has_python_call, self._call_object),
        )  # fmt: skip

    def __call__(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """`function(*args, **kwargs)` in converted code."""
        if kwargs or any(type(arg) is Spread for arg in args):
            chosen = self._choose_arguments(function, args, kwargs)
            if chosen is not None:
                return chosen[0]
        if any(type(arg) is Rest for arg in args):
            args = spread_rest(self.session, function, args)
        args = tuple(map(self.session.seen, args))
        for holds, handle in self.rules:
            if holds(function):
                return handle(function, args, kwargs)
        return self.library(function, args, kwargs)

    def _choose_arguments(self, function: Any, args: Args, kwargs: Keywords) -> tuple[Any] | None:
        """Arguments whose number depends on the path: one call for each way."""
        apply = self.session.recorder.apply_all
        at = next((k for k, arg in enumerate(args) if type(arg) is Spread), None)
        if at is not None:
            first, last = args[:at], args[at + 1 :]
            return (
                apply(args[at].values, lambda one: self(function, *first, *one, *last, **kwargs)),
            )
        name = next((key for key, value in kwargs.items() if _may_be_absent(key, value)), None)
        if name is None:
            return None
        rest = {key: other for key, other in kwargs.items() if key != name}
        if name == SPREAD:
            return (apply(kwargs[name], lambda one: self(function, *args, **rest, **one)),)
        return (
            apply(kwargs[name], lambda one: self(function, *args, **rest, **_named(name, one))),
        )

    def _call_numpy(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        if first_variant((args, kwargs)) is not None:
            return distribute(lambda *a, **k: self._call_numpy(function, a, k), args, kwargs)
        return call_numpy(self.session, function, args, kwargs)

    # ---- user code

    def _call_variant(self, function: Variant, args: Args, kwargs: Keywords) -> Any:
        return self.session.recorder.apply(function, lambda one: self(one, *args, **kwargs))

    def _call_cached(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """A cached function is called as it is: its cache is for real values."""
        return self(function.__wrapped__, *args, **kwargs)

    def _call_partial(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        return self(function.func, *function.args, *args, **{**function.keywords, **kwargs})

    def _call_static_function(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """A callee that is static itself is captured as part of this program."""
        return self(original_function(function), *args, **kwargs)

    def _call_method(self, method: types.MethodType, args: Args, kwargs: Keywords) -> Any:
        owner: Any = self.session.seen(method.__self__)
        if isinstance(owner, torch.Tensor):
            return self._call_tensor_method(method, args, kwargs)
        if isinstance(owner, CapturedArray):
            return self._call_array_method(method, args, kwargs)
        if isinstance(owner, StagedDict | StagedSet | StagedDeque):
            return self._call_builtin_method(method, args, kwargs)
        function = method.__func__
        if function is torch.nn.Module.__call__:
            return call_module(self.session, self, owner, args, kwargs)
        if isinstance(function, types.FunctionType) and not self._is_library(function):
            return self._call_function(function, (owner, *args), kwargs)
        if isinstance(owner, torch.nn.Module) and isinstance(function, types.FunctionType):
            return self._call_module_method(method, function, args, kwargs)
        return self.library(method, args, kwargs)

    def _call_module_method(
        self, method: Any, function: types.FunctionType, args: Args, kwargs: Keywords
    ) -> Any:
        """A method of one of torch's own modules: converted where it may call user code."""
        owner = method.__self__
        if may_call_user_code(owner):
            return self.run(function, (owner, *args), kwargs)
        return self.library(method, args, kwargs)

    def _call_module(self, module: torch.nn.Module, args: Args, kwargs: Keywords) -> Any:
        if type(module).__call__ is not torch.nn.Module.__call__:
            return self._call_object(module, args, kwargs)
        return call_module(self.session, self, module, args, kwargs)

    def _call_function(self, function: types.FunctionType, args: Args, kwargs: Keywords) -> Any:
        if function in FUNCTIONS or self._is_library(function):
            module = str(function.__module__)
            if module.partition(".")[0] != "torch":
                self.session.decide("call", "library", f"{module}.{function.__name__}")
            return self.library(function, args, kwargs)
        return self.run(function, args, kwargs)

    def run(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """Run the staged form of `function`; a generator runs where its items are used."""
        function = WRITTEN_OUT.get(function, function)
        if function.__code__.co_flags & inspect.CO_GENERATOR:
            new = self.converted(function)
            return StagedGenerator(
                self.session, function.__name__, lambda consumer: new(consumer, *args, **kwargs)
            )
        return self.recursion.run(function, self.converted(function), args, kwargs)

    def _call_left_alone(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        self.session.decide("call", "left alone", name)
        return self.library(function, args, kwargs)

    def _is_library(self, function: types.FunctionType) -> bool:
        if function.__module__ == definitions.__name__:  # Python's builtins, written in Python
            return False
        return is_library_file(function.__code__.co_filename) and not calls_back(function)

    def converted(self, function: types.FunctionType) -> types.FunctionType:
        """The staged form of `function`; what it reads from outside is watched from now on."""
        session = self.session
        if function not in session.converted:
            if function.__code__ not in session.born_codes:
                session.guards.read_function(function)
            done = convert(function, self.staging)
            session.converted[function] = done.function
            session.decide("call", "converted", function.__qualname__, _defined(function))
            for name in done.global_reads:
                session.guards.read_global(function.__globals__, name, _defined(function))
            session.cells_written[done.function] = _cells(function, done.nonlocals)
            if function.__code__ not in session.born_codes:
                self._watch_cells(function, done)
            session.born_codes.update(_nested_codes(done.function.__code__))
            if done.globals_written:
                session.globals_written.add(done.function)
        new = session.converted[function]
        for cell in session.cells_written.get(new, {}).values():
            if function.__code__ in session.born_codes:
                session.recorder.born(cell)
            session.note(cell)
        if new in session.globals_written:
            session.guards.global_names(function.__globals__)
            session.note(function.__globals__)
        return new

    def _watch_cells(self, function: types.FunctionType, done: Converted) -> None:
        """The variables of an enclosing function that was there before the capture."""
        for cell in _cells(function, done.nonlocals).values():
            self.session.guards.own(cell)
        for name, cell in _cells(function, done.free_reads).items():
            self.session.guards.read_cell(cell, name)

    def _call_class(self, cls: Any, args: Args, kwargs: Keywords) -> Any:
        """A new object: `__init__` is converted where a user wrote it."""
        init = cls.__init__
        if issubclass(cls, BaseException):
            return self._new_exception(cls, init, args, kwargs)
        if makes_dataclass(cls):
            return new_dataclass(self.session, cls, args, kwargs)
        if (
            not isinstance(init, types.FunctionType)
            or cls.__new__ is not object.__new__
            or type(cls).__call__ is not type.__call__
            or issubclass(cls, torch.nn.Module)
            or self._is_library(init)
            or init.__code__.co_filename.startswith("<")
        ):
            made = self.library(cls, args, kwargs)
            if not isinstance(made, torch.Tensor | Variant):
                self.session.recorder.born(made)
            return made
        return self._new_object(cls, init, args, kwargs)

    def _new_object(self, cls: Any, init: types.FunctionType, args: Args, kwargs: Keywords) -> Any:
        new = object.__new__(cls)
        self.session.recorder.born(new)
        self.run(init, (new, *args), kwargs)
        return new

    def _new_exception(self, cls: Any, init: Any, args: Args, kwargs: Keywords) -> Any:
        """An exception keeps the captured values it is given: `raise` looks at them."""
        if not isinstance(init, types.FunctionType) or self._is_library(init):
            return cls(*args, **kwargs)
        new = cls.__new__(cls, *args, **kwargs)
        self.session.recorder.born(new)
        self._call_function(init, (new, *args), kwargs)
        return new

    def _call_object(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        return self(types.MethodType(type(function).__call__, function), *args, **kwargs)

    # ---- library code

    def _call_builtin_method(self, method: Any, args: Args, kwargs: Keywords) -> Any:
        """A method written in C: of a tensor, a list, a dict, a string."""
        owner, name = self.session.seen(method.__self__), method.__name__
        if isinstance(owner, BaseException | contextvars.ContextVar) or name == "__setattr__":
            return self._call_on_the_object(owner, name, method, args, kwargs)
        if isinstance(owner, StagedDeque):
            return call_deque_method(self.session, owner, name, args)
        if isinstance(owner, StagedList):
            if owner.is_tuple and name not in ("index", "count"):
                raise AttributeError(f"'tuple' object has no attribute '{name}'")
            self.session.note(owner)
            return self._call_list_method(owner, name, args, kwargs)
        if isinstance(owner, torch.Tensor):
            return self._call_tensor_method(method, args, kwargs)
        if isinstance(owner, dict):
            return call_dict_method(self.session, owner, name, method, args, kwargs)
        if isinstance(owner, set):
            return call_set_method(self.session, owner, method, args, kwargs)
        if isinstance(owner, MUTABLE):
            self.session.note(owner)
        if (
            isinstance(owner, tuple)
            and name in COMPARING
            and any(map(_is_captured, (*owner, *args)))
        ):
            return self.run(COMPARING[name], (owner, *args), {})
        if isinstance(owner, str | bytes) and any(map(_is_captured, args)):
            return self.builtins.call_text_method(owner, name, args, kwargs)
        return self.library(method, args, kwargs)

    def _call_on_the_object(
        self, owner: Any, name: str, method: Any, args: Args, kwargs: Keywords
    ) -> Any:
        """A method that is called as it is, whatever it is given; what it changes is noted."""
        if name == "__setattr__":
            note_object(self.session, owner)
        elif isinstance(owner, contextvars.ContextVar):
            return call_variable(self.session, owner, name, args)
        return method(*args, **kwargs)

    def _call_tensor_method(self, method: Any, args: Args, kwargs: Keywords) -> Any:
        if method.__name__ in TENSOR_METHODS:
            return TENSOR_METHODS[method.__name__](self.session, method.__self__, *args, **kwargs)
        return self.library(method, args, kwargs)

    def _call_array_method(self, method: Any, args: Args, kwargs: Keywords) -> Any:
        if method.__name__ in ("item", "tolist"):
            return TENSOR_METHODS[method.__name__](self.session, method.__self__.tensor, *args)
        args = tuple(map(numpy_dtype, args))
        return self.library(method, args, {k: numpy_dtype(v) for k, v in kwargs.items()})

    def _call_list_method(self, owner: StagedList, name: str, args: Args, kwargs: Keywords) -> Any:
        compares = name in COMPARING and (
            lists.is_captured(owner) or any(map(_is_captured, (*owner, *args)))
        )
        if name in COMPARING:
            lists.refuse_identity(owner)
        if compares and len(args) == 1:
            return self.run(COMPARING[name], (owner, *args), {})
        if name == "sort":
            lists.take_over(owner, self.builtins.call(sorted, (owner,), kwargs))
            return None
        if kwargs:
            return getattr(list, name)(owner, *args, **kwargs)
        args = tuple(self.session.index(arg) if name in ("insert", "pop") and k == 0 else arg
                     for k, arg in enumerate(args))  # fmt: skip
        return lists.call_list_method(self.session.recorder, owner, name, args)

    def library(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """A call that is not converted; captured values are made into what it can take."""
        self._refuse(function)
        if kwargs.get("requires_grad") is True and _is_from_torch(function):
            rest = {name: value for name, value in kwargs.items() if name != "requires_grad"}
            return requires_grad(self.session, self.library(function, args, rest))
        if function is object.__setattr__:
            note_object(self.session, args[0])
        owner = getattr(function, "__self__", None)
        if isinstance(owner, MUTABLE):
            self.session.note(owner)
        elif owner is not None:
            refuse_unfollowed(self.session, owner, getattr(function, "__name__", ""))
        if function in FUNCTIONS if _is_hashable(function) else False:
            return FUNCTIONS[function](self.session, *args, **kwargs)
        if first_variant((args, kwargs)) is not None:
            return distribute(lambda *a, **k: self.library(function, a, k), args, kwargs)
        split = self._split_bool(function, args, kwargs)
        if split is not None:
            return split[0]
        if _takes_captured_list(args, kwargs):
            return self._with_samples(function, args, kwargs)
        if (
            getattr(function, "__module__", "") == "torch.utils._pytree"
        ):  # it looks at exact classes
            args, kwargs = _plain_containers(args), _plain_containers(kwargs)
        self._watch_arguments(args, kwargs)
        if isinstance(owner, torch.nn.Module):
            watch_tree(self.session, owner)
        result = self._own_result(self._run_library(function, args, kwargs), (owner, *args))
        watch_the_world(self.session, function, args, result)
        if _is_hashable(function) and function in MAKES_OBJECTS:
            self.session.recorder.born(result)
        return result

    def _run_library(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """Library code runs as it is; Python code of torch that asks for data is converted too."""
        recorder = self.session.recorder
        mark, facts = recorder.mark(), set(recorder.sizes.facts[-1])
        try:
            return function(*args, **kwargs)
        except DataDependent:
            python = python_of(function)
            if python is None and not _is_op_with_float(function, args, kwargs):
                raise
            recorder.rewind(mark)
            recorder.sizes.forget(facts)
        if python is None:
            return self._with_stand_ins(function, args, kwargs)
        if isinstance(function, type):
            return self._new_object(function, python[0], args, kwargs)
        return self.run(python[0], (*python[1], *args), kwargs)

    def _with_stand_ins(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """An op that torch gives plain floats alone: one stands in until the op is recorded."""
        recorder = self.session.recorder

        def plain(value: Any) -> Any:
            if not isinstance(value, torch.SymFloat):
                return value
            stand_in = STAND_IN * (1 + len(recorder.stand_ins) / 1024)
            recorder.stand_ins[stand_in] = value
            return stand_in

        given = tuple(map(plain, args)), {name: plain(value) for name, value in kwargs.items()}
        try:
            result = function(*given[0], **given[1])
            if recorder.stand_ins:
                raise DataDependent(
                    f"`{function.__name__}` needs the value of a captured number",
                    at=current_place(), fix="compute it with other ops",
                )  # fmt: skip
        finally:
            recorder.stand_ins.clear()
        return result

    def _refuse(self, function: Any) -> None:
        found = REFUSED_CALLS.get(function) if _is_hashable(function) else None
        name = getattr(function, "__name__", "")
        owner = getattr(function, "__self__", None)
        if found is None and isinstance(owner, torch.Tensor):
            found = REFUSED_CALLS.get(name)
        if found is None and name in ("manual_seed", "seed") and _is_from_torch(function):
            found = ("the random seed is set inside a program", "set it before the call")
        if found is None and is_transform(function):
            found = ("a function transform of `torch.func` inside a program", "call it outside")
        if found is None and _reads_the_world(function):
            found = (f"`{name}` gives another value each time, and a program would keep this one",
                     "call it outside and pass the value, or use torch's functions")  # fmt: skip
        if found is not None:
            raise UnsupportedCall(
                found[0],
                at=current_place(),
                fix=found[1],
                edit=UNIFORM if name in ("random", "rand") else None,
            )

    def _split_bool(self, function: Any, args: Args, kwargs: Keywords) -> tuple[Any] | None:
        """Torch takes no symbolic bool: one call for each of its two values."""
        at = next((k for k, arg in enumerate(args) if isinstance(arg, torch.SymBool)), None)
        if at is not None:
            before, after = args[:at], args[at + 1 :]
            return (
                self._either(
                    args[at], lambda b: self.library(function, (*before, b, *after), kwargs)
                ),
            )
        name = next((key for key, arg in kwargs.items() if isinstance(arg, torch.SymBool)), None)
        if name is None:
            return None
        return (
            self._either(kwargs[name], lambda b: self.library(function, args, {**kwargs, name: b})),
        )

    def _either(self, condition: torch.SymBool, function: Callable[[bool], Any]) -> Any:
        return capture_if(
            self.session.recorder, condition, lambda: function(True), lambda: function(False)
        )

    def _watch_arguments(self, args: Args, kwargs: Keywords) -> None:
        """Library code may write into a container, and reads what it likes of anything else."""
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, MUTABLE):
                self.session.note(arg)
            elif isinstance(arg, torch.nn.Module):
                watch_tree(self.session, arg)
            else:
                watch_object(self.session, arg, set())

    def _own_result(self, result: Any, args: Args) -> Any:
        """A real tensor that a call made just now (`torch.from_numpy`): every run needs its own."""
        if (
            isinstance(result, torch.Tensor)
            and not isinstance(result, FakeTensor | torch.nn.Parameter)
            and not any(isinstance(arg, torch.Tensor | torch.nn.Module) for arg in args)
        ):
            return result.clone()
        return StagedList(result) if type(result) is list else result

    def _with_samples(self, function: Any, args: Args, kwargs: Keywords) -> Any:
        """An op over a list of the program: traced on samples of two lengths to see what varies."""
        recorder = self.session.recorder
        with recorder.open():  # and dropped: the samples are known nowhere else
            other = function(*_sampled(recorder, args, 3), **_sampled(recorder, kwargs, 3))
            two_args, two_kwargs = _sampled(recorder, args, 2), _sampled(recorder, kwargs, 2)
        result = function(*two_args, **two_kwargs)
        if not isinstance(result, torch.Tensor):
            raise UnsupportedCall(
                f"`{getattr(function, '__name__', function)}` of a list whose length only a run "
                "knows is not supported",
                at=current_place(), fix="use torch.stack or torch.cat, or a loop",
            )  # fmt: skip
        return self._with_varying_sizes(result, other)

    def _with_varying_sizes(self, result: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        recorder = self.session.recorder
        sizes = [
            a if _same_size(a, b) and _is_seen(recorder, a) else recorder.fresh_size()
            for a, b in zip(result.shape, other.shape, strict=True)
        ]
        value = recorder.tensor_arg(result)
        varying = recorder.new_tensor(result.dtype, sizes, result.device, result.requires_grad)
        recorder.bind(varying, value)
        value.type = recorder.tensor_type(varying)
        return varying


def _plain_containers(tree: Any) -> Any:
    """`tree` with plain lists and dicts for those of staging."""
    if type(tree) is tuple:
        return tuple(map(_plain_containers, tree))
    if type(tree) in (list, StagedList):
        return [_plain_containers(item) for item in tree]
    if type(tree) in (dict, StagedDict):
        return {key: _plain_containers(item) for key, item in tree.items()}
    return tree


def _same_size(a: Any, b: Any) -> bool:
    left = a.node.expr if isinstance(a, torch.SymInt) else a
    return bool(left == (b.node.expr if isinstance(b, torch.SymInt) else b))


def _is_op_with_float(function: Any, args: Args, kwargs: Keywords) -> bool:
    """Is this an op of torch on tensors, which is given a captured float?"""
    values = (getattr(function, "__self__", None), *args, *kwargs.values())
    return (
        isinstance(function, types.BuiltinFunctionType)
        and any(isinstance(value, torch.Tensor) for value in values)
        and any(isinstance(value, torch.SymFloat) for value in values)
    )


def _is_from_torch(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).split(".")[0] == "torch"


def _defined(function: types.FunctionType) -> Location:
    code = function.__code__
    return Location(code.co_filename, code.co_firstlineno, 0, code.co_name)


def _reads_the_world(function: Any) -> bool:
    """Random numbers and clocks."""
    if isinstance(getattr(function, "__self__", None), random.Random):
        return True
    module = getattr(function, "__module__", None)
    if module == "time":
        return getattr(function, "__name__", "") != "sleep"
    owner = getattr(function, "__self__", None)
    return module in WORLD or (isinstance(owner, type) and owner.__module__ == "datetime")


def _is_seen(recorder: Any, size: Any) -> bool:
    return isinstance(size, int) or recorder.sees(size.node.expr)


def _sampled(recorder: Any, tree: Any, count: int) -> Any:
    if isinstance(tree, dict):
        return {key: _sampled(recorder, value, count) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_sampled(recorder, value, count) for value in tree)
    return lists.sample(recorder, tree, count) if lists.is_captured(tree) else tree


def _takes_captured_list(args: Args, kwargs: Keywords) -> bool:
    return any(map(lists.is_captured, (*args, *kwargs.values())))


def _is_captured(value: Any) -> bool:
    return isinstance(value, torch.Tensor | Number | Variant | CapturedText) or lists.is_captured(
        value
    )


def _cells(function: types.FunctionType, names: tuple[str, ...]) -> dict[str, types.CellType]:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return {name: cells[name] for name in names if name in cells}


def _nested_codes(code: types.CodeType) -> set[types.CodeType]:
    """The code of every function that `code` makes when it runs."""
    inner = {const for const in code.co_consts if isinstance(const, types.CodeType)}
    return inner.union(*map(_nested_codes, inner))


def _has_python_call(function: Any) -> bool:
    call = inspect.getattr_static(type(function), "__call__", None)
    return isinstance(call, types.FunctionType)


def _is_hashable(function: Any) -> bool:
    return type(function).__hash__ is not None and not isinstance(function, torch.nn.Module)
