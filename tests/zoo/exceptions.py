"""Exceptions by data: what a handler may ask, and what may swallow them."""

from __future__ import annotations

import contextlib

import torch

from tests.zoo.programs import f, i, program


class TooBig(ValueError):
    pass


def _risky(x):
    if x.max() > 5:
        raise TooBig("max")
    if x.min() < 0:
        raise KeyError("min")
    return x * 2


class Tracker:
    def __init__(self):
        self.log = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, et, ev, tb):
        self.log.append("out" if et is None else "err")
        return et is ValueError


@program((f(1.0, 2.0),), (f(9.0, 2.0),), (f(-1.0, 2.0),))
def try_helper_raises(x):
    """A helper raises one of two classes, by data."""
    try:
        y = _risky(x)
    except TooBig:
        y = x / 5
    except (KeyError, IndexError):
        y = -x
    return y


@program((f(1.0, 2.0),), (f(9.0, 1.0),), (f(1.0, 9.0),), (f(9.0, 7.0),))
def name_of_a_handler(x):
    """What `except ... as e` has bound is unbound afterwards, whatever it was before."""
    e, seen = 1, []
    for v in x:
        try:
            seen.append(e)
            if v > 5:
                raise TooBig("large")
        except TooBig as e:
            seen.append(str(e))
            e = "its own"
            seen.append(e)
        except UnboundLocalError:
            seen.append("unbound")
    try:
        seen.append(e)
    except UnboundLocalError:
        seen.append("unbound")
    return seen


@program((f(1.0, 2.0),), (f(0.0, 2.0, 0.0),), (f([]),), dynamic=({0},))
def try_in_loop(x):
    """A handler with `continue` in a loop."""
    total = torch.zeros(())
    skipped = 0
    for v in x:
        try:
            if v == 0:
                raise ZeroDivisionError
            total = total + 1 / v
        except ZeroDivisionError:
            skipped += 1
            continue
    return (total, skipped)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def try_exception_message(x):
    """The class of the caught exception decides."""
    try:
        if x.sum() > 0:
            raise ValueError("p")
        raise TypeError("n")
    except (ValueError, TypeError) as e:
        if isinstance(e, ValueError):
            return x + 1
        return x - 1


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def err_type_is(x):
    """`type` of the caught exception decides."""
    try:
        if x.sum() > 0:
            raise ValueError("a")
        raise KeyError("b")
    except (KeyError, ValueError) as e:
        return x * 2 if type(e) is ValueError else x * 3


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def err_type_name(x):
    """The name of the caught exception's class."""
    try:
        if x.sum() > 0:
            raise ValueError("a")
        raise KeyError("b")
    except (KeyError, ValueError) as e:
        return x * len(type(e).__name__)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def err_args(x):
    """The arguments of the caught exception."""
    try:
        if x.sum() > 0:
            raise ValueError("a", 3)
        raise ValueError("b", 4)
    except ValueError as e:
        return x * e.args[1]


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def err_kept(x):
    """The caught exception is kept and asked about after the `try`."""
    err = None
    try:
        if x.sum() > 0:
            raise ValueError("a")
    except ValueError as e:
        err = e
    if err is not None:
        return x * 2
    return x * 3


@program((i(0), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(5), f(1.0, 2.0)))
def lookup_error_by_data(k, x):
    """ArithmeticError and LookupError by data."""
    try:
        y = [x, x * 2, x * 3][int(k)] / (int(k) - 2) * (6 // (int(k) - 2))
    except ArithmeticError:
        y = x * 100
    except LookupError:
        y = x * 200
    return y


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def reraise_other(x):
    """A handler raises another class, caught outside."""
    try:
        try:
            if x.sum() > 0:
                raise KeyError("a")
        except KeyError:
            raise ValueError("b")
    except ValueError:
        return x * 5
    return x


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def raise_e_again(x):
    """A handler raises what it caught."""
    try:
        try:
            if x.sum() > 0:
                raise KeyError("a")
        except KeyError as e:
            raise e
    except KeyError:
        return x * 5
    return x


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def raise_bare_again(x):
    """A bare `raise` in a handler, caught outside by a base class."""
    n = 0
    try:
        try:
            if x.sum() > 0:
                raise KeyError("a")
        except KeyError:
            n += 1
            raise
    except LookupError:
        return x * (5 + n)
    return x


@program((f(1.0, -2.0, 3.0),), (f(-1.0, -1.0),), (f([4.0]),), dynamic=({0},))
def try_break_continue(x):
    """`break` and `continue` inside `try` and handler, with a `finally`."""
    s = torch.zeros(())
    n = 0
    for v in x:
        try:
            if v < 0:
                raise ValueError
            s = s + v
            if s > 3:
                break
        except ValueError:
            n += 1
            continue
        finally:
            n += 10
    return (s, n)


@program((f(1.0, -2.0, 3.0),), (f(-1.0, -1.0),), (f([4.0]),), dynamic=({0},))
def try_return_in_loop(x):
    """`return` inside `try` in a loop."""
    for v in x:
        try:
            if v > 2:
                return v * 10
            if v < 0:
                raise ValueError
        except ValueError:
            pass
    return x.sum()


@program((f(1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)))
def retry_loop(x, n):
    """A loop that tries again until it works."""
    tries = 0
    while True:
        try:
            if tries < n:
                raise RuntimeError("again")
            return x * tries
        except RuntimeError:
            tries += 1
            if tries > 5:
                raise


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def with_suppress(x):
    """`contextlib.suppress` swallows a raise by data."""
    y = x
    with contextlib.suppress(ValueError):
        y = x * 2
        if x.sum() > 0:
            raise ValueError
        y = x * 3
    return y


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def with_class_swallows(x):
    """An `__exit__` that answers True swallows a raise by data."""
    t = Tracker()
    with t:
        if x.sum() > 0:
            raise ValueError("x")
        t.log.append("body")
    return x * len(t.log)


@program(
    (f(1.0, 2.0),),
    (f(-1.0, -2.0),),
)
def cm_generator_catches(x):
    """A generator context manager swallows a raise by data."""

    @contextlib.contextmanager
    def guard():
        try:
            yield
        except ValueError:
            pass

    y = x
    with guard():
        if x.sum() > 0:
            raise ValueError
        y = x * 3
    return y


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def internal_error_swallowed(x, n):
    """A broad handler around code that raises nothing in eager."""
    try:
        last = [1]
        for k in range(n):
            new = [0]
            for t in last:
                new.append(t + 1)
            last = new
        return x * sum(last)
    except (AssertionError, ValueError, TypeError, IndexError):
        return x * -1000


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(-9.0, -2.0),))
def with_break_inside(x):
    """`break` inside `with` inside a loop."""

    @contextlib.contextmanager
    def cm(d):
        d["open"] = d["open"] + 1
        yield
        d["closed"] = d["closed"] + 1

    d = {"open": 0, "closed": 0}
    for k in range(4):
        with cm(d):
            if x.sum() > 2:
                break
            x = x + 1
    return (x, d["open"], d["closed"])


class Entered:
    """Counts; with `swallows`, it lets an IndexError pass."""

    def __init__(self, log, swallows=False):
        self.log, self.swallows = log, swallows

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(2)
        return self.swallows and kind is IndexError


@program(
    (f(1.0, 2.0, 3.0),),
    (f(9.0, 1.0, 2.0),),
    (f(2.0, -1.0, 3.0),),
)
def final_code_after_an_op_fails(x):
    """An index that is out of range: the `finally` has run when the handler looks."""
    items, n = [], 0
    try:
        try:
            y = x[int(x[0])]
        finally:
            items.append(x)
            n += 1
    except IndexError:
        return x * len(items) + n
    return y + len(items) + n


@program(
    (f(1.0, 2.0, 3.0),),
    (f(9.0, 1.0, 2.0),),
    (f(7.0, 1.0, 2.0),),
)
def manager_that_swallows_the_error_of_an_op(x):
    """`__exit__` decides about an index that is out of range."""
    log = []
    y = x[0] * 0
    with Entered(log, swallows=True):
        y = x[int(x[0])]
        log.append(3)
    return y + len(log), log


@program(
    (f(1.0, 2.0, 3.0),),
    (f(1.0, -1.0, 3.0),),
    (f(9.0, 1.0, 2.0),),
)
def final_code_in_a_loop_with_continue(x):
    """`continue` and an index that fails, in a `try` with a `finally`, in a loop."""
    log = []
    y = x[0]
    for k in range(3):
        try:
            if x[k] < 0:
                continue
            y = y + x[int(x[0])]
        except IndexError:
            y = y - 1
        finally:
            log.append(k)
    return y, log


@program((f(1.0),), (f(-1.0),), stages=("captured", "unoptimised", "saved"))  # calls convert it
def del_of_an_outer_name_that_is_unbound(x):
    """`del` of a nonlocal name that has no value raises."""
    if x.sum() > 0:
        bound = 3

    def unbind():
        nonlocal bound
        del bound

    try:
        unbind()
    except NameError:
        return x - 1
    return x + 1


@program((f(1.0, 2.0), i(1)), (f(1.0, 2.0), i(7)), (f(4.0, 2.0), i(3)))
def list_rebound_before_the_error(x, y):
    """The handler sees the list that an inner function has made, of numbers of the run."""
    kept = []

    def taken():
        nonlocal kept
        kept = [int(value) for value in x]
        return x[int(y)]

    try:
        return taken(), kept
    except IndexError:
        return x[0] + sum(kept), kept


@program((f([]),))
def greatest_of_nothing(x):
    """The op raises although nothing uses its result."""
    try:
        x.max()
    except RuntimeError:
        return x.sum()
    return x.sum() + 1


class Failure(RuntimeError):
    def __init__(self, message, code, parts):
        super().__init__(message)
        self.code, self.parts = code, parts


class Described(Exception):
    def __str__(self):
        return f"{self.args[0]} at {self.args[1]}"


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-5.0, 2.0),), may_raise=True)
def raise_with_fields_and_cause(x):
    """Attributes of an exception that are no numbers, and the exception that it is raised from."""
    if x[0] < -3:
        error = ValueError((1, 2), [x.sum()])
        error.sizes = {"x": x.shape, "twice": x * 2}
        raise error from KeyError("first")
    if x[0] < 0:
        raise Failure("negative", 3, [x[0], {"k": (1,)}])
    return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-5.0, 2.0),), may_raise=True)
def raise_while_handling(x):
    """What is raised in a handler knows what was caught there; `from None` hides it."""
    try:
        if x[0] < 0:
            raise Failure("inner", 1, (x.sum(),))
    except Failure as error:
        if x[0] < -3:
            raise KeyError("hidden") from None
        raise ValueError("outer") from error
    return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), may_raise=True)
def raise_after_a_handler(x):
    """A handler that always runs, whose exception is the cause of a later one."""
    first = None
    try:
        raise KeyError("first")
    except KeyError as error:
        first = error
        first.seen = [1]
    if x[0] < 0:
        raise ValueError("second") from first
    return x


@program((f(1.0, 2.0),), may_raise=True, stages=("rewritten", "captured", "unoptimised"))
def raise_always_with_fields(x):
    """No run of a program comes before the exception."""
    raise Failure("always", 2, [1, "two"]) from KeyError("cause")


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def text_of_a_users_exception(x):
    """`str(error)` is what the class of the user's says, or Python of containers."""
    try:
        if x[0] > 0:
            raise Described("here", int(x[1]))
        raise ValueError(("a", int(x[1])), [1])
    except (Described, ValueError) as error:
        return str(error)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), may_raise=True)
def raise_again_inside_a_known_handler(x):
    """A bare `raise` is about the innermost handler."""
    try:
        raise KeyError("known")
    except KeyError as error:
        error.add_note("a note")
        if x[0] > 1.5:
            error.add_note("another")
        try:
            if x[0] > 0:
                raise ValueError("by data")
        except ValueError:
            raise
        raise


class Options:
    """What a call sets for its time."""

    scale = 1.0


@program(
    (f(1.0, 2.0),), (f(9.0, 2.0),), (f(-1.0, 2.0),), may_raise=True, watch=lambda: Options.scale
)
def raise_before_putting_back(x):
    """A branch raises where a `finally` puts back what the function has set."""
    Options.scale = 2.0
    try:
        y = _risky(x) * Options.scale
    finally:
        Options.scale = 1.0
    return y


@program((f(1.0, 2.0),), (f(9.0, 2.0),), (f(-1.0, 2.0),))
def raise_before_a_note(x):
    """A branch raises in a `finally` inside a `try`: what the `finally` notes is seen."""
    seen = []
    try:
        try:
            x = _risky(x)
        finally:
            seen.append(1)
    except ValueError:
        seen.append(2)
    except KeyError:
        seen.append(3)
    return x, seen


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def each_path_raises_before_a_note(x):
    """Both sides of a branch raise, and the `finally` comes before the handler."""
    seen = []
    try:
        try:
            if x.sum() > 2:
                raise TooBig("max")
            else:
                raise KeyError("min")
        finally:
            seen.append(1)
    except (ValueError, KeyError):
        seen.append(2)
    return x * len(seen), seen


@program(
    (f([]), i(3)),
    (f(1.0, 2.0, 3.0, 4.0), i(3)),
    (f(1.0, 2.0), i(3)),
    (f(1.0, 2.0), i(1)),
    stages=("rewritten", "captured", "unoptimised"),
)
def error_of_data_before_a_known_one(x, y):
    """An index that only a run knows fails before one that the sizes alone make fail."""
    t, k = x * 2, int(y)
    try:
        for n in [1, 2]:
            t[k] = 1.0
            t[min(n, 0)] = 2.0
    except IndexError:
        k = 5
    else:
        t = t + 1
    return t, k, n


@program((f(1.0, 2.0), i(3)), (f(-1.0, 2.0), i(9)), may_raise=True)
def missing_items(x, y):
    """What `index` and `remove` say of what is not there; a string is no number."""
    said = []
    for find in (lambda k: [1, 3].index(k), lambda k: (1, 3).index(k), lambda k: str(k) + 1):
        try:
            said.append(str(find(int(y))))
        except (ValueError, TypeError) as error:
            said.append(str(error))
    values = [int(v) for v in x if v > 0]
    values.remove(int(y))
    return said


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-9.0, 2.0),), may_raise=True)
def finally_that_always_raises(x):
    """What a `finally` raises takes the place of what the body raises, and of its result."""
    try:
        try:
            if x.sum() > 2:
                raise KeyError("body")
            x = x * 2
        finally:
            raise ValueError("final")
    except ValueError:
        if x.sum() < -9:
            raise
    return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-9.0, 2.0),), may_raise=True)
def chain_of_exceptions(x):
    """What was handled, what is said to be the cause, and what a NameError keeps."""
    try:
        if x.sum() > 2:
            try:
                raise KeyError("first", 3)
            except KeyError:
                raise ValueError("second")  # noqa: B904  # the context is what is shown
    except ValueError as error:
        raise TypeError("third") from error
    if x.sum() < -2:
        return missing_name  # noqa: F821
    raise LookupError("last") from OSError(2, "no file")


@program((f(1.0), i(2)), (f(1.0), i(0)), (f(-1.0), i(2)), may_raise=True)
def return_that_a_finally_cancels(x, y):
    """A `finally` or a `with` that raises on the way out cancels a `return` and a `break`."""
    kept = []
    try:
        try:
            return x * 3
        finally:
            kept.append(1)
            if y > 1:
                raise ValueError(2)
    except ValueError:
        kept.append(4)
    for k in range(3):
        try:
            try:
                kept.append(k)
                break
            finally:
                if x > 0:
                    raise KeyError(k)
        except KeyError:
            kept.append(7)
    return x, kept


@program(
    (f([1.0]), i(1)), (f([3.0]), i(5)), (f([-1.0]), i(7)),
    stages=("captured", "unoptimised", "saved"),
)  # fmt: skip
def unbound_names_in_comprehensions(x, y):
    """A name without a value is a local one or that of an outer function."""
    if y > 6:
        limit = 2
    found = []
    try:
        found.append(any(v > limit for v in x.tolist()))
    except NameError as error:
        found.append((type(error).__name__, str(error)))
    try:
        found.append(sum(v * limit for v in x.tolist()))
    except NameError as error:
        found.append((type(error).__name__, str(error)))
    try:
        found.append([v for v in x.tolist() if v > limit])
    except NameError as error:
        found.append((type(error).__name__, str(error)))
    try:
        found.append([v for v in range(limit)])
    except NameError as error:
        found.append((type(error).__name__, str(error)))
    return found
