"""`print`, `assert`, `raise`, `try`, `with`: effects in their order, errors with their text."""

from __future__ import annotations

import contextlib
import enum

import torch

from tests.zoo.programs import f, i, program


class TooLarge(ValueError):
    """An exception of the user's own."""


class Mode(enum.Enum):
    """Chosen by data."""

    LOW = "low"
    HIGH = "high"


@program((f(1.0),), (f(-1.0),))
def print_order(x):
    """Prints before, in and after a branch, in order."""
    print("before", x.shape)
    if x > 0:
        print("positive", x.item())
        y = x * 2
    else:
        print("negative", end="!\n")
        y = x * 3
    print("after", y, sep="=")
    return y


@program((i(3),), (i(0),), (i(1),))
def print_in_a_loop(n):
    """A print on each iteration, with f-strings of numbers and tensors."""
    k = 0
    while k < n:
        print(f"{k:>3} of {n} {k / 2:.2f} {n!r}")
        k += 1
    print("done", k)
    return k


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), may_raise=True)
def assert_with_a_message(x):
    """The message is made when the assert fails, with the values of that run."""
    assert x[0] > 0, f"first is {x[0].item():.1f}, shape {tuple(x.shape)}"
    return x.sqrt()


@program((f(1.0),), (f(-1.0),), (f(100.0),), may_raise=True)
def raise_in_branches(x):
    """Two kinds of errors by data."""
    if x < 0:
        raise ValueError(f"negative: {x.item()}")
    elif x > 50:
        raise KeyError("large")
    return x


@program((f(1.0),), (f(100.0),), may_raise=True)
def raise_of_an_own_class(x):
    """An exception class of the user's own keeps its class."""
    if x > 50:
        raise TooLarge("x is too large", 50)
    return x


@program((i(3),), (i(0),), (i(9),), may_raise=True)
def raise_in_a_loop_after_prints(n):
    """What was printed before the error stays printed."""
    for k in range(n):
        print("iteration", k)
        if k > 4:
            raise RuntimeError(f"too far: {k}")
    return n


@program((f(1.0),), (f(-1.0),))
def try_around_a_raise_by_data(x):
    """A raise by data caught in the same function."""
    try:
        if x < 0:
            raise ValueError("negative")
        y = x * 2
    except ValueError:
        y = x * 0
    return y


@program((f(1.0),), (f(-1.0),), may_raise=True)
def finally_runs_on_every_path(x):
    """`finally` runs after the return and after the raise."""
    try:
        if x < 0:
            raise ValueError("negative")
        return x * 2
    finally:
        print("finally")


@program((f(1.0),), (f(-1.0),))
def try_of_python(x):
    """An error of Python's own, caught; the else and finally parts run."""
    log = []
    try:
        value = {"a": 1}["b"]
    except KeyError as error:
        value = len(str(error))
    else:
        log.append("else")
    finally:
        log.append("finally")
    if x > 0:
        x = x * value
    return x, log


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), trains=True)
def no_grad_in_a_branch(x):
    """`no_grad` on one path only: gradients differ between the paths."""
    if x[0] > 0:
        with torch.no_grad():
            scale = x.sum()
    else:
        scale = x.sum()
    return x * scale


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), trains=True)
def detach_in_a_loop(x):
    """Truncated gradients: only the last iteration's count."""
    h = x
    k = 0
    while k < 3 and h.sum() < 10:
        h = (h.detach() + x) * 2
        k += 1
    return h, k


@program((f(1.0),), (f(-1.0),))
def own_context_manager(x):
    """A user's context manager around a branch; its exit runs after it."""
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append("enter " + name)
        yield len(log)
        log.append("exit " + name)

    with noted("a") as k, noted("b"):
        if x > 0:
            y = x * k
        else:
            y = x - k
    return y, log


@program((f(1.0),), (f(-1.0),))
def enum_chosen_by_data(x):
    """An enum member chosen by data, compared and returned by value."""
    mode = Mode.HIGH if x > 0 else Mode.LOW
    y = x * 2 if mode is Mode.HIGH else x * 3
    return y, mode.value, mode == Mode.LOW


@program((f(1.0),), (f(-1.0),))
def string_chosen_by_data(x):
    """A string chosen by data: compared, joined, measured, used as a key."""
    name = "up" if x > 0 else "downward"
    table = {"up": 1.0, "downward": -1.0}
    return x * table[name], name + "!", len(name), name == "up", f"<{name}>"


@program((f(1.0),), (f(-1.0),), may_raise=True, same_message=False)
def undefined_on_one_path(x):
    """A name bound on one path only, and read: UnboundLocalError where eager raises it."""
    if x > 0:
        y = x * 2
    return y


@program((f(1.0),), (f(-1.0),))
def undefined_but_not_read(x):
    """A name bound under a condition, read under the same condition."""
    positive = x > 0
    if positive:
        y = x * 2
    z = x + 1
    if positive:
        z = z + y
    return z


@program((f(1.0),), (f(-1.0),))
def deleted_name(x):
    """`del` in a branch of a name that is not read again."""
    y = x * 2
    if x > 0:
        z = y
        del y
    else:
        z = x
    return z


@program((f(1.5),), (f(-2.0),))
def text_of_values(x):
    """`str`, `repr`, `format` and `%` of captured values, returned."""
    n = int(x)
    return str(n), f"{x.item():+.3f}", repr(n), "%d" % n, "{:>5}".format(n), str(n > 0)
