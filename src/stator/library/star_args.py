"""`f(*items)` where only a run knows how many there are.

What the callee names is taken by number, and how many there must be is checked by the run; the rest
goes on as one `Rest`, which a converted function gathers into its `*args`.
"""

from __future__ import annotations

import inspect
import itertools
import types

from stator.capture.conditions import refuse_if, select
from stator.containers import lists
from stator.containers import standard_definitions as definitions
from stator.containers.definitions import chained
from stator.containers.iteration import Indexed
from stator.containers.iterators import StagedIterator, new_iterator
from stator.errors import UnsupportedCall
from stator.frames import is_library_file
from stator.library.markers import is_left_alone
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.kinds import ContainerKind
from stator.values.staged import StagedList
from stator.values.symbolic import Undefined
from stator.values.union import Union

EXTREMES = (max, min)
SPREAD = "stator_spread__"  # the keyword under which `**variant` arrives, and a number
WRONG = "stator_wrong__"  # and that of a `WrongSpread`


class SpreadUnion:
    """`*variant` in the arguments of a call."""

    def __init__(self, values: Union) -> None:
        self.values = values


class WrongSpread:
    """`*value` or `**value` that Python refuses: `problem` follows the name of the function."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def merged(keywords: dict[str, Staged], more: Staged) -> dict[str, Staged]:
    """`keywords` and those of `**more`."""
    if not hasattr(type(more), "keys"):
        problem = f"argument after ** must be a mapping, not {type(more).__name__}"
        return {WRONG: WrongSpread(problem), **keywords}
    found = {**more}
    twice = next((name for name in found if name in keywords), None)
    if twice is not None:
        problem = f"got multiple values for keyword argument '{twice}'"
        return {WRONG: WrongSpread(problem), **keywords}
    return {**keywords, **found}


def _refuse_wrong(function: Staged, args: Args, kwargs: Keywords) -> None:
    """Raise the error of a `WrongSpread` among the arguments, as Python words it."""
    found = next((one for one in (*args, kwargs.get(WRONG)) if type(one) is WrongSpread), None)
    if found is None:
        return
    name = getattr(function, "__qualname__", None)
    module = getattr(function, "__module__", None)
    if not isinstance(name, str):
        raise TypeError(f"{function} {found.problem}")
    start = "" if module in (None, "builtins") else f"{module}."
    raise TypeError(f"{start}{name}() {found.problem}")


def _named(name: str, value: object) -> dict[str, object]:
    """A keyword argument that may be absent."""
    return {} if isinstance(value, Undefined) else {name: value}


def _may_be_absent(name: str, value: object) -> bool:
    """Does it depend on the path whether this keyword is passed?"""
    return isinstance(value, Union) and (
        name.startswith(SPREAD) or any(isinstance(one, Undefined) for one in value.alternatives)
    )


def choose_arguments(
    session: Session, call: Staged, function: Staged, args: Args, kwargs: Keywords
) -> tuple[Staged] | None:
    """Arguments whose number depends on the path: one call for each way. None if there is one."""
    _refuse_wrong(function, args, kwargs)
    apply = session.recorder.apply_all
    at = next((k for k, arg in enumerate(args) if type(arg) is SpreadUnion), None)
    if at is not None:
        first, last = args[:at], args[at + 1 :]
        return (apply(args[at].values, lambda one: call(function, *first, *one, *last, **kwargs)),)
    name = next((key for key, value in kwargs.items() if _may_be_absent(key, value)), None)
    if name is None:
        return None

    def call_with(one: Staged) -> Staged:
        chosen = one if name.startswith(SPREAD) else _named(name, one)
        whole: dict[str, Staged] = {}
        for key, value in kwargs.items():
            whole = merged(whole, {key: value} if key != name else chosen)
        return call(function, *args, **whole)

    return (apply(kwargs[name], call_with),)


class Rest:
    """Arguments of which only a run knows how many there are."""

    def __init__(self, items: StagedList) -> None:
        self.items = items


def spread_rest(
    session: Session, function: Staged, args: Args, kwargs: Keywords
) -> tuple[Staged, Args, Keywords]:
    """`function` and its arguments as it can take them, or another one that takes a list."""
    at = next(k for k, arg in enumerate(args) if type(arg) is Rest)
    first, items = args[:at], _joined(session, args[at:])
    if function in EXTREMES and not first:
        length = lists.list_length(session.recorder, items)
        refuse_if(session.recorder, length < 2, "this needs a list of two items or more")
        return function, (items,), kwargs
    if function in (zip, itertools.chain, print):
        whole = _joined(session, (*first, Rest(items)))
        if function is print:
            return definitions.print_all, (whole,), kwargs
        joined = _columns if function is zip else _chained
        return iter, (joined(session, whole, kwargs),), {}  # of an iterator it is the same
    named = _named_parameters(function)
    if named is None:
        raise UnsupportedCall(
            "`*` unpacks a list of data-dependent length",
            fix="pass the list itself, if the function takes one, or use a loop",
        )
    count, takes_rest = named
    taken = _taken(session, items, count - len(first), takes_rest)
    return function, (*first, *taken), kwargs


def _columns(session: Session, rows: StagedList, kwargs: Keywords) -> Staged:
    """What `zip(*rows)` goes through."""
    row = rows.columns.item if rows.columns is not None else None
    if isinstance(row, ContainerKind):
        return _columns_of_width(session, rows, len(row.items))
    return session.interpreter.run(definitions.columns_of, rows, **kwargs)


def _columns_of_width(session: Session, rows: StagedList, width: int) -> StagedIterator:
    """Each column has its own type; where there is no row, there is none of them."""
    run = session.interpreter.run
    columns = [run(definitions.column, rows, k) for k in range(width)]
    some = lists.list_length(session.recorder, rows) > 0
    count = select(session.recorder, some, width, 0)

    def item(at: Staged) -> Staged:
        if isinstance(at, int):
            return columns[at] if at < width else None
        return session.interpreter.getitem(StagedList(columns), at)

    return new_iterator(session, Indexed(lambda at: at < count, item, lambda: count), zip)


def _chained(session: Session, parts: StagedList, _kwargs: Keywords) -> Staged:
    return session.interpreter.run(chained, parts)


def _joined(session: Session, args: Args) -> StagedList:
    """The last arguments, as one list of the program."""
    if len(args) == 1:
        items: StagedList = args[0].items
        return items
    parts = [session.interpreter.spread(arg.items) if type(arg) is Rest else arg for arg in args]
    joined: StagedList = session.interpreter.new_list(parts)
    return joined


def _taken(session: Session, items: StagedList, count: int, takes_rest: bool) -> Args:
    """The first `count` of `items`, and the rest; a run checks that there are enough."""
    recorder = session.recorder
    length = lists.list_length(recorder, items)
    if not takes_rest:
        refuse_if(session.recorder, length != count, f"this needs a list of {count} items")
    elif count > 0:
        refuse_if(session.recorder, length < count, f"this needs a list of {count} items or more")
    named = tuple(lists.list_get(recorder, items, k) for k in range(count))
    if not takes_rest:
        return named
    rest = items if count <= 0 else lists.list_slice(recorder, items, slice(count, None))
    return (*named, Rest(rest))


def _named_parameters(function: Staged) -> tuple[int, bool] | None:
    """How many positional parameters a user's function names, and whether it has `*args`."""
    bound = isinstance(function, types.MethodType)
    function = function.__func__ if bound else function
    if (
        not isinstance(function, types.FunctionType)
        or is_left_alone(function)
        or is_library_file(function.__code__.co_filename)
        or function.__defaults__
    ):
        return None
    code = function.__code__
    return code.co_argcount - bound, bool(code.co_flags & inspect.CO_VARARGS)
