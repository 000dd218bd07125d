"""fstring, format, print: text that is made when the program runs."""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import re
import sys
import types
from collections.abc import Callable, ItemsView, Iterable, KeysView, Mapping, Sequence, ValuesView
from typing import Any, get_args

import torch

from stator.capture.text_ops import text_op
from stator.containers.iteration import CapturedRange
from stator.containers.lists import is_captured
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library import text_definitions
from stator.library.python_text import no_text, python_text
from stator.library.user_methods import user_method
from stator.program.ir import Arg
from stator.state.present_contents import first_reached
from stator.state.session import Session
from stator.state.unconverted import watched
from stator.values.annotations import Staged
from stator.values.containers import is_plain_object, own_attributes
from stator.values.staged import StagedContainer, StagedDeque, StagedList, is_table, python_name
from stator.values.symbolic import CapturedComplex, CapturedText, CaughtError, Number
from stator.values.union import Symbolic, Union, over_unions

PERCENT_FIELD = re.compile(
    r"%(?P<name>\(\w*\))?(?P<flags>[-+ #0]*)(?P<width>\d*|\*)(?P<precision>(?:\.(?:\d*|\*))?)"
    r"(?P<type>.)"
)
REPR = "\0"  # represents the value in a message
PRINT = print  # Python's own, whatever a test puts into its place
NO_VALUE = object()
VIEWS = (KeysView, ValuesView, ItemsView)  # of dicts
LEAVES = (torch.Tensor, *get_args(Number), CapturedText, CapturedComplex)  # have an op's text
PLAIN = (str, int, float, bool, type(None), torch.dtype, torch.device)
OF_TORCH = (  # classes of torch whose texts are Python code over what they hold
    torch.distributions.Distribution, torch.distributions.constraints.Constraint,
)  # fmt: skip
CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def is_text_symbolic(value: object) -> bool:
    """Does the text of `value` depend on the run?"""
    if is_table(value):
        return True
    if isinstance(value, list | tuple | set) and not is_captured(value):
        return any(is_text_symbolic(item) for item in value)
    if isinstance(value, dict):
        return any(is_text_symbolic(item) for item in value.values())
    if is_plain_object(value):
        return any(map(is_text_symbolic, own_attributes(value).values()))
    if isinstance(value, VIEWS):
        return any(is_text_symbolic(item) for item in value)
    if isinstance(value, BaseException):
        return any(is_text_symbolic(item) for item in value.args)
    if isinstance(value, slice):
        return any(is_text_symbolic(one) for one in (value.start, value.stop, value.step))
    return isinstance(value, Symbolic | CaughtError | CapturedRange) or is_captured(value)


def is_text_of_run(session: Session, value: object) -> bool:
    """Does the text of `value` depend on the run, or on a list that the capture has seen?"""
    return is_text_symbolic(value) or _holds_stand_in(session, value, set())


def _holds_stand_in(session: Session, value: object, seen: set[int]) -> bool:
    """Does `value` hold a container of the caller that has a stand-in in converted code?

    An object's text is Python's own as long as Python knows what the stand-ins in it hold.
    """
    if session.stand_ins.find(value) is not None:
        return True
    if is_plain_object(value) and not isinstance(value, (dict, *LEAVES)):
        return _holds_open(session, own_attributes(value).values())
    items: Iterable[object] = ()
    if isinstance(value, dict):
        items = value.values()
    elif isinstance(value, (list, tuple, set, collections.deque, *VIEWS)) and not is_captured(
        value
    ):
        items = value
    if id(value) in seen:
        return False
    seen.add(id(value))
    return any(_holds_stand_in(session, item, seen) for item in items)


def _holds_open(session: Session, values: Iterable[object]) -> bool:
    """Is in `values`, or in what they hold, a stand-in whose items depend on the data?"""
    changed = session.stand_ins.changed()
    return (
        first_reached(values, {id(external) for external, one in changed if one.is_open})
        is not None
    )


@over_unions("value")
def format_value(session: Session, value: Staged, conversion: str | None, spec: Staged) -> Staged:
    """`{value!conversion:spec}` of an f-string."""
    recorder, is_bare = session.recorder, not (isinstance(spec, CapturedText) or spec)
    value = session.staged(value)
    if isinstance(value, CaughtError):
        if conversion == "a":
            raise value.refused()
        value = _shown(session, value) if conversion == "r" else value.text(recorder.sees_value)
        conversion = None
    own = _users_text(value, conversion)
    if own is not None and (conversion or is_bare or own.__name__ == "__format__"):
        given = ("" if is_bare else spec,) if own.__name__ == "__format__" else ()
        text = session.interpreter.call_method(own, value, *given)
        return text if is_bare or given else format_value(session, text, None, spec)
    is_of_run = is_text_of_run(session, value)
    if isinstance(value, OF_TORCH) and any(map(is_text_symbolic, vars(value).values())):
        text = session.interpreter.run(type(value).__repr__, value)
        return format_value(session, text, "a" if conversion == "a" else None, spec)
    if not is_of_run and not isinstance(spec, CapturedText):
        convert = CONVERSIONS[conversion] if conversion else lambda one: one
        return _python_text(session, lambda: format(convert(value), spec or ""), value)
    if isinstance(value, CapturedText) and not conversion and is_bare:
        return value
    if is_of_run and not isinstance(value, LEAVES):
        _check_format(value, conversion, is_bare=is_bare)
        value, conversion = _text_of(session, value, conversion or "s"), None
        if is_bare:
            return value
    spec_arg = spec.value if isinstance(spec, CapturedText) else spec
    return text_op(recorder, "format", text_arg(session, value), conversion, spec_arg)


def _users_text(value: object, conversion: str | None) -> types.FunctionType | None:
    """The method that makes the text of `value`, if a user wrote it."""
    own = user_method(value, "__format__") if conversion is None else None
    if own is None and conversion in (None, "s"):
        own = user_method(value, "__str__")
    is_repr = conversion == "r" or (conversion != "a" and type(value).__str__ is object.__str__)
    return user_method(value, "__repr__") if own is None and is_repr else own


def _python_text(session: Session, make: Callable[[], str], value: object) -> str:
    """The text of `value`, made by Python; methods of the user's in it must change nothing."""
    if isinstance(value, PLAIN):
        return make()
    with watched(session, "str"):
        return python_text(make, value)


def _check_format(container: object, conversion: str | None, *, is_bare: bool) -> None:
    """Raise where Python, or Stator, has no text of `container` for this format."""
    if conversion == "a":
        raise UnsupportedCall(
            f"`!a` formats {with_article(python_name(container))} with captured values in "
            "it",
            fix="use `!r`",
        )  # fmt: skip
    if conversion is None and not is_bare:
        name = python_name(container)
        raise TypeError(f"unsupported format string passed to {name}.__format__")


def fstring(session: Session, *parts: Staged) -> Staged:
    """The parts of an f-string put together."""
    at = _first_variant(parts)
    if at is not None:
        before, after = parts[:at], parts[at + 1 :]
        return session.recorder.apply(parts[at], lambda one: fstring(session, *before, one, *after))
    if not any(isinstance(part, CapturedText) for part in parts):
        return "".join(parts)
    args = tuple(text_arg(session, part) for part in parts)
    return text_op(session.recorder, "join", *args)


def missing_text(session: Session, items: Staged, name: str, wanted: Staged) -> Staged:
    """What Python says where the method `name` of `items` does not find `wanted`."""
    cls = items.plain if isinstance(items, StagedContainer) else type(items)
    if isinstance(items, StagedList) and items.is_tuple:
        cls = tuple
    before, shown, after = _missing_template(cls, name).partition(REPR)
    if not shown or is_plain_object(wanted):
        return before + after
    return fstring(session, before, format_value(session, wanted, "r", None), after)


@functools.cache
def _missing_template(cls: type, name: str) -> str:
    """The message, with `REPR` for the value; Python's versions differ in it."""
    try:
        getattr(cls(), name)(_Missing())
    except ValueError as error:
        return str(error)
    raise AssertionError(f"an empty {cls.__name__} has something")


class _Missing:
    def __repr__(self) -> str:
        return REPR


def percent_format(session: Session, text: str, values: object) -> Staged:
    """`text % values`, field by field."""
    given = iter(values if isinstance(values, tuple) else (values,))
    parts: list[object] = []
    end = 0
    for found in PERCENT_FIELD.finditer(text):
        parts.append(text[end : found.start()])
        end = found.end()
        if found["type"] == "%":
            parts.append("%")
            continue
        value = next(given, NO_VALUE)
        if value is NO_VALUE:
            raise TypeError("not enough arguments for format string")
        parts.append(_percent_field(session, found, value))
    if next(given, NO_VALUE) is not NO_VALUE and not isinstance(values, dict):
        raise TypeError("not all arguments converted during string formatting")
    return fstring(session, *parts, text[end:])


def _percent_field(session: Session, found: re.Match[str], value: object) -> Staged:
    """One field of `text % values`: its flags and type as a format spec writes them."""
    flags, width, precision, kind = (
        found["flags"],
        found["width"],
        found["precision"],
        found["type"],
    )
    if found["name"] or "*" in (width + precision) or kind not in "diufFeEgGxXosra":
        raise UnsupportedCall(f"`{found[0]}` with captured values is not supported",
                              fix="use an f-string")  # fmt: skip
    if kind in "sra":
        value, kind = format_value(session, value, kind, None), ""
    elif kind in "diuxXo":
        value, kind = session.interpreter.call(int, value), "d" if kind in "iu" else kind
    align = "<" if "-" in flags else ">" if not kind else ""
    sign = "+" if "+" in flags else " " if " " in flags else ""
    zeros = "0" if "0" in flags and not align else ""
    spec = align + sign + ("#" if "#" in flags else "") + zeros + width + precision + kind
    return format_value(session, value, None, spec)


TEXT_SIGNS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def compare_texts(session: Session, left: object, sign: str, right: object) -> Staged:
    """`left SIGN right`, one of them a text made by the program."""
    if not all(isinstance(one, str | CapturedText) for one in (left, right)):
        if sign in ("==", "!="):
            return sign == "!="
        names = ["str" if isinstance(o, CapturedText) else type(o).__name__ for o in (left, right)]
        raise TypeError(
            f"'{sign}' not supported between instances of '{names[0]}' and '{names[1]}'"
        )
    recorder = session.recorder
    args = (text_arg(session, left), text_arg(session, right))
    value = recorder.emit_number(f"stator::{TEXT_SIGNS[sign]}", args, "bool")
    return recorder.number("bool", value)


def _first_variant(values: tuple[object, ...]) -> int | None:
    """The position of the first Union; None where there is none."""
    return next((k for k, value in enumerate(values) if isinstance(value, Union)), None)


def _shown(session: Session, error: CaughtError) -> Staged:
    """`repr(error)`: its class and its arguments, unless a user's class says something else."""
    written: Any = session.recorder.exceptions.classes.values()
    if any(cls.__repr__ is not BaseException.__repr__ for cls in written):
        raise error.refused()
    run = session.interpreter.run
    return run(text_definitions.exception_text, error.class_name(), error.arguments())


def text_arg(session: Session, value: object) -> Arg:
    """What a text op is given for `value`."""
    if isinstance(value, CaughtError):
        value = value.text(session.recorder.sees_value)
    if isinstance(value, CapturedText):
        return value.value
    if isinstance(value, torch.Tensor | Number | CapturedComplex):
        return session.recorder.arg(value)
    if is_text_symbolic(value):
        return text_arg(session, _text_of(session, value, "s"))
    if isinstance(value, str):
        return value
    return text_arg(session, format_value(session, value, "s", None))


def _text_of(session: Session, value: Staged, conversion: str) -> Staged:
    """`str(value)`, or `repr(value)` for the conversion "r", of what is made of captured values."""
    for name in ("__repr__",) if conversion == "r" else ("__str__", "__repr__"):
        method = user_method(value, name)
        if method is not None:
            return session.interpreter.call(method, value)
    if isinstance(value, CapturedRange | slice):
        return _slice_text(session, value)
    if isinstance(value, dict):
        return _dict_text(session, value)
    if _writes_its_fields(cls := type(value)):
        shown = {one.name: getattr(value, one.name) for one in dataclasses.fields(cls) if one.repr}
        return _named_text(session, type(value).__qualname__, shown)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        shown = dict(zip(value._fields, value, strict=True))
        return _named_text(session, type(value).__name__, shown)
    if isinstance(value, BaseException):
        return _error_text(session, value, conversion)
    if isinstance(value, VIEWS):
        inner = _sequence_text(session, list(value))
        parts = (f"{type(value).__name__}(", inner.value, ")")
        return text_op(session.recorder, "join", *parts)
    if type(value) is StagedList and value.is_open:
        write = text_definitions.tuple_text if value.is_tuple else text_definitions.list_text
        return session.interpreter.run(write, value)
    if is_captured(value) or not isinstance(value, list | tuple):
        raise no_text(value)
    return _sequence_text(session, value)


def _writes_its_fields(cls: type) -> bool:
    """Is `cls` a dataclass, whose text is `Name(field=…)`?"""
    settings = getattr(cls, "__dataclass_params__", None)
    return settings is not None and settings.repr


def _named_text(session: Session, name: str, items: Mapping[str, object]) -> CapturedText:
    """`Name(a=1, b=2)`."""
    parts: list[Arg] = [f"{name}("]
    for index, (field, item) in enumerate(items.items()):
        parts += [f"{', ' if index else ''}{field}=", _repr_arg(session, item)]
    return text_op(session.recorder, "join", *parts, ")")


def _error_text(session: Session, error: BaseException, conversion: str) -> Staged:
    """The text of an exception that holds captured values, as its class writes it."""
    if type(error).__str__ not in (BaseException.__str__, KeyError.__str__):
        raise no_text(error)
    if conversion == "r":
        parts: list[Arg] = [f"{type(error).__name__}("]
        for index, item in enumerate(error.args):
            parts += [", "] if index else []
            parts.append(_repr_arg(session, item))
        return text_op(session.recorder, "join", *parts, ")")
    if len(error.args) > 1:
        return _sequence_text(session, error.args)
    is_key = type(error).__str__ is KeyError.__str__
    return format_value(session, error.args[0], "r" if is_key else "s", None)


def _slice_text(session: Session, value: CapturedRange | slice) -> CapturedText:
    """`range(0, 3)` or `slice(0, 3, None)`."""
    items = [value.start, value.stop, value.step]
    if isinstance(value, CapturedRange):
        if not isinstance(value.step, int):
            raise UnsupportedCall(
                "the string form of a range with a data-dependent step is not supported",
                fix="format its bounds one by one",
            )
        items = items[: 2 if value.step == 1 else 3]
    parts: list[Arg] = ["range(" if isinstance(value, CapturedRange) else "slice("]
    for index, item in enumerate(items):
        parts += [", "] if index else []
        parts.append(_repr_arg(session, item))
    return text_op(session.recorder, "join", *parts, ")")


def _sequence_text(session: Session, value: Sequence[object]) -> CapturedText:
    """The text of a list or tuple with captured items, as `repr` writes it."""
    start, end = "[]" if isinstance(value, list) else "()"
    if isinstance(value, torch.Size):
        start, end = "torch.Size([", "])"
    if isinstance(value, StagedDeque):
        most = "" if value.maxlen is None else f", maxlen={value.maxlen}"
        start, end = "deque([", f"]{most})"
    parts: list[Arg] = [start]
    for index, item in enumerate(value):
        parts += [", "] if index else []
        parts.append(_repr_arg(session, item))
    ending = ",)" if type(value) is tuple and len(value) == 1 else end
    return text_op(session.recorder, "join", *parts, ending)


def _dict_text(session: Session, table: dict[object, object]) -> CapturedText:
    """The text of a dict with captured values, as `repr` writes it."""
    if python_name(table) != "dict" and type(table).__repr__ is not dict.__repr__:
        raise no_text(table)
    parts: list[Arg] = ["{"]
    for index, (key, item) in enumerate(table.items()):
        parts += [", "] if index else []
        parts += [f"{key!r}: ", _repr_arg(session, item)]
    return text_op(session.recorder, "join", *parts, "}")


def _repr_arg(session: Session, item: object) -> Arg:
    return text_arg(session, format_value(session, item, "r", None))


def print_values(session: Session, *values: Staged, **options: Staged) -> None:
    """`print`: at every run, where eager code prints."""
    _check_options(**options)
    file = options.get("file")
    if isinstance(file, Union):
        session.recorder.apply(
            file, lambda one: print_values(session, *values, **{**options, "file": one})
        )
        return
    at = _first_variant(values)
    if at is not None:
        before, after = values[:at], values[at + 1 :]
        session.recorder.apply_all(
            values[at], lambda one: print_values(session, *before, one, *after, **options)
        )
        return
    if file is not None and file is not sys.stdout:
        _print_to_file(session, values, **options)
        return
    recorder = session.recorder
    parts = tuple(text_arg(session, value) for value in values)
    attributes: dict[str, Arg] = {
        name: text_arg(session, options[name])
        for name in ("sep", "end")
        if options.get(name) is not None
    }
    recorder.emit("stator::print", parts, attributes=attributes)


def _check_options(**options: Staged) -> None:
    """Raise what Python raises for options that `print` does not take."""
    known = {name: one for name, one in options.items() if not isinstance(one, Symbolic)}
    PRINT(**{**known, "file": io.StringIO(), "flush": False})


def _print_to_file(
    session: Session,
    values: tuple[Staged, ...],
    *,
    file: Staged,
    sep: Staged = None,
    end: Staged = None,
    flush: Staged = False,
) -> None:
    """`print(*values, file=file)`, by calls of the file's methods, as Python makes them."""
    interpreter = session.interpreter
    write = interpreter.get(file, "write")
    for at, value in enumerate(values):
        if at:
            interpreter.call(write, " " if sep is None else sep)
        interpreter.call(write, format_value(session, value, "s", None))
    interpreter.call(write, "\n" if end is None else end)
    if flush:
        interpreter.call(interpreter.get(file, "flush"))
