"""What a `try` leaves where it may raise: lists it has made, names it no longer needs."""

from __future__ import annotations

import math

import torch

from tests.zoo.programs import f, i, program

VECTORS = ((f(1.0, 2.0, 0.0),), (f(-1.0, 3.0, 0.0),), (f(-1.0, -2.0, 1.0),), (f(-1.0, -2.0, 7.0),))
COUNTS = ((f(1.0, 2.0, 3.0), i(2)), (f(1.0, -2.0, 1.0), i(1)), (f(-1.0, 2.0, 1.0), i(0)))
LENGTHS = ((f(1.0, 2.0),), (f([4.0]),), (f([]),))


@program(*VECTORS)
def list_made_in_a_try(x):
    """Each place that may raise finds the list as it was there."""
    found = None
    try:
        found = []
        if x[0] > 0:
            raise ValueError("first")
        found.append(1)
        if x[1] > 0:
            raise KeyError("second")
        found.append(int(x[1]))
    except (KeyError, ValueError):
        pass
    return found


@program(*VECTORS)
def lists_made_in_a_dict(x):
    """The same of lists that are items of an object from before."""
    table = {}
    try:
        table["a"] = []
        if x[0] > 0:
            raise ValueError("first")
        table["a"].append(1)
        table["b"] = [[]]
        if x[1] > 0:
            raise KeyError("second")
        table["b"][0].append(int(x[1]))
        table["b"].append(torch.zeros(3)[x[2].long()])
    except (KeyError, ValueError, IndexError) as error:
        return table, type(error).__name__
    return table, ""


@program(*COUNTS)
def name_that_ends_in_a_try(x, y):
    """`kept` is read where the outer `try` starts, and by no one after the inner one."""
    kept, count, doubled = x, 0, x
    try:
        doubled = kept * 2
        try:
            if x[0] > 0:
                kept = doubled + 1
            if y > 1:
                raise ValueError("inner")
        finally:
            count += 1
        if y > 0:
            raise KeyError("outer")
    except KeyError:
        return 3
    except ValueError:
        pass
    return doubled, count


@program(*LENGTHS, dynamic=({0},), may_raise=True)
def number_of_several(x):
    """`float` and `math` say something else than `item` of what is no single number."""
    try:
        return float(x) + 1
    except ValueError as error:
        return str(error), math.sqrt(x)


@program((f(1.0, 2.0),), (f(-3.0, 1.0),), dynamic=({0},))
def size_learned_from_a_mask(x):
    """A mask of two rows: `x` has two from there on, also as an item of a list."""
    taken = x[torch.stack([x.sum(), x.mean()]) > 0]
    rows = []
    while len(rows) < taken.sum():
        rows.append(x)
    return rows
