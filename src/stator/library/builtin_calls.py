"""Python's builtins on captured values: casts, len, range, enumerate, isinstance, sum, ..."""

from __future__ import annotations

import builtins
import collections
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch

from stator.capture.conditions import choose, raise_if
from stator.capture.conversions import index, to_float, to_int
from stator.capture.inputs import read_callers_attribute
from stator.capture.text_ops import text_length
from stator.containers import definitions, lists, runtime_tables, standard_definitions
from stator.containers.deques import new_deque
from stator.containers.dict_calls import is_mapping_in_python
from stator.containers.iteration import CapturedRange, Indexed
from stator.containers.maybe_keys import for_each_way, is_partial, refuse_partial
from stator.errors import UnsupportedCall
from stator.library import attribute_definitions, number_definitions, standard_calls, text_calls
from stator.library.captured_values import is_captured, is_runtime_sequence, rows
from stator.library.class_questions import PYTHON_TYPES, is_instance, is_subclass, type_of
from stator.library.iterator_calls import IteratorCalls
from stator.library.known_arrays import is_known
from stator.library.number_calls import absolute, as_number, complex_of, rounded, users_index
from stator.library.orderings import orderings, refuse_endless
from stator.library.outside_iterators import taken
from stator.library.text import PRINT, format_value, is_text_symbolic, print_values
from stator.library.text_calls import text_to_float, text_to_int
from stator.library.user_methods import computes, user_method
from stator.library.wrong_arguments import handled
from stator.state.holding import reference
from stator.state.library_objects import watch_object
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.torch_private.modules import tables
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray, KnownArray
from stator.values.attributes import class_attribute, held_attribute
from stator.values.staged import (
    StagedDefaultDict,
    StagedDict,
    StagedList,
    StagedSet,
    is_table,
    plain_containers,
    plain_dict,
)
from stator.values.symbolic import CapturedComplex, CapturedText, Number, Undefined
from stator.values.union import Union, maybe_absent, over_unions

DEFINED = {
    builtins.sum: definitions.sum_of, builtins.any: definitions.any_of,
    builtins.all: definitions.all_of, functools.reduce: definitions.reduced,
}  # fmt: skip
Handler = Callable[..., Staged]
ABOUT_THE_OBJECT = frozenset(
    {isinstance, type, getattr, hasattr, setattr, callable, id, dict, vars}
)


class BuiltinCalls:
    """The builtins of one capture: each runs as Python where nothing captured is involved."""

    def __init__(self, session: Session) -> None:
        self.session, self.recorder = session, session.recorder
        self.iterators = IteratorCalls(session).handlers
        self.handlers: dict[Any, Handler] = {
            int: self._int, float: self._float, bool: self._bool, complex: self._complex,
            str: self._str, repr: self._repr, format: self._format, len: self._len,
            range: self._range, PRINT: self._print, list: self._list,
            tuple: self._tuple, isinstance: functools.partial(is_instance, session),
            type: functools.partial(type_of, session),
            getattr: self._getattr, hasattr: self._hasattr, setattr: self._setattr,
            abs: functools.partial(absolute, session), round: functools.partial(rounded, session),
            **orderings(session), divmod: self._divmod, dict: self._dict,
            sum: self._defined(sum), any: self._defined(any), all: self._defined(all),
            functools.reduce: self._defined(functools.reduce),
            callable: self._callable, id: self._refuse_identity, locals: self._refuse_locals,
            issubclass: functools.partial(is_subclass, session), pow: self._pow, set: self._set,
            collections.deque: self._deque,
            collections.defaultdict: self._default_dict, frozenset: self._plain(frozenset),
            vars: lambda o: self._getattr(o, "__dict__") if hasattr(o, "__dict__") else vars(o),
            dict.fromkeys: functools.partial(self._run, definitions.dict_of_keys),
            **standard_calls.handlers(session), **text_calls.handlers(session),
            **self.iterators,
        }  # fmt: skip

    def knows(self, function: object) -> bool:
        """Is `function` a builtin that is handled here?"""
        return isinstance(function, type | type(len)) and function in self.handlers

    def call(self, function: Staged, args: Args, kwargs: Keywords) -> Staged:
        """The builtin; a dict with keys that may be absent is looked at in every way it may be."""
        partial = next((arg for arg in args if is_partial(arg)), None)
        if partial is not None and function in self.iterators:
            keys = self.call(list, (partial,), {})  # an iterator cannot leave the branches
            return self.call(function, tuple(keys if a is partial else a for a in args), kwargs)
        if partial is not None and function not in ABOUT_THE_OBJECT:
            return for_each_way(
                self.session,
                partial,
                lambda whole: self.call(
                    function, tuple(whole if arg is partial else arg for arg in args), kwargs
                ),
            )
        if args and is_table(args[0]) and isinstance(args[0], StagedSet):
            args = (
                runtime_tables.unordered_items(self.session, function, args[0], kwargs),
                *args[1:],
            )
        if function not in ABOUT_THE_OBJECT:
            for arg in args:
                watch_object(self.session, arg, set())
        takes = function is dict or function not in (*ABOUT_THE_OBJECT, len)
        if takes:
            args = taken(self.session, function, args)
        if function is range:
            args = tuple(users_index(self.session, arg) for arg in args)
        return handled(function, self.handlers[function], args, kwargs)

    # ---- casts

    @over_unions("value")
    def _cast(
        self, function: Callable[[Staged], Staged], value: Staged, number: Callable[..., Staged]
    ) -> Staged:
        if is_known(self.session, value):
            return function(value.value)
        value = as_number(self.session, value)
        if isinstance(value, Number):
            return number(self.recorder, value)
        if isinstance(value, CapturedComplex):
            raise TypeError(number_definitions.NO_REAL[function.__name__])
        if isinstance(value, CapturedText):
            read = text_to_int if function is int else text_to_float
            return read(self.session, value)
        return self._as_python(function, plain_containers(value))

    def _int(self, *args: Staged, **kwargs: Staged) -> Staged:
        if len(args) == 1 and not kwargs:
            return self._cast(int, args[0], to_int)
        if args and any(map(is_text_symbolic, (*args, *kwargs.values()))):
            return text_to_int(self.session, *args, **kwargs)
        return int(*args, **kwargs)

    def _float(self, *args: object) -> Staged:
        return self._cast(float, args[0], to_float) if args else 0.0

    def _bool(self, *args: object) -> Staged:
        return self.session.interpreter.truth(args[0]) if args else False

    def _complex(self, *args: object) -> Staged:
        return complex_of(self.session, *args)

    def _str(self, *args: object) -> Staged:
        if len(args) == 1:
            return format_value(self.session, args[0], "s", None)
        return str(*args)

    def _repr(self, value: object) -> Staged:
        return format_value(self.session, value, "r", None)

    def _format(self, value: object, spec: object = "") -> Staged:
        return format_value(self.session, value, None, spec)

    # ---- sizes and iteration

    @over_unions("value")
    def _len(self, value: Staged) -> Staged:
        method = user_method(value, "__len__")
        if method is not None:
            return self.session.interpreter.call(method, value)
        if isinstance(value, KnownArray):
            return len(value.value)
        if isinstance(value, CapturedArray):
            value = value.tensor
        if isinstance(value, torch.Tensor):
            if value.dim() == 0:
                raise TypeError("len() of a 0-d tensor")
            return value.shape[0]
        if isinstance(value, Indexed | CapturedRange):
            return value.length()
        if isinstance(value, CapturedText):
            return text_length(self.recorder, value)
        if lists.is_captured(value) or is_table(value):
            return lists.list_length(self.recorder, value)
        if isinstance(value, torch.nn.Module):
            refuse_partial(tables(value))
        return len(value)

    @over_unions("args")
    def _range(self, *args: object) -> Staged:
        bounds = [index(self.recorder, arg) for arg in args]
        known = range(*(2 if isinstance(bound, Number) else bound for bound in bounds))
        if not any(isinstance(bound, Number) for bound in bounds):
            return known
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if isinstance(step, torch.SymInt):
            raise_if(self.session.recorder, step == 0, ValueError("range() arg 3 must not be zero"))
        return CapturedRange(start, stop, step)

    def _list(self, *args: Staged) -> Staged:
        if len(args) > 1:
            self._as_python(list, *args)  # which raises
        refuse_endless(*args)
        if args and isinstance(args[0], Union):
            return self.recorder.apply(args[0], self._list)
        if args and lists.is_captured(args[0]):
            return lists.as_list(args[0])
        if args and is_runtime_sequence(self.recorder, args[0]):
            return self._run(definitions.list_of, args[0])
        return StagedList(rows(args[0])) if args else StagedList()

    def _tuple(self, *args: object) -> Staged:
        if len(args) > 1:
            self._as_python(tuple, *args)  # which raises
        if args and isinstance(args[0], Union):
            return self.recorder.apply(args[0], self._tuple)
        if args and is_runtime_sequence(self.recorder, args[0]):
            return lists.as_tuple(self.recorder, self._list(args[0]))
        return tuple(rows(args[0])) if args else ()

    @over_unions("args")
    def _dict(self, *args: object, **kwargs: object) -> dict[object, object]:
        args = tuple(self._list(one) if isinstance(one, Iterator) else one for one in args)
        if args and (
            is_table(args[0])
            or is_runtime_sequence(self.recorder, args[0])
            or runtime_tables.has_captured_keys(args[0])
        ):
            made, given = StagedDict(), args[0]
            runtime_tables.fill(self.session, made, given if is_table(given) else self._list(given))
            if kwargs:
                self.session.interpreter.call(made.update, **kwargs)
            return made
        if len(args) == 1 and is_mapping_in_python(args[0]):
            return self._run(standard_definitions.dict_of_mapping, args[0], kwargs)
        return StagedDict(self._as_python(dict, *args, **kwargs))

    # ---- questions about types and attributes

    @over_unions("name")
    def _getattr(self, obj: Staged, name: Staged, *default: object) -> Staged:
        if not isinstance(name, str) and not is_text_symbolic(name):
            getattr(obj, name)  # which raises for what is no text
        if not default:
            return self.session.interpreter.get(obj, name)
        if computes(obj, name):
            written = attribute_definitions.attribute_or
            return self.session.interpreter.call(written, obj, name, default[0])
        has = self._hasattr(obj, name)
        return choose(
            self.session.recorder,
            has,
            lambda: self.session.interpreter.get(obj, name),
            lambda: default[0],
        )

    @over_unions("obj", undefined=True)
    def _hasattr(self, obj: object, name: str) -> Staged:
        if isinstance(obj, tuple(PYTHON_TYPES)):
            return hasattr(type_of(self.session, obj), name)
        if computes(obj, name):
            return self.session.interpreter.call(attribute_definitions.has_attribute, obj, name)
        read_callers_attribute(obj, name)
        held = held_attribute(obj, name)
        if maybe_absent(held):
            of_class = class_attribute(obj, name, held) is not held
            return self.recorder.apply_all(
                held, lambda one: of_class or not isinstance(one, Undefined)
            )
        answer, of = hasattr(obj, name), reference(obj)
        self.session.reads.watch(
            obj, ("hasattr", name), lambda: hasattr(of(), name), answer, f"hasattr {name}"
        )
        return answer

    def _setattr(self, obj: object, name: str, value: object) -> None:
        self.session.interpreter.set(obj, name, value)

    @over_unions("value", undefined=True)
    def _callable(self, value: object) -> Staged:
        return callable(value)

    def _refuse_identity(self, value: object) -> int:
        external = self.session.stand_ins.original(value)
        is_tensor = isinstance(value, torch.Tensor)  # in whose place may be another one
        if self.session.provenance.is_external(external) and not is_tensor:
            return id(external)
        if is_text_symbolic(value) or isinstance(value, list | dict | set):  # another in each call
            raise UnsupportedCall("`id()` of a captured value is not known",
                                  fix="compare with `is`")  # fmt: skip
        return id(value)

    def _refuse_locals(self) -> Staged:
        """Only where it is called: code that may not run is converted all the same."""
        raise UnsupportedCall("a call of `locals` cannot be captured", fix="name the variables")

    # ---- arithmetic

    def _divmod(self, a: Staged, b: Staged) -> Staged:
        if any(isinstance(one, Number | Union) for one in (a, b)):
            return (
                self.session.interpreter.arithmetic(a, "//", b),
                self.session.interpreter.arithmetic(a, "%", b),
            )
        return divmod(a, b)

    def _pow(self, a: Staged, b: Staged, *modulus: Staged) -> Staged:
        if any(isinstance(one, torch.SymInt) for one in (a, b, *modulus)) and modulus:
            return self._run(number_definitions.power_modulo, a, b, *modulus)
        return pow(a, b, *modulus) if modulus else self.session.interpreter.arithmetic(a, "**", b)

    def _defined(self, python: Staged) -> Handler:
        """A builtin that has a definition in Python, for captured items."""

        def call(*args: Staged, **kwargs: Staged) -> Staged:
            if any(isinstance(arg, Union) or is_captured(arg) for arg in args):
                return self._run(DEFINED[python], *args, **kwargs)
            if python is functools.reduce:  # the function may change something
                return self._run(DEFINED[python], *args, **kwargs)
            return self._as_python(python, *args, **kwargs)

        return call

    def _plain(self, python: Staged) -> Handler:
        """A builtin that needs the values themselves."""

        def call(*args: Staged) -> Staged:
            if any(is_captured(arg) for arg in args):
                raise UnsupportedCall(f"a {python.__name__} of captured values is not supported",
                                      fix="use a list, or `torch.unique`")  # fmt: skip
            made = self._as_python(python, *map(plain_dict, args))
            self.recorder.provenance.add_created(made)
            return made

        return call

    def _as_python(self, function: Callable[..., Any], *args: object, **kwargs: object) -> Staged:
        """Python's own; methods of the user's that it calls must not change anything outside."""
        with watched(self.session, function.__name__):
            return function(*args, **kwargs)

    def _deque(self, *args: object, **kwargs: object) -> Staged:
        return new_deque(self.session, *args, **kwargs)

    def _default_dict(self, factory: object = None, *args: object, **kwargs: object) -> Staged:
        if factory is not None and not callable(factory):
            self._as_python(collections.defaultdict, factory)  # which raises
        made = StagedDefaultDict(factory)
        if args or kwargs:
            self.session.interpreter.call(made.update, *args, **kwargs)
        return made

    @over_unions("args")
    def _set(self, *args: object) -> Staged:
        """`set(items)`: of the program where only a run knows which of them are equal."""
        if is_table(args[0] if args else None) and isinstance(args[0], StagedSet):
            return runtime_tables.call_table_method(self.session, args[0], "copy", (), {})
        if args and isinstance(args[0], Iterator):
            args = (self._list(args[0]),)
        if not args or not (is_captured(args[0]) or is_table(args[0])):
            return StagedSet(*args)
        made = StagedSet()
        runtime_tables.call_table_method(self.session, made, "update", (self._list(args[0]),), {})
        return made

    def _run(self, definition: Staged, *args: object, **kwargs: object) -> Staged:
        return self.session.interpreter.run(definition, *args, **kwargs)

    def _print(self, *values: object, **options: object) -> None:
        print_values(self.session, *values, **options)
