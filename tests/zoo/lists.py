"""Lists, dicts and sets that branches and loops write."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program, r


@program((i(4),), (i(0),), (i(1),))
def appended_numbers(n):
    """Python ints appended in a recorded loop come back as ints in a list."""
    out = []
    for k in range(n):
        out.append(k * k)
    return out


@program((i(4),), (i(1),), (i(2),))
def stacked_list(n):
    """A list filled in a recorded loop, then stacked."""
    out = []
    for k in range(n):
        out.append(torch.ones(2) * k)
    return torch.stack(out), len(out)


@program((i(3),), (i(0),), may_raise=True, same_message=False)
def stack_of_an_empty_list(n):
    """With no iteration the list is empty, and `stack` raises."""
    out = []
    for k in range(n):
        out.append(torch.ones(2) * k)
    return torch.stack(out)


@program(
    (f(3.0, 1.0, 2.0),),
    (f([5.0]),),
    (f([]),),
    dynamic=({0},),
)
def sorted_by_value(x):
    """`sorted` of a tensor's numbers, reversed too."""
    values = x.tolist()
    return sorted(values), sorted(values, reverse=True), sorted(values, key=lambda v: -v)


@program((f(1.0, 2.0, 3.0),), (f([1.0]),), (f([]),), dynamic=({0},))
def insert_pop_and_index(x):
    """`insert`, `pop`, negative indexes and slices of a list of unknown length."""
    out = []
    for v in x:
        out.insert(0, v * 2)
    out.insert(1, x.sum())
    last = out.pop()
    return out[:2], last, len(out)


@program(
    (i(3),),
    (i(0),),
    may_raise=True,
)
def pop_from_an_empty_list(n):
    """`pop` of an empty list raises IndexError with Python's text."""
    out = []
    for k in range(n):
        out.append(k)
    out.pop()
    return out


@program((i(3), i(1)), (i(3), i(5)), (i(3), i(-1)), may_raise=True)
def index_out_of_range(n, at):
    """A list of unknown length indexed by data: IndexError where Python raises it."""
    out = []
    for k in range(n):
        out.append(k * 10)
    return out[int(at)]


@program((i(4),), (i(2),), (i(0),))
def item_assignment_in_a_loop(n):
    """Items of a fixed list replaced at indexes known only to the run."""
    out = [0, 0, 0, 0, 0]
    for k in range(n):
        out[k] = out[k - 1] + k
    return out


@program((f(1.0, -2.0, 3.0),), (f([-1.0]),), (f([]),), dynamic=({0},))
def two_lists_of_different_lengths(x):
    """A loop that appends to one list or the other."""
    up, down = [], []
    for v in x:
        if v > 0:
            up.append(v)
        else:
            down.append(v)
            down.append(v * 2)
    return up, down, len(up) - len(down)


@program((i(3),), (i(0),), (i(1),))
def list_of_tuples(n):
    """Tuples of a number and a tensor, appended in a recorded loop."""
    out = []
    for k in range(n):
        out.append((k, torch.ones(1) * k))
    total = 0
    for k, t in out:
        total = total + k + t.sum()
    return out, total


@program((i(3),), (i(0),), (i(2),))
def nested_lists(n):
    """A list of lists, each with its own length."""
    out = []
    for k in range(n):
        row = []
        for m in range(k):
            row.append(m + k)
        out.append(row)
    return out


@program((f(1.0, -1.0, 2.0),), (f([]),), (f([-1.0]),), dynamic=({0},))
def comprehension_with_a_filter(x):
    """A filter on data makes a list of unknown length."""
    kept = [v * 2 for v in x if v > 0]
    return kept, len(kept), [k for k in range(len(kept))]


@program((f(1.0),), (f(-1.0),))
def dict_with_a_new_key_on_one_path(x):
    """A key that is there on one path only, read through `get` and `in`."""
    table = {"a": x}
    if x > 0:
        table["b"] = x * 2
    return table.get("b"), "b" in table, table.get("b", x * 7)


@program((f(1.0),), (f(-1.0),), refused="ST201")
def dict_keys_in_order(x):
    """The order of keys depends on the path, and so does the result's."""
    table = {}
    if x > 0:
        table["a"] = x
        table["b"] = x * 2
    else:
        table["b"] = x * 3
        table["a"] = x * 4
    return table


@program(
    (f(1.0),),
    (f(-1.0),),
)
def dict_deletion_in_a_branch(x):
    """`del` and `pop` on different paths."""
    table = {"a": x, "b": x * 2, "c": x * 3}
    if x > 0:
        del table["a"]
    else:
        table.pop("b")
    total = x * 0
    for value in table.values():
        total = total + value
    return total, len(table)


@program((i(3),), (i(0),), (i(5),))
def dict_updated_in_a_loop(n):
    """A dict with fixed keys, written by a recorded loop."""
    counts = {"even": 0, "odd": 0}
    for k in range(n):
        if k % 2 == 0:
            counts["even"] += 1
        else:
            counts["odd"] += k
    return counts


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def iterating_a_dict(x):
    """`items`, `keys` and `values` with a branch inside."""
    table = {"a": x, "b": x * 2, "c": x - 1}
    out = {}
    for key, value in table.items():
        if value.sum() > 1:
            out[key] = value
        else:
            out[key] = -value
    return out, list(table), sum(v.sum() for v in table.values())


@program((f(1.0),), (f(-1.0),))
def set_of_python_values(x):
    """A set that grows before the branch; membership inside it."""
    names = {"a", "b"}
    names.add("c")
    if x > 0:
        y = x * len(names)
    else:
        y = x + ("a" in names)
    return y


@program((i(2),), (i(0),), (i(7),))
def number_in_a_list(n):
    """`in` and `index` and `count` with a number from data."""
    k = int(n)
    values = [1, 2, 3]
    return k in values, k not in (0, 7), values.count(k)


@program((i(3),), (i(0),), (i(1),))
def list_extended_and_repeated(n):
    """`extend`, `+`, `*` with a captured count, and `+=`."""
    a = [1, 2]
    for k in range(n):
        a.extend([k, k])
    c = a + [9]
    c += [10]
    return c, [0] * int(n), len(a)


@program(
    (f(1.0, 2.0, 3.0),),
    (f([1.0]),),
    (f([]),),
    dynamic=({0},),
)
def slice_assignment(x):
    """A slice of a list replaced by another of another length."""
    out = [v for v in x]
    out[1:2] = [x.sum(), x.sum()]
    out[0:0] = [x.sum() * 2]
    return out


@program((r(3), r(3, seed=1)), (r(3, seed=2), r(3, seed=5)))
def tuple_results_of_different_length(x, y):
    """Tuples of different lengths, by data: eager's callers can use both."""
    if x.sum() > y.sum():
        return (x, y)
    return (x, y, x + y)


@program((i(5),), (i(0),), (i(1),))
def list_as_a_stack(n):
    """A work list that is pushed to and popped from until it is empty."""
    stack = [n]
    total = 0
    while len(stack) > 0:
        top = stack.pop()
        total = total + top
        if top > 1:
            stack.append(top // 2)
            stack.append(top // 3)
    return total


@program((i(5),), (i(0),), (i(2),))
def truth_of_a_list(n):
    """An empty list is false: `while stack`."""
    stack = []
    for k in range(n):
        stack.append(k)
    total = 0
    while stack:
        total += stack.pop()
    return total, not stack


@program((f(1.0),), (f(-1.0),))
def dict_with_a_maybe_absent_key_returned(x):
    """A key that one path sets is absent from the result on the other, not None."""
    table = {"a": x}
    if x > 0:
        table["b"] = x * 2
    return table


@program((f(1.0),), (f(-1.0),))
def iterating_a_dict_with_a_maybe_absent_key(x):
    """A loop over a dict has one iteration for each key that is there."""
    table = {"a": x}
    if x > 0:
        table["b"] = x * 2
    iterations = 0
    for _ in table:
        iterations += 1
    return iterations


@program((f(1.0),), (f(-1.0),))
def unpacking_a_dict_with_a_maybe_absent_key(x):
    """`first, *rest = table` has the keys that are there."""
    table = {"a": x}
    if x > 0:
        table["b"] = x * 2
    _, *rest = table
    return len(rest)
