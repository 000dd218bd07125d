"""Lists that grow, shrink and are replaced in recorded loops."""

from __future__ import annotations

import itertools
from collections import defaultdict

import torch

from tests.zoo.programs import f, i, program, r


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def pop_numbers(x, n):
    """A loop that only pops numbers."""
    c = []
    for k in range(n):
        c.append(k)
    while len(c) > 1:
        c.pop(0)
    return len(c)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def pop_tensors(x, n):
    """A loop that only pops tensors."""
    c = []
    for k in range(n):
        c.append(x + k)
    while len(c) > 1:
        c.pop()
    return len(c)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def reset_list_in_branch(x, n):
    """A grown list is replaced by an empty one on one path."""
    a = [x]
    for k in range(n):
        a.append(x)
        if x.sum() > k:
            a = []
    return len(a)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def reset_list_numbers(x, n):
    """A grown list of numbers is replaced on one path."""
    a = []
    for k in range(n):
        a.append(k)
        if k % 2:
            a = [7]
    return sum(a)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def clear_list_in_branch(x, n):
    """A grown list is cleared on one path."""
    a = []
    for k in range(n):
        a.append(x)
        if k == 2:
            a.clear()
    return len(a)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def new_list_each_trip(x, n):
    """Every iteration builds the next list from the last."""
    last = [1]
    for k in range(n):
        new = [0]
        for t in last:
            new.append(t + 1)
        last = new
    return (sum(last), len(last))


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def new_list_by_comp(x, n):
    """Every iteration makes the next list by a comprehension."""
    last = [x]
    for k in range(n):
        last = [t * 2 for t in last] + [x]
    return torch.stack(last)


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def list_swap_cur_next(x, n):
    """A frontier: the next list is filled from the current one."""
    cur = [x]
    for k in range(n):
        nxt = []
        for t in cur:
            if t.sum() > 0:
                nxt.append(t * 0.5)
            nxt.append(t - 1)
        cur = nxt[:3]
    return torch.stack(cur)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def queue_numbers(x, n):
    """A work list of numbers."""
    q = [int(n)]
    c = 0
    while q:
        v = q.pop(0)
        c += v
        if v > 1:
            q += [v - 1, v // 2]
    return c


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def queue_tuples(x, n):
    """A work list of tuples."""
    q = [(x, 0)]
    t = torch.zeros(2)
    while len(q) > 0:
        v, d = q.pop(0)
        t = t + v
        if d < 2 and v.sum() > 0:
            q.append((v * 0.5, d + 1))
            q.append((v - 1, d + 1))
    return t


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def dict_history(x, n):
    """A dict of lists that grow."""
    h = {"loss": [], "acc": []}
    for k in range(n):
        h["loss"].append(x.sum() * k)
        h["acc"].append(k * 0.5)
    return h


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def two_lists_one_maybe(x, n):
    """Two lists grow on different paths."""
    pos, neg = ([], [])
    for k in range(n):
        if (x.sum() + k) % 2 > 0.5:
            pos.append(x + k)
        else:
            neg.append(k)
    return (len(pos), sum(neg), pos)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def shifted_window_slice(x, n):
    """A window of fixed length moves by slices."""
    a = [x, x + 1, x + 2]
    for k in range(n):
        a = a[1:] + [a[0] * 0.5]
    return torch.cat(a)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def rotate_inplace(x, n):
    """`insert` of what `pop` gave."""
    a = [x, x + 1, x + 2]
    for k in range(n):
        a.insert(0, a.pop())
    return torch.cat(a)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def grown_then_setitem(x, n):
    """Items of a grown list are set by captured indices."""
    a = []
    for k in range(n):
        a.append(x * k)
    for k in range(n):
        a[k] = a[k] + a[0]
    for k in range(len(a)):
        a[-1 - k] = a[k]
    return a


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def list_equality(x, n):
    """A grown list is equal to another or not."""
    a = []
    for k in range(n):
        a.append(k)
    return (a == [0, 1], a != [], a == [])


@program(
    (f(1.0, 2.0), i(2)),
    (f(-1.0, -2.0), i(0)),
    (f(3.0, 2.0), i(5)),
)
def grown_list_in_list(x, n):
    """A grown list is one of several or not."""
    a = []
    for k in range(n):
        a.append(k)
    return (a in [[0, 1]], [0, 1] == a, bool(a), not a, len(a) == 2)


@program((f(1.0, 2.0), i(2)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)))
def list_in_tuple_state(x, n):
    """A list inside a tuple is the state of a loop."""
    st = ([], x)
    for k in range(n):
        hist, h = st
        hist.append(h)
        st = (hist, h * 0.5)
    return (len(st[0]), st[1])


@program((f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(0)))
def flags_list(x, n):
    """A list of flags set in a loop."""
    flags = [False] * 4
    for k in range(n):
        flags[k] = True
    return (x * sum(flags), any(flags), all(flags), flags)


@program((f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(1)), (f(3.0, 2.0), i(4)), (f(1.0, -2.0), i(0)))
def list_prefilled_none(x, n):
    """Slots of None are filled in a loop."""
    slots = [None] * 4
    for k in range(n):
        slots[k] = x * k
    total = torch.zeros(2)
    for s in slots:
        if s is not None:
            total = total + s
    return total


@program((r(4),), (r(1, seed=1),), (r(7, seed=2),), dynamic=({0},))
def list_stack_push_pop(x):
    """A stack of slices, by size."""
    st = [x]
    out = torch.zeros(())
    while st:
        t = st.pop()
        out = out * 2 + t.sum()
        if t.shape[0] > 1:
            m = t.shape[0] // 2
            st.append(t[m:])
            st.append(t[:m])
    return out


@program((f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(2)), (f(3.0, 2.0), i(5)))
def rows_appended_in_loops(x, n):
    """Rows of rows, stacked twice."""
    rows = []
    for a in range(n):
        row = []
        for c in range(n):
            row.append(x[0] * a + x[1] * c)
        rows.append(torch.stack(row))
    return torch.stack(rows)


@program((f(1.0, 2.0),), (f(-9.0, 2.0, -1.0),), (f([]),), dynamic=({0},))
def group_by_sign(x):
    """Two lists in a list, grown by data."""
    groups = [[], []]
    for v in x:
        if v > 0:
            groups[0].append(v)
        else:
            groups[1].append(v)
    return ([len(g) for g in groups], sum(groups[0], torch.zeros(())))


@program((f(1.0, 2.0, 3.0), f(2.0, 3.0)), (f(1.0, 2.0, 3.0), f(1.0, 3.0)))
def table_dp(x, y):
    """A table of lists of tensors, filled by comparisons."""
    n, m = (x.shape[0], y.shape[0])
    t = [[torch.zeros(()) for _ in range(m + 1)] for _ in range(n + 1)]
    for a in range(1, n + 1):
        for c in range(1, m + 1):
            if x[a - 1] == y[c - 1]:
                t[a][c] = t[a - 1][c - 1] + 1
            else:
                t[a][c] = torch.maximum(t[a - 1][c], t[a][c - 1])
    return t[n][m]


@program((i(1, 2, 1), r(5, 5)), (i(0, 3), r(5, 5, seed=1)), dynamic=({0}, None))
def groups_of_the_last_iteration(prompt, table):
    """Each iteration groups anew by keys that are data; the groups are read after the loop."""
    tokens = prompt.tolist()
    while len(tokens) < 6:
        seen = defaultdict(list)
        for before, after in itertools.pairwise(tokens):
            seen[before].append(after)
        tokens.append(table[tokens[-1]].argmax().item())
    return tokens, {key: sorted(values) for key, values in seen.items()}
