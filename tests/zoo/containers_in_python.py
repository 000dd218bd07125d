"""Containers written in Python, those that library code makes, and the text of what holds them."""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import json
import pickle

from tests.zoo.programs import f, i, program

SIDES = ((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(3.0, 1.0),))
LIVE = ("rewritten", "captured", "unoptimised")  # a saved model has no state of the module's


class Store(collections.abc.MutableMapping):
    """A mapping of the user's, with the methods that Python adds to it."""

    def __init__(self):
        self.items_of, self.writes = {}, 0

    def __getitem__(self, key):
        return self.items_of[key]

    def __setitem__(self, key, value):
        self.writes += 1
        self.items_of[key] = value

    def __delitem__(self, key):
        del self.items_of[key]

    def __iter__(self):
        return iter(self.items_of)

    def __len__(self):
        return len(self.items_of)


@dataclasses.dataclass(slots=True)
class Slotted:
    """An object without a `__dict__`."""

    count: int = 0
    log: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Noted:
    """The same with one."""

    count: int = 0
    log: list = dataclasses.field(default_factory=list)


BASE, TOP = {}, {}
CHAIN = collections.ChainMap(TOP, BASE)
TABLE, ROWS, STORE = collections.UserDict(), collections.UserList(), Store()
WORDS = collections.Counter()
SLOTTED, NOTED = Slotted(), Noted()


def reset():
    """All of them as they were."""
    TOP.clear()
    BASE.clear()
    BASE.update(a=1, b=2)
    TABLE.data, ROWS.data, STORE.items_of, STORE.writes = {"a": 1}, [1], {}, 0
    WORDS.clear()
    WORDS["a"] = 1
    for one in (SLOTTED, NOTED):
        one.count, one.log = 0, []


@program(*SIDES, watch=lambda: (TOP, BASE), reset=reset, stages=LIVE)
def chain_maps_written_on_a_path(x):
    """A ChainMap writes to its first dict only; a child has a dict of its own."""
    if x.sum() > 0:
        CHAIN["a"] = CHAIN["a"] + 1
    BASE["b"] += 10
    child = CHAIN.new_child({"own": 1})
    child["b"] = 5
    return x * CHAIN["a"] + CHAIN["b"], list(CHAIN), CHAIN.get("z", 3), child.maps[0], dict(child)


@program(*SIDES, watch=lambda: (TABLE.data, ROWS.data), reset=reset, stages=LIVE)
def user_dicts_and_user_lists(x):
    """`UserDict` and `UserList` of the module, changed on a path."""
    TABLE["a"] += 1
    TABLE.setdefault("n", 0)
    if x.sum() > 0:
        ROWS.append(TABLE["a"])
        TABLE.update(n=TABLE["n"] + 1)
    return x * TABLE["a"], len(ROWS), list(ROWS), ROWS[0], list(TABLE.items()), TABLE.get("z")


@program(*SIDES, watch=lambda: (STORE.items_of, STORE.writes), reset=reset, stages=LIVE)
def a_mapping_of_the_users(x):
    """`get`, `pop`, `setdefault`, `update` and `items` of Python's, over the user's own methods."""
    STORE["k"] = STORE.get("k", 0) + 1
    if x.sum() > 0:
        STORE.setdefault("p", 5)
        STORE.update(z=3)
    else:
        STORE.pop("p", None)
    total = 0
    for _, value in STORE.items():
        total += value
    return x * total, STORE.writes, list(STORE), "p" in STORE, dict(STORE)


@program(*SIDES, watch=lambda: dict(WORDS), reset=reset, stages=LIVE)
def a_counter_of_words_by_path(x):
    """A Counter of the module that gets other keys on other paths."""
    WORDS.update(["b", "b"] if x[0] > 0 else ["c"])
    WORDS["zero"] += 0
    return x * WORDS.total(), WORDS.most_common(2), WORDS["missing"]


@program(*SIDES)
def containers_made_by_library_code(x):
    """Lists and objects inside what `json` and `pickle` give are the call's own."""
    settings = json.loads('{"sizes": [1, 2], "inner": {"n": 1}}')
    settings["sizes"].append(3)
    copy = pickle.loads(pickle.dumps(Noted(1, [[4]])))
    copy.log[0].append(5)
    if x.sum() > 0:
        settings["inner"]["n"] += 1
        copy.log.append([6])
        copy.count += 1
    shared = pickle.loads(pickle.dumps((settings["sizes"],) * 2))
    shared[0].append(7)
    return x * copy.count, settings, copy, shared[1]


@program(*SIDES, watch=lambda: (SLOTTED.log, NOTED.log), reset=reset, stages=LIVE)
def texts_of_objects_with_lists(x):
    """The text of an object shows what the call has put into its list."""
    for one in (SLOTTED, NOTED):
        one.count += 1
        if x.sum() > 0:
            one.log.append(one.count)
    print(SLOTTED, [NOTED])
    return x, repr(SLOTTED), f"{NOTED}"


@program((i(0),), (i(1),), (i(3),))
def texts_of_lists_that_grow(n):
    """`str` of lists and tuples whose length is data."""
    rows = []
    for k in range(n):
        rows.append((k, k / 2))
    names = []
    if n > 2:
        names.append("it's")
    print(rows, tuple(names))
    return str(rows), f"{tuple(rows)}", "%s" % (names,)


class Swallowing:
    """A manager that counts, and lets no ValueError out."""

    def __init__(self, by):
        self.by = by

    def __enter__(self):
        NOTED.count += self.by
        return self.by

    def __exit__(self, kind, *_):
        NOTED.count -= 1
        return kind is ValueError


@program(*SIDES, watch=lambda: NOTED.count, reset=reset, stages=LIVE)
def managers_inside_each_other(x):
    """The value of the inner one is used in its body only, which may raise."""
    with Swallowing(1) as first, Swallowing(3) as second:
        if x.sum() > 3.5:
            raise ValueError("large")
        x = x * first * second
    return x + NOTED.count


PAIR = ([1], [2, 3])


def reset_pair():
    """The lists as they were."""
    PAIR[0][:], PAIR[1][:] = [1], [2, 3]


@program(*SIDES, watch=lambda: PAIR, reset=reset_pair, stages=LIVE)
def lists_out_of_a_tuple_of_the_modules(x):
    """The lists that a tuple holds are those of the module, however they are taken out."""
    first, (start, *rest) = PAIR
    first.append(len(rest))
    table = {**{"k": first}, "all": [*PAIR]}
    if x.sum() > 0:
        PAIR[1].extend(first[:1])
    return x * start, table["k"] is PAIR[0], table["all"][1] is PAIR[1], len(table["all"][1])


@program(*SIDES, watch=lambda: (TOP, BASE), reset=reset, stages=LIVE)
def chain_maps_made_dicts(x):
    """`dict`, `{**...}`, `f(**...)`, `|=` and `update` of a ChainMap whose dict may lack a key."""
    if x.sum() > 0:
        CHAIN["a"] = 7
    joined = {"a": 0}
    joined |= CHAIN
    joined.update(CHAIN.new_child({"b": 4}))
    ordered, others = collections.OrderedDict(CHAIN), collections.UserDict(CHAIN)
    made = joined, ordered, dict(others), collections.Counter(CHAIN)
    return dict(CHAIN), {**CHAIN}, dict(**CHAIN), made, dict(CHAIN.new_child({"own": 1}), z=2)
