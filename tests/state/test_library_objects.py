"""Objects of libraries: what may be called on those of the caller's."""

import logging

import pytest
import torch

import stator

LOG = logging.getLogger("tests.library_objects")


@pytest.fixture(autouse=True)
def level():
    """The logger as it was."""
    LOG.setLevel(logging.INFO)
    yield
    LOG.setLevel(logging.NOTSET)


def test_what_a_logger_lets_through_is_asked_before_each_run():
    @stator.to_static
    def asks(x):
        if LOG.isEnabledFor(logging.DEBUG):
            return x * LOG.getEffectiveLevel()
        return x

    x = torch.ones(2)
    assert asks(x).tolist() == [1, 1]
    LOG.setLevel(logging.DEBUG)
    assert asks(x).tolist() == [10, 10]
    LOG.setLevel(logging.INFO)
    assert asks(x).tolist() == [1, 1]


def test_a_logger_is_not_set_up_inside_a_program():
    @stator.to_static
    def sets(x):
        if x.sum() > 0:
            LOG.setLevel(logging.ERROR)
        return x

    with pytest.raises(stator.StatorError, match="a method of a Logger from outside is called"):
        sets(torch.ones(2))
    assert LOG.level == logging.INFO
