"""Stories about containers and objects that calls change, and about their identity."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types

import pytest
import torch

from tests.stories.book import UP, Book, X

story = Book(
    vars_replaced="is replaced",
    list_subclass="depends on the path",
    aug_assign_tuple="the same object",
)


@story
def identity_after_branch():
    def f(x):
        a, b = [1], [1]
        c = a if x.sum() > 0 else b
        c.append(5)
        return c is a, c is b, a is b, len(a), len(b)

    return f, X


@story
def identity_outside():
    a, b = [1], {"k": 1}
    st = {"cur": a}

    def f(x):
        if x.sum() > 0:
            st["cur"] = b
        else:
            st["cur"] = a
        return st["cur"] is a, st["cur"] is b

    return f, X, lambda: st


@story
def alias_args():
    def f(p, q):
        p.append(1)
        q.append(2)
        return len(p), p is q

    def call(g):
        rows = []
        return g(rows, rows), rows

    def call2(g):
        rows, m = [], []
        return g(rows, m), rows, m

    return f, [call, call2, call, call2]


@story
def alias_returned():
    kept = []

    def f(x):
        r = [x]
        kept.append(r)
        r.append(2)
        return r

    def call(g):
        out = g(UP)
        out.append("mine")
        return out is kept[-1]

    return f, [call] * 3, lambda: kept


@story
def alias_branch_inside():
    def f(x):
        rows = [[0], [1]]
        r = rows[0]
        if x.sum() > 0:
            rows[0] = [9]
        r.append(3)
        return rows, r, rows[0] is r

    return f, X


@story
def del_items():
    st = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

    def f(x):
        if x.sum() > 0:
            del st[0]
        else:
            del st[-1]
        return x + len(st) + st[0]

    return f, X, lambda: st


@story
def del_slice():
    st = list(range(20))

    def f(x):
        del st[1:3]
        if x.sum() > 0:
            st[:2] = []
        return x + len(st)

    return f, X, lambda: st


@story
def del_key():
    st = {"a": 1, "b": 2}

    def f(x):
        if "a" in st:
            del st["a"]
        else:
            st["a"] = 3
        if x.sum() > 0:
            st.pop("b", None)
        else:
            st["b"] = 4
        return x + len(st)

    return f, X, lambda: st


@story
def setdefault_branch():
    st = {}

    def f(x):
        k = "u" if x.sum() > 0 else "d"
        st.setdefault(k, []).append(len(st))
        return x + len(st[k])

    return f, X, lambda: st


@story
def defaultdict_counts():
    st = collections.defaultdict(lambda: collections.defaultdict(int))

    def f(x):
        st["a"]["b"] += 1
        if x.sum() > 0:
            st["a"]["c"] += 2
        return x + st["a"]["b"] + len(st["a"])

    return f, X, lambda: {k: dict(v) for k, v in st.items()}


@story
def counter_ops():
    c = collections.Counter("aab")

    def f(x):
        c.update("ab")
        c.subtract("b")
        d = c + collections.Counter(z=2)
        if x.sum() > 0:
            c["q"] += 1
        return x + sum(d.values()), c.most_common(1)

    return f, X, lambda: dict(c)


@story
def counter_local_branch():
    def f(x):
        c = collections.Counter()
        for v in [1, 2, 1, 3]:
            c[v] += 1
        if x.sum() > 0:
            c[7] += 5
        return c[1], c[7], c[100], len(c), sum(c.values())

    return f, X


@story
def counter_from_data():
    def f(x):
        c = collections.Counter(x.long().tolist())
        return sorted(c.items())

    return f, X


@story
def deque_outside():
    d = collections.deque([0], maxlen=3)

    def f(x):
        d.append(x.sum().item())
        if x.sum() > 0:
            d.appendleft(7)
        return x + len(d), d[0]

    return f, X, lambda: (list(d), d.maxlen)


@story
def deque_of_tensors():
    d = collections.deque(maxlen=2)

    def f(x):
        d.append(x)
        return torch.stack(list(d)).sum(0)

    return f, X, lambda: list(d)


@story
def deque_popleft_loop():
    def f(x):
        d = collections.deque([1, 2, 3])
        s = 0
        while d:
            v = d.popleft()
            if x.sum() > 0 and v == 1:
                d.append(10)
            s += v
        return x + s

    return f, X


@story
def ordered_dict_lru():
    od = collections.OrderedDict(a=1, b=2, c=3)

    def f(x):
        od.move_to_end("a")
        k, v = od.popitem(last=False)
        od[k] = v + 1
        return x + list(od).index("a")

    return f, X, lambda: list(od.items())


@story
def chainmap():
    base = {"a": 1}
    loc = {}
    cm = collections.ChainMap(loc, base)

    def f(x):
        cm["a"] = cm["a"] + 1
        return x + cm["a"]

    return f, X, lambda: (dict(loc), dict(base))


@story
def set_outside():
    s = set()

    def f(x):
        s.add(len(s))
        return x + len(s)

    return f, X, lambda: s


@story
def set_outside_branch():
    s = set()

    def f(x):
        if x.sum() > 0:
            s.add("up")
        else:
            s.discard("up")
        return x + len(s)

    return f, X, lambda: s


@story
def set_local_branch():
    def f(x):
        s = {1, 2}
        if x.sum() > 0:
            s.add(3)
        return len(s), 3 in s, sorted(s)

    return f, X


@story
def view_kept_outside():
    d = {"a": 1}
    vals = d.values()

    def f(x):
        d["n"] = d.get("n", 0) + 1
        return x + sum(vals) + len(vals)

    return f, X, lambda: d


@story
def vars_update():
    class B:
        pass

    b = B()
    b.a = 1

    def f(x):
        vars(b)["a"] += 1
        b.__dict__.setdefault("z", 0)
        b.__dict__["z"] += 2
        if x.sum() > 0:
            b.__dict__.pop("q", None)
            b.q = 3
        return x + b.a + b.z + len(b.__dict__)

    return f, X, lambda: dict(vars(b))


@story
def vars_replaced():
    class B:
        pass

    b = B()
    b.a = 1

    def f(x):
        b.__dict__ = {"a": b.a + 1, "k": 2}
        return x + b.a + b.k

    return f, X, lambda: dict(vars(b))


@story
def gen_with_state():
    log = []

    def gen(n):
        for k in range(n):
            log.append(k)
            yield k * 2
        log.append("end")

    def f(x):
        s = 0
        for v in gen(4):
            if v > 2:
                break
            s += v
        return x + s

    return f, X, lambda: list(log)


@story
def gen_with_data_break():
    log = []

    def gen(n):
        for k in range(n):
            log.append(k)
            yield k * 2
        log.append("end")

    def f(x):
        s = 0
        for v in gen(4):
            if x.sum() > v:
                break
            s += v
        return x + s

    return f, X, lambda: list(log)


@story
def gen_next_twice():
    def gen():
        yield 1
        yield 2
        yield 3

    def f(x):
        g = gen()
        a = next(g)
        b = next(g)
        return x + a * 10 + b, list(g)

    return f, X


@story
def gen_finally():
    log = []

    def gen():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    def f(x):
        for v in gen():
            if v == 1:
                break
        return x + v

    return f, X, lambda: list(log)


@story
def partial_state():
    st = {"n": 0}

    def base(s, k, x):
        s["n"] += k
        return x + s["n"]

    g = functools.partial(base, st, 2)
    return (lambda x: g(x)), X, lambda: st


@story
def lru_cached():
    calls = []

    @functools.lru_cache
    def slow(k):
        calls.append(k)
        return k * 2

    def f(x):
        return x + slow(3) + slow(3)

    return f, X, lambda: list(calls)


@story
def memo_decorator():
    def memo(fn):
        cache = {}

        @functools.wraps(fn)
        def w(k):
            if k not in cache:
                cache[k] = fn(k)
            return cache[k]

        w.cache = cache
        return w

    @memo
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def f(x):
        return x + fib(7)

    return f, X, lambda: fib.cache


@story
def function_attribute():
    def f(x):
        f.calls += 1
        return x + f.calls

    f.calls = 0
    return f, X, lambda: f.calls


@story
def property_with_effect():
    class P:
        def __init__(self):
            self._n = 0

        @property
        def n(self):
            self._n += 1
            return self._n

        @n.setter
        def n(self, v):
            self._n = v * 10

    p = P()

    def f(x):
        a = p.n
        if x.sum() > 0:
            p.n = 1
        return x + a

    return f, X, lambda: p._n


@story
def dataclass_outside():
    @dataclasses.dataclass
    class D:
        n: int = 0
        items: list = dataclasses.field(default_factory=list)

    d = D()

    def f(x):
        d.n += 1
        if x.sum() > 0:
            d.items.append(d.n)
        return x + len(d.items)

    return f, X, lambda: d


@story
def getattr_dunder_counts():
    class G:
        def __init__(self):
            self.log = []

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(name)
            self.log.append(name)
            return len(self.log)

    g = G()

    def f(x):
        return x + g.foo + g.bar

    return f, X, lambda: g.log


@story
def setattr_dunder():
    class G:
        def __init__(self):
            object.__setattr__(self, "log", [])

        def __setattr__(self, k, v):
            self.log.append(k)
            object.__setattr__(self, k, v)

    g = G()

    def f(x):
        g.a = 1
        if x.sum() > 0:
            g.b = 2
        return x + len(g.log)

    return f, X, lambda: (g.log, getattr(g, "b", None))


@story
def list_subclass():
    class L(list):
        def append(self, v):
            super().append(v * 2)

    rows = L()

    def f(x):
        rows.append(1)
        if x.sum() > 0:
            rows.append(3)
        return x + sum(rows)

    return f, X, lambda: list(rows)


@story
def dict_missing():
    class M(dict):
        def __missing__(self, k):
            self[k] = len(self)
            return self[k]

    m = M()

    def f(x):
        a = m["a"]
        b = m["b"] if x.sum() > 0 else 0
        return x + a + b

    return f, X, lambda: dict(m)


@story
def namespace_obj():
    ns = types.SimpleNamespace(n=0, inner=types.SimpleNamespace(v=[1]))

    def f(x):
        ns.n += 1
        ns.inner.v.append(ns.n)
        if x.sum() > 0:
            ns.inner = types.SimpleNamespace(v=[])
        return x + len(ns.inner.v)

    return f, X, lambda: (ns.n, ns.inner.v)


@story
def swap_tuple():
    st = [1, 2]

    def f(x):
        st[0], st[1] = st[1], st[0] + st[1]
        return x + st[1]

    return f, X, lambda: st


@story
def aug_assign_list_alias():
    def f(x):
        a = [1]
        b = a
        a += [2]
        if x.sum() > 0:
            b += [3]
        return a, a is b

    return f, X


@story
def aug_assign_tuple():
    def f(x):
        a = (1,)
        b = a
        if x.sum() > 0:
            a += (2,)
        return a, b, a is b

    return f, X


@story
def star_unpack():
    def f(x):
        a, *b = [1, 2, 3]
        if x.sum() > 0:
            b.append(a)
        c, *d = b
        return a, b, c, d

    return f, X


@story
def chained_assign():
    def f(x):
        a = b = []
        a.append(1)
        if x.sum() > 0:
            b.append(2)
        return a, b, a is b

    return f, X


@story
def loop_closure_late():
    def f(x):
        fs = []
        for k in range(3):
            fs.append(lambda: k)  # noqa: B023  # the program is about it
        if x.sum() > 0:
            k = 10
        return [g() for g in fs]

    return f, X


@story
def walrus_state():
    log = []

    def f(x):
        if (n := len(log)) < 3:
            log.append(n)
        if (s := x.sum()) > 0:
            log.append(9)
        return s + n

    return f, X, lambda: log


@story
def try_finally_return():
    log = []

    def f(x):
        try:
            if x.sum() > 0:
                return x * 2
            return x
        finally:
            log.append(1)

    return f, X, lambda: log


@story
def loop_else():
    log = []

    def f(x):
        for k in range(3):
            if x.sum() > k:
                log.append(k)
                break
        else:
            log.append("none")
        return x + len(log)

    return f, X, lambda: log


@story
def while_pop():
    def f(x):
        st = [1, 2, 3]
        n = 0
        while st:
            v = st.pop()
            if x.sum() > 0:
                n += v
            if v == 2 and n < 100:
                st.append(0)
                n += 100
        return n

    return f, X


@story
def hash_eq_user():
    class P:
        def __init__(self, a):
            self.a = a

        def __eq__(self, o):
            return self.a == o.a

        def __hash__(self):
            return hash(self.a)

    d = {P(1): [0]}

    def f(x):
        d[P(1)][0] += 1
        return x + d[P(1)][0] + (P(2) in d)

    return f, X, lambda: list(d.values())


@story
def bool_dunder():
    class P:
        def __init__(self):
            self.n = 0

        def __bool__(self):
            self.n += 1
            return self.n % 2 == 0

        def __len__(self):
            return 3

    p = P()

    def f(x):
        return (x + 1 if p else x - 1) + (not p) + len(p)

    return f, X, lambda: p.n


@story
def iter_user_class():
    class It:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    it = It(10)

    def f(x):
        s = 0
        for v in it:
            s += v
            if v % 3 == 0:
                break
        return x + s

    return f, X, lambda: it.n


@story
def iter_user_class_data():
    class It:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            return self

        def __next__(self):
            if self.n <= 0:
                raise StopIteration
            self.n -= 1
            return self.n

    it = It(10)

    def f(x):
        s = 0
        for v in it:
            s += v
            if x.sum() > v - 5:
                break
        return x + s

    return f, X, lambda: it.n


@story
def set_changed_in_its_loop_on_some_paths():
    def f(x):
        found, seen = {1, 2, 3}, 0
        try:
            for _ in found:
                seen += 1
                if x.sum() > 0:
                    found.add(9)
        except RuntimeError as error:
            return str(error), seen, sorted(found)
        return seen, sorted(found)

    return f, X


@story
def set_changed_before_a_break():
    found = {1, 2, 3}

    def f(x):
        for one in found:
            if x.sum() > one:
                found.discard(one)
                break
        else:
            return x
        return x + len(found)

    return f, X, lambda: sorted(found)


@story
def set_that_keeps_its_items_in_its_loop():
    found = {1, 2, 3}

    def f(x):
        for _ in found:
            if x.sum() > 0:
                found.add(2)
        return len(found)

    return f, X, lambda: sorted(found)


@story.right()
def test_story(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_what_is_not_modelled_is_refused(name):
    story.check_refused(name)
