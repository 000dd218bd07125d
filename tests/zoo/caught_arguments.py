"""The arguments of an exception that only a run raises, in its handler."""

from __future__ import annotations

from tests.zoo.programs import f, i, program


class Rejected(ValueError):
    """An exception of the user's, with arguments of its own."""

    def __init__(self, place, value):
        super().__init__(place, value)
        self.place = place


@program((i(3, 4),), (i(-3, 4),), (i(3, -4),), (i(0, 5),), (i(5, 0),), (i(11, 12),), may_raise=True)
def arguments_of_several(x):
    """Raises with one, two and no arguments, ops that raise by themselves, and none."""
    values = x.tolist()
    try:
        for k in range(len(values)):
            if values[k] < 0:
                raise Rejected(k, values[k])
            if values[k] > 10:
                raise ValueError
        quotient = values[0] // values[1]
        found = {3: 30}[values[0]]
    except (ValueError, ZeroDivisionError, KeyError) as error:
        return len(error.args), list(error.args), type(error).__name__, str(error)
    return quotient + found


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(0.0, 0.0),))
def arguments_unpacked(x):
    """A tensor, a list and a text among the arguments, taken apart."""
    total, tried = x.sum(), 0
    try:
        tried = 1
        if total > 0:
            raise ValueError("high", total, [1, 2])
        tried = 2
        if total < 0:
            raise ValueError(f"low {total.item()}", total * 2, [3])
    except ValueError as error:
        text, value, numbers = error.args
        return x * value, text.upper(), numbers, tried, error.args[0][:2]
    return x, "none", [], tried, ""


@program((i(1),), (i(0),), (i(-5),))
def arguments_in_a_loop(n):
    """A handler in a loop looks at what was raised, in a branch of its own."""
    log, n = [], int(n)
    for k in range(4):
        try:
            if k % 2 == 0:
                raise KeyError(n + k, "even")
            log.append(10 // (n + k))
        except (KeyError, ZeroDivisionError) as error:
            if len(error.args) > 1:
                log.append(error.args[0] * 100)
            else:
                log.append(-1)
    return log


@program((i(2),), (i(0),), (i(-2),))
def arguments_of_a_nested_try(n):
    """What an inner `try` does not catch has its arguments outside."""
    n = int(n)
    try:
        try:
            if n > 0:
                raise ValueError("inner", n)
            if n < 0:
                raise TypeError("outer", n * 2, n)
        except ValueError as error:
            return error.args[1], "in"
    except TypeError as error:
        return error.args[-1], error.args[0]
    return n, "fine"


class Unknown(KeyError):
    """A `KeyError` that says what it is in words of its own."""

    def __str__(self):
        return f"no {self.args[0]}"


@program((i(2),), (i(0),), (i(-2),), (i(-9),))
def texts_of_key_errors(n):
    """A `KeyError` quotes a text, and shows a tuple or a list as it is."""
    n = int(n)
    try:
        if n > 0:
            raise KeyError((n, "pair"))
        if n == 0:
            raise KeyError([1, 2])
        if n > -5:
            raise Unknown("key")
        raise KeyError("plain")
    except KeyError as error:
        return str(error), len(f"<{error}>")


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def texts_of_errors_about_types(x):
    """The text of an error names the types that eager code has: Tensor and float."""
    found = []
    for operate in (lambda: x + None, lambda: len(x.sum().item()), lambda: x.no_such_attribute):
        try:
            operate()
        except (TypeError, AttributeError) as error:
            found.append(str(error))
    return found, x if x.sum() > 0 else -x
