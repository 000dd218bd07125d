# The awkward code that users do write is what is tested here.
# ruff: noqa: B007, B023, B904, C402, F541, F821, F841, PIE800, PLC0415
# ruff: noqa: RET503, RET504, RET505, RUF021, SIM102
"""Small functions, each with the arguments it is tried on: `ZOO` lists (function, calls).

Any bug of the rewrite first becomes a function here.
"""

from __future__ import annotations

import contextlib
import functools

ZOO = []
COUNTER = 0


def tried_on(*calls):
    """Enter a function in the zoo; each call is a tuple of arguments."""

    def enter(function):
        ZOO.append((function, calls))
        return function

    return enter


class Log(list):
    """Records the order in which things happen."""

    def __call__(self, value, result=None):
        self.append(value)
        return value if result is None else result


# --- branches -----------------------------------------------------------------------------


@tried_on((1,), (-1,), (0,))
def sign(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


@tried_on((1,), (0,))
def one_sided(x):
    y = 1
    if x:
        y = 2
    return y


@tried_on((1,), (0,))
def falls_off_the_end(x):
    if x:
        return "value"


@tried_on((1, 1), (1, 0), (0, 1), (0, 0))
def nested_returns(a, b):
    log = []
    if a:
        log.append("a")
        if b:
            return log, "both"
        log.append("not b")
    else:
        log.append("not a")
    log.append("end")
    return log, a + b


@tried_on((1, 1), (1, 0), (0, 1), (0, 0))
def maybe_leaves_with_a_rest(a, b):
    if a:
        if b:
            return "early"
    x = a * 10 + b
    x = x + 1
    return x


@tried_on((1,), (0,))
def bound_on_one_side(x):
    if x:
        y = 1
    return y


@tried_on((1,), (0,))
def unbound_but_not_read(x):
    if x:
        y = 1
    if x:
        return y
    return "none"


@tried_on((1,), (0,))
def other_side_reads_what_this_side_binds(x):
    if x:
        y = 1
    else:
        y = y + 1
    return y


@tried_on((3,), (-3,))
def dead_after_the_branch(x):
    h = x
    if x > 0:
        h = str(h)
        out = h + "!"
    else:
        h = [h]
        out = h[0]
    return out


@tried_on((1,), (5,), (20,))
def checks_then_works(x):
    if x == 1:
        raise ValueError("one")
    if x > 10:
        raise TypeError(f"{x} is too large")
    y = x * 2
    return y


@tried_on((1,), (2,), (3,), (4,))
def elif_with_a_raise(x):
    if x == 1:
        y = "one"
    elif x == 2:
        return "two"
    elif x == 3:
        raise KeyError(x)
    else:
        y = "many"
    return y + "!"


@tried_on((1,), (0,))
def dead_code_binds_a_local(x):
    if x:
        return COUNTER
    return missing
    missing = 1


@tried_on((5,), (None,))
def conditional_expression(x):
    return (x + 1 if x > 3 else x - 1) if x is not None else "none"


# --- loops --------------------------------------------------------------------------------


@tried_on((0,), (1,), (5,))
def countdown(n):
    total = 0
    while n > 0:
        total = total + n
        n = n - 1
    return total


@tried_on(([],), ([1, 2, 3],), ([1, -1, 2, 50, 3],), ([1, 100, 2],))
def for_with_everything(xs):
    total, seen = 0, []
    for i, x in enumerate(xs):
        if x < 0:
            continue
        if x == 50:
            break
        seen.append(i)
        if x > 50:
            return "big", seen
        total += x
    else:
        seen.append("else")
    return total, seen


@tried_on(([],), ([1],), ([1, 2],))
def target_read_after_the_loop(xs):
    for x in xs:
        pass
    return x


@tried_on(([],), ([1],), ([1, 2],))
def target_bound_before_the_loop(xs):
    x = "start"
    for x in xs:
        x = x * 2
    return x


@tried_on((3,), (10,))
def while_true_break(n):
    i = 0
    while True:
        i += 1
        if i * i > n:
            found = i
            break
    return found


@tried_on((0,), (3,), (10,))
def while_else(n):
    i = 0
    while i < n:
        if i == 5:
            break
        i += 1
    else:
        i = -i
    return i


@tried_on((0,), (3,), (10,))
def while_true_return(n):
    while True:
        n += 1
        if n % 7 == 0:
            return n


@tried_on(([[1, 2], [3, 4]], 3), ([[1, 2], [3, 4]], 9), ([], 1))
def return_from_nested_loops(rows, wanted):
    steps = 0
    for i, row in enumerate(rows):
        for j, x in enumerate(row):
            steps += 1
            if x == wanted:
                return i, j, steps
        steps += 100
    return None, None, steps


@tried_on((6,), (0,))
def break_and_continue_in_both(n):
    out = []
    for i in range(n):
        j = 0
        while True:
            j += 1
            if j == 2:
                continue
            if j > i:
                break
            out.append((i, j))
        else:
            out.append("never")
        if i == 3:
            continue
        out.append(i)
        if i == 4:
            break
    return out


@tried_on(([1, 2, 3],), ([1, 0, 3],), ([],))
def else_of_inner_continues_outer(xs):
    out = []
    for x in xs:
        for y in range(3):
            if x * y == 2:
                out.append((x, y))
                break
        else:
            continue
        out.append("found")
    return out


@tried_on(
    (5,),
)
def lazy_iterator_stops_at_break(n):
    taken = []

    def items():
        for i in range(n):
            taken.append(i)
            yield i

    for i in items():
        if i == 2:
            break
    return taken


@tried_on((4,), (0,))
def carried_and_temporary(n):
    a, b = 0, 1
    for _ in range(n):
        t = a + b
        a = b
        b = t
    return a


@tried_on((4,), (0,))
def temporary_read_after(n):
    for i in range(n):
        t = i * i
    return t


@tried_on(([3, 1, 2],))
def loop_over_attribute_target(xs):
    class Box:
        pass

    box, seen = Box(), []
    for box.value in xs:
        seen.append(box.value)
    d = {}
    for d["k"], d["v"] in zip(xs, xs):
        seen.append(dict(d))
    return seen, box.value


@tried_on((3,))
def flag_is_asked_before_the_test(n):
    log = []

    def test():
        log.append("test")
        return True

    while test():
        log.append("body")
        if len(log) > n:
            break
    return log


# --- jumps out of try and with ------------------------------------------------------------


@tried_on((1,), (0,), ("x",))
def return_in_try_finally(x):
    log = []
    try:
        log.append("try")
        if x:
            return log, 1 / x
        log.append("more")
        return log, 1 / x
    except ZeroDivisionError as error:
        log.append(str(error))
    finally:
        log.append("finally")
    log.append("end")
    return log


@tried_on((0,), (1,), (2,), (3,))
def try_else_and_jumps(n):
    log = []
    for i in range(3):
        try:
            if i == n:
                break
            if i == n - 1:
                continue
            if n == 3 and i == 1:
                raise KeyError(i)
        except KeyError:
            log.append("caught")
            continue
        else:
            log.append("else")
        finally:
            log.append("finally")
        log.append(i)
    else:
        log.append("loop else")
    return log


@tried_on((0,), (1,))
def return_in_with(x):
    log = []

    @contextlib.contextmanager
    def manager():
        log.append("enter")
        yield log
        log.append("exit")

    with manager() as inside:
        if x:
            return inside, "early"
        inside.append("body")
    log.append("after")
    return log


@tried_on((0,), (1,))
def with_that_suppresses(x):
    with contextlib.suppress(ZeroDivisionError):
        return 1 / x
    return "suppressed"


@tried_on((0,), (1,))
def with_that_suppresses_at_the_end(x):
    with contextlib.suppress(ZeroDivisionError):
        return 1 / x


@tried_on((0,), (1,))
def unbound_after_suppression(x):
    with contextlib.suppress(ZeroDivisionError):
        y = 1 / x
    if x > 5:
        y = 1
    return y


@tried_on((0,), (1,), (2,))
def handler_name_is_unbound_after(x):
    e = "before"
    try:
        if x == 1:
            raise ValueError("one")
        if x == 2:
            e = "changed"
    except ValueError as e:
        text = str(e)
    if x == 0:
        e = e + "!"
    return e


@tried_on((0,), (1,))
def state_seen_by_the_handler(x):
    stage = "start"
    try:
        stage = "one"
        if x:
            stage = "two"
            raise RuntimeError
        stage = "three"
    except RuntimeError:
        return stage, "caught"
    return stage


@tried_on((0,), (1,))
def reraise(x):
    try:
        if x:
            raise KeyError("k") from ValueError("v")
    except KeyError:
        raise
    return "ok"


@tried_on((0,), (1,))
def raise_from(x):
    try:
        return 1 / x
    except ZeroDivisionError as error:
        raise ValueError("wrapped") from error


@tried_on((0,), (1,), ("a",))
def asserts(x):
    assert x != 0, f"x is {x}"
    assert x
    return x + 1


# --- logic --------------------------------------------------------------------------------


@tried_on((0, 1), (1, 0), (1, 1), (0, 0), ([], "x"))
def and_or_not(a, b):
    return (a and b, a or b, not a, not (a and not b), a and b or "c", (a or b) and [a])


@tried_on((1, 2, 3), (3, 2, 1), (1, 1, 2))
def chains(a, b, c):
    log = Log()
    result = log(a) < log(b) <= log(c)
    return result, log, a == b != c, a < b, 1 in [a, b], a not in (b, c), a is not None


@tried_on((5,), (0,))
def walrus(x):
    if (n := x * 2) > 5 and (m := n + 1):
        return n, m
    return n


@tried_on((5,), (0,))
def walrus_not_reached(x):
    x and (m := 3)
    return m


@tried_on((5,), (0,))
def walrus_in_a_ternary(x):
    y = (a := 1) if x else (b := 2)
    return (y, a) if x else (y, b)


@tried_on(([1, 2, 3, 0, 5],))
def walrus_in_while(xs):
    xs, out = list(xs), []
    while (x := xs.pop(0)) and (y := x + 1):
        out.append((x, y))
    return out, x, y


@tried_on(([1, 2, 3],), ([],))
def walrus_in_comprehension(xs):
    out = [last := x * 2 for x in xs if (half := x // 2) >= 0]
    return out, last, half


@tried_on((3,))
def walrus_of_a_global(x):
    global COUNTER
    x and (COUNTER := x)
    return COUNTER


# --- comprehensions -----------------------------------------------------------------------


@tried_on(([1, 2, 3],), ([],))
def comprehensions(xs):
    x = "outer"
    a = [x * 2 for x in xs]
    b = {x: y for x, y in zip(xs, a) if x != 2}
    c = {x % 2 for x in xs}
    d = [(x, y) for x in xs if x > 1 for y in range(x) if y]
    e = [[y + x for y in range(x)] for x in xs]
    return a, b, c, d, e, x


@tried_on(([1, 2, 3],), ([],))
def generators(xs):
    lazy = (x for x in xs)
    return (
        sum(x * x for x in xs),
        sorted((x for x in xs), key=lambda v: -v),
        list(lazy),
        ",".join(str(x) for x in xs),
        max((x for x in xs), default=0),
        dict((x, 1) for x in xs),
    )


@tried_on(([1, 2, 3],), ([],), ([0, "x"],), ([5, "x"],))
def any_and_all(xs):
    log = Log()
    a = any(log(x) > 2 for x in xs)
    b = all(log(x) > 0 for x in xs if x != 2)
    return a, b, log


@tried_on((3,))
def lambdas_in_a_comprehension(n):
    return [f() for f in [lambda: i for i in range(n)]] + [(lambda j=j: j)() for j in range(n)]


@tried_on((2,))
def comprehension_order(n):
    log = Log()
    d = {log(i): log(i + 10) for i in range(n)}
    return d, log


@tried_on((1,), (0,))
def comprehension_reads_a_maybe_unbound_name(x):
    if x:
        k = 2
    return [k * i for i in range(3)]


@tried_on((0,), (3,))
def comprehension_in_a_loop(n):
    out = []
    while len(out) < n and all(v < 10 for v in out):
        out = [v + 1 for v in out] + [len([w for w in out if w])]
    return out


# --- assignments --------------------------------------------------------------------------


@tried_on(([1, 2, 3],), ([1],), ([1, 2],), (5,))
def unpacking(xs):
    a, *b = xs
    (c, d), *e = [xs, xs]
    [f, g] = h = b
    return a, b, c, d, e, f, g, h


@tried_on(((1, (2, 3)),), ((1, 2),))
def nested_unpacking(v):
    a, (b, c) = v
    (a, b), c = (b, c), a
    return a, b, c


@tried_on((1,))
def order_of_assignment(x):
    log = Log()
    d = {}
    log("base", d)[log("index")] = log("value")
    a = b = d["k"] = log("once", [])
    i, d[i], i = 1, 2, 3
    return log, d, a is b, i


@tried_on((1,))
def value_may_replace_the_target(x):
    class Box:
        pass

    box = Box()
    box.items = {}

    def replace():
        box.items = {"new": 1}
        return 2

    box.items["x"] = replace()
    return box.items


@tried_on(([1, 2, 3],))
def augmented(xs):
    log = Log()
    xs = list(xs)
    alias = xs
    xs += [4]
    xs[log(0)] += 10
    xs[log(1) : log(2)] += [7]
    log.attr = 1
    log.attr += 1
    log("list", xs)[log("index", 0)] -= 1
    x = 2
    x **= 3
    x //= 3
    x <<= 2
    x |= 1
    x ^= 3
    x &= 0xFF
    x %= 7
    return xs, alias is xs, log, log.attr, x


@tried_on((1,), (0,))
def augmented_unbound(x):
    if x:
        y = 1
    y += 1
    return y


@tried_on((1,), (0,))
def deletion(x):
    d, y = {"a": 1, "b": 2}, 5
    del d["a"]
    log = Log()
    log.attr = 1
    del log.attr
    if x:
        del y
    return d, y


@tried_on((1,), (0,))
def delete_twice(x):
    y = 1
    if x:
        del y
    del y
    return "deleted"


@tried_on((1,), (0,))
def delete_a_parameter(x):
    z = x
    if z:
        del x
    return x


@tried_on((1,))
def plain_deletion(x):
    y, z = 1, 2
    del y, z
    return x


@tried_on((1,), (0,))
def annotated(x):
    y: int = 3
    z: str
    if x:
        z: str = "z"
    self = Log()
    self.attr: int = y
    return self.attr, z


@tried_on(([0, 1, 2, 3, 4],))
def slices(xs):
    ys = list(xs)
    ys[1:3] = [9, 9, 9]
    del ys[-1:]
    return xs[1:], xs[:-1], xs[::2], xs[:], xs[1:4:2], ys


# --- text, displays, calls ----------------------------------------------------------------


@tried_on((3.14159, 10), ("x", 3), ([1], 2))
def text(x, n):
    return f"{x!r:>{n}} {n:03d} {{}} {x!s}{x!a} {n=} {'nested ' + f'{n}'}" + f""


@tried_on((1, 2))
def displays(a, b):
    return [], {}, {a, b}, [a, *[b]], {"a": a, **{"b": b}}, (a, *(b,)), ()


def keyword(a, /, b=2, *args, c, d=4, **rest):
    return a, b, args, c, d, rest


@tried_on((1,))
def calls(x):
    extra = {"c": 3}
    return keyword(x, **extra), keyword(x, *[5, 6, 7], c=1, e=2), (lambda *a, k=x: (a, k))(1, 2)


@tried_on((1,), (1, 2, 3), ())
def star_arguments(*args, **kwargs):
    return args, kwargs


# --- closures, globals, classes -----------------------------------------------------------


@tried_on((3,), (0,))
def nonlocal_in_a_nested_function(n):
    count = 0

    def add(k):
        nonlocal count
        count += k

    for i in range(n):
        add(i)
        if count > 1:
            add(100)
    return count


@tried_on((1,), (0,))
def closure_sees_later_binding(x):
    def get():
        return y

    if x:
        y = 1
    else:
        y = 2
    return get()


@tried_on((1,), (0,))
def global_in_a_branch(x):
    if x:
        global COUNTER
        COUNTER = COUNTER + x
    return COUNTER


@tried_on((3,))
def function_defined_in_a_branch(n):
    if n > 2:

        def f(k=n):
            return k + n
    else:
        f = None
    return f(), f(1)


@tried_on((2,))
def class_in_a_function(n):
    class A:
        size = n

        def __init__(self):
            self.__hidden = n

        def get(self):
            return self.__hidden + self.size

    return A().get()


@tried_on((2,), (0,))
def imports(n):
    if n:
        import os.path as p
        from math import floor
    else:
        p = None
    return p is not None and p.join("a", str(floor(2.5)))


@tried_on((2,), (0,))
def nested_decorated(n):
    @functools.lru_cache
    def f(k):
        return k if k < 2 else f(k - 1) + f(k - 2)

    return f(n + 5)


@tried_on((5,), (0,))
def recursive(n):
    if n <= 1:
        return 1
    return n * recursive(n - 1)


@tried_on((2,))
def generator_left_lazy(n):
    g = (i * n for i in range(3))
    n = 100
    return [*g]


@tried_on(([3, 1, 2],))
def default_of_inner_lambda(xs):
    k = 1
    f = lambda v, s=[k if k else 2]: -v + s[0]  # noqa: E731
    k = 2
    return sorted(xs, key=f), f(1)


@tried_on((1,), (0,))
def star_expression_in_return(x):
    xs = [1, 2] if x else ()
    return *xs, x


@tried_on((3,), (0,))
def matrix(n):
    m = [[0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            m[i][j] += i * j
            if i == j:
                m[i][j] = -1
                continue
            m[j][i] -= 1
    return m


@tried_on((10,), (1,), (27,))
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 50:
            return "long"
    return steps


@tried_on(([5, 2, 9, 1],), ([],), ([1],))
def bubble_sort(xs):
    xs = list(xs)
    n = len(xs)
    for i in range(n):
        swapped = False
        for j in range(n - i - 1):
            if xs[j] > xs[j + 1]:
                xs[j], xs[j + 1] = xs[j + 1], xs[j]
                swapped = True
        if not swapped:
            break
    return xs


@tried_on((1,), (0,))
def augmented_by_its_own_walrus(x):
    d = 5
    if x:
        d += (d := 2)
    return d


@tried_on((0,), (1,))
def handler_name_is_unbound_when_the_handler_fails(x):
    c = "bound"
    try:
        try:
            raise KeyError("k")
        except KeyError as c:
            if x:
                raise ValueError("v")
    except ValueError:
        return c
    if x:
        c = "again"
    return c


@tried_on((0,), (2,))
def jump_in_dead_code(n):
    for i in range(n):
        break
        return i
    else:
        return "else"
    return "after"


# --- test positions -----------------------------------------------------------------------


class Asked:
    """An object whose truth is logged each time that somebody takes it."""

    def __init__(self, log, name, truth):
        self.log, self.name, self.truth = log, name, truth

    def __bool__(self):
        self.log.append(self.name)
        return bool(self.truth)

    def __lt__(self, other):
        self.log.append(f"{self.name} < {other.name}")
        return Asked(self.log, f"({self.name} < {other.name})", self.truth)


TRUTHS = [(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)]


def asked(*truths):
    log = []
    return log, *(Asked(log, name, truth) for name, truth in zip("abc", truths, strict=True))


@tried_on(*TRUTHS)
def truth_in_an_if(a, b, c):
    log, a, b, c = asked(a, b, c)
    if a and b or c:
        log.append("body")
    if not (a or not b) and c:
        log.append("second")
    if a if b else c:
        log.append("third")
    return log


@tried_on(*TRUTHS)
def truth_of_a_value_that_is_kept(a, b, c):
    log, a, b, c = asked(a, b, c)
    kept = a and b
    if kept:
        log.append("body")
    if found := b or c:
        log.append(found.name)
    return log, kept.name


@tried_on(*TRUTHS)
def truth_of_a_chain(a, b, c):
    log, a, b, c = asked(a, b, c)
    if a < b < c:
        log.append("body")
    while not a < b < c:
        log.append("loop")
        break
    return log


@tried_on(*TRUTHS)
def truth_in_a_loop_that_breaks(a, b, c):
    log, a, b, c = asked(a, b, c)
    steps = 0
    while a and (b or c):
        steps += 1
        if steps > 1 and c:
            break
        if steps > 3:
            return log, "out"
    else:
        log.append("else")
    return log, steps


@tried_on(*TRUTHS)
def truth_in_filters_and_guards(a, b, c):
    log, a, b, c = asked(a, b, c)
    kept = [x for x in range(2) if a and b if b or c]
    match len(kept):
        case 2 if a and not c:
            log.append("match")
        case _:
            log.append("other")
    chosen = "yes" if b or a and c else "no"
    try:
        assert a or b, "neither"
    except AssertionError as error:
        log.append(str(error))
    return log, kept, chosen


@tried_on(([],), ([1],), ([1, 5],), ([5, 1],), ([0, 1],), ([1, 2, 3],))
def flags_of_every_jump(xs):
    seen = []
    for x in xs:
        for y in xs:
            if x == y:
                continue
            if y > 4:
                break
            if x > 4 and y:
                return seen, "returned"
            seen.append((x, y))
        else:
            seen.append("whole")
        if x == 3:
            break
    return seen
