"""Stories about what leaves a call: functions, odd containers, aliases."""

from __future__ import annotations

import collections
import functools

import pytest
import torch
from torch import tensor

from tests.stories.book import DOWN, UP, Book, K, X

story = Book(
    returns_counter="which the call makes",
    returns_tensor_closure="which the call makes",
    stores_lambda_with_tensor="which the call makes",
    stores_partial="a partial is returned or kept",
    stores_bound_method="a method is returned or kept",
    returns_gen="generator is returned or kept",
    returns_zip="zip is returned or kept",
    returns_map="map is returned or kept",
    returns_view="dict_items is returned or kept",
    kept_view_before_an_error_of_a_branch="dict_items is returned or kept",
    context_of_an_error_in_a_handler="exists only at run time",
    kept_view_before_an_error="dict_items is returned or kept",
    arg_also_global="another name",
    arg_also_global_tensor="the same object",
    arg_object_attr_alias="another name",
)


@story
def returns_lambda():
    def f(x):
        return lambda v: v + 1

    return f, [lambda g: g(UP)(2), lambda g: g(UP)(3)]


@story
def returns_closure():
    def f(x):
        k = 3

        def inner(v):
            return v + k

        return inner

    return f, [lambda g: g(UP)(2), lambda g: g(UP)(3)]


@story
def returns_counter():
    def f(x):
        n = 0

        def inner():
            nonlocal n
            n += 1
            return n

        return inner

    def call(g):
        a, b = g(UP), g(UP)
        return a(), a(), b()

    return f, [call, call]


@story
def returns_tensor_closure():
    def f(x):
        y = x * 2
        return lambda: y + 1

    return f, [lambda g: g(UP)(), lambda g: g(DOWN)()]


@story
def stores_lambda_with_tensor():
    box = {}

    def f(x):
        y = x * 2
        box["f"] = lambda: y
        return x

    return f, [lambda g: (g(UP), box["f"]()), lambda g: (g(DOWN), box["f"]())]


@story
def stores_partial():
    box = {}

    def f(x):
        box["f"] = functools.partial(torch.add, x * 2)
        return x

    return f, [lambda g: (g(UP), box["f"](1)), lambda g: (g(DOWN), box["f"](1))]


@story
def stores_bound_method():
    class A:
        def __init__(self, v):
            self.v = v

        def m(self):
            return self.v

    box = {}

    def f(x):
        box["f"] = A(x * 2).m
        return x

    return f, [lambda g: (g(UP), box["f"]()), lambda g: (g(DOWN), box["f"]())]


@story
def stores_object():
    class A:
        def __init__(self, v):
            self.v = v
            self.rows = [1]

        def m(self):
            self.rows.append(2)
            return self.v + len(self.rows)

    box = {}

    def f(x):
        box["f"] = A(x * 2)
        box["f"].m()
        return x

    return (
        f,
        [lambda g: (g(UP), box["f"].m()), lambda g: (g(DOWN), box["f"].m())],
        lambda: box["f"].rows,
    )


@story
def returns_types():
    def f(x):
        d = collections.defaultdict(list)
        d["a"].append(1)
        return collections.OrderedDict(a=1), collections.Counter("aab"), d

    return f, X


@story
def returns_defaultdict():
    def f(x):
        d = collections.defaultdict(list)
        d["a"].append(x)
        return d

    return f, [lambda g: g(UP)["zz"]]


@story
def returns_ordered():
    def f(x):
        d = collections.OrderedDict()
        d["a"] = x
        return d

    return f, X


@story
def returns_counter_obj():
    def f(x):
        return collections.Counter("aab")

    return f, [lambda g: g(UP)["q"], lambda g: g(UP)]


@story
def returns_deque():
    def f(x):
        return collections.deque([1, 2], maxlen=4)

    return f, X


@story
def returns_set():
    def f(x):
        return {1, 2}, frozenset([1])

    return f, X


@story
def returns_range():
    def f(x):
        return range(3), slice(1, 2), Ellipsis, b"ab"

    return f, X


@story
def kept_before_an_error():
    rows, seen = [], {}

    def f(x):
        rows.append(("span", slice(0, 2)))
        seen[slice(0, 2)] = x  # which Python 3.11 cannot hash
        return x

    return f, X, lambda: (list(rows), len(seen))


@story
def kept_view_before_an_error():
    rows = []

    def f(x):
        rows.append({"a": 1}.items())
        raise KeyError("after the change")

    return f, X, lambda: list(map(list, rows))


@story
def kept_view_before_an_error_of_a_branch():
    rows = []

    def f(x):
        rows.append({"a": 1}.items())
        if x.sum() > 0:
            raise KeyError("after the change")
        rows.clear()
        return x

    return f, X, lambda: list(map(list, rows))


@story
def context_of_an_error_in_a_handler():
    def f(x):
        try:
            if x.sum() > 0:
                raise ValueError("first")
        except ValueError:
            try:
                raise TypeError("second")
            except TypeError as error:
                return repr(error.__context__)
        return "none"

    return f, X


@story
def returns_iter():
    def f(x):
        return iter([1, 2])

    return f, [lambda g: list(g(UP)), lambda g: list(g(UP))]


@story
def returns_gen():
    def f(x):
        return (v for v in [1, 2])

    return f, [lambda g: list(g(UP)), lambda g: list(g(UP))]


@story
def returns_map():
    def f(x):
        return map(abs, [1, -2])

    return f, [lambda g: list(g(UP)), lambda g: type(g(UP)).__name__]


@story
def returns_zip():
    def f(x):
        return zip([1, -2], "ab")

    return f, [lambda g: list(g(UP)), lambda g: list(g(UP))]


@story
def returns_view():
    def f(x):
        return {"a": 1}.items(), {"b": 2}.keys()

    return f, [lambda g: repr(g(UP)), lambda g: repr(g(UP))]


@story
def stores_class():
    box = {}

    def f(x):
        class Local:
            n = 0

        Local.n += 1
        box["c"] = Local
        return x + Local.n

    return f, [lambda g: (g(UP), box["c"].n), lambda g: (g(DOWN), box["c"].n)]


@story
def fresh_alias_objects():
    class B:
        def __init__(self):
            self.n = 0

    def f(x):
        if x.sum() > 0:
            o = B()
            p = o
        else:
            o = B()
            p = B()
        p.n = 5
        return o.n

    return f, X


@story
def fresh_alias_lists():
    def f(x):
        if x.sum() > 0:
            o = [1]
            p = o
        else:
            o = [1]
            p = [1]
        p.append(5)
        return len(o)

    return f, X


@story
def alias_list_in_object():
    class B:
        pass

    def f(x):
        b = B()
        b.rows = [1]
        rows = b.rows
        if x.sum() > 0:
            b.rows = [7]
        rows.append(2)
        b.rows.append(3)
        return b.rows, rows

    return f, X


@story
def alias_in_loop():
    def f(k):
        rows = []
        row = [0]
        for i in range(int(k)):
            rows.append(row)
            row = [i]
        return rows, row

    return f, K


@story
def same_row_twice():
    def f(x):
        row = [0, 0]
        m = [row] * 2
        if x.sum() > 0:
            m[0][1] = 5
        return m, m[0] is m[1]

    return f, X


@story
def tensor_alias_args():
    def f(a, b):
        a.add_(1)
        return b * 2, a is b

    def same(g):
        t = tensor([1.0, 2.0])
        return g(t, t), t

    def two(g):
        t, u = tensor([1.0, 2.0]), tensor([1.0, 2.0])
        return g(t, u), t, u

    return f, [same, two, same, two, two, same]


@story
def tensor_alias_args2():
    def f(a, b):
        a.add_(1)
        return b * 2, a is b

    def same(g):
        t = tensor([1.0, 2.0])
        return g(t, t), t

    def two(g):
        t, u = tensor([1.0, 2.0]), tensor([1.0, 2.0])
        return g(t, u), t, u

    return f, [two, two, same, two, two, same]


@story
def arg_also_global():
    glob = [1]

    def f(rows):
        rows.append(2)
        glob.append(3)
        return len(rows), len(glob), rows is glob

    return f, [lambda g: g(glob), lambda g: g([5]), lambda g: g(glob)], lambda: glob


@story
def arg_also_global_tensor():
    glob = tensor([1.0])

    def f(rows):
        rows.add_(1)
        return glob * 10, rows is glob

    return f, [lambda g: g(glob), lambda g: g(tensor([5.0])), lambda g: g(glob)], lambda: glob


@story
def arg_object_attr_alias():
    class B:
        pass

    b = B()
    b.rows = [1]

    def f(o, rows):
        o.rows.append(1)
        rows.append(2)
        return len(o.rows), o.rows is rows

    return f, [lambda g: g(b, b.rows), lambda g: g(b, [1]), lambda g: g(b, b.rows)], lambda: b.rows


@story
def mutable_arg_object():
    class B:
        pass

    b = B()
    b.n = 0
    b.t = tensor([0.0])

    def f(o, x):
        o.n += 1
        o.t = o.t + x.sum()
        return o.t * o.n

    return f, [lambda g: g(b, UP), lambda g: g(b, DOWN), lambda g: g(b, UP)], lambda: (b.n, b.t)


@story
def dict_arg():
    def f(d, x):
        d["n"] = d.get("n", 0) + 1
        d.setdefault("rows", []).append(x)
        return x + len(d["rows"])

    def call(g):
        d = {}
        g(d, UP)
        g(d, DOWN)
        return d

    return f, [call, call]


@story.right()
def test_story(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_what_is_not_modelled_is_refused(name):
    story.check_refused(name)
