"""A staging object under which every operator is plain Python: the oracle of the rewrite."""

from __future__ import annotations

import builtins
import operator
import sys
import types

COMPARE = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "is": operator.is_, "is not": operator.is_not,
    "in": lambda a, b: a in b, "not in": lambda a, b: a not in b,
}  # fmt: skip
INPLACE = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "@": operator.imatmul,
    "/": operator.itruediv, "%": operator.imod, "**": operator.ipow, "<<": operator.ilshift,
    ">>": operator.irshift, "|": operator.ior, "^": operator.ixor, "&": operator.iand,
    "//": operator.ifloordiv,
}  # fmt: skip


class Undefined:
    """What an unbound name of a state holds."""

    def __init__(self, name):
        self.name = name


UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip


class PlainStaging:
    """Runs everything at once, and checks the state it is handed on the way."""

    undefined = Undefined
    slice = slice
    get = staticmethod(getattr)
    set = staticmethod(setattr)
    delete = staticmethod(delattr)
    getitem = staticmethod(operator.getitem)
    setitem = staticmethod(operator.setitem)
    delitem = staticmethod(operator.delitem)
    not_ = staticmethod(operator.not_)

    def if_stmt(self, test, body, orelse, read, write, names):
        self.check(read, write, names)
        (body if test else orelse)()
        self.check(read, write, names)

    def while_stmt(self, test, body, read, write, names, _steps=None):
        self.check(read, write, names)
        while test():
            body()
            self.check(read, write, names)

    def for_stmt(self, iterable, body, test, read, write, names):
        self.check(read, write, names)
        if test is not None and not test():
            return
        for item in iterable:
            body(item)
            self.check(read, write, names)
            if test is not None and not test():
                break

    def check(self, read, write, names):
        state = read()
        assert isinstance(state, tuple)
        assert len(state) == len(names) == len(builtins.set(names))
        write(tuple(Undefined("clobbered") for _ in names))
        write(state)
        assert all(a is b for a, b in zip(read(), state, strict=True))

    def read(self, value):
        if isinstance(value, Undefined):
            raise UnboundLocalError(value.name)
        return value

    def read_outer(self, value):
        if isinstance(value, Undefined):
            raise NameError(value.name)
        return value

    def returned(self, value):
        assert not isinstance(value, Undefined)
        return value

    def assert_stmt(self, test, message):
        if not test:
            raise AssertionError(*([] if message is None else [message()]))

    def raised(self, error):
        return error

    def try_stmt(self, body, clauses, orelse, read, write, names):
        assert len(read()) == len(names)
        try:
            body()
        except BaseException as error:
            for classes, handler in clauses:
                caught = classes()
                if caught is None or isinstance(error, caught):
                    handler(error)
                    break
            else:
                raise
        else:
            orelse()

    def arithmetic(self, left, sign, right):
        return BINARY[sign](left, right)

    def reraised(self):
        return sys.exc_info()[1]

    def raised_from(self, error, cause):
        error = error() if isinstance(error, type) else error
        error.__cause__ = cause() if isinstance(cause, type) else cause
        return error

    def binding(self, thunk, *reads):
        assert all(map(callable, reads))
        return thunk

    def first(self, found, *default):
        return next(iter(found), *default)

    def unary(self, sign, value):
        return UNARY[sign](value)

    def finally_stmt(self, body, final, read, write, names):
        assert len(read()) == len(names)
        try:
            body()
        finally:
            final()

    def with_stmt(self, manager, body, read, write, names):
        assert len(read()) == len(names)
        with manager as item:
            body(item)

    def bound(self, value):
        return True

    def is_sequence(self, value, size, starred):
        if not isinstance(value, list | tuple | range):
            return False
        return len(value) >= size if starred else len(value) == size

    def rest_of_sequence(self, value, before, after):
        return list(value[before : len(value) - after])

    def has_keys(self, value, keys):
        return isinstance(value, dict) and all(key in value for key in keys)

    def is_instance(self, value, cls, *names):
        return isinstance(value, cls) and all(hasattr(value, name) for name in names)

    def match_argument(self, value, cls, position):
        builtin = cls in (bool, bytes, dict, float, int, list, set, str, tuple)
        return value if builtin else getattr(value, cls.__match_args__[position])

    def spread(self, values):
        return PlainSpread(values)

    def positionals(self, values, is_only):
        return values

    def keywords(self, names, *values):
        merged = {}
        for name, value in zip(names, values, strict=True):
            merged |= {name: value} if name is not None else {**value}
        return merged

    def yielded(self, consumer, item):
        return consumer(item)

    def generator(self, consumed, resumed, values):
        if resumed is None:
            items = []
            consumed(items.append, values)
            yield from items
            return
        frame = types.SimpleNamespace(state=0, starts=True, v_iter__=values)
        while True:
            is_over, item, _ = resumed(frame, 0, None)
            if is_over:
                return
            yield item

    def machine(self, what, *args):
        if what == "delegate":
            return iter(args[0])
        if what == "item":
            return args[2]
        if what == "bound":
            setattr(*args)
            return args[2]
        item = next(args[0], self)
        return item is self, item, None

    def in_any_order(self, values):
        return values

    def gathered(self, values):
        return values

    def shared(self, holder):
        pass

    def unpack(self, value, before, after):
        if after is None:
            return value
        (*items,) = value
        end = len(items) - after
        if end < before:
            raise ValueError(
                "not enough values to unpack "
                f"(expected at least {before + after}, got {len(items)})"
            )
        return (*items[:before], items[before:end], *items[end:])

    def augmented(self, sign, old, value):
        return INPLACE[sign](old, value)

    def if_expr(self, test, body, orelse):
        return body() if test else orelse()

    def and_(self, value, *others):
        for other in others:
            if not value:
                return value
            value = other()
        return value

    def or_(self, value, *others):
        for other in others:
            if value:
                return value
            value = other()
        return value

    def test_and(self, value, *others):
        for other in others:
            if not value:
                return False
            value = other()
        return bool(value)

    def test_or(self, value, *others):
        for other in others:
            if value:
                return True
            value = other()
        return bool(value)

    def test_if(self, test, body, orelse):
        return bool(body() if test else orelse())

    def none_of(self, *flags):
        assert all(type(flag) is bool for flag in flags)
        return not any(flags)

    def compare(self, left, sign, right):
        return COMPARE[sign](left, right)

    def compare_chain(self, left, *pairs):
        for sign, thunk in pairs:
            right = thunk()
            result = COMPARE[sign](left, right)
            if not result:
                return result
            left = right
        return result

    def test_chain(self, left, *pairs):
        for sign, thunk in pairs:
            right = thunk()
            if not COMPARE[sign](left, right):
                return False
            left = right
        return True

    def debugger(self, function):
        return function

    def decorator(self, function):
        return function

    def outer(self, read, name):
        return read()

    def module_names(self, names):
        return names

    def new_class(self):
        return lambda cls: cls

    def call(self, function, *args, **kwargs):
        return function(*args, **kwargs)

    def fstring(self, *parts):
        return "".join(parts)

    def format(self, value, conversion, specification):
        value = {"r": repr, "s": str, "a": ascii, None: lambda v: v}[conversion](value)
        return builtins.format(value, specification or "")

    def new_list(self, items):
        return [
            one for item in items for one in (item.values if type(item) is PlainSpread else [item])
        ]

    def new_tuple(self, items):
        return tuple(self.new_list(items))

    def new_set(self, items):
        return set(self.new_list(items))

    def new_dict(self, *entries):
        made = {}
        for entry in entries:
            made.update(*entry) if len(entry) == 1 else made.update([entry])
        return made


class PlainSpread:
    def __init__(self, values):
        self.values = values
