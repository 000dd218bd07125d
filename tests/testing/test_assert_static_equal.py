"""assert_static_equal: the report where all is well, an AssertionError with it where not."""

import pytest
import torch

import stator
from stator.testing import Example, assert_static_equal
from tests.verify import faults
from tests.verify.faults import with_fault


def scaled(x, *, by=None):
    if x.sum() > 0:
        x = x * 2
    return x if by is None else x * by


def test_what_is_the_same_gives_the_report():
    report = assert_static_equal(scaled, Example(torch.ones(2), by=torch.tensor(3.0)))
    assert report.ok
    assert report.paths == (2, 2)


def test_what_differs_is_an_assertion_error_with_the_report():
    static = with_fault(scaled, faults.sides_swapped, (torch.ones(2),))
    with pytest.raises(AssertionError, match="scaled: differs from eager code"):
        assert_static_equal(static, (torch.ones(2),))


def unreached(x):
    if (x * x).sum() < 0:
        return -x
    return x


def test_paths_that_were_not_covered_are_an_error_where_that_is_asked_for():
    report = assert_static_equal(unreached, (torch.ones(2),), budget=20)
    assert report.paths == (1, 2)
    with pytest.raises(AssertionError) as error:
        assert_static_equal(unreached, (torch.ones(2),), budget=20, all_paths=True)
    wanted = f"1 of 2 paths of branches and loops were not covered\n{report}"
    assert error.value.problem == wanted


def test_the_options_are_those_of_verify():
    report = assert_static_equal(scaled, (torch.ones(2),), backends=("saved",), gradients=False)
    assert [backend.name for backend in report.backends] == ["saved"]
    assert report.backends[0].gradients == 0
    with pytest.raises(stator.StatorError, match="there is no backend 'tpu' to verify"):
        assert_static_equal(scaled, (torch.ones(2),), backends=("tpu",))
