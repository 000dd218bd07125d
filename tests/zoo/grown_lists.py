"""Lists whose length, items or form only a run knows."""

from __future__ import annotations

import torch

from tests.zoo.programs import f, i, program

COUNTS = ((i(3),), (i(0),), (i(1),), (i(6),))
XN = ((f(1.0, 2.0), i(3)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)), (f(1.0, -2.0), i(1)))
VECTORS = ((f(1.0, 3.0, 2.0),), (f([5.0]),), (f([]),), (f(5.0, 7.0, 1.0, 9.0, 7.0),))
ANY = ({0},)


@program(*COUNTS)
def popped_until_one_is_left(n):
    """The loop changes nothing but lists that were grown before it."""
    tensors, numbers = [], []
    for k in range(n):
        tensors.append(torch.ones(2) * k)
        numbers.append(k)
    while len(numbers) > 1:
        tensors.pop()
        numbers.pop(0)
    return tensors, numbers


@program(*VECTORS, dynamic=ANY)
def cleared_on_one_path(x):
    """A buffer that starts again as a new list where the data says so."""
    buffer = []
    total = torch.zeros(())
    for v in x:
        buffer.append(v)
        if v > 2:
            total = total + torch.stack(buffer).prod()
            buffer = []
    return total, buffer


@program(*COUNTS)
def replaced_on_one_path(n):
    """A grown list, or a new one with an item in it."""
    a = [5]
    for k in range(n):
        a.append(k)
        if k % 3 == 1:
            a = [7]
    return a, sum(a)


@program(*COUNTS)
def rows_of_pascal(n):
    """A list of lists, each longer than the last."""
    rows = [[1]]
    for _ in range(n):
        last = rows[-1]
        new = [1]
        for a in range(len(last) - 1):
            new.append(last[a] + last[a + 1])
        new.append(1)
        rows.append(new)
    return rows, sum(rows[-1])


@program(*XN)
def rebound_by_a_comprehension(x, n):
    """Each iteration makes a new list from the last one."""
    last = [x]
    for _ in range(n):
        last = [t * 2 for t in last] + [x]
    return torch.stack(last), last


@program(*XN)
def doubled_while_short(x, n):
    """A list added to one of unknown length, on one path."""
    a = [x]
    for _ in range(n):
        if len(a) < 6:
            a = a + [t + 1 for t in a]
    return torch.stack(a).sum(0), len(a)


@program(*XN)
def current_and_next(x, n):
    """A work list of at most three, rebuilt from the last one."""
    current = [x]
    for _ in range(n):
        following = []
        for t in current:
            if t.sum() > 0:
                following.append(t * 0.5)
            following.append(t - 1)
        current = following[:3]
    return torch.stack(current)


@program(*XN)
def beam_of_two(x, n):
    """Candidates sorted by score, the best two kept."""
    beams = [(x.sum() * 0, x)]
    for _ in range(n):
        candidates = []
        for score, t in beams:
            candidates.append((score + t[0], t * 0.5))
            candidates.append((score - t[1], t + 1))
        candidates.sort(key=lambda pair: pair[0], reverse=True)
        beams = candidates[:2]
    return beams[0][0], beams[0][1], len(beams)


@program(*COUNTS)
def chosen_list_appended(n):
    """The list that grows is chosen by the data."""
    groups = {"p": [], "q": []}
    for k in range(n):
        groups["p" if k % 3 == 1 else "q"].append(k)
    return groups


@program(*VECTORS, dynamic=ANY)
def sorted_and_compared(x):
    """`sorted` and `sort` by value, by key, reversed; lists compared."""
    values = x.tolist()
    down = sorted(values, reverse=True)
    by_key = sorted(values, key=lambda v: (v % 2, -v))
    same = down == sorted(values)[::-1], values == down, values != [5.0]
    values.sort()
    return values, down, by_key, same, values < down


@program(*VECTORS, dynamic=ANY)
def sorted_tensors(x):
    """Tensors are sorted by what they hold."""
    return sorted([v for v in x]), sorted([v * 1.0 for v in x], key=lambda v: -v)


@program(*COUNTS)
def list_equality(n):
    """Grown lists compared with lists, and with each other."""
    a, b = [], []
    for k in range(n):
        a.append(k)
        b.insert(0, k)
    return a == [0, 1, 2], a != [], a == b[::-1], a == b, [a] == [[0]], (a, 1) == ([0], 1)


@program(*COUNTS, may_raise=True)
def searched_numbers(n):
    """`in`, `count`, `index` and `remove` of a grown list of numbers."""
    a = []
    for k in range(n):
        a.append(k * 2 % 4)
    found = 2 in a, 3 in a, a.count(2), (a.index(2) if 2 in a else -1)
    a.remove(0)
    return found, a


@program((f(1.0, 2.0, 1.0),), (f(3.0, -2.0, 5.0),))
def searched_numbers_of_known_count(x):
    """The same, of a list of known length with captured numbers."""
    values = x.tolist()
    return values.count(1.0), values.index(values[2]), 2.0 in values, sorted(values), values[::-1]


@program(*XN)
def unpacked_with_a_star(x, n):
    """`first, *rest` and `*most, last` of a grown list."""
    a = [x]
    for k in range(n):
        a.append(x * k)
    first, *rest = a
    *most, last = a
    return first, rest, most, last


@program(*COUNTS, may_raise=True)
def unpacked_with_too_few(n):
    """The error of an unpacking that needs more items than there are."""
    a = []
    for k in range(n):
        a.append(k)
    first, second, *rest = a
    return first, second, rest


@program(*VECTORS, dynamic=ANY)
def slices_assigned(x):
    """Slices of lists of unknown length replaced and deleted."""
    out = [v for v in x]
    out[1:2] = [x.sum(), x.sum()]
    out[0:0] = [x.sum() * 2]
    out[len(out) :] = [v + 1 for v in x]
    kept = out[:]
    del out[1:3]
    del kept[::2]
    return out, kept


@program(*VECTORS, dynamic=ANY)
def tensor_of_a_grown_list(x):
    """`torch.tensor` of numbers that a loop made: an empty list has torch's default dtype."""
    values = [v * 2 for v in x.tolist()]
    values.append(1.0)
    whole = [int(v) for v in values]
    return torch.tensor(values), torch.tensor(whole), torch.tensor(x.tolist(), dtype=torch.int64)


@program(*COUNTS)
def tensor_of_numbers_or_of_none(n):
    """`torch.tensor([])` is a float tensor whatever the list would hold."""
    a = []
    for k in range(n):
        a.append(k)
    return torch.tensor(a)


@program((f([[1.0, 2.0], [3.0, 4.0]]),), (f([[5.0, -1.0, 2.0]]),), dynamic=({0, 1},))
def nested_numbers(x):
    """`tolist` of a matrix of unknown sizes, its rows and columns, and the way back."""
    rows = x.tolist()
    spread = 0.0
    for row in rows:
        spread += max(row) - min(row)
    return rows, rows[0][-1], spread, torch.tensor(rows), len(rows), sum(rows[0])


@program(*COUNTS)
def repeated_and_copied(n):
    """`*=`, `a[:]`, `list(a)` and `a.copy()` are new lists."""
    a = []
    for k in range(n):
        a.append(k)
    b, c, d = a[:], list(a), a.copy()
    a *= 2
    b.append(7)
    c += [8]
    d *= int(n)
    return a, b, c, d


@program(*COUNTS, may_raise=True)
def popped_too_often(n):
    """`pop` of an empty list, and out of range."""
    a = []
    for k in range(n):
        a.append(k)
    last = a.pop()
    return last, a.pop(-2)


@program(*COUNTS)
def items_of_two_forms(n):
    """A list that holds numbers at first, and None or tuples later."""
    a = [1]
    for k in range(n):
        a.append(None if k % 2 == 0 else (k, k * 0.5))
    return a


@program(*COUNTS)
def lists_in_tuples_in_a_list(n):
    """Items that hold lists of their own."""
    a = []
    for k in range(n):
        a.append((k, [k] * k))
    total = 0
    for number, parts in a:
        for part in parts:
            total += part * number
    return a, total


@program(*COUNTS)
def lists_of_nothing_in_tuples_in_a_list(n):
    """Items with lists of which only the length is known."""
    a, rest = [], []
    for k in range(n):
        rest = rest[1:]
        a.append((rest, [None] * k, k))
    return a
