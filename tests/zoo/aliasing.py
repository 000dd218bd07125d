"""One object under several names: lists, views, attributes, cells and globals."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program, r

TOTAL = 0
SEEN = []


def reset_totals():
    """Put the globals back."""
    global TOTAL
    TOTAL = 0
    SEEN.clear()


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f([0.5]),), dynamic=({0},))
def reversed_gives_copies(x):
    """`reversed(tensor)` flips: writing its rows does not write the tensor."""
    for v in reversed(x):
        v += 10
    return x


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f([0.5]),), dynamic=({0},))
def rows_are_views(x):
    """Iterating a tensor gives views: writing them writes the caller's tensor."""
    for v in x:
        if v > 0:
            v *= 10
    return x.sum()


@program((f(1.0),), (f(-1.0),))
def list_under_two_names(x):
    """A list appended in a branch through another name."""
    a = [x]
    c = a
    if x > 0:
        c.append(x + 1)
    else:
        a.append(x - 1)
    return a, c, a is c


@program((f(1.0),), (f(-1.0),))
def one_name_rebound_in_a_branch(x):
    """After the branch `c` may or may not be the list `a`."""
    a = [x]
    c = a
    if x > 0:
        c = [x * 2]
    c.append(x * 3)
    return len(a), a[-1], c[-1]


@program((f(1.0),), (f(-1.0),))
def tensor_may_alias(x):
    """After the branch `y` is `x` itself or a copy; an in-place write shows which."""
    y = x
    if x > 0:
        y = x.clone()
    y += 10
    return x, y


@program((f(1.0, 2.0, 3.0),), (f(-1.0, 2.0, 3.0),))
def view_chosen_by_data(x):
    """A view chosen by data is written: the caller's tensor changes there."""
    if x[0] > 0:
        v = x[1:]
    else:
        v = x[:2]
    v.mul_(10)
    return x.sum()


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def write_through_a_view_in_a_branch(x):
    """A view made before the branch is written inside it, the base read after."""
    y = x * 1
    v = y.view(2, 1)
    if x[0] > 0:
        v[0] = 100.0
    else:
        y[1] = -100.0
    return y, v


@program((i(3),), (i(0),), (i(1),))
def view_written_in_a_loop(n):
    """A base and its view, both carried through a recorded loop."""
    base = torch.zeros(4)
    tail = base[2:]
    for k in range(n):
        base[0] += 1
        tail += k
        if base[3] > 0:
            tail = base[:2]
    return base, tail


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def augmented_assignment_writes_the_argument(x):
    """`x += 1` writes the caller's tensor, on one path only."""
    if x[0] > 0:
        x += 1
    else:
        x = x + 1
    return x * 2


@program(
    (f(1.0),),
    (f(-1.0),),
    watch=lambda: (TOTAL, list(SEEN)),
    reset=reset_totals,
    refused_saved="ST200",
)
def globals_written_in_a_branch(x):
    """A global number and a global list."""
    global TOTAL
    if x > 0:
        TOTAL += 1
        SEEN.append(1)
    else:
        TOTAL = TOTAL - 5
    return x + TOTAL


@program((f(2.0),), (f(-2.0),))
def nonlocal_counter(x):
    """A closure's counter, changed under a branch, read by another closure."""
    count = 0

    def bump(by):
        nonlocal count
        if x > 0:
            count += by
        else:
            count -= 1
        return count

    def read():
        return count * 10

    first = bump(2)
    bump(3)
    return first, read(), count


@program((i(4),), (i(0),), (i(1),))
def closure_sees_the_latest_value(n):
    """A closure made before the loop reads what the loop last wrote."""
    k = 0
    read = lambda: k * 2  # noqa: E731  # as users write it
    total = 0
    for k in range(n):
        total += read()
    return total, read()


@program((f(1.0),), (f(-1.0),))
def list_inside_a_dict_inside_a_list(x):
    """A mutation three levels down, seen through the outermost name."""
    inner = []
    outer = [{"a": inner}, inner]
    if x > 0:
        outer[0]["a"].append(x)
    else:
        outer[1] += [x, x * 2]
    return outer[0]["a"][-1], len(inner)


@program((f(1.0),), (f(-1.0),))
def object_under_two_names(x):
    """An object's attribute set through one name, read through another."""

    class Box:
        pass

    a = Box()
    a.value = x
    c = a
    if x > 0:
        c.value = x * 5
    return a.value, c is a


@program((f(1.0),), (f(-1.0),))
def object_chosen_by_data(x):
    """One of two objects is written: the other keeps its value."""

    class Box:
        def __init__(self, value):
            self.value = value

    a, c = Box(x), Box(x * 2)
    target = a if x > 0 else c
    target.value = target.value + 100
    return a.value, c.value


@program((f(1.0),), (f(-1.0),))
def list_chosen_by_data(x):
    """One of two lists is appended to: the other keeps its length."""
    a, c = [x], [x * 2]
    target = a if x > 0 else c
    target.append(x * 3)
    return a, c


@program(
    (f(1.0), [f(1.0)]),
    (f(-1.0), [f(2.0)]),
    refused_saved="ST200",
)
def appends_to_the_callers_list(x, items):
    """The caller's list grows on one path."""
    if x > 0:
        items.append(x)
    return len(items)


@program(
    (f(1.0), {"a": f(1.0)}),
    (f(-1.0), {"a": f(2.0)}),
    refused_saved="ST200",
)
def writes_the_callers_dict(x, table):
    """The caller's dict gets a value on both paths."""
    if x > 0:
        table["a"] = x
    else:
        table["a"] = table["a"] + 1
    return table["a"] * 2


@program((r(3),), (r(3, seed=2),))
def same_list_twice_in_the_result(x):
    """The result holds one list twice."""
    row = [x]
    if x.sum() > 0:
        row.append(x * 2)
    else:
        row.append(x * 3)
    return [row, row]


@program((f(1.0, -2.0, 3.0),), (f([]),), (f([1.0]),), dynamic=({0},))
def shared_rows_of_a_nested_list(x):
    """`[[...]] * 2` makes one row under two indexes."""
    grid = [[x.sum()]] * 2
    if x.sum() > 0:
        grid[0].append(x.sum() * 2)
    else:
        grid[1][0] = x.sum() - 1
    return grid[1][-1], len(grid[0])


@program((f(1.0),), (f(-1.0),))
def default_argument_that_is_a_list(x):
    """A mutable default keeps what an earlier call put there."""

    def gather(value, into=[]):
        into.append(value)
        return into

    gather(x)
    if x > 0:
        gather(x * 2)
    else:
        gather(x * 3)
    return gather(x * 4)


@program((i(3),), (i(0),), (i(2),))
def list_rebound_in_a_loop(n):
    """The list is another object after each iteration; the first one is kept elsewhere."""
    first = items = [torch.zeros(())]
    for k in range(n):
        items = items + [torch.ones(()) * k]
    items.append(torch.ones(()) * 9)
    return len(first), len(items), items


@program((f(1.0, 2.0, 3.0),), (f(-1.0, 2.0, 3.0),))
def detach_and_data_share_memory(x):
    """`detach()` shares memory; `clone()` does not."""
    y = x.clone()
    z = y.detach()
    if x[0] > 0:
        z[0] = 50.0
    return y, z
