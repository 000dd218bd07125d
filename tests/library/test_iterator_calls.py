"""Iterators of Python's own become iterators of the program, in the block that they are met in."""

from types import SimpleNamespace

import pytest

from stator.errors import UnsupportedCall
from stator.library.iterator_calls import staged_iterator


def test_an_iterator_that_is_first_met_in_a_branch_is_refused_by_its_text():
    session = SimpleNamespace(native_iterators={}, recorder=SimpleNamespace(depth=1))
    with pytest.raises(UnsupportedCall) as caught:
        staged_iterator(session, iter([1, 2]))
    assert caught.value.problem == (
        "items of a list_iterator that may be from outside this branch or loop of the program are "
        "taken inside it"
    )
    assert caught.value.fix == "make a list of it first: `list(...)`"
