"""`zip(*rows)` and the like, where only a run knows how many rows there are; dicts of two sides."""

from __future__ import annotations

import itertools

import torch

from tests.zoo.programs import i, program

LENGTHS = ((i(3),), (i(1),), (i(5),), (i(0),))


def grown(n, make):
    """A list of `n` rows."""
    rows, k = [], 0
    while k < n:
        rows.append(make(k))
        k = k + 1
    return rows


@program(*LENGTHS)
def sums_of_columns(n):
    """Where there is no row, there is no column."""
    return [sum(column) for column in zip(*grown(n, lambda k: (k, k * 2)), strict=False)]


@program(*LENGTHS, may_raise=True)
def columns_of_two_types(n):
    """Each column has the type of its own."""
    numbers, tensors = zip(*grown(n, lambda k: (k, torch.ones(2) * k)), strict=True)
    return torch.tensor(numbers), torch.stack(tensors), type(numbers) is tuple


@program(*LENGTHS)
def columns_as_lists(n):
    """`map(list, zip(*rows))`, where there are rows."""
    rows = grown(n, lambda k: (k, k / 2))
    if not rows:
        return [], []
    numbers, halves = map(list, zip(*rows, strict=False))
    return numbers, halves


@program(*LENGTHS)
def columns_of_rows_of_any_length(n):
    """The shortest row has the last word."""
    rows = grown(n, lambda k: list(range(k + 1)))
    return [list(column) for column in zip(*rows, strict=False)]


@program(*LENGTHS)
def rows_one_after_another(n):
    """`chain(*rows)` and `print(*items)`."""
    rows = grown(n, lambda k: [k] * 2)
    print(*[k for row in rows for k in row])
    print("rows", *[len(row) for row in rows], sep=", ")
    return list(itertools.chain(*rows)), list(itertools.chain([9], *rows))


@program(*LENGTHS)
def dict_of_the_run_or_a_known_one(n):
    """Keys of a run on one side, known ones, or none, on the other."""
    numbers = grown(n, lambda k: k)
    doubled = {k: k * 2 for k in numbers} if len(numbers) > 2 else {}
    paired = {3: 1} if len(numbers) == 1 else dict(zip(numbers, numbers, strict=False))
    return doubled, paired


@program((i(1, 2, 3, 4, 0, 1),), (i(0, 0, 0, 1, 1, 1),))
def words_chosen_by_numbers(labels):
    """Each word is one of several: the sentence is a string of the run, not one of thousands."""
    words = ["zero", "one", "two", "three", "four"]
    numbers = labels.tolist()
    sentence = " ".join(words[number] for number in numbers)
    return sentence.upper(), len(sentence), "".join([words[number] + "!" for number in numbers])


@program((i(1, 2, 3, 4),), (i(3, 0, 3, 1),), (i(0, 0, 0, 0),))
def members_of_pairs(labels):
    """`chain.from_iterable` of a list of the run."""
    pairs = [(number, number + 1) for number in labels.tolist() if number > 1]
    chained = list(itertools.chain.from_iterable(pairs))
    return len(set(itertools.chain.from_iterable(pairs))), chained


@program(*LENGTHS, may_raise=True)
def ranges_taken_apart(n):
    """A range whose end only a run knows, with a star, without one, and as arguments."""
    first, *middle, last = range(int(n) + 2)
    one, two, three = range(int(n))
    return first, middle, last, one + two * three, [*range(int(n)), 7], max(*range(int(n) + 2))
