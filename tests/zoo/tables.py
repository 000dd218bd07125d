"""Tuples, dicts and sets whose length, keys or items only a run knows."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

import torch

from tests.zoo.programs import f, i, program

COUNTS = ((i(3),), (i(0),), (i(1),), (i(6),))
XN = ((f(1.0, 2.0), i(3)), (f(-1.0, -2.0), i(0)), (f(3.0, 2.0), i(5)), (f(1.0, -2.0), i(1)))
VECTORS = ((f(1.0, 3.0, 2.0),), (f([5.0]),), (f([]),), (f(5.0, 7.0, 1.0, 9.0, 7.0),))
SIGNS = ((f(1.0, 2.0),), (f(-1.0, -2.0),))
ANY = ({0},)


@program(*XN)
def tuple_that_grows(x, n):
    """`t = t + (v,)`, the length, items and slices of it, and the tuple itself."""
    t = ()
    for k in range(n):
        t = t + (x * k,)
    return len(t), t, t[:1], isinstance(t, tuple), (torch.stack(t).sum(0) if len(t) else x)


@program(*COUNTS)
def tuple_of_numbers(n):
    """A tuple made of a grown list; compared, searched, spread and added to."""
    grown = []
    for k in range(n):
        grown.append(k)
    t = tuple(grown)
    return t == (0, 1, 2), t == grown, 2 in t, t.count(1), [*t, 5], (*t, 7), t + (9,), t * 2


@program(*COUNTS, may_raise=True)
def tuple_is_not_changed(n):
    """A tuple has no `append`."""
    t = ()
    for k in range(n):
        t += (k,)
    if len(t) > 1:
        t.append(3)
    return t


@program(*SIGNS)
def set_changed_in_a_branch(x):
    """Items added on one path and discarded on the other; membership and length after it."""
    s = {1, 2}
    if x.sum() > 0:
        s |= {3, 4}
    else:
        s.discard(1)
    return x * (4 if 3 in s else 5), len(s), 1 in s, sorted(s), max(s)


@program(*COUNTS)
def set_of_what_was_seen(n):
    """Captured numbers added in a loop."""
    seen = set()
    for k in range(n):
        seen.add(k * k % 4)
    return len(seen), 1 in seen, int(n) in seen, sorted(seen)


@program(*VECTORS, dynamic=ANY)
def set_of_numbers_from_data(x):
    """`set` of a list, a set display and a set comprehension of captured numbers."""
    values = [int(v) for v in x.tolist()]
    odd = {v % 2 for v in values}
    sizes = {t.shape[0] for t in (x, x[1:], x)}
    return len(set(values)), len(odd), 1 in odd, len({len(values), 3}), len(sizes)


@program(*SIGNS)
def set_of_names(x):
    """Strings in a set that depends on the path."""
    names = {"a"}
    if x.sum() > 0:
        names.add("b")
    return len(names), "b" in names, "a" in names


@program(*COUNTS, refused="ST204")
def set_in_its_order(n):
    """The iteration order of a set with data-dependent items."""
    seen = set()
    for k in range(n):
        seen.add(k)
    return [k for k in seen]


@program(*XN)
def dict_with_keys_from_a_loop(x, n):
    """Keys that only a run knows; the dict, its length, values, items and a lookup."""
    d = {}
    for k in range(n):
        d[k * k] = x * k
    total = sum(d.values(), torch.zeros(2))
    for key, value in d.items():
        total = total + key * value
    return d, len(d), total, 4 in d, d.get(1), d.get(7, x), list(d), bool(d)


@program(*VECTORS, dynamic=ANY)
def histogram(x):
    """A dict with known keys, written at a key that the data chooses."""
    hist = {0: 0, 1: 0, 2: 0}
    for v in x.tolist():
        hist[int(v) % 3] += 1
    return torch.tensor([hist[0], hist[1], hist[2]]), hist


@program(*COUNTS, may_raise=True)
def captured_key_that_is_missing(n):
    """KeyError with the key, `del` and `pop` too."""
    d = {}
    for k in range(n):
        d[k] = k * 10
    del d[1]
    return d.pop(0), d.pop(99, None), d, d[int(n) - 1]


@program(*COUNTS)
def dict_of_counts(n):
    """`get` with a default, `setdefault` and `in`, by captured keys."""
    d = {}
    for k in range(n):
        key = k * k % 5
        d[key] = d.get(key, 0) + 1
        if key not in d:
            d[key] = 100
        d.setdefault(k + 10, k)
    return d


@program(*XN)
def key_chosen_among_known_ones(x, n):
    """A string key that the data chooses."""
    d = {"even": x * 0, "odd": x * 0}
    for k in range(n):
        key = "even" if k % 2 == 0 else "odd"
        d[key] = d[key] + x * k
    return d


@program(*COUNTS)
def dict_comprehension_with_captured_keys(n):
    """A dict comprehension over a captured range."""
    return {k: k * 2 for k in range(n) if k != 2}


@program(*SIGNS)
def table_on_one_path(x):
    """A captured key that one path sets."""
    d = {0: 1.5}
    if x.sum() > 0:
        d[int(x[0])] = 2.5
    return d, len(d)


@program(*XN)
def spread_into_a_call(x, n):
    """`f(*grown)` where f takes `*args`; a display with a star."""

    def total(scale, *parts):
        return sum(parts) * scale + len(parts)

    a = [x]
    for k in range(n):
        a.append(x * k)
    return total(2.0, *a), torch.stack([*a, x])


@program(*VECTORS, dynamic=ANY)
def window_of_two(x):
    """A deque with a greatest length, filled by a recorded loop."""
    q = deque(maxlen=2)
    total = torch.zeros(())
    for v in x:
        q.append(v)
        if len(q) == 2 and q[0] < q[1]:
            total = total + q[1] - q[0]
    return total, list(q), q.maxlen


@program(*COUNTS, may_raise=True)
def deque_as_a_queue(n):
    """Both ends of a deque; the error of an empty one."""
    q = deque([7])
    for k in range(n):
        q.appendleft(k)
        if k % 3 == 2:
            q.pop()
    q.extend([1, 2])
    q.extendleft([3, 4])
    q.rotate(int(n))
    taken = q.popleft()
    rest = list(q)
    while q:
        q.popleft()
    if n > 5:
        q.pop()
    return taken, rest, isinstance(q, deque), isinstance(q, list)


@program(*SIGNS)
def deque_in_a_branch(x):
    """A deque that one path makes longer."""
    q = deque([x])
    if x.sum() > 0:
        q.appendleft(x * 2)
    return q[0] * len(q)


@program(*VECTORS, dynamic=ANY)
def counts_by_default(x):
    """A defaultdict by captured keys; reading makes the key."""
    d = defaultdict(int)
    for v in x.tolist():
        d[v] += 1
    before = len(d)
    return before, d[99.0], len(d), dict(d)


@program(*SIGNS)
def default_read_in_a_branch(x):
    """Reading a defaultdict inserts, on the path that reads."""
    d = defaultdict(list)
    y = x
    if x.sum() > 0:
        y = x * (1 + len(d["q"]))
    d["r"].append(3)
    return y * (1 + len(d)), "q" in d, d["r"]


@program(*SIGNS)
def counter_in_a_branch(x):
    """A Counter gives 0 for what it has not counted, and does not keep it."""
    c = Counter("ab")
    if x.sum() > 0:
        c.update(["q", "q"])
        c["a"] += 1
    return x * c["q"], c["a"], c["none"], len(c)


class Doubling(dict):
    """A dict that makes what it lacks."""

    def __missing__(self, key):
        self[key] = 2
        return 2


@program(*SIGNS)
def missing_in_a_branch(x):
    """`__missing__` of a user inserts the key, on the path that reads it."""
    s = Doubling()
    y = x * s["q"] if x.sum() > 0 else x
    return y * (1 + len(s)), "q" in s


@program(*SIGNS, (f(9.0, 2.0),))
def truth_of_a_dict_whose_keys_some_paths_set(x):
    """An empty dict is false, whichever path has left it so."""
    kept = {name: 1 for name in ("one", "two") if x.sum() > 5}
    rounds = 0
    while kept or rounds < 2:
        rounds += 1
        if rounds > 3:
            break
        kept = {name: 1 for name in kept if x.sum() > 0}
    return bool(kept), not kept, rounds, (1 if kept else 2)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-5.0, 2.0),))
def dict_of_given_keys(x):
    """`dict.fromkeys` makes a dict of the function's own, whose values are one object."""
    slots, lists = dict.fromkeys(range(2)), dict.fromkeys("ab", [])
    slots[0] = x * 2
    if x.sum() > 0:
        slots[1] = x
    lists["a"].append(x)
    return slots, lists["b"]


@program(*SIGNS, may_raise=True)
def key_deleted_twice(x):
    """`del` of a key that some paths have deleted already; a Counter does not mind."""
    d, n = {"one": 1, "two": 2}, Counter("aab")
    if x.sum() > 0:
        del d["one"], n["a"]
    del n["a"]
    if x.sum() < 9:
        del d["one"]
    return d, n


@program(*SIGNS)
def dict_updated_by_one_of_two(x):
    """`update` by a dict that a branch chooses."""
    d = {"two": 2}
    if x.sum() > 0:
        d["three"] = 3
    e = {"one": 0}
    e.update(d if x[0] > 0 else {"one": len(d)})
    e.update({letter: 3 for letter in "ab" if x.sum() > 0})
    return e


@program(*SIGNS, may_raise=True)
def dict_changed_by_its_own_loop(x):
    """A loop over a dict that it changes on some paths; asking for the next item raises."""
    found = {"one": 1, "two": 2}
    for key in found:
        found["three"] = 3
        break
    for key, value in found.items():
        if x.sum() > 0:
            del found[key]
            break
        found[key] = value + 1
    other = {"one": 1}
    for key in other:
        if x.sum() < 0:
            other["four"] = 4
    return found, other, key


@program(*SIGNS)
def match_of_one_of_two_lists(x):
    """`case [first, *rest]` of a list that a branch chooses."""
    values = [1, 2, 3]
    match values if x.sum() > 0 else values[1:]:
        case [first, *rest]:
            return first, rest
