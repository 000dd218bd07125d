"""Stories about containers of the caller's that hold other containers.

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


# ---- lists in lists


@story
def outer_append_after_inner_append() -> Story:
    log: list[list[int]] = [[]]

    def f(x: Tensor) -> Tensor:
        log[0].append(1)
        if x.sum() > 0:
            log.append([2])
        return x + len(log[0])

    return Story(f, CALLS, lambda: plain(log))


@story
def outer_append_keeps_the_inner_list() -> Story:
    inner: list[int] = []
    log = [inner]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            log.append([2])
        log[0].append(1)
        return x + len(inner) + len(log)

    return Story(f, CALLS, lambda: (plain(log), inner, log[0] is inner))


@story
def outer_reversed_before_inner_append() -> Story:
    log: list[list[int]] = [[], []]
    first, second = log

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            log.reverse()
        log[0].append(1)
        return x + len(log[0])

    return Story(f, CALLS, lambda: (plain(log), log[0] is first, log[1] is second))


@story
def reversed_without_a_branch() -> Story:
    log: list[list[int]] = [[], []]
    first, second = log

    def f(x: Tensor) -> Tensor:
        log.reverse()
        log[0].append(1)
        return x + len(log[0]) * 10 + len(log[1])

    return Story(f, CALLS, lambda: (plain(log), log[0] is first, log[1] is second))


@story
def one_list_in_two_places() -> Story:
    inner: list[int] = []
    log = [inner, inner]

    def f(x: Tensor) -> Tensor:
        log[0].append(1)
        if x.sum() > 0:
            log[1].append(2)
        return x + len(log[0]) + len(inner)

    return Story(f, CALLS, lambda: (plain(log), log[0] is log[1], inner))


@story
def inner_list_deleted() -> Story:
    log: list[list[int]] = [[1], [2, 3], [4, 5, 6]]
    kept = list(log)

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0 and len(log) > 1:
            del log[0]
        log[0].append(7)
        return x + len(log[0])

    return Story(f, CALLS, lambda: (plain(log), plain(kept), log[-1] is kept[-1]))


@story
def inner_list_cleared() -> Story:
    log: list[list[int]] = [[1], [2, 3]]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            log[1].clear()
        log[1].append(len(log[0]))
        return x + sum(log[1])

    return Story(f, CALLS, lambda: plain(log))


@story
def outer_cleared() -> Story:
    log: list[list[int]] = [[1]]
    inner = log[0]

    def f(x: Tensor) -> Tensor:
        log.clear()
        log.append([len(inner)])
        inner.append(3)
        return x + log[0][0]

    return Story(f, CALLS, lambda: (plain(log), inner))


@story
def extended_by_itself() -> Story:
    log: list[list[int]] = [[1]]

    def f(x: Tensor) -> Tensor:
        if len(log) < 8:
            log.extend(log)
        log[-1].append(2)
        return x + len(log[0])

    return Story(f, CALLS[:3], lambda: (plain(log), log[0] is log[-1]))


@story
def items_of_rows_set() -> Story:
    table = [[0, 0], [0, 0]]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            table[0], table[1] = table[1], table[0]
        table[0][1] += 1
        return x + table[0][1] * 10 + table[1][1]

    return Story(f, CALLS, lambda: plain(table))


@story
def three_levels() -> Story:
    cube = [[[1], [2]], [[3]]]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            cube.reverse()
        cube[0][0].append(9)
        cube[1].append([0])
        return x + sum(len(row) for plane in cube for row in plane)

    return Story(f, CALLS, lambda: plain(cube))


@story
def row_chosen_by_data() -> Story:
    rows: list[list[int]] = [[], [5]]

    def f(x: Tensor) -> Tensor:
        row = rows[0] if x.sum() > 0 else rows[1]
        row.append(1)
        return x + len(row) + len(rows[0])

    return Story(f, CALLS, lambda: plain(rows))


@story
def row_by_a_captured_number() -> Story:
    rows: list[list[int]] = [[], [5]]

    def f(x: Tensor) -> Tensor:
        k = int(x.sum() > 0)
        rows[k].append(k)
        return x + len(rows[k]) + len(rows[0])

    return Story(f, CALLS, lambda: plain(rows))


@story
def two_globals_chosen() -> Story:
    first: list[int] = []
    second: list[int] = [1]

    def f(x: Tensor) -> Tensor:
        chosen = first if x.sum() > 0 else second
        chosen.append(4)
        return x + len(chosen) + len(second)

    return Story(f, CALLS, lambda: (first, second))


@story
def lists_of_tensors_in_a_list() -> Story:
    kept: list[list[Tensor]] = [[], []]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            kept[0].append(x)
        kept[1].append(x * 2)
        return torch.stack(kept[1]).sum(0) + len(kept[0])

    return Story(f, CALLS, lambda: plain(kept))


@story
def inner_list_put_into_another() -> Story:
    inner: list[int] = [1]
    log: list[list[int]] = []

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            log.append(inner)
        inner.append(2)
        return x + sum(len(one) for one in log)

    return Story(f, CALLS, lambda: (plain(log), all(one is inner for one in log)))


@story
def unpacked_after_a_reverse() -> Story:
    log = [[1], [2, 3]]

    def f(x: Tensor) -> Any:
        log.reverse()
        first, _ = log
        first.append(5)
        return [len(one) for one in [*log]], len([*log][1]), list(map(len, log)), sum(map(len, log))

    return Story(f, CALLS, lambda: plain(log))


@story
def stored_list_stays_the_callers() -> Story:
    inner = [1]
    log: list[list[int]] = []

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            log.append(inner)
        return x + len(log)

    return Story(f, CALLS, lambda: (plain(log), [one is inner for one in log]))


@story
def stored_list_that_a_branch_has_changed() -> Story:
    rows = [[1], [2]]

    def f(x: Tensor) -> Tensor:
        if x.sum() > 0:
            rows[1].append(3)
        rows.append(rows[1])
        return x + len(rows[-1])

    return Story(f, CALLS[:3], lambda: (plain(rows), rows[-1] is rows[1]))


@story
def deque_of_lists() -> Story:
    rows = collections.deque([[1], [2]])

    def f(x: Tensor) -> Tensor:
        rows[0].append(4)
        if x.sum() > 0:
            rows.rotate(1)
        return x + len(rows[0])

    return Story(f, CALLS, lambda: plain(list(rows)))


@story
def list_in_a_tuple_in_a_dict() -> Story:
    inner = [1]
    held = {"k": (inner, 2)}

    def f(x: Tensor) -> Tensor:
        held["k"][0].append(4)
        if x.sum() > 0:
            held["k"] = (held["k"][0], 3)
        return x + len(held["k"][0]) + held["k"][1]

    return Story(f, CALLS, lambda: (plain(held), inner, held["k"][0] is inner))


# what is changed in a list of the program leaves as a copy, which the caller would keep
REFUSED = {outer_append_keeps_the_inner_list: "a list that may have two names is kept"}


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
