"""What a raise of the program has of the exception that user code raises."""

import json

import pytest
import torch

from stator import to_static

KNOWN = ValueError("made outside")


def error_of(function, *args):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # whatever it is
        function(*args)
    return caught.value


def known(x):
    if x.sum() > 0:
        raise KNOWN
    return x


def test_an_exception_of_the_callers_is_raised_itself():
    assert error_of(to_static(known), torch.ones(1)) is KNOWN


def wrapped(x):
    try:
        json.loads("{")
    except ValueError as error:
        if x.sum() > 0:
            raise RuntimeError("no JSON") from error
    return x


@pytest.mark.parametrize("backend", ["interpreter", None])
def test_what_the_caller_is_handling_is_the_last_context(backend):
    static = to_static(wrapped, backend=backend)
    for _ in range(2):
        try:
            raise TypeError("outside")
        except TypeError as outside:
            error = error_of(static, torch.ones(1))
            assert type(error.__cause__) is json.JSONDecodeError
            assert (error.__cause__.pos, error.__cause__.doc) == (1, "{")
            assert error.__context__.__context__ is outside


def many(x):
    if x.sum() > 0:
        raise ExceptionGroup("several", [ValueError(1), OSError(2, "no such file")])
    return x


def test_a_group_has_its_exceptions():
    error = error_of(to_static(many), torch.ones(1))
    assert [type(one) for one in error.exceptions] == [ValueError, FileNotFoundError]
    assert error.exceptions[1].errno == 2
