"""Entries: the short way into a program, and when it is not taken."""

import torch

import stator
from stator.api.entries import MISS
from stator.api.program_cache import ENTRIES_KEPT, ENTRY_LIMIT

ONES = torch.ones(2, 3)


def entered(function, *args):
    static = stator.to_static(function)
    static(*args)
    return static._entries.entries[0]


def test_a_call_like_the_first_takes_the_short_way():
    enter = entered(lambda x: x * 2, ONES)
    assert enter((ONES + 1,), {}).tolist() == [[4.0] * 3] * 2


def test_any_other_call_misses():
    enter = entered(lambda x: x * 2, ONES)
    for args, kwargs in [
        ((ONES.double(),), {}),
        ((ONES[0],), {}),
        ((ONES, ONES), {}),
        ((), {}),
        ((3,), {}),
        ((ONES,), {"k": 1}),
        ((torch.ones(3, 2).t(),), {}),
    ]:
        assert enter(args, kwargs) is MISS


def test_a_program_for_any_size_takes_contiguous_tensors_of_any_size():
    static = stator.to_static(lambda x: x * 2)
    for size in (2, 3, 4):
        static(torch.ones(size, 2))
    enter = static._entries.entries[0]
    assert enter((torch.ones(9, 2),), {}).shape == (9, 2)
    assert enter((torch.ones(2, 9).t(),), {}) is MISS


def test_a_default_device_misses():
    enter = entered(lambda x: torch.zeros(2), ONES)
    with torch.device("meta"):
        assert enter((ONES,), {}) is MISS


def test_the_same_tensor_twice_is_right():
    static = stator.to_static(lambda x, y: x + y)
    for _ in range(3):
        assert static(ONES, ONES).tolist() == [[2.0] * 3] * 2


def test_entries_are_few():
    static = stator.to_static(lambda x: x * 2)
    for _ in range(2):
        for rank in range(6):
            static(torch.ones((1,) * rank))
    assert len(static._entries.entries) <= ENTRIES_KEPT
    assert static._entries.made <= ENTRY_LIMIT
    assert len(static.concrete_programs) == 6
