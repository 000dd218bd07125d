"""Entries: the short way into a program, and when it is not taken."""

import types

import pytest
import torch

import stator
from stator.api.entries import ENTRY_LIMIT, MISS
from stator.extension import extension

ONES = torch.ones(2, 3)

pytestmark = pytest.mark.skipif(extension() is None, reason="the extension is not built")


def entered(function, *args):
    static = stator.to_static(function)
    static(*args)
    return static._entries.call


def test_a_call_like_the_first_takes_the_short_way():
    enter = entered(lambda x: x * 2, ONES)
    assert enter(ONES + 1).tolist() == [[4.0] * 3] * 2


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
        assert enter(*args, **kwargs) is MISS


def test_a_program_for_any_size_takes_contiguous_tensors_of_any_size():
    static = stator.to_static(lambda x: x * 2)
    for size in (2, 3, 4):
        static(torch.ones(size, 2))
    enter = static._entries.call
    assert enter(torch.ones(9, 2)).shape == (9, 2)
    assert enter(torch.ones(2, 9).t()) is MISS


def test_a_default_device_misses():
    enter = entered(lambda x: torch.zeros(2), ONES)
    with torch.device("meta"):
        assert enter(ONES) is MISS


def test_the_same_tensor_twice_is_right():
    static = stator.to_static(lambda x, y: x + y)
    for _ in range(3):
        assert static(ONES, ONES).tolist() == [[2.0] * 3] * 2


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [ONES * k for k in range(5)]])
def test_state_that_a_call_hands_back_is_no_argument(values):
    holder = types.SimpleNamespace()
    static = stator.to_static(lambda x: holder.value)
    for holder.value in values:
        assert static(ONES) is holder.value


def test_an_argument_that_a_call_hands_back_is_that_of_the_call():
    holder = types.SimpleNamespace()
    static = stator.to_static(lambda x, y: (holder.value, y)[1])
    for holder.value in range(5):
        given = torch.full((2,), float(holder.value))
        assert static(ONES, given) is given


def test_entries_are_few():
    static = stator.to_static(lambda x: x * 2)
    for _ in range(2):
        for rank in range(6):
            static(torch.ones((1,) * rank))
    assert static._entries.made <= ENTRY_LIMIT
    assert len(static.concrete_programs) == 6


def test_modes_miss():
    enter = entered(lambda x: x * 2, ONES)
    assert enter(ONES) is not MISS
    for mode in (torch.no_grad(), torch.inference_mode(), torch.autocast("cpu")):
        with mode:
            assert enter(ONES) is MISS
    torch.set_default_dtype(torch.float64)
    try:
        assert enter(ONES) is MISS
    finally:
        torch.set_default_dtype(torch.float32)
    torch.use_deterministic_algorithms(True)
    try:
        assert enter(ONES) is MISS
    finally:
        torch.use_deterministic_algorithms(False)
    assert enter(ONES) is not MISS


def test_an_argument_under_a_transform_misses():
    enter = entered(lambda x: x * 2, ONES)
    seen = []

    def look(row):
        seen.append(enter(row) is MISS)
        return row

    torch.vmap(look)(torch.ones(4, 2, 3))
    assert seen == [True]


def test_a_tensor_subclass_and_a_parameter_miss():
    class Tagged(torch.Tensor):
        pass

    enter = entered(lambda x: x * 2, ONES)
    assert enter(ONES.as_subclass(Tagged)) is MISS
    assert enter(torch.nn.Parameter(ONES)) is MISS
    assert enter(ONES.clone().requires_grad_()) is MISS


def test_without_the_extension_every_call_takes_the_long_way(monkeypatch):
    monkeypatch.setattr("stator.api.entries.extension", lambda: None)
    static = stator.to_static(lambda x: x * 2)
    for _ in range(3):
        assert static(ONES).tolist() == [[2.0] * 3] * 2
    assert static._entries.call(ONES) is MISS
    assert static._entries.made == 0
