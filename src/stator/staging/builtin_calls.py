"""Python's builtins on captured values: casts, len, range, enumerate, isinstance, sum, ..."""

from __future__ import annotations

import builtins
import collections
import functools
import string
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from stator.capture.arrays import CapturedArray
from stator.capture.numbers import Number
from stator.capture.places import current_place
from stator.capture.values import (
    CapturedComplex,
    CapturedText,
    CaughtError,
    CaughtType,
    StagedDefaultDict,
    StagedDeque,
    StagedDict,
    StagedList,
    StagedSet,
    Undefined,
    Variant,
    distribute,
    first_variant,
    is_table,
)
from stator.errors import UnsupportedCall
from stator.staging import access, definitions, iteration, lists, tables
from stator.staging.arithmetic import arithmetic
from stator.staging.attempts import error_names
from stator.staging.deques import new_deque
from stator.staging.generators import StagedGenerator
from stator.staging.iteration import CapturedRange, Indexed, indexed
from stator.staging.iterators import StagedIterator, new_iterator, next_item
from stator.staging.library_objects import watch_object
from stator.staging.number_calls import absolute, complex_of
from stator.staging.partial import for_each_way, is_partial, maybe_absent
from stator.staging.protocols import user_method
from stator.staging.session import Session
from stator.staging.tensor_index import read_tensor
from stator.staging.text import format_value, fstring, is_text_symbolic, print_values, text_length
from stator.staging.truth import index, item, to_float, to_int

if TYPE_CHECKING:  # the caller makes these
    from stator.staging.calls import Caller

PYTHON_TYPES = {
    torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool, CapturedComplex: complex,
    CapturedText: str, StagedDeque: collections.deque, StagedList: list,
    StagedDefaultDict: collections.defaultdict, StagedDict: dict, StagedSet: set,
}  # fmt: skip
DEFINED = {
    builtins.sum: definitions.sum_of, builtins.any: definitions.any_of,
    builtins.all: definitions.all_of, builtins.filter: definitions.filtered,
    functools.reduce: definitions.reduced,
}  # fmt: skip
Handler = Callable[..., Any]
ABOUT_THE_OBJECT = frozenset({isinstance, type, getattr, hasattr, setattr, callable, id, dict})


class BuiltinCalls:
    """The builtins of one capture: each runs as Python where nothing captured is involved."""

    def __init__(self, session: Session, caller: Caller) -> None:
        self.session, self.caller, self.recorder = session, caller, session.recorder
        self.handlers: dict[Any, Handler] = {
            int: self._int, float: self._float, bool: self._bool, complex: self._complex,
            str: self._str, repr: self._repr, format: self._format, len: self._len,
            range: self._range, enumerate: self._enumerate, zip: self._zip,
            reversed: self._reversed, map: self._map, print: self._print, list: self._list,
            tuple: self._tuple, isinstance: self._isinstance, type: self._type,
            getattr: self._getattr, hasattr: self._hasattr, setattr: self._setattr, abs: self._abs,
            max: self._max, min: self._min, round: self._round, divmod: self._divmod,
            sorted: self._sorted, next: self._next, iter: self._iter, dict: self._dict,
            sum: self._defined(sum), any: self._defined(any), all: self._defined(all),
            filter: self._defined(filter), functools.reduce: self._defined(functools.reduce),
            callable: self._callable, id: self._refuse_identity,
            issubclass: self._issubclass, pow: self._pow, set: self._set,
            collections.Counter: self._counter, collections.deque: self._deque,
            collections.defaultdict: self._default_dict,
            frozenset: self._plain(frozenset),
        }  # fmt: skip

    def knows(self, function: Any) -> bool:
        """Is `function` a builtin that is handled here?"""
        return isinstance(function, type | type(len)) and function in self.handlers

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """The builtin; a dict with keys that may be absent is looked at in every way it may be."""
        partial = next((arg for arg in args if is_partial(arg)), None)
        if partial is not None and function not in ABOUT_THE_OBJECT:
            return for_each_way(
                self.session,
                partial,
                lambda whole: self.call(
                    function, tuple(whole if arg is partial else arg for arg in args), kwargs
                ),
            )
        if args and is_table(args[0]) and isinstance(args[0], StagedSet):
            args = (self._items_of_set(function, args[0], kwargs), *args[1:])
        if function not in ABOUT_THE_OBJECT:
            for arg in args:
                watch_object(self.session, arg, set())
        return self.handlers[function](*args, **kwargs)

    # ---- casts

    def _cast(self, function: Callable[[Any], Any], value: Any, number: Callable[..., Any]) -> Any:
        if isinstance(value, Variant):
            return self.recorder.apply(value, lambda one: self._cast(function, one, number))
        if isinstance(value, CapturedArray):
            value = value.tensor
        if isinstance(value, torch.Tensor):
            value = item(self.recorder, value)
        return number(self.recorder, value) if isinstance(value, Number) else function(value)

    def _int(self, *args: Any, **kwargs: Any) -> Any:
        return self._cast(int, args[0], to_int) if len(args) == 1 else int(*args, **kwargs)

    def _float(self, *args: Any) -> Any:
        return self._cast(float, args[0], to_float) if args else 0.0

    def _bool(self, *args: Any) -> Any:
        return self.session.truth(args[0]) if args else False

    def _complex(self, *args: Any) -> Any:
        return complex_of(self.session, *args)

    def _str(self, *args: Any) -> Any:
        if len(args) == 1 and is_text_symbolic(args[0]):
            return format_value(self.session, args[0], "s", None)
        return str(*args)

    def _repr(self, value: Any) -> Any:
        return (
            format_value(self.session, value, "r", None) if is_text_symbolic(value) else repr(value)
        )

    def _format(self, value: Any, spec: Any = "") -> Any:
        return format_value(self.session, value, None, spec)

    # ---- sizes and iteration

    def _len(self, value: Any) -> Any:
        method = user_method(value, "__len__")
        if method is not None:
            return self.caller(method, value)
        if isinstance(value, CapturedArray):
            value = value.tensor
        if isinstance(value, Variant):
            return self.recorder.apply(value, self._len)
        if isinstance(value, torch.Tensor):
            if value.dim() == 0:
                raise TypeError("len() of a 0-d tensor")
            return value.shape[0]
        if isinstance(value, Indexed | CapturedRange):
            return value.length()
        if isinstance(value, CapturedText):
            return text_length(self.session, value)
        if lists.is_captured(value) or is_table(value):
            return lists.list_length(self.recorder, value)
        return len(value)

    def _range(self, *args: Any) -> Any:
        if any(isinstance(arg, Variant) for arg in args):
            return distribute(lambda *a: self._range(*a), args, {})
        bounds = [index(self.recorder, arg) for arg in args]
        if not any(isinstance(bound, Number) for bound in bounds):
            return range(*bounds)
        start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if isinstance(step, torch.SymInt):
            self.session.raise_if(step == 0, ValueError("range() arg 3 must not be zero"))
        return CapturedRange(start, stop, step)

    def _indexed(self, values: tuple[Any, ...]) -> list[Indexed] | None:
        """All of `values` as sequences of the program, if one of them is one."""
        found = [indexed(self.recorder, value) for value in values]
        if all(one is None for one in found):
            return None
        return [one or self._beside(value) for one, value in zip(found, values, strict=True)]

    def _beside(self, value: Any) -> Indexed:
        """A sequence that Python can list, beside one that only a run can count."""
        if isinstance(value, torch.Tensor) and value.dim():
            count = value.shape[0]
            return Indexed(lambda k: k < count, lambda k: read_tensor(value, k), lambda: count)
        return indexed(self.recorder, value, recorded=True) or iteration.of_python(
            self.recorder, value
        )

    def _rows(self, value: Any) -> Any:
        """A tensor that is iterated in Python, row by row."""
        return (
            [value[k] for k in range(value.shape[0])] if isinstance(value, torch.Tensor) else value
        )

    def _enumerate(self, values: Any, start: Any = 0) -> Any:
        if isinstance(values, Variant):
            return self.recorder.apply(values, lambda one: self._enumerate(one, start))
        if isinstance(values, StagedGenerator):
            return self._run(definitions.enumerated, values, start)
        found = self._indexed((values,))
        if found:
            return iteration.enumerated(found[0], start)
        if isinstance(start, torch.SymInt):
            return StagedList((start + k, value) for k, value in enumerate(self._rows(values)))
        return enumerate(self._rows(values), start)

    def _zip(self, *values: Any, **kwargs: Any) -> Any:
        found = self._indexed(values)
        if found and not kwargs.get("strict"):
            return iteration.zipped(found)
        return zip(*map(self._rows, values), **kwargs)  # noqa: B905 (the caller says)

    def _reversed(self, values: Any) -> Any:
        if isinstance(values, torch.Tensor):  # as eager: the rows of a flipped copy
            return values.flip(0) if values.dim() else reversed(values)
        found = self._indexed((values,))
        return iteration.reversed_items(found[0]) if found else reversed(values)

    def _map(self, function: Any, *values: Any) -> Any:
        found = self._indexed(values)
        if found and len(values) == 1:
            return iteration.mapped(lambda value: self.caller(function, value), found[0])
        if found:
            rows = iteration.zipped(found)
            return iteration.mapped(lambda row: self.caller(function, *row), rows)
        known = zip(*map(self._rows, values), strict=False)
        return StagedList(self.caller(function, *row) for row in known)

    def _list(self, *args: Any) -> Any:
        if args and isinstance(args[0], Variant):
            return self.recorder.apply(args[0], self._list)
        if args and lists.is_captured(args[0]):
            return lists.as_list(args[0])
        if args and self._is_sequence_of_the_program(args[0]):
            return self._run(definitions.list_of, args[0])
        return StagedList(self._rows(args[0])) if args else StagedList()

    def _is_sequence_of_the_program(self, value: Any) -> bool:
        return isinstance(value, StagedGenerator) or is_table(value) or (
            indexed(self.recorder, value) is not None
        )  # fmt: skip

    def _tuple(self, *args: Any) -> Any:
        if args and isinstance(args[0], Variant):
            return self.recorder.apply(args[0], self._tuple)
        if args and self._is_sequence_of_the_program(args[0]):
            return lists.as_tuple(self.recorder, self._list(args[0]))
        return tuple(self._rows(args[0])) if args else ()

    def _dict(self, *args: Any, **kwargs: Any) -> dict[Any, Any]:
        if args and (is_table(args[0]) or self._is_sequence_of_the_program(args[0])):
            made = StagedDict()
            given = args[0] if is_table(args[0]) else self._list(args[0])
            tables.fill(self.session, made, given)
            if kwargs:
                self.caller(made.update, **kwargs)
            return made
        return StagedDict(dict(*args, **kwargs))

    def _next(self, iterator: Any, *default: Any) -> Any:
        if isinstance(iterator, StagedIterator):
            return next_item(self.session, iterator, *default)
        own = user_method(iterator, "__next__")
        if own is not None and default:
            return self._run(definitions.next_or, iterator, *default)
        if own is not None:
            return self.caller(own, iterator)
        if self.recorder.depth and not isinstance(iterator, Indexed):
            raise UnsupportedCall("`next` inside a branch or a loop of the program",
                                  at=current_place(), fix="use a `for` loop")  # fmt: skip
        return next(iterator, *default)

    def _iter(self, *args: Any) -> Any:
        if len(args) == 1 and (isinstance(args[0], torch.Tensor | Variant) or self._indexed(args)):
            if isinstance(args[0], torch.Tensor) and isinstance(args[0].shape[0], int):
                return iter(self._rows(args[0]))
            found = self._indexed(args)
            if found:
                return new_iterator(self.session, found[0])
            raise UnsupportedCall("`iter` of a captured value", at=current_place(),
                                  fix="use a `for` loop")  # fmt: skip
        return iter(*args)

    # ---- questions about types and attributes

    def _isinstance(self, value: Any, classes: Any) -> Any:
        if isinstance(value, Variant):
            return self.recorder.apply_all(value, lambda one: self._isinstance(one, classes))
        if isinstance(value, Undefined):
            raise value.error()
        if lists.is_captured(value) and value.is_tuple:
            value = ()
        wanted = _flat_classes(classes)
        if isinstance(value, CaughtError):
            return value.is_a(error_names(wanted))
        if isinstance(value, StagedDeque):
            return issubclass(collections.deque, tuple(c for c in wanted if isinstance(c, type)))
        for captured, python in PYTHON_TYPES.items():
            if isinstance(value, captured):
                return issubclass(python, tuple(c for c in wanted if isinstance(c, type))) or (
                    isinstance(value, classes)
                )
        return isinstance(value, classes)

    def _issubclass(self, cls: Any, classes: Any) -> Any:
        if isinstance(cls, CaughtType):
            return cls.error.is_a(error_names(_flat_classes(classes)))
        return issubclass(cls, classes)

    def _type(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1:
            return type(*args, **kwargs)
        value = args[0]
        if isinstance(value, Variant):
            return self.recorder.apply(value, self._type)
        if isinstance(value, CaughtError):
            return CaughtType(value)
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter):
            return torch.Tensor
        if lists.is_captured(value) and value.is_tuple:
            return tuple
        return next((p for c, p in PYTHON_TYPES.items() if isinstance(value, c)), type(value))

    def _getattr(self, obj: Any, name: Any, *default: Any) -> Any:
        if isinstance(name, Variant):
            return self.recorder.apply(name, lambda one: self._getattr(obj, one, *default))
        if not default:
            return access.get(self.session, obj, name)
        has = self._hasattr(obj, name)
        return self.session.choose(
            has, lambda: access.get(self.session, obj, name), lambda: default[0]
        )

    def _hasattr(self, obj: Any, name: str) -> Any:
        if isinstance(obj, Variant):
            return self.recorder.apply_all(obj, lambda one: self._hasattr(one, name))
        held: Any = getattr(obj, "__dict__", {}).get(name)
        if maybe_absent(held):
            return self.recorder.apply_all(held, lambda one: not isinstance(one, Undefined))
        answer = hasattr(obj, name)
        self.session.guards.watch(
            obj, ("hasattr", name), lambda: hasattr(obj, name), answer, f"hasattr {name}"
        )
        return answer

    def _setattr(self, obj: Any, name: str, value: Any) -> None:
        access.set_attribute(self.session, obj, name, value)

    def _callable(self, value: Any) -> Any:
        if isinstance(value, Variant):
            return self.recorder.apply_all(value, callable)
        return callable(value)

    def _refuse_identity(self, value: Any) -> int:
        if is_text_symbolic(value):
            raise UnsupportedCall("`id()` of a captured value", at=current_place(),
                                  fix="compare with `is`")  # fmt: skip
        return id(value)

    # ---- arithmetic

    def _abs(self, value: Any) -> Any:
        return absolute(self.session, value)

    def _round(self, value: Any, digits: Any = None) -> Any:
        if isinstance(value, Variant):
            return self.recorder.apply(value, lambda one: self._round(one, digits))
        value = index(self.recorder, value) if isinstance(value, torch.SymBool) else value
        if isinstance(value, torch.SymFloat):
            kind: Any = "int" if digits is None else "float"
            args = (self.recorder.arg(value),) if digits is None else (
                self.recorder.arg(value), self.recorder.arg(digits))  # fmt: skip
            return self.recorder.number(
                kind, self.recorder.emit_number("stator::round", args, kind)
            )
        if isinstance(value, torch.SymInt) and digits is not None:
            args = (self.recorder.arg(value), self.recorder.arg(digits))
            return self.recorder.number(
                "int", self.recorder.emit_number("stator::round", args, "int")
            )
        return round(value) if digits is None else round(value, digits)

    def _divmod(self, a: Any, b: Any) -> Any:
        if any(isinstance(one, Number | Variant) for one in (a, b)):
            return (arithmetic(self.session, a, "//", b), arithmetic(self.session, a, "%", b))
        return divmod(a, b)

    def _pow(self, a: Any, b: Any, *modulus: Any) -> Any:
        return pow(a, b, *modulus) if modulus else a**b

    def _max(self, *args: Any, **options: Any) -> Any:
        return self._extreme(max, definitions.max_of, args, options)

    def _min(self, *args: Any, **options: Any) -> Any:
        return self._extreme(min, definitions.min_of, args, options)

    def _extreme(self, python: Handler, definition: Any, args: Any, options: Any) -> Any:
        items = args[0] if len(args) == 1 else StagedList(args)
        if isinstance(items, Variant):
            return self.recorder.apply(
                items, lambda one: self._extreme(python, definition, (one,), options)
            )
        if self._is_captured(items):
            return self._run(definition, items, **options)
        return python(*args, **options)

    def _sorted(self, items: Any, **options: Any) -> Any:
        """`sorted`: by exchanges that the program makes, where it compares captured values."""
        if isinstance(items, Variant):
            return self.recorder.apply(items, lambda one: self._sorted(one, **options))
        key, reverse = options.get("key"), self.session.truth(options.get("reverse", False))
        if self._is_sequence_of_the_program(items):
            return self._sorted_by_the_run(items, key, reverse)
        if not isinstance(reverse, bool):
            return self.session.choose(
                reverse,
                lambda: self._sorted(items, key=key, reverse=True),
                lambda: self._sorted(items, key=key, reverse=False),
            )
        values = list(self._rows(items))
        keys = values if key is None else [self.caller(key, value) for value in values]
        if self._is_captured(keys):
            return self._run(definitions.sorted_of, StagedList(values), key, reverse)
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)
        return StagedList(values[k] for k in order)

    def _sorted_by_the_run(self, items: Any, key: Any, reverse: Any) -> Any:
        """`sorted` of a number of items that only a run knows."""
        if isinstance(items, StagedSet) and key is not None:
            raise UnsupportedCall("a set of the program is sorted by a key", at=current_place(),
                                  fix="sort it without one: equal keys have no order")  # fmt: skip
        values = tables.entries(self.session, items) if isinstance(items, StagedSet) else (
            self._list(items))  # fmt: skip
        keys = values if key is None else self._run(definitions.keys_of, values, key)
        order = lists.order_of(self.recorder, keys, reverse)
        if order is None:
            return self._run(definitions.sorted_of, values, key, reverse)
        return lists.taken(self.recorder, values, order)

    def _defined(self, python: Any) -> Handler:
        """A builtin that has a definition in Python, for captured items."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(arg, Variant) or self._is_captured(arg) for arg in args):
                return self._run(DEFINED[python], *args, **kwargs)
            return python(*args, **kwargs)

        return call

    def _plain(self, python: Any) -> Handler:
        """A builtin that needs the values themselves."""

        def call(*args: Any) -> Any:
            if any(self._is_captured(arg) for arg in args):
                raise UnsupportedCall(f"a {python.__name__} of captured values", at=current_place(),
                                      fix="use a list, or `torch.unique`")  # fmt: skip
            made = python(*args)
            self.recorder.born(made)
            return made

        return call

    def _counter(self, *args: Any, **kwargs: Any) -> Any:
        if any(map(self._is_captured, args)):
            raise UnsupportedCall("a Counter of captured values", at=current_place(),
                                  fix="count in a dict: `d[k] = d.get(k, 0) + 1`")  # fmt: skip
        made = self.caller.library(collections.Counter, args, kwargs)
        self.recorder.born(made)
        return made

    def _deque(self, *args: Any, **kwargs: Any) -> Any:
        return new_deque(self.session, *args, **kwargs)

    def _default_dict(self, factory: Any = None, *args: Any, **kwargs: Any) -> Any:
        made = StagedDefaultDict(factory)
        if args or kwargs:
            self.caller(made.update, *args, **kwargs)
        return made

    def _items_of_set(self, function: Any, items: StagedSet, options: Any) -> Any:
        """A set of the program as a list, where the order of its items makes no difference."""
        assert items.columns is not None
        whole = getattr(items.columns.item, "name", "") in ("int", "bool")
        if function in (max, min, sorted) and options.get("key") is None:
            return tables.entries(self.session, items)
        if function in (any, all) or (function is sum and whole):
            return tables.entries(self.session, items)
        return items

    def _set(self, *args: Any) -> Any:
        """`set(items)`: of the program where only a run knows which of them are equal."""
        if args and isinstance(args[0], Variant):
            return self.recorder.apply(args[0], self._set)
        if is_table(args[0] if args else None) and isinstance(args[0], StagedSet):
            return tables.call_table_method(self.session, args[0], "copy", (), {})
        if not args or not (self._is_captured(args[0]) or is_table(args[0])):
            return StagedSet(*args)
        made = StagedSet()
        tables.call_table_method(self.session, made, "update", (self._list(args[0]),), {})
        return made

    def _is_captured(self, items: Any) -> bool:
        if (
            isinstance(items, torch.Tensor | Indexed | CapturedRange | Variant | StagedGenerator)
            or lists.is_captured(items)
            or is_table(items)
        ):
            return True
        if isinstance(items, dict):
            items = list(items.values())
        values = items if isinstance(items, list | tuple | set) else ()
        symbolic = torch.Tensor | Number | Variant | CapturedText
        return any(isinstance(one, symbolic) or
                   (isinstance(one, tuple | list) and self._is_captured(one))
                   for one in values)  # fmt: skip

    def _run(self, definition: Any, *args: Any, **kwargs: Any) -> Any:
        return self.caller.run(definition, args, kwargs)

    def _print(self, *values: Any, **options: Any) -> None:
        print_values(self.session, *values, **options)

    def contains(self, container: Any, wanted: Any) -> Any:
        """`wanted in container`, item by item."""
        return self._run(definitions.contains, container, wanted)

    # ---- methods of strings

    def call_text_method(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        """`"...".join(captured)` and the like: only what prints and messages need."""
        if first_variant(args) is not None:
            return distribute(lambda *a: self.caller(getattr(owner, name), *a, **kwargs), args, {})
        if name == "format" and isinstance(owner, str):
            return self._format_text(owner, args, kwargs)
        if name == "join" and len(args) == 1 and not self._is_sequence_of_the_program(args[0]):
            parts = [part for item in args[0] for part in (owner, item)][1:]
            return fstring(self.session, *parts)
        raise UnsupportedCall(
            f"`str.{name}` of captured values is not supported", at=current_place(),
            fix="use an f-string",
        )  # fmt: skip

    def _format_text(self, text: str, args: Any, kwargs: Any) -> Any:
        """`text.format(*args, **kwargs)`, field by field."""
        parts: list[Any] = []
        position = 0
        for literal, field, spec, conversion in string.Formatter().parse(text):
            parts.append(literal)
            if field is None:
                continue
            if field == "":
                field, position = str(position), position + 1
            value = args[int(field)] if field.isdigit() else kwargs[field]
            parts.append(format_value(self.session, value, conversion, spec or None))
        return fstring(self.session, *parts)


def _flat_classes(classes: Any) -> tuple[Any, ...]:
    """The classes that `isinstance` is asked about: `int | float` and nested tuples taken apart."""
    if isinstance(classes, types.UnionType):
        classes = classes.__args__
    if not isinstance(classes, tuple):
        return (classes,)
    return tuple(one for part in classes for one in _flat_classes(part))
