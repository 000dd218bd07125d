"""The items of Python's own iterators, taken as they are needed."""

import itertools
from types import SimpleNamespace

import pytest

from stator.containers import iterators
from stator.containers.iterators import PythonItems
from stator.errors import UnsupportedCall


def test_an_iterator_without_an_end_is_refused_by_its_text_when_it_is_listed(monkeypatch):
    monkeypatch.setattr(iterators, "MOST", 10)
    session = SimpleNamespace(recorder=SimpleNamespace(scope=object()))
    items = PythonItems(session, itertools.count(), code=False)
    assert items._item(5) == 5
    with pytest.raises(UnsupportedCall) as caught:
        items._length()
    assert caught.value.problem == "an iterator that may have no end is listed"
    assert caught.value.fix == "take as many items as you need"
