"""Attributes of exceptions that only a run catches, and what they look like."""

from __future__ import annotations

from tests.zoo.programs import f, program

PATHS = ((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(3.0, 1.0),), (f(-3.0, 0.5),))


class TooLarge(Exception):
    code = 7

    def __init__(self, value, level=1):
        super().__init__(f"level {level}")
        self.value, self.level = value, level


class FarTooLarge(TooLarge):
    code = 9


def checked(x):
    if x[0] > 2:
        raise FarTooLarge(x * 2, level=3)
    if x[0] > 0:
        raise TooLarge(x.sum())
    return x


@program(*PATHS)
def fields_of_the_caught(x):
    """Set by `__init__`, or by the class."""
    try:
        return checked(x)
    except TooLarge as error:
        return error.value, error.level + 1, error.code, str(error)


@program(*PATHS)
def raised_again_and_caught(x):
    """A handler looks at it and raises it again; another one looks, too."""

    def inner(x):
        try:
            return checked(x)
        except TooLarge as error:
            if error.level > 1:
                raise
            return error.value * 100

    try:
        return inner(x)
    except FarTooLarge as error:
        return error.value - 1, error.args


@program(*PATHS)
def repr_of_the_caught(x):
    """The class and the arguments, as Python shows them."""
    table = {"a": x}
    try:
        if x.sum() < -2:
            raise ValueError("low", 3)
        return table["a" if x[0] > 0 else "b"], ""
    except (KeyError, ValueError) as error:
        return x * 0, repr(error) + f"{error!r}"


def some(x):
    if x.sum() > 0:
        yield x
    return x.max()


@program(*PATHS)
def value_of_a_stop(x):
    """The result of a generator, which a branch leaves early."""
    found, items = [], some(x)
    try:
        found.append(next(items))
        found.append(next(items))
    except StopIteration as stop:
        found.append(stop.value)
    return found
