"""`f(*items)` where only a run knows how many there are.

What the callee names is taken by number, and how many there must be is checked by the run; the rest
goes on as one `Rest`, which a converted function gathers into its `*args`.
"""

from __future__ import annotations

import inspect
import types

from stator.capture.conditions import refuse_if
from stator.containers import lists
from stator.errors import UnsupportedCall
from stator.frames import current_place, is_library_file
from stator.library.markers import is_left_alone
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.staged import StagedList
from stator.values.symbolic import Undefined
from stator.values.union import Union

EXTREMES = (max, min)
SPREAD = "stator_spread__"  # the keyword under which `**variant` arrives


class SpreadUnion:
    """`*variant` in the arguments of a call."""

    def __init__(self, values: Union) -> None:
        self.values = values


def named(name: str, value: object) -> dict[str, object]:
    """A keyword argument that may be absent."""
    return {} if isinstance(value, Undefined) else {name: value}


def may_be_absent(name: str, value: object) -> bool:
    """Does it depend on the path whether this keyword is passed?"""
    return isinstance(value, Union) and (
        name == SPREAD or any(isinstance(one, Undefined) for one in value.alternatives)
    )


class Rest:
    """Arguments of which only a run knows how many there are."""

    def __init__(self, items: StagedList) -> None:
        self.items = items


def spread_rest(session: Session, function: object, args: Args) -> Args:
    """The arguments as `function` can take them."""
    at = next(k for k, arg in enumerate(args) if type(arg) is Rest)
    first, items = args[:at], _joined(session, args[at:])
    if function in EXTREMES and not first:
        length = lists.list_length(session.recorder, items)
        refuse_if(session.recorder, length < 2, "this needs a list of two items or more")
        return (items,)
    named = _named_parameters(function)
    if named is None:
        raise UnsupportedCall(
            "`*` unpacks a list of data-dependent length", at=current_place(),
            fix="pass the list itself",
        )  # fmt: skip
    count, takes_rest = named
    return (*first, *_taken(session, items, count - len(first), takes_rest))


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
