"""Objects of the user's own classes, written on one path."""

from __future__ import annotations

import dataclasses
import typing

import torch

from tests.zoo.programs import f, i, program


class Prop:
    def __init__(self):
        self._v = 1
        self.sets = 0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, n):
        self._v = n * 2
        self.sets += 1


class Desc:
    def __set_name__(self, o, n):
        self.n = "_" + n

    def __get__(self, o, t):
        return getattr(o, self.n, 1) if o is not None else self

    def __set__(self, o, v):
        setattr(o, self.n, v + 1)


class WithDesc:
    v = Desc()


class Getattr:
    def __init__(self):
        object.__setattr__(self, "d", {"v": 1})

    def __getattr__(self, n):
        return self.d[n]

    def __setattr__(self, n, v):
        self.d[n] = v


class MyDict(dict):
    def __missing__(self, k):
        self[k] = 3
        return 3


class Bag:
    def __init__(self):
        self.items = []

    def __setitem__(self, k, v):
        self.items.append((k, v))

    def __getitem__(self, k):
        return [v for q, v in self.items if q == k][-1]

    def __len__(self):
        return len(self.items)

    def __contains__(self, k):
        return any((q == k for q, _ in self.items))

    def __iter__(self):
        return iter([v for _, v in self.items])

    def __iadd__(self, o):
        self.items.append(o)
        return self

    def __call__(self, v):
        self.items.append(("c", v))

    def __bool__(self):
        return len(self.items) > 1

    def __delitem__(self, k):
        self.items = [p for p in self.items if p[0] != k]


class Vec:
    def __init__(self, a):
        self.a = a

    def __add__(self, o):
        return Vec(self.a + o.a) if isinstance(o, Vec) else Vec(self.a + o)

    __radd__ = __add__

    def __mul__(self, k):
        return Vec(self.a * k)

    def __eq__(self, o):
        return bool((self.a == o.a).all())

    def __lt__(self, o):
        return self.a.sum() < o.a.sum()

    def __neg__(self):
        return Vec(-self.a)

    def __getitem__(self, k):
        return self.a[k]

    def __matmul__(self, o):
        return (self.a * o.a).sum()

    def __abs__(self):
        return Vec(self.a.abs())

    def __float__(self):
        return float(self.a.sum())


class Meta(type):
    def __call__(cls, *a):
        o = super().__call__(*a)
        o.extra = 5
        return o


class WithMeta(metaclass=Meta):
    def __init__(self, v):
        self.v = v


@dataclasses.dataclass
class Post:
    a: torch.Tensor
    b: torch.Tensor = dataclasses.field(init=False)
    hist: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.b = self.a * 2 if self.a.sum() > 0 else self.a


class TypedNT(typing.NamedTuple):
    a: torch.Tensor
    n: int = 3

    def scaled(self):
        return self.a * self.n


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def bound_method_kept(x):
    """A bound method kept in a name writes its list."""
    a = [1]
    push = a.append
    if x.sum() > 0:
        push(4)
    return x * len(a)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def property_setter_branch(x):
    """A property's setter runs on one path."""
    s = Prop()
    if x.sum() > 0:
        s.v = 5
    return x * s.v + s.sets


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def descriptor_branch(x):
    """A data descriptor is set on one path."""
    s = WithDesc()
    if x.sum() > 0:
        s.v = 5
    return x * s.v


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def getattr_setattr_branch(x):
    """A class with its own `__setattr__` and `__getattr__`."""
    s = Getattr()
    if x.sum() > 0:
        s.v = 5
    return x * s.v


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def mydict_missing_branch(x):
    """A dict whose `__missing__` adds the key, read on one path."""
    s = MyDict()
    if x.sum() > 0:
        y = x * s["q"]
    else:
        y = x
    return y * (1 + len(s))


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def bag_call_del(x):
    """`__setitem__`, `__call__`, `__delitem__` and `__len__` of the user's."""
    s = Bag()
    s["a"] = x
    s(x)
    if x.sum() > 0:
        del s["a"]
    return x * len(s)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def vec_in_loop(x, n):
    """Operators of the user's own class in a loop."""
    v = Vec(x)
    for k in range(n):
        v = v * 2 + k
    return v.a


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def dataclass_post_init(x):
    """`__post_init__` decides by data."""
    p = Post(x)
    if p.b.sum() > 3:
        p.hist.append(p.b)
    return p.b * (1 + len(p.hist))


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def typed_namedtuple(x):
    """A typed NamedTuple with a method, replaced on one path."""
    t = TypedNT(x)
    if x.sum() > 0:
        t = t._replace(n=5)
    return (t.scaled(), t.n)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def metaclass_call(x):
    """A metaclass makes the object."""
    o = WithMeta(x)
    return o.v * o.extra if o.v.sum() > 0 else o.v


@program((f(1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(3)))
def closures_late_binding(x, n):
    """Closures made in a loop see the last value of its variable."""
    fns = []
    for k in range(3):
        fns.append(lambda t: t + k * n)
    for fn in fns:
        x = fn(x)
    return x


@program((f(1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(3)))
def while_cond_side_effect(x, n):
    """The condition of a loop counts its calls."""
    st = [0]

    def more():
        st[0] += 1
        return st[0] <= n

    while more():
        x = x * 2
    return (x, st[0])


class Base:
    """What both others are."""

    def __init__(self, value):
        self.value = value


class Middle(Base):
    """It is passed over."""

    def __init__(self, value):
        super().__init__(value * 10)


class Last(Middle):
    """It starts after `Middle`."""

    def __init__(self, value):
        super(Middle, self).__init__(value + 1)


@program((f(1.0),), (f(-1.0),))
def super_of_two_arguments_in_a_branch(x):
    """`super(Class, self)` on one path."""
    made = Last(x) if x > 0 else Middle(x)
    return made.value
