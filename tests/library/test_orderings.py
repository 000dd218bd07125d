"""`max`, `min` and `sorted` take items and ask for keys in the order of eager code."""

import itertools

import pytest
import torch

import stator
from stator.errors import UnsupportedCall


@pytest.mark.parametrize("function", [max, min])
def test_a_key_is_asked_for_before_the_next_item_is_made(function, capsys):
    def chosen(x):
        def items():
            for row in x:
                print("item", row.item())
                yield row.item()

        def key(value):
            print("key", value)
            return -value

        return function(items(), key=key)

    x = torch.tensor([1.0, 3.0, 2.0])
    expected, wanted = chosen(x), capsys.readouterr().out
    assert stator.to_static(chosen)(x) == expected
    assert capsys.readouterr().out == wanted


def test_the_largest_of_an_endless_iterator_is_refused():
    def largest(x):
        return x * max(itertools.count(), key=lambda k: -k)

    with pytest.raises(UnsupportedCall, match="an endless iterator is turned into a list"):
        stator.to_static(largest)(torch.ones(2))
