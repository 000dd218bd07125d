"""A short run of the fuzzer of ops; `make fuzz` does the long one."""

import random

import pytest
import torch

from tests.export import op_fuzz
from tests.export.op_fuzz import fuzz, guarded, names


@pytest.mark.slow
def test_ops_that_a_file_may_call_stay_in_their_memory():
    todo = random.Random(0).sample(names(), 100)
    report = fuzz(todo, tries=10, seed=random.randrange(2**32))
    assert report.overloads == 100
    assert report.died == {}


def test_most_overloads_are_called():
    assert len(names()) > 1500
    assert "aten::add.Tensor" in names()


@pytest.mark.slow
def test_an_access_outside_of_a_tensor_would_be_seen(monkeypatch):
    def call_of(name, seed, number):
        made = guarded((4,), torch.float32, random.Random(2))  # the page is behind it
        beyond = made.data_ptr() + made.nbytes
        return lambda: op_fuzz.ctypes.c_char.from_address(beyond).value

    monkeypatch.setattr(op_fuzz, "call_of", call_of)
    report = fuzz(["aten::relu"], tries=20, seed=0)
    assert report.died == {"aten::relu": "--number 0: SIGSEGV"}
