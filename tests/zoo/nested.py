"""Lists and dicts inside lists whose length only a run knows, changed by every name they have."""

from __future__ import annotations

import collections

import torch

from tests.zoo.programs import f, i, program

COUNTS = ((i(3),), (i(0),), (i(1),), (i(6),))
VECTORS = ((f(1.0, 3.0, 2.0),), (f([5.0]),), (f([]),), (f(5.0, 7.0, 1.0, 9.0, 7.0),))
WORDS = ((i(1, 3, 3, 2),), (i([5]),), (i([0, 0, 0]),), (i(5, 7, 5, 9, 7, 1),))
ANY = ({0},)


@program(*COUNTS)
def table_filled_by_index(n):
    """`cost[i][j] = …` in two loops."""
    m = int(n) + 1
    cost = [[0] * m for _ in range(m)]
    for a in range(m):
        for c in range(m):
            cost[a][c] = a * c + cost[a - 1][c - 1]
    return cost


@program(*COUNTS)
def rows_that_are_one_list(n):
    """`[[0] * n] * n` has one row under every index."""
    m = int(n) + 1
    shared = [[0] * m] * m
    own = [[0] * m for _ in range(m)]
    for k in range(m):
        shared[k][k] += k + 1
        own[k][k] += k + 1
    return shared, own


@program(*VECTORS, dynamic=ANY)
def last_list_grows(x):
    """`out[-1].append(v)`: runs of numbers that do not fall."""
    out = [[]]
    previous = None
    for v in x:
        if previous is not None and v < previous:
            out.append([])
        out[-1].append(v)
        previous = v
    return [len(run) for run in out], [torch.stack(run).sum() for run in out if run]


@program(*WORDS, dynamic=ANY)
def grouped_by_setdefault(x):
    """`groups.setdefault(k, []).append(v)`."""
    groups = {}
    for k, v in enumerate(x.tolist()):
        groups.setdefault(v, []).append(k)
    return groups


@program(*WORDS, dynamic=ANY)
def grouped_by_defaultdict(x):
    """`groups[k].append(v)` of a defaultdict, and the values in order."""
    groups = collections.defaultdict(list)
    for k, v in enumerate(x.tolist()):
        groups[v % 3].append(k * 0.5)
    return [(key, sum(group), len(group)) for key, group in groups.items()]


@program(*COUNTS)
def changed_by_another_name(n):
    """A row that was put into a list is changed by its own name, and the other way round."""
    rows = []
    row = []
    for k in range(n):
        row.append(k)
        rows.append(row)
        if k % 2 == 1:
            row = [10 * k]
    if rows:
        rows[0].append(-1)
        first = rows[0]
        first.append(-2)
    return rows, row


@program(*COUNTS)
def changed_by_a_loop_variable(n):
    """`for row in rows: row.append(...)`, also with `enumerate` and `zip`."""
    rows, sizes = [], []
    for k in range(n):
        rows.append([k])
        sizes.append(k + 1)
    for row in rows:
        row.append(7)
    for k, row in enumerate(rows):
        row[0] = -k
    for row, size in zip(rows, sizes):
        row.extend([size, size])
    return rows


@program(*COUNTS)
def two_names_for_one_item(n):
    """What one name writes the other reads."""
    rows = [[0]]
    for k in range(n):
        rows.append([k])
    a = rows[0]
    b = rows[int(n) // 2]
    a.append(5)
    b.append(6)
    c = rows[-1]
    c[0] = len(a) * 100 + len(b)
    return rows, a, b, c, a is b, rows[-1] is c


@program(*COUNTS)
def a_row_taken_out(n):
    """A row that is no longer in the list is still the object it was."""
    rows = [[1, 2]]
    for k in range(n):
        rows.append([k])
    last = rows.pop()
    last.append(8)
    rows.append(last)
    rows.insert(0, last)
    last.append(9)
    kept = rows[0]
    rows[0] = [4]
    kept.append(3)
    return rows, kept


@program(*COUNTS)
def shallow_copies(n):
    """A slice, a sum and a sorted list hold the same rows; `list(row)` is a new one."""
    rows = []
    for k in range(n):
        rows.append([int(n) - k])
    copied = rows[:]
    both = rows + rows
    ordered = sorted(rows)
    deep = [list(row) for row in rows]
    for row in copied:
        row.append(0)
    return rows, copied, both, ordered, deep


@program(*COUNTS)
def nested_twice(n):
    """A list of lists of lists."""
    cube = []
    for a in range(n):
        cube.append([])
        for c in range(a + 1):
            cube[a].append([])
            for d in range(c):
                cube[a][c].append(a + c + d)
    total = 0
    for plane in cube:
        for line in plane:
            for value in line:
                total += value
    return cube, total


@program(*WORDS, dynamic=ANY)
def dict_of_dicts(x):
    """`counts[a][b] = counts[a].get(b, 0) + 1`: which word follows which."""
    counts = {}
    words = x.tolist()
    for k in range(len(words) - 1):
        a, c = words[k], words[k + 1]
        if a not in counts:
            counts[a] = {}
        counts[a][c] = counts[a].get(c, 0) + 1
    total = 0
    for follower in counts.values():
        for count in follower.values():
            total += count * count
    return total, len(counts)


@program(*WORDS, dynamic=ANY)
def list_of_dicts(x):
    """Records with names, changed in the list."""
    records = []
    for k, v in enumerate(x.tolist()):
        records.append({"value": v, "rank": 0, "at": k})
    for one in records:
        for other in records:
            if other["value"] < one["value"]:
                one["rank"] += 1
    return [(one["at"], one["rank"]) for one in records]


@program(*WORDS, dynamic=ANY)
def list_of_sets(x):
    """Sets in a list."""
    seen = [set(), set()]
    for v in x.tolist():
        seen.append({v})
        seen[v % 2].add(v)
    return [len(one) for one in seen], [sorted(one) for one in seen]


@program(*COUNTS, may_raise=True)
def row_out_of_range(n):
    """An index that a row, or the list of rows, does not have."""
    rows = []
    for k in range(n):
        rows.append([0] * k)
    rows[2][1] = 5
    rows[1][0] += 1
    return rows


@program(*COUNTS)
def list_in_a_tuple_is_changed(n):
    """`beams[0][0].append(token)`, for beams of (tokens, score)."""
    beams = []
    for k in range(n):
        beams.append(([k], float(k)))
    for tokens, score in beams:
        tokens.append(int(score) + 1)
    best = max(beams, key=lambda beam: beam[1], default=([], -1.0))
    best[0].append(99)
    return beams, best[0], best[1]


@program(*COUNTS)
def changed_on_one_path(n):
    """A row is changed, or replaced, in a branch."""
    rows = [[1]]
    for k in range(n):
        rows.append([k, k])
        if k % 2 == 0:
            rows[k].append(5)
        else:
            rows[k] = [k]
    row = rows[0] if n > 2 else rows[-1]
    row.append(77)
    return rows


@program((f(1.0, 3.0, 2.0),), (f([5.0]),), (f(5.0, 7.0, 1.0, 9.0, 7.0),), dynamic=ANY, trains=True)
def tensors_with_gradients_in_rows(x):
    """Tensors go through rows that are changed, with their gradients."""
    rows = []
    for v in x:
        rows.append([v, v * 2])
    for row in rows:
        row[0] = row[0] * row[1]
        row.append(row[0] + 1)
    return torch.stack([torch.stack(row).sum() for row in rows])


@program(*COUNTS)
def deques_and_defaults_in_a_list(n):
    """Deques of a greatest length, and defaultdicts."""
    queues, tables = [], []
    for k in range(n):
        queues.append(collections.deque(maxlen=2))
        tables.append(collections.defaultdict(int))
        for queue in queues:
            queue.append(k)
        for table in tables:
            table[k % 3] += k
    return [list(queue) for queue in queues], [sum(table.values()) for table in tables]


@program((f([[1.0, 2.0], [3.0, 4.0]]),), (f([[5.0, -1.0, 2.0]]),), dynamic=({0, 1},))
def rows_of_a_matrix_are_changed(x):
    """`tolist` makes rows that are lists of their own."""
    rows = x.tolist()
    rows[0].append(3.0)
    for row in rows:
        row[0] = -row[0]
    return rows, rows[0] is rows[-1]


@program(*COUNTS)
def item_replaced_in_a_list_that_is_copied(n):
    """The item is one of two lists, and each keeps its own contents where it is listed again."""
    rows, other = [[0]], [2]
    for _ in range(n):
        rows[-1] = other
        rows = rows[:]
    rows.append(rows[0])
    return rows
