"""Log records and warnings name the user's line, and the exception that is being handled."""

import logging
import warnings

import pytest
import torch

from stator import to_static

LOG = logging.getLogger("tests.user_stack")


class Wrong(ValueError):
    pass


def helper(x):
    LOG.info("two levels up", stacklevel=3)
    LOG.info("one level up", stacklevel=2)
    if x.sum() > 0:
        LOG.info("in a branch")
        while x.sum() < 10:
            x = x * 2
            LOG.info("in a loop %d", int(x.sum()), stacklevel=2)
    return x


def logged(x):
    LOG.info("first")
    return helper(x)


def handling(x):
    try:
        if x.sum() > 0:
            raise Wrong("by data")
    except Wrong:
        LOG.exception("caught by a run")
    try:
        raise KeyError("known")
    except KeyError as error:
        LOG.info("known", exc_info=True)
        LOG.info("given", exc_info=error)
    LOG.info("nothing", exc_info=True)
    return x


def warned(x):
    if x.sum() > 0:
        warnings.warn("here", stacklevel=1)
        warnings.warn("there", stacklevel=2)
    return x


@pytest.fixture
def records(monkeypatch):
    found = []

    class Keep(logging.Handler):
        def emit(self, record):
            error = record.exc_info[1] if record.exc_info else None
            place = (record.funcName, record.lineno, record.pathname)
            found.append((record.getMessage(), *place, type(error), str(error)))

    handler = Keep()
    monkeypatch.setattr(LOG, "level", logging.INFO)
    LOG.addHandler(handler)
    yield found
    LOG.removeHandler(handler)


@pytest.mark.parametrize("function", [logged, handling])
def test_a_record_is_the_one_of_eager_code(records, function):
    def records_of(called):
        records.clear()
        called(torch.ones(2))
        return list(records)

    static = to_static(function)
    wanted, found, again = (records_of(one) for one in (function, static, static))
    assert len(wanted) > 3
    assert found == again == wanted


@pytest.mark.filterwarnings("always")
def test_a_warning_names_the_line_at_its_stack_level():
    def lines(called):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            called(torch.ones(2))
        return [(str(one.message), one.filename, one.lineno) for one in found]

    static = to_static(warned)
    assert lines(static) == lines(static) == lines(warned)
    assert len(lines(warned)) == 2
