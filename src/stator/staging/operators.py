"""Staging: the object that rewritten code knows as `stator__`. One method for each construct."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Collection, Sequence

import torch

from stator.capture.branches import bound_value, capture_if, without_undefined
from stator.capture.conditions import Condition
from stator.capture.conversions import index
from stator.containers import iterators, lists, runtime_tables
from stator.containers.dict_calls import augment_dict, combines_dicts, is_mapping_in_python
from stator.containers.pools import Pools
from stator.containers.set_operators import COMBINED, augment
from stator.containers.tensor_index import plain_key
from stator.debugger import for_converted_code
from stator.errors import UnsupportedCall
from stator.library import text
from stator.library.array_operands import beside_tensor
from stator.library.calls import Caller
from stator.library.outside_iterators import iterated
from stator.library.user_methods import is_users, user_method
from stator.staging import (
    access,
    attributes,
    control_flow,
    literals,
    logic,
    match_stmt,
    spread_args,
    try_stmt,
    with_stmt,
)
from stator.staging.arithmetic import arithmetic, unary
from stator.staging.truth import truth
from stator.staging.unpacking import unpack
from stator.state.callers_arrays import write_array
from stator.state.session import Session
from stator.state.unconverted import UserCodeWatch
from stator.values.annotations import Args, Code, Keywords, Names, Read, Staged, Write
from stator.values.arrays import CapturedArray, ReversedArray
from stator.values.staged import StagedList, StagedSet, is_table
from stator.values.symbolic import CaughtError, Undefined
from stator.values.union import Union, over_unions

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
        self.pools = Pools(session)
        self.call = Caller(session, self, self.pools)
        self.shared = self.call.functions.add_shared  # see `rewrite/convert.py`

    def close(self) -> None:
        """The capture has ended: see `Session.close`."""
        caller = self.call
        caller.builtins.iterators.clear()
        for part in (caller.builtins, caller.machines, caller.functions, caller, self):
            vars(part).clear()

    def debugger(self, function: object) -> Staged:
        """`breakpoint` or `set_trace`, which stop in the frame that calls them."""
        return for_converted_code(function)

    # ---- control flow

    def if_stmt(
        self, test: Staged, body: Code, orelse: Code, read: Read, write: Write, names: Names
    ) -> None:
        """`if test: body else: orelse`."""
        control_flow.if_stmt(self.session, test, body, orelse, read, write, names)

    def while_stmt(
        self, test: Code, body: Code, read: Read, write: Write, names: Names, *steps: dict[str, int]
    ) -> None:
        """`while test(): body`; `steps` says what each iteration adds to counters, if any."""
        control_flow.while_stmt(self.session, test, body, read, write, names, *steps)

    def for_stmt(
        self,
        iterable: Staged,
        body: Staged,
        test: Code | None,
        read: Read,
        write: Write,
        names: Names,
    ) -> None:
        """`for item in iterable: body(item)`, as long as `test()` holds."""
        control_flow.for_stmt(self.session, iterable, body, test, read, write, names)

    def if_expr(self, test: object, body: Code, orelse: Code) -> Staged:
        """`body() if test else orelse()`."""
        return control_flow.if_expr(self.session, test, body, orelse)

    def binding(self, thunk: Code, *reads: Staged) -> Code:
        """A thunk with a `:=` in it: what it binds is state of the block that it runs in.

        `reads` read the names; they are here for the cells that the names live in.
        """
        for read in reads:
            if read.__closure__ and not self.session.provenance.is_external(read.__closure__[0]):
                self.recorder.provenance.add_created(read.__closure__[0])

        def run() -> Staged:
            for read in reads:
                self._note_variable(read)
            return thunk()

        return run

    def _note_variable(self, read: Read) -> None:
        if read.__closure__:
            self.session.note(read.__closure__[0])
        else:
            self.session.provenance.add_external(read.__globals__)
            self.session.note(read.__globals__)

    def first(self, found: object, *default: object) -> Staged:
        """`next(... for ... in ...)`: `found` has the first item, or nothing."""
        return iterators.first(self.session, found, *default)

    def machine(self, what: str, *args: Staged) -> Staged:
        """A step of a generator: see `rewrite/machines.py`."""
        return self.call.machines.call(what, *args)

    def yielded(self, consumer: Staged, item: Staged) -> Staged:
        """`yield item`: does the consumer want no more?"""
        return consumer(item)

    # ---- logic

    def and_(self, first: object, *rest: Code) -> Staged:
        """`first and ...`."""
        return logic.and_(self.session, first, *rest)

    def or_(self, first: object, *rest: Code) -> Staged:
        """`first or ...`."""
        return logic.or_(self.session, first, *rest)

    def test_and(self, first: object, *rest: Code) -> Condition:
        """`first and ...` in a test."""
        return logic.test_and(self.session, first, *rest)

    def test_or(self, first: object, *rest: Code) -> Condition:
        """`first or ...` in a test."""
        return logic.test_or(self.session, first, *rest)

    def test_if(self, test: object, body: Code, orelse: Code) -> Condition:
        """`body() if test else orelse()` in a test."""
        return control_flow.test_if(self.session, test, body, orelse)

    def test_chain(self, left: object, *links: tuple[str, Code]) -> Condition:
        """`left SIGN a SIGN b ...` in a test."""
        return logic.test_chain(self.session, left, *links)

    def none_of(self, *flags: object) -> Condition:
        """True if no flag of a lowered `break`, `continue` or `return` is set."""
        return logic.none_of(self.session, *flags)

    def arithmetic(self, left: object, sign: str, right: object) -> Staged:
        """`left SIGN right`."""
        return self.pools.placed(sign, lambda: arithmetic(self.session, left, sign, right))

    def unary(self, sign: str, value: object) -> Staged:
        """`-value`, `+value` and `~value`."""
        return unary(self.session, sign, value)

    def not_(self, value: object) -> Staged:
        """`not value`."""
        return logic.not_(self.session, value)

    def compare(self, left: object, sign: str, right: object) -> Staged:
        """`left SIGN right`."""
        return logic.compare(self.session, left, sign, right)

    def compare_chain(self, left: object, *links: tuple[str, Code]) -> Staged:
        """`left SIGN a SIGN b ...`."""
        return logic.compare_chain(self.session, left, *links)

    def truth(self, value: object) -> Condition:
        """`bool(value)`, symbolic where it is data-dependent."""
        return truth(self.session, value)

    def same(self, left: object, right: object) -> Staged:
        """`left is right or left == right`: how Python looks for an item."""
        return logic.same(self.session, left, right)

    # ---- calls

    def call_method(self, method: object, /, *args: object, **kwargs: object) -> Staged:
        """A method that the class of the first argument has; that it has it is guarded."""
        if args and isinstance(method, types.FunctionType):
            self.session.reads.read_method(args[0], method)
        return self.call(method, *args, **kwargs)

    def decorator(self, function: object) -> Staged:
        """`@function` of a nested function or class: what a user wrote is called as any other."""
        if not is_users(getattr(function, "__func__", function)):
            return function
        return lambda made: self.call(function, made)

    def module_names(self, names: dict[str, Staged]) -> Staged:
        """`globals()`: a dict that was there before."""
        self.session.provenance.add_external(names)
        return names

    def new_class(self) -> Callable[[Staged], Staged]:
        """A class statement begins; what is returned ends it."""
        watch = UserCodeWatch(self.session)
        watch.__enter__()

        def made(cls: Staged) -> Staged:
            watch.__exit__()
            watch.check(f"class {cls.__name__}")
            return cls

        return made

    def call_library(self, function: object, args: Args, kwargs: Keywords) -> Staged:
        """A call of code that is not converted."""
        return self.call.library(function, args, kwargs)

    def run(self, definition: Callable[..., Staged], /, *args: object, **kwargs: object) -> Staged:
        """A function that is written out in Python (see `containers.definitions`), converted."""
        return self.call.run(definition, args, kwargs)

    def positionals(self, values: Staged, is_only: bool = False) -> Staged:
        """`*values` of a call; `is_only`: it has no other positional arguments."""
        return spread_args.positionals(self.session, values, is_only=is_only)

    def in_any_order(self, values: object) -> Staged:
        """What a comprehension without effects makes a set of."""
        if is_table(values) and isinstance(values, StagedSet):
            return runtime_tables.entries(self.session, values)
        return values

    def generator(self, consumed: Staged, resumed: Staged, values: Staged) -> Staged:
        """A generator expression over `values`: see `rewrite/comprehensions.py`."""
        return self.call.machines.expression(consumed, resumed, iterated(self.session, values))

    def gathered(self, values: tuple[object, ...]) -> Staged:
        """`*args` of a converted function."""
        return spread_args.gathered(self.session, values)

    def keywords(self, names: tuple[str | None, ...], *values: object) -> Staged:
        """The keyword arguments of a call; None is the name of `**value`."""
        return spread_args.keywords(self.session, names, values)

    # ---- names

    def undefined(self, name: str) -> Undefined:
        """The value of a name that is not bound yet."""
        return Undefined(name)

    def outer(self, read: Code, name: str) -> Staged:
        """A global that a recorded statement sets; refused where it has no value yet."""
        try:
            return read()
        except NameError:
            raise UnsupportedCall(
                f"the global `{name}`, which has no value yet, is set inside a branch or a loop of "
                "the program",
                fix="give it a value first",
            ) from None  # fmt: skip

    def read(self, value: object) -> Staged:
        """A name that may not be bound: an error where it is not."""
        return bound_value(self.recorder, value, Undefined.error)

    def read_outer(self, value: object) -> Staged:
        """The same for a name of an enclosing function."""
        return bound_value(self.recorder, value, Undefined.error_inside)

    def returned(self, value: object) -> Staged:
        """The value of the `return` that was reached: every path through the function has one."""
        if isinstance(value, Union):
            return without_undefined(self.recorder, value)
        return value

    # ---- attributes and items

    def get(self, obj: object, name: str) -> Staged:
        """`obj.name`."""
        return attributes.get(self.session, obj, name)

    def get_plainly(self, obj: object, name: str) -> Staged:
        """`object.__getattribute__(obj, name)`."""
        return attributes.get_plainly(self.session, obj, name)

    def set(self, obj: object, name: str, value: object) -> None:
        """`obj.name = value`."""
        attributes.set_attribute(self.session, obj, name, value)

    def delete(self, obj: object, name: str) -> None:
        """`del obj.name`."""
        attributes.delete_attribute(self.session, obj, name)

    def getitem(self, obj: object, key: object) -> Staged:
        """`obj[key]`."""
        if not isinstance(key, slice):
            return access.getitem(self.session, obj, key)
        return self.pools.placed("[:]", lambda: access.getitem(self.session, obj, key))

    def setitem(self, obj: object, key: object, value: object) -> None:
        """`obj[key] = value`."""
        access.setitem(self.session, obj, key, value)

    def delitem(self, obj: object, key: object) -> None:
        """`del obj[key]`."""
        access.delitem(self.session, obj, key)

    @over_unions("left", "right")
    def augmented(self, sign: str, left: Staged, right: Staged) -> Staged:
        """`left SIGN= right`: in place where the object can."""
        left = write_array(self.session, self.session.staged(left))
        if isinstance(left, StagedList):
            return self._augmented_list(sign, left, right)
        method = user_method(left, f"__i{IN_PLACE[sign].__name__[1:].rstrip('_')}__")
        if method and (made := self.call(method, left, right)) is not NotImplemented:
            return made
        if isinstance(left, CapturedArray):
            if isinstance(left, ReversedArray):
                left.refuse_write()
            IN_PLACE[sign](left.tensor, plain_key(right))
            return left
        if sign == "|" and isinstance(left, dict) and is_mapping_in_python(right):
            right = self.call(dict, right)
        if combines_dicts(left, sign, right):
            return augment_dict(self.session, left, sign, right)
        if isinstance(left, set) and sign in COMBINED:
            return augment(self.session, left, sign, right)
        if isinstance(left, torch.Tensor | dict | set):
            if not isinstance(left, torch.Tensor):
                self.session.note(left)
            return IN_PLACE[sign](*beside_tensor(self.session, left, right))
        return arithmetic(self.session, left, sign, right)

    def _augmented_list(self, sign: str, left: StagedList, right: object) -> Staged:
        self.session.note(left)
        if sign == "+" and not left.is_tuple:
            self.call(left.extend, right)
            return left
        if left.is_tuple:
            return arithmetic(self.session, left, sign, right)
        lists.replace_contents(left, arithmetic(self.session, left, sign, right))
        return left

    def unpack(self, value: Staged, before: int, after: int | None) -> Staged:
        """What `a, b = value` or `a, *b, c = value` assigns: one value for each target."""
        return unpack(self.session, self.pools, value, before, after)

    # ---- displays and text

    def spread(self, values: object) -> literals.Spread:
        """`*values` in a display."""
        return literals.Spread(values)

    def new_list(self, items: Sequence[object]) -> Staged:
        """`[...]`."""
        return self.pools.placed("[]", lambda: literals.new_list(self.session, items))

    def new_tuple(self, items: Sequence[object]) -> Staged:
        """`(...)` with a `*` in it."""
        return literals.new_tuple(self.session, items)

    def new_dict(self, *entries: tuple[object, ...]) -> Staged:
        """`{key: value, ...}`."""
        return self.pools.placed("{}", lambda: literals.new_dict(self.session, *entries))

    def new_set(self, items: Collection[object]) -> Staged:
        """`{item, ...}`; constants come as the set that Python makes of them."""
        if isinstance(items, Sequence):
            return self.pools.placed("{}", lambda: literals.new_set(self.session, items))
        return self.pools.placed("{}", lambda: StagedSet(items))

    def fstring(self, *parts: object) -> Staged:
        """The parts of an f-string put together."""
        return text.fstring(self.session, *parts)

    def format(self, value: object, conversion: str | None, spec: object) -> Staged:
        """`{value!conversion:spec}` of an f-string."""
        return text.format_value(self.session, value, conversion, spec)

    # ---- patterns of `match`

    def bound(self, value: object) -> bool:  # noqa: ARG002 (the walrus in the argument has bound it)
        """A pattern that binds a name always matches."""
        return True

    def is_sequence(self, value: object, size: int, starred: bool) -> Staged:
        """Does a sequence pattern with so many parts fit?"""
        return match_stmt.is_sequence(self.session, value, size, starred)

    def rest_of_sequence(self, value: object, before: int, after: int) -> Staged:
        """What `*name` of a sequence pattern takes."""
        return match_stmt.rest_of_sequence(self.session, value, before, after)

    def has_keys(self, value: object, keys: tuple[object, ...]) -> Staged:
        """Does a mapping pattern with these keys fit?"""
        return match_stmt.has_keys(self.session, value, keys)

    def is_instance(self, value: object, cls: object, *names: str) -> Staged:
        """Is `value` of a class pattern's class, and has it the attributes that it names?"""
        return match_stmt.is_instance(self.session, value, cls, names)

    def match_argument(self, value: object, cls: object, position: int) -> Staged:
        """What the positional part of a class pattern looks at."""
        return match_stmt.match_argument(self.session, value, cls, position)

    # ---- exceptions

    def assert_stmt(self, test: object, message: Code | None) -> None:
        """`assert`: at every run, where the test is captured."""
        condition = truth(self.session, test)

        def fail() -> None:
            raise AssertionError(*([] if message is None else [message()]))  # the user's

        if condition is False:
            fail()
        if condition is not True:
            capture_if(self.recorder, condition, lambda: None, fail)

    def raised(self, error: object) -> Staged:
        """What `raise` raises; one of several errors is raised where it is that one."""
        error = try_stmt.as_caught(self.session, error)
        if isinstance(error, CaughtError):
            try_stmt.reraise(self.session, error)
        if isinstance(error, Union):
            self.recorder.apply_all(error, self._raise)
        return error

    def _raise(self, error: object) -> None:
        try_stmt.raise_for_user(self.session, self.raised(error))

    def reraised(self) -> Staged:
        """What a bare `raise` raises."""
        return try_stmt.reraised(self.session)

    def raised_from(self, error: object, cause: object) -> Staged:
        """What `raise error from cause` raises."""
        return try_stmt.raised_from(self.session, error, cause)

    def try_stmt(
        self, body: Code, clauses: Staged, orelse: Code, read: Read, write: Write, names: Names
    ) -> None:
        """`try` with handlers."""
        try_stmt.try_stmt(self.session, body, clauses, orelse, read, write, names)

    def finally_stmt(self, body: Code, final: Code, read: Read, write: Write, names: Names) -> None:
        """`try: body finally: final`."""
        with_stmt.finally_stmt(self.session, body, final, read, write, names)

    def with_stmt(
        self, manager: Staged, body: Staged, read: Read, write: Write, names: Names
    ) -> None:
        """`with manager as item: body(item)`."""
        with_stmt.with_stmt(self.session, manager, body, read, write, names)

    def index(self, value: object) -> Staged:
        """`operator.index(value)` for a tensor; anything else as it is."""
        return index(self.recorder, value)
