"""Classes whose methods the tests convert."""

from __future__ import annotations

import functools


def logged(function):
    @functools.wraps(function)
    def wrapper(*args):
        return "logged", function(*args)

    return wrapper


class Base:
    def value(self, x):
        return x + 1

    @classmethod
    def made(cls, x):
        return cls.__name__, x


class Child(Base):
    __slots__ = ("__hidden", "log")
    kind = "child"

    def __init__(self, hidden):
        self.__hidden = hidden
        self.log = []

    def value(self, x):
        if x > 0:
            return super().value(x) + self.__hidden
        return -x

    def chained(self, xs):
        total = 0
        for x in xs:
            if x:
                total += super().value(x)
        return total, __class__.__name__

    def private(self, x):
        def __double(y):
            return 2 * y

        self.__hidden += x
        __local = [self.__hidden for _ in range(2)]
        return __double(self.__hidden), __local, dict(__key=1)  # noqa: C408  # keywords of calls are not mangled

    @property
    def shown(self):
        if self.__hidden:
            return self.__hidden
        return "nothing"

    @classmethod
    def made(cls, x):
        return super().made(x) if x else None

    @staticmethod
    def plain(x, *, y=2):
        return x * y if x else y

    @logged
    def decorated(self, x):
        return x if x else self.kind
