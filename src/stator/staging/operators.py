"""Staging: the object that rewritten code knows as `stator__`. One method for each construct."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stator.capture.branches import capture_if, defined
from stator.capture.places import current_place
from stator.capture.values import (
    CaughtError,
    StagedList,
    Undefined,
    Variant,
    is_table,
)
from stator.debugger import for_converted_code
from stator.errors import UnsupportedCall
from stator.staging import (
    access,
    attempts,
    contexts,
    control_flow,
    displays,
    iterators,
    lists,
    logic,
    patterns,
    text,
)
from stator.staging.arithmetic import arithmetic, unary
from stator.staging.calls import SPREAD, Caller, Spread
from stator.staging.partial import for_each_way, is_partial
from stator.staging.protocols import user_method
from stator.staging.session import Session
from stator.staging.spreading import Rest
from stator.staging.tensor_calls import unbind
from stator.staging.truth import index, truth

Code = Callable[[], Any]
IN_PLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul,
    "&": operator.iand, "|": operator.ior, "^": operator.ixor, "<<": operator.ilshift,
    ">>": operator.irshift,
}  # fmt: skip


class Staging:
    """Decides, for one capture, what runs and what is recorded."""

    slice = slice

    def __init__(self, session: Session) -> None:
        self.session = session
        self.recorder = session.recorder
        self.call = Caller(session, self)
        session.attach(self)

    def debugger(self, function: Any) -> Any:
        """`breakpoint` or `set_trace`, which stop in the frame that calls them."""
        return for_converted_code(function)

    # ---- control flow

    def if_stmt(
        self, test: Any, body: Code, orelse: Code, read: Any, write: Any, names: Any
    ) -> None:
        """`if test: body else: orelse`."""
        control_flow.if_stmt(self.session, test, body, orelse, read, write, names)

    def while_stmt(self, test: Code, body: Code, read: Any, write: Any, names: Any) -> None:
        """`while test(): body`."""
        control_flow.while_stmt(self.session, test, body, read, write, names)

    def for_stmt(
        self, iterable: Any, body: Any, test: Code | None, read: Any, write: Any, names: Any
    ) -> None:
        """`for item in iterable: body(item)`, as long as `test()` holds."""
        control_flow.for_stmt(self.session, iterable, body, test, read, write, names)

    def if_expr(self, test: Any, body: Code, orelse: Code) -> Any:
        """`body() if test else orelse()`."""
        return control_flow.if_expr(self.session, test, body, orelse)

    def binding(self, thunk: Code, *reads: Any) -> Code:
        """A thunk with a `:=` in it: what it binds is state of the block that it runs in.

        `reads` read the names; they are here for the cells that the names live in.
        """
        for read in reads:
            if read.__closure__ and not self.session.guards.is_outside(read.__closure__[0]):
                self.recorder.born(read.__closure__[0])

        def run() -> Any:
            for read in reads:
                self._note_variable(read)
            return thunk()

        return run

    def _note_variable(self, read: Any) -> None:
        if read.__closure__:
            self.session.note(read.__closure__[0])
        else:
            self.session.guards.global_names(read.__globals__)
            self.session.note(read.__globals__)

    def first(self, found: Any, *default: Any) -> Any:
        """`next(... for ... in ...)`: `found` has the first item, or nothing."""
        return iterators.first(self.session, found, *default)

    def yielded(self, consumer: Any, item: Any) -> Any:
        """`yield item`: does the consumer want no more?"""
        return consumer(item)

    # ---- logic

    def and_(self, first: Any, *rest: Code) -> Any:
        """`first and ...`."""
        return logic.and_(self.session, first, *rest)

    def or_(self, first: Any, *rest: Code) -> Any:
        """`first or ...`."""
        return logic.or_(self.session, first, *rest)

    def arithmetic(self, left: Any, sign: str, right: Any) -> Any:
        """`left SIGN right`."""
        return arithmetic(self.session, left, sign, right)

    def unary(self, sign: str, value: Any) -> Any:
        """`-value`, `+value` and `~value`."""
        return unary(self.session, sign, value)

    def not_(self, value: Any) -> Any:
        """`not value`."""
        return logic.not_(self.session, value)

    def compare(self, left: Any, sign: str, right: Any) -> Any:
        """`left SIGN right`."""
        return logic.compare(self.session, left, sign, right)

    def compare_chain(self, left: Any, *links: tuple[str, Code]) -> Any:
        """`left SIGN a SIGN b ...`."""
        return logic.compare_chain(self.session, left, *links)

    # ---- calls

    def positionals(self, values: Any) -> Any:
        """`*values` of a call."""
        if is_partial(values):
            values = for_each_way(self.session, values, tuple)
        if isinstance(values, Variant):
            return (Spread(values),)
        if isinstance(values, torch.Tensor):
            return self.unpack_all(values)
        if lists.is_captured(values):
            return (Rest(values),)
        return values

    def gathered(self, values: tuple[Any, ...]) -> Any:
        """`*args` of a converted function."""
        if not any(type(value) is Rest for value in values):
            return values
        spread = [displays.Spread(v.items) if type(v) is Rest else v for v in values]
        return displays.new_tuple(self.session, spread)

    def unpack_all(self, tensor: torch.Tensor) -> Any:
        """The rows of a tensor, as arguments."""
        if isinstance(tensor.shape[0], int):
            return tuple(tensor[k] for k in range(tensor.shape[0]))
        return self.positionals(unbind(self.session, tensor))

    def keywords(self, values: Any) -> Any:
        """`**values` of a call."""
        return {SPREAD: values} if isinstance(values, Variant) else values

    # ---- names

    def undefined(self, name: str) -> Undefined:
        """The value of a name that is not bound yet."""
        return Undefined(name)

    def read(self, value: Any) -> Any:
        """A name that may not be bound: an error where it is not."""
        if isinstance(value, Undefined):
            raise value.error()
        if isinstance(value, Variant):
            missing = [one for one in value.alternatives if isinstance(one, Undefined)]
            if missing:
                return defined(self.recorder, value, missing[0].error())
        return value

    # ---- attributes and items

    def get(self, obj: Any, name: str) -> Any:
        """`obj.name`."""
        return access.get(self.session, obj, name)

    def set(self, obj: Any, name: str, value: Any) -> None:
        """`obj.name = value`."""
        access.set_attribute(self.session, obj, name, value)

    def delete(self, obj: Any, name: str) -> None:
        """`del obj.name`."""
        access.delete_attribute(self.session, obj, name)

    def getitem(self, obj: Any, key: Any) -> Any:
        """`obj[key]`."""
        return access.getitem(self.session, obj, key)

    def setitem(self, obj: Any, key: Any, value: Any) -> None:
        """`obj[key] = value`."""
        access.setitem(self.session, obj, key, value)

    def delitem(self, obj: Any, key: Any) -> None:
        """`del obj[key]`."""
        access.delitem(self.session, obj, key)

    def augmented(self, sign: str, left: Any, right: Any) -> Any:
        """`left SIGN= right`: in place where the object can."""
        left = self.session.seen(left)
        if isinstance(left, Variant) or isinstance(right, Variant):
            chosen = left if isinstance(left, Variant) else right
            return self.recorder.apply(
                chosen,
                lambda one: self.augmented(
                    sign, one if chosen is left else left, one if chosen is right else right
                ),
            )
        if isinstance(left, StagedList):
            return self._augmented_list(sign, left, right)
        method = user_method(left, f"__i{IN_PLACE[sign].__name__[1:].rstrip('_')}__")
        if method is not None:
            return self.call(method, left, right)
        if isinstance(left, dict) and isinstance(right, dict) and sign == "|":
            self.call(left.update, right)
            return left
        if isinstance(left, set) and sign == "|":
            self.call(left.update, right)
            return left
        if isinstance(left, torch.Tensor | dict | set):
            if is_table(left) or is_table(right):
                raise UnsupportedCall(
                    f"`{sign}=` of a set whose items only a run knows", at=current_place(),
                    fix="use `add` and `discard`",
                )  # fmt: skip
            if not isinstance(left, torch.Tensor):
                self.session.note(left)
            return IN_PLACE[sign](left, right)
        return arithmetic(self.session, left, sign, right)

    def _augmented_list(self, sign: str, left: StagedList, right: Any) -> Any:
        self.session.note(left)
        if sign == "+" and not left.is_tuple:
            self.call(left.extend, right)
            return left
        if left.is_tuple:
            return arithmetic(self.session, left, sign, right)
        lists.take_over(left, arithmetic(self.session, left, sign, right))
        return left

    def unpack(self, value: Any, before: int, after: int | None) -> Any:
        """What `a, b = value` or `a, *b, c = value` assigns: one value for each target."""
        if is_partial(value):
            value = for_each_way(self.session, value, tuple)
        if isinstance(value, Variant):
            return self.recorder.apply(value, lambda one: tuple(self.unpack(one, before, after)))
        if isinstance(value, torch.Tensor):
            return self._unpack_tensor(value, before, after)
        if lists.is_captured(value):
            return self._unpack_list(value, before, after)
        return value if after is None else self._unpack_items(value, before, after)

    def _unpack_items(self, value: Any, before: int, after: int) -> Any:
        (*items,) = value
        end = len(items) - after
        if end < before:
            raise ValueError(
                "not enough values to unpack "
                f"(expected at least {before + after}, got {len(items)})"
            )
        return (*items[:before], StagedList(items[before:end]), *items[end:])

    def _unpack_tensor(self, value: torch.Tensor, before: int, after: int | None) -> Any:
        if isinstance(value.shape[0], int):
            return self.unpack(unbind(self.session, value), before, after)
        if after is None:
            self._demand_length(value.shape[0], before)
            return tuple(value[k] for k in range(before))
        return self._unpack_list(unbind(self.session, value), before, after)

    def _unpack_list(self, value: StagedList, before: int, after: int | None) -> Any:
        length = lists.list_length(self.recorder, value)
        if after is None:
            self._demand_length(length, before)
            return tuple(lists.list_get(self.recorder, value, k) for k in range(before))
        self._demand_enough(length, f"at least {before + after}", before + after)
        end = length - after
        return (
            *(lists.list_get(self.recorder, value, k) for k in range(before)),
            lists.list_slice(self.recorder, value, slice(before, end)),
            *(lists.list_get(self.recorder, value, end + k) for k in range(after)),
        )

    def _demand_length(self, length: Any, wanted: int) -> None:
        self.session.raise_if(length > wanted, ValueError(
            f"too many values to unpack (expected {wanted})"))  # fmt: skip
        self._demand_enough(length, str(wanted), wanted)

    def _demand_enough(self, length: Any, words: str, wanted: int) -> None:
        too_few = text.fstring(
            self.session, f"not enough values to unpack (expected {words}, got ",
            text.format_value(self.session, length, None, None), ")",
        )  # fmt: skip
        self.session.raise_if(length < wanted, ValueError(too_few))

    # ---- displays and text

    def spread(self, values: Any) -> displays.Spread:
        """`*values` in a display."""
        return displays.Spread(values)

    def new_list(self, items: Sequence[Any]) -> Any:
        """`[...]`."""
        return displays.new_list(self.session, items)

    def new_tuple(self, items: Sequence[Any]) -> Any:
        """`(...)` with a `*` in it."""
        return displays.new_tuple(self.session, items)

    def new_dict(self, *entries: tuple[Any, ...]) -> Any:
        """`{key: value, ...}`."""
        return displays.new_dict(self.session, *entries)

    def new_set(self, items: Sequence[Any]) -> Any:
        """`{item, ...}`."""
        return displays.new_set(self.session, items)

    def fstring(self, *parts: Any) -> Any:
        """The parts of an f-string put together."""
        return text.fstring(self.session, *parts)

    def format(self, value: Any, conversion: str | None, spec: Any) -> Any:
        """`{value!conversion:spec}` of an f-string."""
        return text.format_value(self.session, value, conversion, spec)

    # ---- patterns of `match`

    def bound(self, value: Any) -> bool:  # noqa: ARG002 (the walrus in the argument has bound it)
        """A pattern that binds a name always matches."""
        return True

    def is_sequence(self, value: Any, size: int, starred: bool) -> Any:
        """Does a sequence pattern with so many parts fit?"""
        return patterns.is_sequence(self.session, value, size, starred)

    def rest_of_sequence(self, value: Any, before: int, after: int) -> Any:
        """What `*name` of a sequence pattern takes."""
        return patterns.rest_of_sequence(self.session, value, before, after)

    def has_keys(self, value: Any, keys: tuple[Any, ...]) -> Any:
        """Does a mapping pattern with these keys fit?"""
        return patterns.has_keys(self.session, value, keys)

    def is_instance(self, value: Any, cls: Any) -> Any:
        """Does a class pattern fit?"""
        return self.call(isinstance, value, cls)

    def match_argument(self, value: Any, cls: Any, position: int) -> Any:
        """What the positional part of a class pattern looks at."""
        return patterns.match_argument(self.session, value, cls, position)

    # ---- exceptions

    def assert_stmt(self, test: Any, message: Code | None) -> None:
        """`assert`: at every run, where the test is captured."""
        condition = truth(self.recorder, test)

        def fail() -> None:
            raise AssertionError(*([] if message is None else [message()]))  # the user's

        if condition is False:
            fail()
        if condition is not True:
            capture_if(self.recorder, condition, lambda: None, fail)

    def raised(self, error: Any) -> Any:
        """What `raise` raises; one of several errors is raised where it is that one."""
        if isinstance(error, CaughtError):
            attempts.reraise(self.session)
        if isinstance(error, Variant):
            self.recorder.apply_all(error, self._raise)
        return error

    def _raise(self, error: Any) -> None:
        raise self.raised(error)

    def reraised(self) -> Any:
        """What a bare `raise` raises."""
        active = sys.exc_info()[1]
        if active is None:
            attempts.reraise(self.session)
        return active

    def cause(self, error: Any) -> Any:
        """What `raise ... from error` names as the cause: a program keeps none."""
        return None if isinstance(error, CaughtError | Variant) else error

    def try_stmt(
        self, body: Code, clauses: Any, orelse: Code, read: Any, write: Any, names: Any
    ) -> None:
        """`try` with handlers."""
        attempts.try_stmt(self.session, body, clauses, orelse, read, write, names)

    def finally_stmt(self, body: Code, final: Code, read: Any, write: Any, names: Any) -> None:
        """`try: body finally: final`."""
        contexts.finally_stmt(self.session, body, final, read, write, names)

    def with_stmt(self, manager: Any, body: Any, read: Any, write: Any, names: Any) -> None:
        """`with manager as item: body(item)`."""
        contexts.with_stmt(self.session, manager, body, read, write, names)

    def index(self, value: Any) -> Any:
        """`operator.index(value)` for a tensor; anything else as it is."""
        return index(self.recorder, value)
