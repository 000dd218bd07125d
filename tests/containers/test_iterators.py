"""The items of Python's own iterators, taken as they are needed."""

import itertools

import pytest
import torch

import stator
from stator.containers import iterators
from stator.errors import UnsupportedCall


def test_an_iterator_without_an_end_is_refused_by_its_text_when_it_is_listed(monkeypatch):
    monkeypatch.setattr(iterators, "MOST", 10)

    def f(x):
        return x, [*zip(itertools.repeat(1), itertools.repeat(2))]

    with pytest.raises(UnsupportedCall) as caught:
        stator.to_static(f)(torch.ones(2))
    assert caught.value.problem == "an iterator that may be endless is turned into a list"
    assert caught.value.fix == "take as many items as you need"
