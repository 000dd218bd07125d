"""Stories about containers of the caller's that the call has changed, given to library code."""

from __future__ import annotations

import collections
import copy
import functools
import heapq
import io
import itertools
import json
import logging
import operator
import pickle
import pprint
import textwrap

import numpy
import pytest
import torch

from tests.stories.book import UP, Book, X

story = Book(
    items_of_the_run_for_a_library="whose items depend on the data",
    tensors_that_share_memory="two tensors that share memory",
    captured_tensor_is_pickled="`dumps`, cannot use captured values",
)
WHOLE = {
    "deepcopy": copy.deepcopy,
    "json": json.dumps,
    "pickle": lambda d: pickle.loads(pickle.dumps(d)),
    "text": pprint.pformat,
    "in_the_values": lambda d: ([1] in d.values(), ("a", [1]) in d.items()),
    "leaves": torch.utils._pytree.tree_leaves,
    "chain": lambda d: list(itertools.chain(*d.values())),
    "keywords": lambda d: dict(**d),
    "joined": lambda d: functools.reduce(operator.add, d.values()),
    "format": lambda d: "{a} {b}".format(**d),
    "view": lambda d: f"{d.values()} {d.items()}",
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_dict_whose_list_was_changed_is_given_whole(name):
    def make():
        table = {"a": [1], "b": [2, 3]}

        def f(x):
            table["a"].append(7)
            return WHOLE[name](table)

        return f, X, lambda: table

    book = Book()
    book.stories[name] = make
    book.check(name)


@story
def rows_as_a_tensor_and_an_array():
    rows = [[1, 2], [3, 4]]

    def f(x):
        rows[0][0] += 9
        total = (torch.tensor(rows) + x.sum()).tolist()
        return total, numpy.array(rows).sum().item(), torch.as_tensor(rows).tolist()

    return f, X, lambda: rows


@story
def attributes_of_an_object():
    class Box:
        pass

    box = Box()
    box.items, box.seen, box.last = [1], {1}, collections.deque([1], maxlen=2)

    def f(x):
        box.items.append(x.sum().item())
        box.seen.add(5)
        box.last.append(3)
        copied = copy.deepcopy(box)
        copied.items.append(0)
        return copied.items, sorted(copied.seen), list(copied.last)

    return f, X, lambda: (box.items, sorted(box.seen), box.last)


@story
def heap_in_a_dict():
    table = {"a": [3, 1, 2]}

    def f(x):
        table["a"].append(0)
        heapq.heapify(table["a"])
        return json.dumps(table), heapq.heappop(table["a"])

    return f, X, lambda: table


@story
def user_code_of_a_library_call():
    log = [1]

    def compare(a, b):
        return (a - b) * (1 if len(log) % 2 else -1)

    def f(x):
        return sorted([3, 1, 2], key=functools.cmp_to_key(compare))

    def longer(static):
        log.append(1)
        return static(UP)

    return f, [longer] * 4, lambda: log


@story
def variable_of_user_code_of_a_library_call():
    sign = 1

    def compare(a, b):
        return (a - b) * sign

    def f(x):
        return sorted([3, 1, 2], key=functools.cmp_to_key(compare))

    def turned(static):
        nonlocal sign
        sign = -sign
        return static(UP)

    return f, [turned] * 4


@story
def logged_list():
    log, stream, logger = [1], io.StringIO(), logging.Logger("logged_list", 10)
    logger.addHandler(logging.StreamHandler(stream))

    def f(x):
        log.append(x.sum().item())
        logger.info("list %s", log)
        if x.sum() > 0:
            logger.info("table %s, %d items", {"a": log}, len(log))
        return x

    return f, X, lambda: (log, stream.getvalue())


@story
def items_of_the_run_for_a_library():
    table = {"a": [1]}

    def f(x):
        if x.sum() > 0:
            table["a"].append(3)
        return json.dumps(table)

    return f, X


@story
def captured_number_for_a_library():
    return (lambda x: json.dumps({"sum": x.sum().item()})), X


@story
def captured_tensor_is_pickled():
    return (lambda x: pickle.dumps([x])), X


@story
def tensors_that_share_memory():
    def f(x):
        y = x * 1
        copied = copy.deepcopy([y, y[:1]])
        copied[0].zero_()
        return copied[1]

    return f, X


# ---- copies


@story
def copy_of_captured_values():
    def f(x):
        made = {"t": x * 2, "n": [x.sum().item()], "s": f"{x.sum():.1f}", "e": (1, 2)}
        copied = copy.deepcopy(made)
        copied["t"].add_(1)
        copied["n"].append(1)
        return str(copied), str(made), copied["e"] is made["e"]

    return f, X


@story
def copy_keeps_what_is_one_object():
    def f(x):
        row = [x.sum().item()]
        copied = copy.deepcopy({"p": row, "q": row, "x": x, "y": x})
        copied["p"].append(1)
        copied["x"].zero_()
        return str(copied), row, copied["p"] is copied["q"], copied["x"] is copied["y"], x.tolist()

    return f, X


@story
def copy_by_a_method_of_the_user():
    class Point:
        def __init__(self, value):
            self.value = value

        def __deepcopy__(self, memo):
            return Point(copy.deepcopy(self.value, memo) + 1)

    def f(x):
        points = [Point(x.sum())]
        return copy.deepcopy(points)[0].value.item(), points[0].value.item()

    return f, X


@story
def copy_of_a_list_of_the_run():
    def f(x):
        found = []
        for value in x:
            if value > 0:
                found.append(value)
        copied = copy.deepcopy(found)
        copied.append(value)
        return [one.item() for one in copied], [one.item() for one in found]

    return f, X


@story
def copy_of_state_outside():
    cache = {"k": torch.zeros(2), "n": [0]}

    def f(x):
        before = copy.deepcopy(cache)
        cache["k"].add_(x)
        cache["n"].append(1)
        return before["k"].tolist(), before["n"], (cache["k"] - before["k"]).tolist()

    return f, X, lambda: str(cache)


@story
def captured_string_for_a_library():
    return (lambda x: textwrap.shorten(f"a sum of {x.sum().item()} and more", 12)), X


@story.right()
def test_a_story_goes_as_eager_code_does(name):
    story.check(name)


@pytest.mark.parametrize("name", story.refused)
def test_a_story_is_refused(name):
    story.check_refused(name)
