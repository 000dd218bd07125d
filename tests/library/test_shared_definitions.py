"""Searches and comparisons that a program has once."""

from __future__ import annotations

import torch

import stator


def count_pairs(x):
    counts = {}
    for value in x.tolist():
        key = (value, value % 2)
        counts[key] = counts.get(key, 0) + 1
    for value in x.tolist():
        if (value, 0) in counts:
            counts[(value, 0)] += 10
    return list(counts.items())


def test_a_search_is_one_function_of_the_program_however_often_it_is_used():
    static = stator.to_static(count_pairs, [stator.InputSpec([None], torch.int64)])
    given = torch.tensor([1, 2, 2, 5])
    assert static(given) == count_pairs(given)
    assert len(static.concrete_program(given).program.functions) == 1


def tuples_that_grow(x):
    heap = [(1, ())]
    for value in x.tolist():
        count, kept = heap[-1]
        heap.append((count + value, (*kept, value)))
    return max(heap), min(heap), heap[0] < heap[-1], (1, ()) in heap


def test_tuples_of_any_length_inside_tuples_are_compared_as_in_python():
    static = stator.to_static(tuples_that_grow)
    for values in ([1, 2], [3, -5, 0, 0], [0]):
        assert static(torch.tensor(values)) == tuples_that_grow(torch.tensor(values))


def test_a_search_behind_effects_that_are_pending_says_what_happened_before_an_error():
    log = []

    def looked_up(x):
        table = {value: value for value in x.tolist()}
        log.append(len(table))
        return table[int(x[0]) + 1]

    static = stator.to_static(looked_up)
    outcomes = []
    for function in (looked_up, static):
        for values in ([1, 2], [5, 1]):
            try:
                outcomes.append(function(torch.tensor(values)))
            except KeyError as error:
                outcomes.append(error.args)
    assert outcomes[:2] == outcomes[2:]
    assert log == [2, 2, 2, 2]
