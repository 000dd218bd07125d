"""Tests of loops over dicts that the body changes."""

from __future__ import annotations

import pytest
import torch

import stator

POSITIVE, NEGATIVE = torch.tensor([1.0]), torch.tensor([-1.0])


def lost_on_some_paths(x):
    found = {"one": 1, "two": 2}
    for key in found:
        if x.sum() > 0:
            del found[key]
    return x * len(found)


def lost_and_left(x):
    found = {"one": 1, "two": 2}
    for key in found:
        if x.sum() > 0:
            del found[key]
            break
    return x * len(found)


def grown_on_some_paths(x):
    found = {"one": 1}
    for _ in found.values():
        if x.sum() > 0:
            found["two"] = 2
    return x * len(found)


@pytest.mark.parametrize("function", [lost_on_some_paths, grown_on_some_paths])
def test_a_dict_that_a_path_changes_raises_on_that_path_only(function):
    static = stator.to_static(function)
    assert static(NEGATIVE).equal(function(NEGATIVE))
    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        function(POSITIVE)
    with pytest.raises(RuntimeError, match="dictionary changed size during iteration"):
        static(POSITIVE)


def test_a_loop_that_is_left_asks_for_no_other_item():
    static = stator.to_static(lost_and_left)
    for x in (POSITIVE, NEGATIVE):
        assert static(x).equal(lost_and_left(x))
