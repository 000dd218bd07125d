"""Stories about state: attributes, classes, slots, closures, exceptions, managers."""

from __future__ import annotations

import contextlib

import pytest

from tests.stories.book import Book, X

story = Book(
    closure_made_and_stored="is returned or kept outside with",
    closure_made_and_stored_attr="is returned or kept outside with",
)


@story
def closure_made_and_stored():
    box = {}

    def f(x):
        if "fn" not in box:
            n = 0

            def inc():
                nonlocal n
                n += 1
                return n

            box["fn"] = inc
        return x + box["fn"]()

    return f, X, lambda: sorted(box)


@story
def closure_made_and_stored_attr():
    class Box:
        pass

    box = Box()
    box.fn = None

    def f(x):
        if box.fn is None:
            log = []
            box.fn = lambda v: (log.append(v), len(log))[1]
        return x + box.fn(1)

    return f, X, lambda: None


@story
def native_iterator_in_branch():
    def f(x):
        it = iter([1, 2, 3, 4])
        a = 0
        if x.sum() > 0:
            for v in it:
                a += v
                if v == 2:
                    break
        return x + a, list(it)

    return f, X


@story
def native_zip_in_branch():
    def f(x):
        it = zip([1, 2, 3], "abc")
        if x.sum() > 0:
            next(it)
        return [b for a, b in it]

    return f, X


@story
def native_enumerate_in_branch():
    def f(x):
        it = enumerate("abc")
        if x.sum() > 0:
            a = list(it)
        else:
            a = []
        return len(a), list(it)

    return f, X


@story
def dict_iter_in_branch():
    def f(x):
        d = {"a": 1, "b": 2}
        it = iter(d)
        n = ""
        if x.sum() > 0:
            n = list(it)[0]
        return n, list(it)

    return f, X


@story
def reversed_in_branch():
    def f(x):
        it = reversed([1, 2, 3])
        if x.sum() > 0:
            s = sum(it)
        else:
            s = 0
        return s, list(it)

    return f, X


@story
def class_counter():
    class C:
        n = 0

    def f(x):
        C.n += 1
        return x + C.n

    return f, X, lambda: C.n


@story
def class_counter_in_branch():
    class C:
        n = 0
        log = []  # noqa: RUF012  # the program is about it

    def f(x):
        if x.sum() > 0:
            C.n += 1
            C.log.append(C.n)
        return x + C.n

    return f, X, lambda: (C.n, list(C.log))


@story
def class_counter_by_instance():
    class C:
        n = 0

        def hit(self):
            type(self).n += 1
            self.n = self.n + 10
            return self.n

    def f(x):
        c = C()
        return x + c.hit() + C.n

    return f, X, lambda: C.n


@story
def class_attr_shadow_in_branch():
    class C:
        n = 5

    def f(x):
        c = C()
        if x.sum() > 0:
            c.n = 7
        return x + c.n

    return f, X


@story
def class_attr_shadow_outside_obj():
    class C:
        n = 5

    c = C()

    def f(x):
        if x.sum() > 0:
            c.n += 1
        return x + c.n

    return f, X, lambda: (c.n, dict(vars(c)))


@story
def class_attr_shadow_deleted():
    class C:
        n = 5

    c = C()
    c.n = 8

    def f(x):
        if "n" in vars(c):
            del c.n
        else:
            c.n = 9
        return x + c.n

    return f, X, lambda: dict(vars(c))


@story
def default_dict_arg():
    def f(x, memo=None):
        if memo is None:
            memo = {}
        memo["n"] = memo.get("n", 0) + 1
        if x.sum() > 0:
            memo.setdefault("up", []).append(1)
        return x + memo["n"] + len(memo.get("up", ()))

    return f, X, lambda: f.__defaults__


@story
def default_of_inner():
    def f(x):
        def g(v, acc=None):
            if acc is None:
                acc = []
            acc.append(v)
            return len(acc)

        a = g(1)
        b = g(2)
        return x + a * 10 + b

    return f, X


@story
def kwonly_default_list():
    def f(x, *, log=None):
        if log is None:
            log = [0]
        log[0] += 1
        return x + log[0]

    return f, X, lambda: f.__kwdefaults__


@story
def slots_object():
    class S:
        __slots__ = ("log", "n")

    s = S()
    s.n = 0
    s.log = []

    def f(x):
        s.n += 1
        if x.sum() > 0:
            s.log.append(s.n)
        return x + s.n + len(s.log)

    return f, X, lambda: (s.n, s.log)


@story
def slots_local():
    class S:
        __slots__ = ("m", "n")

        def __init__(self):
            self.n = 0

    def f(x):
        s = S()
        if x.sum() > 0:
            s.n = 4
            s.m = 1
        return x + s.n, hasattr(s, "m")

    return f, X


@story
def slots_branch_set():
    class S:
        __slots__ = ("n",)

    s = S()
    s.n = 1

    def f(x):
        if x.sum() > 0:
            s.n = s.n * 2
        return x + s.n

    return f, X, lambda: s.n


@story
def exception_with_state():
    class E(Exception):
        def __init__(self, n):
            super().__init__(n)
            self.n = n

    def f(x):
        try:
            if x.sum() > 0:
                raise E(3)
            r = 1
        except E as e:
            r = e.n
        return x + r

    return f, X


@story
def exception_counts():
    log = []

    class E(Exception):
        count = 0

        def __init__(self):
            E.count += 1

    def f(x):
        try:
            if x.sum() > 0:
                raise E()
            log.append("ok")
        except E:
            log.append("caught")
        finally:
            log.append("fin")
        return x + E.count

    return f, X, lambda: (list(log), E.count)


@story
def raise_after_effect():
    log = []

    def f(x):
        log.append("in")
        if x.sum() > 0:
            log.append("up")
            raise ValueError("no")
        log.append("out")
        return x

    return f, X, lambda: list(log)


@story
def nonlocal_counter():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        if x.sum() > 0:
            n += 10
        return x + n

    return f, X, lambda: n


@story
def global_counter():
    def f(x):
        global GCOUNT
        GCOUNT += 1
        if x.sum() > 0:
            GCOUNT *= 2
        return x + GCOUNT

    globals()["GCOUNT"] = 0
    return f, X, lambda: GCOUNT


@story
def nested_closures():
    def make():
        n = [0]
        k = 1

        def a():
            nonlocal k
            k += 1
            n[0] += k
            return n[0]

        def b():
            return k * 100 + n[0]

        return a, b

    a, b = make()

    def f(x):
        if x.sum() > 0:
            a()
        return x + b()

    return f, X, b


@story
def cm_sets_restores():
    class Cfg:
        on = False
        depth = 0

    @contextlib.contextmanager
    def on():
        old = Cfg.on
        Cfg.on = True
        Cfg.depth += 1
        try:
            yield
        finally:
            Cfg.on = old

    def f(x):
        with on():
            y = x * 2 if Cfg.on else x
            if x.sum() > 0:
                y = y + Cfg.depth
        return y + Cfg.on

    return f, X, lambda: (Cfg.on, Cfg.depth)


@story
def cm_class_restores():
    class Flag:
        def __init__(self):
            self.v = 0
            self.log = []

        def __enter__(self):
            self.v += 1
            return self

        def __exit__(self, t, e, tb):
            self.v -= 1
            self.log.append(t.__name__ if t else None)
            return t is ValueError

    flag = Flag()

    def f(x):
        with flag as g:
            if x.sum() > 0:
                raise ValueError("x")
            x = x + g.v
        return x + flag.v

    return f, X, lambda: (flag.v, list(flag.log))


@story
def del_attribute():
    class B:
        pass

    b = B()

    def f(x):
        if hasattr(b, "n"):
            del b.n
            return x
        b.n = 1
        return x + b.n

    return f, X, lambda: dict(vars(b))


@story
def del_attribute_branch():
    class B:
        pass

    b = B()
    b.n = 1

    def f(x):
        if x.sum() > 0:
            if hasattr(b, "n"):
                del b.n
        else:
            b.n = 2
        return x + getattr(b, "n", 100)

    return f, X, lambda: dict(vars(b))


@story
def del_name_branch():
    def f(x):
        y = 1
        if x.sum() > 0:
            del y
        try:
            return x + y
        except UnboundLocalError:
            return x

    return f, X


@story
def del_name():
    def f(x):
        y = [1]
        z = y
        del y
        z.append(2)
        return x + len(z)

    return f, X


@story.right()
def test_story(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_what_is_not_modelled_is_refused(name):
    story.check_refused(name)
