"""Functions, closures, classes and modules, chosen by data, with all kinds of arguments."""

from __future__ import annotations

import functools
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from tests.zoo.programs import f, i, program, r

Pair = namedtuple("Pair", "left right")


@dataclass
class State:
    """What a step carries."""

    value: torch.Tensor
    steps: int = 0
    log: list = field(default_factory=list)


@program((f(1.0),), (f(-1.0),))
def function_chosen_by_data(x):
    """One of two nested functions, by data, then called."""

    def up(v):
        return v + 1

    def down(v, by=10):
        return v - by

    g = up if x > 0 else down
    return g(x) * 2


@program((f(1.0),), (f(-1.0),))
def lambda_chosen_by_data_with_closure(x):
    """Lambdas that close over a name rebound after the choice."""
    k = 1
    if x > 0:
        g = lambda v: v * k  # noqa: E731  # as users write it
    else:
        g = lambda v: v + k  # noqa: E731  # as users write it
    k = 5
    return g(x)


@program((f(1.0),), (f(-1.0),))
def star_arguments(x):
    """`*args` and `**kwargs` through two levels."""

    def inner(a, /, b=2, *rest, scale=1, **others):
        return a * scale + b + len(rest) + others.get("bias", 0)

    def outer(*args, **kwargs):
        if args[0] > 0:
            return inner(*args, **kwargs)
        return inner(*args[::-1], bias=7, **kwargs)

    return outer(x, x * 2, scale=3)


@program((f(1.0),), (f(-1.0),))
def namedtuple_in_a_branch(x):
    """A namedtuple built on both paths is returned as one."""
    if x > 0:
        p = Pair(x, x * 2)
    else:
        p = Pair(right=x, left=x * 3)
    return p._replace(left=p.left + 1), p.right


@program((Pair(f(1.0), f(2.0)),), (Pair(f(-1.0), f(2.0)),))
def namedtuple_as_argument(p):
    """A namedtuple comes in, is unpacked, and goes out."""
    left, right = p
    if left > 0:
        left = right
    return Pair(left, p.right)


@program((f(1.0),), (f(-1.0),), (f(60.0),))
def dataclass_through_a_loop(x):
    """A dataclass whose fields a recorded loop writes."""
    s = State(x)
    while s.value.abs() < 50:
        s.value = s.value * 3
        s.steps += 1
    return s


@program((f(1.0),), (f(-1.0),))
def partial_and_default(x):
    """`functools.partial` of a function with a branch."""

    def scaled(v, by, bias=0):
        if v > 0:
            return v * by + bias
        return v - bias

    g = functools.partial(scaled, by=3)
    return g(x, bias=1), functools.partial(g, x)()


@program((f(5.0),), (f(0.0),), (f(-1.0),), trains=True)
def linear_recursion(x):
    """Recursion that stops by data."""

    def down(v):
        if v <= 0:
            return v
        return down(v - 1) + v

    return down(x)


@program((i(5),), (i(0),), (i(1),))
def tree_recursion(n):
    """Two calls of itself."""

    def fib(k):
        if k < 2:
            return k
        return fib(k - 1) + fib(k - 2)

    return fib(n)


@program((i(4),), (i(0),), (i(1),))
def mutual_recursion(n):
    """Two functions that call each other, with a Python int from data."""

    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    return even(int(n))


@program((i(3),), (i(0),), (i(6),))
def generator_with_a_tensor_stop(n):
    """A generator whose end only a run knows."""

    def counting(limit):
        k = 0
        while k < limit:
            yield k * 2
            k += 1

    total = 0
    for v in counting(n):
        total += v
    return total


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f([]),), dynamic=({0},))
def generator_expression_in_a_builtin(x):
    """`sum`, `any`, `all` and `max` of generator expressions over a tensor."""
    return (
        sum(v * 2 for v in x),
        any(v > 1 for v in x),
        all(v > 0 for v in x),
        max((float(v) for v in x), default=-1.0),
    )


@program((r(2, 3),), (r(2, 3, seed=3),), trains=True)
class LayerChosenByData(nn.Module):
    """An entry of a ModuleList picked by an index from data."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x):
        k = int(x.sum() > 0) + int(x[0, 0] > 0)
        return self.layers[k](x)


@program((r(2, 3),), (r(2, 3, seed=3),), (r(0, 3),), dynamic=({0},), trains=True)
class ModuleDictByData(nn.Module):
    """A ModuleDict's entry picked by a string from data; a loop over its items."""

    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Linear(3, 2)})

    def forward(self, x):
        name = "a" if x.sum() > 0 else "b"
        y = self.heads[name](x)
        for key, head in self.heads.items():
            if y.sum() > 0 or key == "b":
                y = y + head(x)
        return y


@program((r(2, 3),), (r(2, 3, seed=3),), (r(2, 3, seed=5),))
class RunningState(nn.Module):
    """A buffer and a Python attribute, both changed by data."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        if x.sum() > 0:
            self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)
            self.count += 1
        else:
            self.mean = self.mean * 0.5
        return x - self.mean


@program(
    (r(2, 3),),
    (r(2, 3, seed=3),),
    (r(2, 3, seed=5),),
)
class PlainAttribute(nn.Module):
    """A Python number and a list kept on the module between calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0
        self.history = []

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0:
            self.last = "up"
        else:
            self.last = "down"
        self.history.append(self.calls)
        return x * self.calls


@program((r(2, 3),), (r(2, 3, seed=3),), trains=True)
class Hooked(nn.Module):
    """Forward hooks of a submodule run, and may change its output."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.inner.register_forward_hook(
            lambda m, args, out: out.clamp(min=0) if out.sum() > 0 else out * 2
        )
        self.inner.register_forward_pre_hook(lambda m, args: (args[0] + 1,))

    def forward(self, x):
        return self.inner(x)


@program((r(2, 3),), (r(2, 3, seed=3),))
class Inherited(nn.Sequential):
    """`super().forward`, a property, a class method and a static method."""

    bias = 2.0

    def __init__(self):
        super().__init__(nn.Linear(3, 3), nn.ReLU())

    @property
    def scale(self):
        return self.shift(1.0)

    @classmethod
    def shift(cls, v):
        return v + cls.bias

    @staticmethod
    def pick(x):
        return x if x.sum() > 0 else -x

    def forward(self, x):
        return super().forward(self.pick(x)) * self.scale


@program((f(1.0),), (f(-1.0),))
def early_return_through_call_levels(x):
    """A helper returns early in a loop in a branch; its caller returns early too."""

    def find(v):
        for k in range(5):
            if v > 0:
                for m in range(3):
                    if v * m > 1:
                        return k, m
            v = v + 1
        return -1, -1

    k, m = find(x)
    if k > 1:
        return x * k
    return x * 10 + m


@program((f(1.0),), (f(-1.0),))
def type_questions(x):
    """`isinstance`, `type`, `hasattr`, `getattr`, `callable` on captured values."""
    n = int(x)
    return (
        isinstance(x, torch.Tensor), isinstance(n, int), isinstance(n, float), type(n) is int,
        isinstance(float(x), (int, float)), hasattr(x, "shape"), getattr(x, "missing", 3),
        callable(x), isinstance(n > 0, bool), type(x) is torch.Tensor,
    )  # fmt: skip


class Shifted:
    """A class whose class method another one extends."""

    @classmethod
    def of(cls, x):
        """The numbers, shifted."""
        return x + 1


class ShiftedAndDoubled(Shifted):
    """Its class method calls the one above by `super`."""

    @classmethod
    def of(cls, x):
        """Shifted, then doubled if any is positive."""
        shifted = super().of(x)
        return shifted * 2 if x.sum() > 0 else shifted


@program((f(1.0, 2.0),), (f(-3.0, 1.0),), trains=True)
def super_in_a_class_method(x):
    """`super()` in a class method looks at classes alone."""
    return ShiftedAndDoubled.of(x)


class Marked(nn.Module):
    """A method that is kept from torch's own compiler."""

    @torch.compiler.disable
    def scaled(self, x, by):
        """The numbers, scaled if any is positive."""
        return x * by if x.sum() > 0 else x

    def forward(self, x):
        """Calls the method as one."""
        return self.scaled(x, 3)


@program((f(1.0, 2.0),), (f(-3.0, 1.0),), trains=True)
def method_marked_for_the_compiler(x):
    """`torch.compiler.disable` on a method: it is called with its own object."""
    return Marked()(x)


class Wrapping(nn.Module):
    """A module that is made around another one, and is given an attribute later."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        """What the other one gives, and one more."""
        return self.inner(x) + 1


@program((f(1.0, 2.0),), (f(-3.0, 1.0),), trains=True)
def module_made_around_one_of_two(x):
    """The new module belongs to the call, whichever module it is made around."""
    inner = nn.ReLU()
    if x.sum() > 0:
        inner = nn.Tanh()
    outer = Wrapping(inner)
    try:
        scale = inner.scale
    except AttributeError:
        scale = 2
    outer.scale = scale
    return outer(x) * outer.scale


class Counting(type):
    """A metaclass that makes instances as `type` does, and gives them a scale."""

    def __call__(cls, *args):
        """The new object, with an attribute more."""
        made = super().__call__(*args)
        made.scale = 2 if args else 1
        return made


class Row(metaclass=Counting):
    """Something that can be iterated, held by an object of its own kind."""

    def __init__(self, *parts):
        self.parts = parts
        self.total = sum(part.total for part in parts)

    def __iter__(self):
        return iter(self.parts)


class Cell(Row):
    """One number, which decides what the cell counts."""

    def __init__(self, x):
        super().__init__()
        self.total = x * 2 if x > 0 else x


@program((f(1.0),), (f(-3.0),), trains=True)
def class_with_a_metaclass_of_its_own(x):
    """`super().__call__` of a metaclass makes the object; its `__init__` is converted."""
    row = Row(Cell(x), Cell(x + 1))
    return row.total * row.scale + Row().scale


class Columns:
    """Has `__getitem__` and no `__iter__`, so that a loop over it counts."""

    def __init__(self, x, count):
        self.x, self.count = x, count

    def __getitem__(self, k):
        if k >= self.count:
            raise IndexError(k)
        return self.x * k


class ColumnsOfAKind(Columns):
    """Its class above is named, and it is given to a function of the library."""

    def __init__(self, x, count):
        super(ColumnsOfAKind, self).__init__(x, count)  # noqa: UP008  # as users write it
        self.is_mine = issubclass(type(self), Columns)


@program((f(1.0, 2.0),), (f(-3.0, 1.0),), trains=True)
def object_read_by_index_given_to_the_library(x):
    """Where nothing loops over it, it stays the object that it is; `sum` counts its items."""
    columns = ColumnsOfAKind(x, 3)
    return sum(columns) + len(repr(type(columns)) and [*columns]) + columns.is_mine


@functools.wraps(np.sin)
def looks_like_sin(x):
    """A function of the user's with the name and the module of numpy's."""
    return x * 2


@program((f(1.0),), (f(-1.0),))
def name_of_another_library(x):
    """Whose code a function is does not depend on the names it has been given."""
    return looks_like_sin(x) if x > 0 else x


class Checked(type):
    """A metaclass that makes the objects of its classes itself."""

    def __call__(cls, *args):
        made = cls.__new__(cls, *args)
        cls.__init__(made, *args)
        return made


class Scaled(nn.Module, metaclass=Checked):
    """A module that multiplies."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor


@program((f(1.0),), (f(-1.0),))
def module_made_by_a_metaclass(x):
    """A module that is made inside, by code of its metaclass."""
    made = Scaled(x + 1)
    return made(x) if x > 0 else made(-x)
