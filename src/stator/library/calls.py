"""call(): convert the callee, record it, or leave it alone?

The first row of `Caller.rules` whose predicate holds takes the call. User code is converted and
run; library code (torch, numpy, the standard library) runs as it is, with captured values torn
apart into what it can take.
"""

from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import torch

from stator.capture.conversions import index
from stator.containers import definitions, lists
from stator.containers.deques import call_deque_method
from stator.containers.dict_calls import call_dict_method
from stator.containers.machine_definitions import step
from stator.containers.maybe_keys import for_each_way, is_partial, refuse_partial
from stator.containers.pools import Pools, makes_containers
from stator.containers.set_operators import call_set_method
from stator.errors import DataDependent
from stator.frames import is_library_file
from stator.library.autocast import FollowedAutocast
from stator.library.bool_arguments import split_bool
from stator.library.builtin_calls import BuiltinCalls
from stator.library.cached_functions import call_cached
from stator.library.callbacks import REPLACED, calls_back, made_by, python_of, undecorated
from stator.library.captured_values import is_symbolic, takes_captured_list
from stator.library.converted_functions import ConvertedFunctions
from stator.library.deep_copies import deep_copy
from stator.library.definition_modules import DEFINITIONS
from stator.library.dispatched import call_dispatched, is_dispatching
from stator.library.exit_stacks import note_stack
from stator.library.float_arguments import is_op_with_float, record_with_floats, without_generator
from stator.library.generator_calls import call_with_generator, new_generator, takes_generator
from stator.library.gradients import apply_function, is_function_apply, requires_grad
from stator.library.host_rules import HostMethod, call_host_object, host_rule, with_error
from stator.library.iterator_calls import is_native, listed_for, staged_iterator
from stator.library.iterator_classes import QUESTIONS
from stator.library.known_arrays import NOT_KNOWN, compute_known, method_of
from stator.library.list_samples import call_with_samples
from stator.library.machines import Machines
from stator.library.markers import is_left_alone
from stator.library.modules import call_module, enumerates, may_call_user_code, members, tree_watch
from stator.library.named_texts import text_by_name, without_names
from stator.library.new_objects import NewObjects
from stator.library.new_trees import new_tree
from stator.library.number_calls import MATH_FUNCTIONS
from stator.library.numpy_calls import CUMULATED, call_numpy, is_numpy_function, numpy_dtypes
from stator.library.outside_iterators import iterated_arguments, whole_arguments
from stator.library.python_random import written_out
from stator.library.recursion import Recursion
from stator.library.refused_calls import is_from_torch, is_hashable, is_torch_op, refuse_call
from stator.library.scripted import is_refused, python_function, refuse_callee
from stator.library.shared_definitions import SharedDefinitions
from stator.library.standard_calls import GETTERS, call_getter
from stator.library.star_args import Rest, SpreadUnion, WrongSpread, choose_arguments, spread_rest
from stator.library.tensor_calls import TENSOR_METHODS, TORCH_FUNCTIONS
from stator.library.text import is_text_of_run, is_text_symbolic, missing_text
from stator.library.text_methods import TextMethod, call_text_method, is_method_of_str
from stator.library.unconverted_calls import call_pure, call_unconverted, is_computed, is_pure
from stator.library.user_keys import check_keys
from stator.library.user_methods import has_python_call
from stator.state.callers_arrays import unchanged_arrays
from stator.state.host_calls import record_host_call
from stator.state.library_objects import (
    add_existing,
    call_on_the_object,
    note_object,
    refuse_unfollowed,
    watch_object,
    watch_the_world,
)
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.torch_private import trees
from stator.torch_private.fake import FakeTensor
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray, ReversedArray
from stator.values.staged import (
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
    plain_containers,
    tick,
)
from stator.values.union import Union, distribute, first_union

MUTABLE = (list, dict, set, collections.deque, contextvars.ContextVar)
MAKES_OBJECTS = frozenset({dataclasses.replace, copy.copy, copy.deepcopy, object.__new__})
OWN_REFERENCES = 3  # to a new object: a variable here, a parameter, the argument of `getrefcount`
MAKERS = (type, functools.partial)
READ_ONLY = frozenset({"most_common", "total", "elements", "copy"})  # of a Counter
BUILTIN_METHODS = (types.BuiltinMethodType, types.MethodWrapperType)
KEEPS_ARGUMENTS = frozenset({"append", "appendleft", "insert", "add", "setdefault"})
COMPARING: dict[str, Any] = {
    "index": definitions.index_of, "count": definitions.count_of,
    "remove": definitions.remove_from,
}  # fmt: skip
FUNCTIONS: dict[Any, Any] = {
    **TORCH_FUNCTIONS, **MATH_FUNCTIONS, **QUESTIONS, torch.autocast: FollowedAutocast,
    torch.Generator: new_generator, copy.deepcopy: deep_copy, definitions.missing: missing_text,
    step: lambda session, *args: session.interpreter.machine("step", *args),
    definitions.same: lambda session, left, right: session.interpreter.same(left, right),
    object.__getattribute__: lambda session, obj, name: session.interpreter.get_plainly(obj, name),
}  # fmt: skip


class Caller:
    """Makes the calls of one capture."""

    def __init__(self, session: Session, staging: object, pools: Pools) -> None:
        self.session, self.pools = session, pools
        self.builtins = BuiltinCalls(session)
        self.recursion = Recursion(session)
        self.functions = ConvertedFunctions(session, staging)
        self.machines = Machines(session, self.functions)
        self.shared = SharedDefinitions(session, self._run_inline)
        self.objects = NewObjects(session, self.run, self.library, self._is_library)
        self.rules: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
            (lambda f: isinstance(f, Union),
             lambda f, a, k: session.recorder.apply(f, lambda one: self(one, *a, **k))),
            (is_refused, refuse_callee),
            (lambda f: isinstance(f, HostMethod),
             lambda f, a, k: call_host_object(session, f, a, k)),
            (lambda f: isinstance(f, TextMethod),
             lambda f, a, k: call_text_method(session, f.text, f.name, *a, **k)),
            (lambda f: host_rule(session, f) is not None, self._call_host),
            (written_out, lambda f, a, k: self.run(written_out(f), (f.__self__, *a), k)),
            (is_left_alone, self._call_left_alone),
            (is_function_apply, lambda f, a, k: apply_function(session, f, a, k)),
            (is_method_of_str, self._call_method_of_str),
            (lambda f: isinstance(f, functools.partial), self._call_partial),
            (lambda f: isinstance(f, functools._lru_cache_wrapper),
             lambda f, a, k: call_cached(session, f, a, k)),
            (is_dispatching, lambda f, a, k: call_dispatched(session, f, a, k)),
            (lambda f: isinstance(f, GETTERS), lambda f, a, k: call_getter(session, f, *a, **k)),
            (self.builtins.knows, self.builtins.call),
            (is_numpy_function, self._call_numpy),
            (lambda f: python_function(f) is not None, self._call_static_function),
            (lambda f: isinstance(f, types.MethodType), self._call_method),
            (lambda f: isinstance(f, BUILTIN_METHODS), self._call_builtin_method),
            (lambda f: isinstance(f, torch.nn.Module), self._call_module),
            (lambda f: isinstance(f, types.FunctionType), self._call_function),
            (lambda f: isinstance(f, type), self.objects.call),
            (has_python_call, self._call_object),
        )  # fmt: skip

    def __call__(self, function: object, /, *args: object, **kwargs: object) -> Staged:
        """`function(*args, **kwargs)` in converted code."""
        self.session.recorder.signals.check()
        if kwargs or any(type(arg) in (SpreadUnion, WrongSpread) for arg in args):
            chosen = choose_arguments(self.session, self, function, args, kwargs)
            if chosen is not None:
                return chosen[0]
        if any(type(arg) is Rest for arg in args):
            function, args, kwargs = spread_rest(self.session, function, args, kwargs)
        args = tuple(map(self.session.argument, args))
        handler = next((handle for holds, handle in self.rules if holds(function)), self.library)
        if makes_containers(function):
            return self.pools.called(function, lambda: handler(function, args, kwargs))
        start = tick()
        return self.pools.created(function, start, handler(function, args, kwargs))

    def _call_numpy(self, function: object, args: Args, kwargs: Keywords) -> Staged:
        if first_union((args, kwargs)) is not None:
            return distribute(lambda *a, **k: self._call_numpy(function, a, k), args, kwargs)
        refuse_call(function)
        return call_numpy(self.session, function, *self._seen(args, kwargs))

    def _seen(self, args: Args, kwargs: Keywords) -> tuple[Args, Keywords]:
        """The arguments, with lists of the caller's in them as the call has left them."""
        seen = self.session.seen
        return tuple(map(seen, args)), {name: seen(value) for name, value in kwargs.items()}

    # ---- user code

    def _call_host(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        rule = host_rule(self.session, function)
        assert rule is not None
        self.session.decisions.add("call", "host call", rule.name)
        given = with_error(self.session, rule, kwargs)
        args = tuple(map(self.session.stand_ins.copied, args)) if rule.makes_text else args
        return record_host_call(
            self.session, rule.function, args, given, name=rule.name, result=rule.result
        )

    def _call_method_of_str(self, method: Staged, args: Args, kwargs: Keywords) -> Staged:
        """`str.upper(text)`, as `map` calls it."""
        if not args or not is_text_symbolic(args):
            return self.library(method, args, kwargs)
        return self(self.session.interpreter.get(args[0], method.__name__), *args[1:], **kwargs)

    def _call_partial(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        provenance = self.session.provenance
        if provenance.is_external(function):  # what it binds was there before, too
            for value in (function.func, function.keywords, *function.args):
                provenance.add_external(value)
            self.session.reads.read_contents(function.keywords)
        return self(function.func, *function.args, *args, **{**function.keywords, **kwargs})

    def _call_static_function(self, function: object, args: Args, kwargs: Keywords) -> Staged:
        """A callee that is static itself, or scripted, is captured as part of this program."""
        return self(python_function(function), *args, **kwargs)

    def _call_method(self, method: types.MethodType, args: Args, kwargs: Keywords) -> Staged:
        owner: Any = self.session.staged(method.__self__)
        if isinstance(owner, torch.Tensor):
            return self._call_tensor_method(method, args, kwargs)
        if isinstance(owner, CapturedArray):
            return self._call_array_method(method, args, kwargs)
        if isinstance(owner, StagedDict | StagedSet | StagedDeque):
            return self._call_builtin_method(method, args, kwargs)
        function = undecorated(method.__func__)
        if isinstance(function, functools._lru_cache_wrapper):
            return call_cached(self.session, function, (owner, *args), kwargs)
        if function is torch.nn.Module.__call__:
            return call_module(self.session, owner, args, kwargs)
        is_python = isinstance(function, types.FunctionType)
        if is_python and self._is_converted(function, (owner, *args), kwargs):
            return self._call_function(function, (owner, *args), kwargs)
        if isinstance(owner, torch.nn.Module) and isinstance(function, types.FunctionType):
            return self._call_module_method(method, function, args, kwargs)
        return self.library(method, args, kwargs)

    def _call_module_method(
        self, method: Staged, function: types.FunctionType, args: Args, kwargs: Keywords
    ) -> Staged:
        """A method of one of torch's own modules: converted where it may call user code."""
        owner = method.__self__
        if enumerates(owner, function):
            return members(self.session, method, args, kwargs)
        if may_call_user_code(owner):
            return self.run(function, (owner, *args), kwargs)
        return self.library(method, args, kwargs)

    def _call_module(self, module: torch.nn.Module, args: Args, kwargs: Keywords) -> Staged:
        if type(module).__call__ is not torch.nn.Module.__call__:
            return self._call_object(module, args, kwargs)
        return call_module(self.session, module, args, kwargs)

    def _call_function(self, function: types.FunctionType, args: Args, kwargs: Keywords) -> Staged:
        function = undecorated(function)
        if function in FUNCTIONS or not self._is_converted(function, args, kwargs):
            module = str(function.__module__)
            if module.partition(".")[0] != "torch":
                self.session.decisions.add("call", "library", f"{module}.{function.__name__}")
            return self.library(function, args, kwargs)
        return self.run(function, args, kwargs)

    def run(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        """Run the staged form of `function`; a generator runs where its items are used."""
        function = REPLACED.get(function, function)
        if function.__code__.co_flags & inspect.CO_GENERATOR:
            return self.machines.generator(function, args, kwargs)
        return self.shared.run(function, args, kwargs)

    def _run_inline(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        staged = functools.partial(self.functions.staged, function)
        return self.recursion.run(function, staged, args, kwargs)

    def _call_left_alone(self, function: object, args: Args, kwargs: Keywords) -> Staged:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        self.session.decisions.add("call", "left alone", name)
        return self.library(function, args, kwargs)

    def _is_library(self, function: types.FunctionType) -> bool:
        if function.__module__ in DEFINITIONS:
            return False
        if str(function.__module__).startswith("namedtuple_"):  # generated, and without text
            return True
        return is_library_file(function.__code__.co_filename) and not calls_back(function)

    def _is_converted(self, function: types.FunctionType, args: Args, kwargs: Keywords) -> bool:
        return not self._is_library(function) or is_computed(function, args, kwargs)

    def _call_object(self, function: object, args: Args, kwargs: Keywords) -> Staged:
        return self(types.MethodType(type(function).__call__, function), *args, **kwargs)

    # ---- library code

    def _call_builtin_method(self, method: Staged, args: Args, kwargs: Keywords) -> Staged:
        """A method written in C: of a tensor, a list, a dict, a string."""
        text = text_by_name(self.session, method, args, kwargs)
        return self._call_in_c(method, args, kwargs) if text is None else text

    def _call_in_c(self, method: Staged, args: Args, kwargs: Keywords) -> Staged:
        owner, name = self.session.staged(method.__self__), method.__name__
        if isinstance(owner, BaseException | contextvars.ContextVar) or name == "__setattr__":
            return call_on_the_object(self.session, owner, name, method, args, kwargs)
        if name == "__getattribute__" and getattr(method, "__objclass__", None) is object:
            return self.session.interpreter.get_plainly(owner, *args)
        if name == "__call__" and getattr(method, "__objclass__", None) is type:
            return self.objects.make(owner, args, kwargs)
        if isinstance(owner, dict | set) or name in COMPARING:
            check_keys(self.session, *args)
        if name not in KEEPS_ARGUMENTS:
            args = iterated_arguments(self.session, list, args)
        args = listed_for(self.session, owner, name, args)
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
        return self._call_other_method(owner, name, method, args, kwargs)

    def _call_other_method(
        self, owner: Staged, name: str, method: Staged, args: Args, kwargs: Keywords
    ) -> Staged:
        if isinstance(owner, MUTABLE):
            self.session.note(owner)
        if (
            isinstance(owner, tuple)
            and name in COMPARING
            and any(map(is_symbolic, (*owner, *args)))
        ):
            return self.run(COMPARING[name], (owner, *args), {})
        given = (*args, *kwargs.values())
        if isinstance(owner, str | bytes) and is_text_of_run(self.session, given):
            return call_text_method(self.session, owner, name, *args, **kwargs)
        return self.library(method, args, kwargs)

    def _call_tensor_method(self, method: Staged, args: Args, kwargs: Keywords) -> Staged:
        if method.__name__ in TENSOR_METHODS:
            return TENSOR_METHODS[method.__name__](self.session, method.__self__, *args, **kwargs)
        return self.library(method, args, kwargs)

    def _call_array_method(self, method: Staged, args: Args, kwargs: Keywords) -> Staged:
        owner, name = method.__self__, method.__name__
        done = compute_known(self.session, method_of(name), owner, args, kwargs)
        if done is not NOT_KNOWN:
            return done
        if isinstance(owner, ReversedArray):
            owner.refuse_write(name)
        if name == "item" and args:
            at = args if len(args) > 1 else args[0]
            held = owner.tensor if isinstance(at, tuple) else owner.tensor.reshape(-1)
            return TENSOR_METHODS[name](self.session, self.session.interpreter.getitem(held, at))
        if name in ("item", "tolist"):
            return TENSOR_METHODS[name](self.session, owner.tensor, *args)
        if name == "fill" and len(args) == 1:
            return self.session.interpreter.setitem(owner, ..., args[0])
        if name in CUMULATED:
            return call_numpy(self.session, CUMULATED[name], (owner, *args), kwargs)
        return self.library(method, *numpy_dtypes(args, kwargs))

    def _call_list_method(
        self, owner: StagedList, name: str, args: Args, kwargs: Keywords
    ) -> Staged:
        compares = name in COMPARING and (
            lists.is_captured(owner) or any(map(is_symbolic, (*owner, *args)))
        )
        if name in COMPARING:
            lists.refuse_identity(owner)
        if compares and len(args) == 1:
            return self.run(COMPARING[name], (owner, *args), {})
        if name == "sort":
            lists.replace_contents(owner, self.builtins.call(sorted, (owner,), kwargs))
            return None
        if kwargs:
            return getattr(list, name)(owner, *args, **kwargs)
        if name in ("insert", "pop") and args:
            args = (index(self.session.recorder, args[0]), *args[1:])
        return lists.call_list_method(self.session.recorder, owner, name, args)

    def library(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        """A call that is not converted; captured values are made into what it can take."""
        function, kwargs = undecorated(function), without_generator(function, kwargs)
        if takes_generator(function, kwargs):
            return call_with_generator(self.session, function, args, kwargs)
        refuse_call(function)
        if is_from_torch(function):  # which only reads lists
            args, kwargs = self._seen(args, kwargs)
        if kwargs.get("requires_grad") is True and is_from_torch(function):
            rest = {name: value for name, value in kwargs.items() if name != "requires_grad"}
            return requires_grad(self.session, self.library(function, args, rest))
        if function is object.__setattr__:
            note_object(self.session, args[0])
        owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
        if is_partial(owner) and name in READ_ONLY:
            return for_each_way(
                self.session, owner, lambda one: self.library(getattr(one, name), args, kwargs)
            )
        if name != "__missing__":  # which is asked about one key
            refuse_partial((owner, *args, *kwargs.values()))
        return self._library(function, owner, args, kwargs)

    def _library(self, function: Staged, owner: Staged, args: Args, kwargs: Keywords) -> Staged:
        text = text_by_name(self.session, function, args, kwargs)
        if text is not None:
            return text
        if isinstance(owner, MUTABLE):
            self.session.note(owner)
        elif isinstance(owner, contextlib.ExitStack):  # a branch may add to what it calls
            note_stack(self.session, owner, getattr(function, "__name__", ""))
        elif owner is not None:
            refuse_unfollowed(self.session, owner, getattr(function, "__name__", ""))
        if function in FUNCTIONS if is_hashable(function) else False:
            return FUNCTIONS[function](self.session, *args, **kwargs)
        args, kwargs = whole_arguments(self.session, function, args, kwargs)
        if first_union((args, kwargs)) is not None:
            return distribute(lambda *a, **k: self.library(function, a, k), args, kwargs)
        if is_pure(function, args, kwargs):
            return call_pure(self.session, function, args, kwargs)
        split = split_bool(self.session.recorder, self.library, function, args, kwargs)
        if split is not None:
            return split[0]
        if takes_captured_list(args, kwargs):
            return call_with_samples(self.session.recorder, function, args, kwargs)
        if getattr(function, "__module__", "") == trees.MODULE_NAME:  # it looks at exact classes
            args, kwargs = plain_containers(args), plain_containers(kwargs)
        self._watch_arguments(args, kwargs)
        return self._watched_result(function, owner, args, kwargs)

    def _watched_result(
        self, function: Staged, owner: Staged, args: Args, kwargs: Keywords
    ) -> Staged:
        """What library code gives: a new object, or one that was there before."""
        given, name = (owner, *args, *kwargs.values()), getattr(function, "__name__", "")
        arrays = unchanged_arrays(self.session, given, name)
        with tree_watch(self.session, given), arrays:
            result = self._run_library(function, owner, args, kwargs)
        watch_the_world(self.session, function, args, result)
        if is_hashable(function) and function in MAKES_OBJECTS:
            self.session.provenance.add_created(result)
        elif not (isinstance(function, MAKERS) or is_from_torch(function)) and add_existing(
            self.session, result, OWN_REFERENCES
        ):
            return self.session.staged(result)
        result = self._own_result(result, (owner, *args))
        return result if isinstance(function, type) else new_tree(self.session, result)

    def _run_library(self, function: Staged, owner: Staged, args: Args, kwargs: Keywords) -> Staged:
        """Library code runs as it is; Python code of torch that asks for data is converted too."""
        recorder = self.session.recorder
        mark, facts = recorder.mark(), set(recorder.sizes.facts[-1])
        try:
            if is_torch_op(function, args, kwargs) or is_left_alone(function):
                return without_names(function, function(*args, **kwargs))
            name = getattr(function, "__name__", type(function).__name__)
            with watched(self.session, name, (owner, *args, *kwargs.values())):
                return call_unconverted(self.session, function, args, kwargs, owner)
        except DataDependent:
            python = python_of(function)
            if python is None and not is_op_with_float(function, args, kwargs):
                raise
            recorder.rewind(mark)
            recorder.sizes.forget(facts)
        if python is None:
            return record_with_floats(recorder, function, args, kwargs)
        if (cls := made_by(function)) is not None:
            return self.objects.new_object(cls, python[0], args, kwargs)
        return self.run(python[0], (*python[1], *args), kwargs)

    def _watch_arguments(self, args: Args, kwargs: Keywords) -> None:
        """Library code may write into a container, and reads what it likes of anything else."""
        for arg in (*args, *kwargs.values()):
            if isinstance(arg, MUTABLE):
                self.session.note(arg)
            elif not isinstance(arg, torch.nn.Module):
                watch_object(self.session, arg, set())

    def _own_result(self, result: object, args: Args) -> Staged:
        """A real tensor that a call made just now (`torch.from_numpy`): every run needs its own."""
        known = isinstance(result, FakeTensor | torch.nn.Parameter)
        known |= any(isinstance(arg, torch.Tensor | torch.nn.Module) for arg in args)
        if isinstance(result, torch.Tensor) and not known:
            return result.clone()
        if is_native(result) and not self.session.provenance.is_external(result):
            return staged_iterator(self.session, result, args, is_new=True)
        return result
