"""Stories about dicts and objects of the caller's that hold others, and about views of dicts.

Whatever a call does to them, eager code does; by every name that the caller has for them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import stator
from stator.errors import UnsupportedCall
from tests.stories.story import Story, check

UP, DOWN = torch.tensor([3.0, -1.0]), torch.tensor([1.0, -2.0])
CALLS = (DOWN, UP, UP, DOWN, UP, DOWN)
Make = Callable[[], Story]
STORIES: list[Make] = []


def story(make: Make) -> Make:
    STORIES.append(make)
    return make


def plain(value: Any) -> Any:
    """`value` with plain containers, so that a leaked class would be seen beside them."""
    if isinstance(value, dict):
        return type(value).__name__, [(key, plain(item)) for key, item in dict.items(value)]
    if isinstance(value, list | tuple):
        return type(value).__name__, [plain(item) for item in value]
    return value.tolist() if isinstance(value, Tensor) else value


# ---- lists and dicts in dicts


@story
def lists_change_places_in_a_dict() -> Story:
    state = {"cur": [1], "old": [2, 3]}
    cur, old = state["cur"], state["old"]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            state["cur"], state["old"] = state["old"], state["cur"]
        state["cur"].append(7)
        return x + len(state["cur"])

    return Story(f, CALLS, lambda: (plain(state), cur, old, state["cur"] is cur))


@story
def dict_of_dicts() -> Story:
    table = {"a": {"n": 0}, "b": {"n": 10}}

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            table["a"], table["b"] = table["b"], table["a"]
        table["a"]["n"] += 1
        return x + table["a"]["n"] + len(table["b"])

    return Story(f, CALLS, lambda: plain(table))


@story
def list_of_dicts() -> Story:
    rows: list[dict[str, Any]] = [{"n": 0}, {"n": 5}]
    first = rows[0]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            rows.reverse()
        rows[0]["n"] += 1
        return x + rows[0]["n"] * 10 + rows[1]["n"]

    return Story(f, CALLS, lambda: (plain(rows), plain(first), rows[0] is first))


@story
def list_of_dicts_grows() -> Story:
    rows: list[dict[str, Any]] = [{"n": 0}]
    first = rows[0]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            rows.append({"n": 3})
        rows[0]["n"] += 1
        return x + rows[0]["n"]

    return Story(f, CALLS, lambda: (plain(rows), plain(first), rows[0] is first))


@story
def groups_of_the_caller() -> Story:
    groups: dict[str, list[Tensor]] = {}

    def f(x: Tensor) -> Tensor:
        groups.setdefault("all", []).append(x)
        if x.sum() > 0:
            groups["all"].append(x * 2)
        return x + len(groups["all"])

    return Story(f, CALLS, lambda: plain(groups))


@story
def got_from_a_dict() -> Story:
    groups: dict[str, list[int]] = {"a": [1]}

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            groups.get("a", []).append(1)
        groups.pop("b", [0]).append(3)
        return x + len(groups.get("a", [])) + sum(len(v) for v in groups.values())

    return Story(f, CALLS, lambda: plain(groups))


@story
def list_popped_from_a_dict() -> Story:
    inner = [1]
    groups: dict[str, list[int]] = {"a": inner}

    def f(x: Tensor) -> Tensor:
        taken = groups.pop("a")
        taken.append(2)
        groups["a"] = taken
        return x + len(groups["a"])

    return Story(f, CALLS, lambda: (plain(groups), inner, groups["a"] is inner))


# ---- dicts with methods of their own


@story
def counter_of_the_caller() -> Story:
    counts: collections.Counter[str] = collections.Counter()

    def f(x: Tensor) -> Tensor:
        counts["n"] += 1
        if x.sum() > 0:
            counts["up"] += 2
        return x + counts["n"]

    return Story(f, CALLS, lambda: plain(counts))


@story
def counter_that_has_counted() -> Story:
    counts = collections.Counter(n=4)

    def f(x: Tensor) -> Tensor:
        counts["n"] += 1
        return x + counts["n"] + counts["never"]

    return Story(f, CALLS, lambda: plain(counts))


@story
def counter_updated() -> Story:
    counts: collections.Counter[str] = collections.Counter()

    def f(x: Tensor) -> Tensor:
        counts.update(["a", "b", "a"])
        return x + counts["a"]

    return Story(f, CALLS, lambda: plain(counts))


@story
def defaultdict_of_lists() -> Story:
    groups: dict[str, list[int]] = collections.defaultdict(list)

    def f(x: Tensor) -> Tensor:
        groups["n"].append(1)
        return x + len(groups["n"])

    return Story(f, CALLS, lambda: plain(groups))


@story
def defaultdict_of_lists_in_a_branch() -> Story:
    groups: dict[str, list[int]] = collections.defaultdict(list)

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            groups["up"].append(1)
        else:
            groups["down"].append(2)
        return x + len(groups["down"])

    return Story(f, CALLS, lambda: plain(groups))


@story
def defaultdict_of_numbers() -> Story:
    counts: dict[str, int] = collections.defaultdict(int)

    def f(x: Tensor) -> Tensor:
        counts["n"] += 1
        counts["m"] -= counts["other"]
        return x + counts["n"]

    return Story(f, CALLS, lambda: plain(counts))


class Doubling(collections.OrderedDict[str, Any]):
    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key) * 2


@story
def dict_that_computes_its_items() -> Story:
    table = Doubling(a=3)
    return Story(lambda x: x * table["a"], CALLS, lambda: list(dict.items(table)))


@story
def dict_that_computes_its_items_is_written() -> Story:
    table = Doubling(a=3)

    def f(x: Tensor) -> Tensor:
        table["b"] = 5
        if x.sum() > 0:
            table["c"] = 1
        return x * table["a"] + table["b"]

    return Story(f, CALLS, lambda: list(dict.items(table)))


@story
def ordered_dict_in_its_order() -> Story:
    table: collections.OrderedDict[str, int] = collections.OrderedDict(a=1, b=2, c=3)
    table.move_to_end("a")

    def f(x: Tensor) -> Tensor:
        table["d"] = 4
        return x + list(table).index("a")

    return Story(f, CALLS, lambda: list(table.items()))


# ---- objects


class Box:
    def __init__(self) -> None:
        self.n = 0
        self.items: list[int] = []


@story
def dict_of_an_object() -> Story:
    box = Box()

    def f(x: Tensor) -> Tensor:
        box.__dict__["n"] += 1
        return x + box.n

    return Story(f, CALLS, lambda: box.n)


@story
def dict_of_an_object_in_a_branch() -> Story:
    box = Box()

    def f(x: Tensor) -> Tensor:
        box.n += 1
        if x.sum() > 0:
            vars(box)["n"] += 10
        return x + box.n + box.__dict__["n"]

    return Story(f, CALLS, lambda: box.n)


@story
def dict_of_an_object_updated() -> Story:
    box = Box()

    def f(x: Tensor) -> Tensor:
        box.__dict__.update(n=box.n + 2)
        return x + box.n

    return Story(f, CALLS, lambda: box.n)


@story
def dict_of_a_local_object() -> Story:
    def f(x: Tensor) -> Tensor:
        box = Box()
        if x.sum() > 0:
            box.__dict__["n"] = 4
        return x + box.n + len(vars(box))

    return Story(f, CALLS)


@story
def list_of_an_object_in_a_list() -> Story:
    boxes = [Box(), Box()]
    first = boxes[0]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            boxes.reverse()
        boxes[0].items.append(1)
        boxes[0].n += 1
        return x + len(boxes[0].items) * 10 + boxes[1].n

    return Story(f, CALLS, lambda: ([(b.n, b.items) for b in boxes], boxes[0] is first))


@story
def lists_of_an_object_change_places() -> Story:
    box = Box()
    box.other = [1, 2]  # type: ignore[attr-defined]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            box.items, box.other = box.other, box.items  # type: ignore[attr-defined]
        box.items.append(3)
        return x + len(box.items)

    return Story(f, CALLS, lambda: (box.items, box.other))  # type: ignore[attr-defined]


# ---- views of dicts


@story
def views_before_a_branch() -> Story:
    def f(x: Tensor) -> Any:
        table = {"a": 1}
        items, keys, values = table.items(), table.keys(), table.values()
        if x.sum() > 0:
            table["b"] = 2
        return list(items), len(items), list(keys), "b" in keys, sum(values), sorted(keys)

    return Story(f, CALLS)


@story
def view_in_a_loop() -> Story:
    def f(x: Tensor) -> Any:
        table = {"a": 1}
        values = table.values()
        if x.sum() > 0:
            table["b"] = 2
        total = 0
        for value in values:
            total += value
        return total, [key + "!" for key in table], max(values)

    return Story(f, CALLS)


@story
def view_of_the_callers_dict() -> Story:
    table = {"a": 1}

    def f(x: Tensor) -> Any:
        items = table.items()
        table["n"] = table.get("n", 0) + 1
        if x.sum() > 0:
            table["b"] = 2
        return list(items), len(items)

    return Story(f, CALLS, lambda: dict(table))


@story
def view_as_a_set() -> Story:
    def f(x: Tensor) -> Any:
        table = {"a": 1}
        keys = table.keys()
        if x.sum() > 0:
            table["b"] = 2
        return len(keys & {"b"})

    return Story(f, CALLS, lambda: None)


# what a program does not model is refused
REFUSED = {
    list_of_dicts_grows: "a dict that may have two names is kept after the call",
    view_as_a_set: "a view of a dict with data-dependent keys is used as a set",
    dict_that_computes_its_items_is_written: "a key that only some paths have set",
}


@pytest.mark.parametrize("make", [make for make in STORIES if make not in REFUSED])
def test_story(make: Make) -> None:
    check(make)


@pytest.mark.parametrize("make", REFUSED)
def test_refused_call_changes_nothing(make: Make) -> None:
    made = make()
    assert made.look is not None
    before = repr(made.look())
    with pytest.raises(UnsupportedCall, match=REFUSED[make]):
        stator.to_static(made.subject)(made.calls[0])
    assert repr(made.look()) == before
