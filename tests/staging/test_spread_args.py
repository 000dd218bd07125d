"""`*values` and `**values` of a call: what Python refuses is refused in its words."""

import re

import pytest
import torch

import stator


def keywords(*args, **kwargs):
    return args, kwargs


def test_keywords_keep_their_order():
    def passed(x):
        more = {"c": 3} if x.sum() > 0 else {"c": 4, "d": 5}
        return keywords(*x.tolist(), a=1, **{"b": 2}, **more, e=6)

    static = stator.to_static(passed)
    for x in (torch.ones(2), -torch.ones(2)):
        assert static(x) == passed(x)
        assert list(static(x)[1]) == list(passed(x)[1])


def test_an_error_names_the_function_that_is_called():
    def twice(x):
        more = {"a": 3} if x.sum() > 0 else {"b": 4}
        return keywords(a=x, **more)

    static = stator.to_static(twice)
    name = f"{__name__}.keywords() got multiple values for keyword argument 'a'"
    with pytest.raises(TypeError, match=re.escape(name)):
        static(torch.ones(2))
    assert static(-torch.ones(2))[1]["b"] == 4
