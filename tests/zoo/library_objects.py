"""Sets, and objects of libraries with a state of their own, written on one path."""

from __future__ import annotations

import array
import collections
import contextlib
import contextvars
import io
import types

from tests.zoo.programs import f, i, program

CV = contextvars.ContextVar("CV", default=1)


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def sets_in_branch(x):
    """A set grows on one path."""
    s = {1}
    if x.sum() > 0:
        s.add(2)
    return x * len(s)


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def sets_ops_branch(x):
    """A set is joined with another, or loses an item, by path."""
    s = {1, 2}
    if x.sum() > 0:
        s |= {3, 4}
    else:
        s.discard(1)
    return x * (4 if 3 in s else 5)


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def counter_update(x):
    """A Counter is updated on one path."""
    c = collections.Counter()
    if x.sum() > 0:
        c.update(["q", "q"])
    return x * c["q"]


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    refused="ST204",
)
def stringio_in_branch(x):
    """Text is written to a StringIO on one path."""
    s = io.StringIO()
    if x.sum() > 0:
        s.write("abc")
    return x * (1 + len(s.getvalue()))


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    refused="ST204",
)
def bytearray_in_branch(x):
    """A bytearray grows on one path."""
    s = bytearray(b"a")
    if x.sum() > 0:
        s.append(5)
    return x * len(s)


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    refused="ST204",
)
def array_in_branch(x):
    """An array grows on one path."""
    s = array.array("i", [1])
    if x.sum() > 0:
        s.append(5)
    return x * len(s)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def chainmap_branch(x, n):
    """A ChainMap is written on one path."""
    d = collections.ChainMap({}, {"a": 1})
    if x.sum() > 0:
        d["a"] = 5
    return x * d["a"]


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def contextvar_branch(x):
    """A context variable is set on one path."""
    t = CV.set(2)
    if x.sum() > 0:
        CV.set(3)
    y = x * CV.get()
    CV.reset(t)
    return y


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
    refused="ST204",
)
def exit_stack(x):
    """A callback is registered with an ExitStack on one path."""
    log = []
    with contextlib.ExitStack() as s:
        s.callback(log.append, 1)
        if x.sum() > 0:
            s.callback(log.append, 2)
        y = x * 2
    return y * len(log)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def namespace_in_branch(x):
    """A SimpleNamespace is written on one path."""
    s = types.SimpleNamespace(k=1)
    if x.sum() > 0:
        s.k = 7
        s.j = 2
    return x * s.k
