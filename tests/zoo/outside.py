"""What a call reads from outside: it changes between calls, and is never baked in."""

from __future__ import annotations

import collections
import random
import time

import numpy
import torch
from torch import nn

from tests.zoo.programs import f, i, program

SCALE = 2.0
TABLE = {"k": 1}


def bump_scale():
    """Between two calls somebody rebinds a global and writes a dict."""
    global SCALE
    SCALE += 1.0
    TABLE["k"] += 1
    return SCALE, dict(TABLE)


def reset_scale():
    """Back to the start."""
    global SCALE
    SCALE = 2.0
    TABLE["k"] = 1


@program(
    (f(1.0),),
    (f(-1.0),),
    (f(1.0),),
    watch=bump_scale,
    reset=reset_scale,
    stages=("rewritten", "captured", "unoptimised"),
)
def global_rebound_between_calls(x):
    """A rebinding of a global, and a change in a global dict, are seen by the next call."""
    if x > 0:
        return x * SCALE
    return x * TABLE["k"]


@program(
    (f(1.0),),
    (f(2.0),),
    (f(-1.0),),
    makes=True,
    refused_saved="ST200",
)
def closure_rebound_between_calls():
    """A cell that another function rebinds between calls."""
    count = 0
    extra = []

    def step(x):
        nonlocal count
        count += 1
        extra.append(count)
        if x > 0:
            return x * count
        return x + len(extra)

    return step


@program((f(1.0),), (f(-1.0),), (f(1.0),))
class AttributeChangedByAHook(nn.Module):
    """A number of the module that a hook outside changes between calls."""

    def __init__(self):
        super().__init__()
        self.scale = 1
        self.sizes = [1, 2]

    def forward(self, x):
        if x > 0:
            return x * self.scale + len(self.sizes)
        return x - self.sizes[-1]


@program((f(1.0),), (f(2.0),), refused="ST204", stages=("saved",))
def python_random_number(x):
    """A saved model has no random numbers of Python's: refused."""
    return x * 0 + random.getrandbits(0)


@program((f(1.0),), (f(2.0),), refused="ST204", stages=("saved",))
def the_time(x):
    """A saved model has no Python clock: refused."""
    return x * 0 + time.time()


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def torch_random_numbers(x):
    """Random numbers of torch numbers are drawn at each run, in order, on the path taken."""
    y = x + torch.rand(2)
    if x[0] > 0:
        y = y + torch.randn(2)
    return y, torch.randint(0, 10, (3,)), torch.rand(())


@program((f(1.0),), (f(2.0),))
def grad_mode_questions(x):
    """`requires_grad`, `is_grad_enabled`, `dtype`, `device` as conditions."""
    y = x * 2 if torch.is_grad_enabled() else x
    with torch.no_grad():
        z = y * 3 if torch.is_grad_enabled() else y
    return y, z, x.requires_grad, x.dtype == torch.float32, x.device.type


@program((f(1.0),), (f(2.0),), trains=True)
def requires_grad_in_the_middle(x):
    """`detach().requires_grad` and `is_leaf` questions."""
    y = x.detach()
    z = x * 2
    return (x + 1 if y.requires_grad else x + 2), (z * 3 if z.requires_grad else z)


@program((i(3),), (i(0),))
def list_grows_while_it_is_walked(n):
    """A list that the loop over it appends to."""
    work = [n]
    seen = 0
    for item in work:
        seen = seen + item
        if len(work) < 4:
            work.append(item - 1)
    return seen, len(work)


@program((f(1.0),), (f(-1.0),), may_raise=True)
def context_manager_exit_on_a_raise(x):
    """`__exit__` runs on the path that raises."""

    class Noted:
        def __enter__(self):
            print("enter")
            return self

        def __exit__(self, *error):
            print("exit", error[0] is None)

    with Noted():
        if x < 0:
            raise ValueError("negative")
        y = x * 2
    return y


@program((i(2),), (i(0),))
def division_inside_try(n):
    """A ZeroDivisionError that only a run knows, caught."""
    try:
        return 10 // int(n)
    except ZeroDivisionError:
        return -1


@program((i(1),), (i(5),))
def index_error_inside_try(n):
    """An IndexError that only a run knows, caught."""
    try:
        return [10, 20][int(n)]
    except IndexError:
        return -1


@program(
    (f(1.0),),
    (f(-1.0),),
)
def assert_inside_try(x):
    """An AssertionError by data, caught."""
    try:
        assert x > 0, "negative"
        y = x * 2
    except AssertionError as error:
        print("caught", error)
        y = x * 3
    return y


@program((i(3),), (i(0),), (i(1),))
def finally_in_a_loop(n):
    """`finally` runs on each iteration, also on the one that breaks."""
    log = 0
    for k in range(n):
        try:
            if k == 1:
                break
        finally:
            log += 10
            print("finally", k)
    return log


@program((i(3),), (i(0),), (i(1),))
def generator_with_effects(n):
    """A generator's prints interleave with those of its consumer, which stops early."""

    def numbers(limit):
        print("start")
        for k in range(limit):
            print("give", k)
            yield k
        print("end")

    total = 0
    for v in numbers(n):
        print("take", v)
        total += v
        if v == 1:
            break
    return total


@program((f(1.0), i(5)), (f(2.0), i(1)), (f(3.0), i(4)), (f(-1.0), i(0)))
def inner_functions_write_the_same_variable(x, y):
    """A nested function under a condition calls another one that writes a variable of both."""
    count, log = 1, []

    def add(by):
        nonlocal count
        count = count + by
        log.append(count)

    def maybe():
        if y > 3:
            add(10)
        while count < y:
            add(2)

    maybe()
    return x * count, len(log)


@program((f(1.0), i(5)), (f(2.0), i(1)), may_raise=True)
def inner_function_raises_after_a_write(x, y):
    """What a nested function wrote before it raised is undone on the paths that do not call it."""
    last = 8

    def fail():
        nonlocal last
        last = 77
        raise ValueError("failed")

    def maybe():
        for row in x.reshape(1):
            if y > 3:
                fail()
            row = row + 1

    maybe()
    return x + last


def counters():
    """Two functions over one variable, which outlive the call that made it."""
    count = 0

    def step():
        nonlocal count
        count += 1
        return count

    return step, lambda: count


@program((f(1.0), i(5)), (f(2.0), i(1)), (f(3.0), i(3)))
def variable_of_a_function_that_has_ended(x, y):
    """A closure made before a branch is called inside it, one made inside a loop there too."""
    step, now = counters()
    if y > 2:
        step()
    total = 0
    while total < y:
        mine, _ = counters()
        mine()
        total = total + mine()
    return x * now() + total


NESTED = {}


class Node:
    """An object that may hold itself."""

    def __init__(self):
        self.inner, self.count = None, 0


def restart_nested():
    """Lists in a dict, and an object in another one, of the caller's."""
    NESTED.clear()
    NESTED.update(one=[1], two=[], seen={4}, node=Node())
    NESTED["node"].inner = Node()


def watch_nested():
    """What the caller sees of it."""
    node = NESTED["node"]
    return NESTED["one"], NESTED["two"], NESTED["seen"], node.inner is node, node.inner.count


@program(
    (f(1.0),), (f(-1.0),), (f(1.0),), reset=restart_nested, watch=watch_nested,
    stages=("rewritten", "captured", "unoptimised"),
)  # fmt: skip
def lists_found_in_a_dict(x):
    """What is in a container of the caller's is the list that was changed, wherever it is asked."""
    first = NESTED.get("two")
    first.append(3)
    for key, value in list(NESTED.items()):
        if key == "seen":
            value.add(5)
    pair, *rest = [NESTED["one"], NESTED["two"]]
    pair.append(6)
    found = [1 if v else 2 for v in (first, pair, value)]
    return x * len(found), found, f"{pair} {rest}", (first,) == ([3],), sum([first, pair], [])


@program(
    (f(1.0),), (f(-1.0),), (f(1.0),), reset=restart_nested, watch=watch_nested,
    stages=("rewritten", "captured", "unoptimised"),
)  # fmt: skip
def object_that_may_hold_itself(x):
    """An attribute that is the object itself on one path."""
    node = NESTED["node"]
    if x.sum() > 0:
        node.inner = node
    node.inner.count += 1
    return x * node.inner.count


SUMS = numpy.zeros(4)
STEPS = numpy.zeros(3, dtype=numpy.int64)


def reset_arrays():
    """The arrays as they were."""
    SUMS[:], STEPS[:] = 0, 0


@program(
    (f(1.0, 2.0),), (f(3.0, -4.0),), (f(1.0, 1.0),),
    watch=lambda: (SUMS.tolist(), STEPS.tolist()), reset=reset_arrays,
    stages=("rewritten", "captured", "unoptimised"),  # a saved model has arrays of its own
)  # fmt: skip
def arrays_written_by_name(x):
    """Arrays of the module: items by data, all of one, and what they hold then."""
    SUMS[int(x[0])] += x.sum().item()
    STEPS[0] = STEPS[0] + 1
    if x.sum() > 2:
        STEPS[1] += 2
    return x * float(SUMS.mean()), int(STEPS.sum())


TOKENS = collections.Counter()
SCORES = {}


def reset_tables():
    """The tables as they were."""
    TOKENS.clear()
    SCORES.clear()


@program(
    (i(3, 1, 3),), (i(1, 1, 2),), (i(0, 5, 3),),
    watch=lambda: (dict(TOKENS), dict(SCORES)), reset=reset_tables,
    stages=("rewritten", "captured", "unoptimised"),  # a saved model has tables of its own
)  # fmt: skip
def tables_written_by_data(tokens):
    """A Counter and a dict of the module, with keys that are data."""
    for token in tokens.tolist():
        TOKENS[token] += 1
        if TOKENS[token] > 1:
            SCORES[token] = SCORES.get(token, 0.0) + 0.5
    return tokens * len(TOKENS), sum(SCORES.values())
