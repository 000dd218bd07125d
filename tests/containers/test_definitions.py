"""The definitions of builtins are those of Python."""

import pytest

from stator.containers import definitions

LISTS = [[], [1], [3, 1, 2], [0, 0], [2, -5, 2]]


@pytest.mark.parametrize("items", LISTS)
def test_definitions_agree_with_python(items):
    assert definitions.sum_of(items) == sum(items)
    assert definitions.sum_of(items, 10) == sum(items, 10)
    assert definitions.any_of(items) is any(items)
    assert definitions.all_of(items) is all(items)
    assert definitions.list_of(items) == list(items)
    assert definitions.filtered(None, items) == list(filter(None, items))
    assert definitions.contains(items, 2) is (2 in items)
    assert list(definitions.enumerated(items, 4)) == list(enumerate(items, 4))
    assert definitions.max_of(items, default="none") == max(items, default="none")
    assert definitions.min_of(items, key=abs, default=None) == min(items, key=abs, default=None)


@pytest.mark.parametrize(("ours", "python"), [(definitions.max_of, max), (definitions.min_of, min)])
def test_the_extreme_of_nothing_raises_as_python_does(ours, python):
    with pytest.raises(ValueError, match="empty") as want:
        python([])
    with pytest.raises(ValueError, match="empty") as got:
        ours([])
    assert str(got.value) == str(want.value)
