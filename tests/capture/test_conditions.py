"""Conditions: a Python bool decides now, a symbolic one in each run."""

import pytest

from stator.capture.branches import apply_to_all, apply_variant
from stator.capture.conditions import choose, known, negated, raise_if, select
from stator.capture.recorder import Recorder


@pytest.fixture
def recorder():
    return Recorder(apply_variant, apply_to_all)


def test_known_conditions_are_decided_now(recorder):
    assert select(recorder, True, 1, 2) == 1
    assert select(recorder, False, 1, 2) == 2
    assert choose(recorder, False, lambda: 1 / 0, lambda: 2) == 2
    raise_if(recorder, False, ValueError("no"))
    with pytest.raises(ValueError, match="yes"):
        raise_if(recorder, True, ValueError("yes"))


def test_a_size_is_never_negative(recorder):
    size = recorder.fresh_size()
    assert known(recorder, size >= 0) is True
    assert known(recorder, size < 0) is False
    assert not isinstance(known(recorder, size > 5), bool)
    assert negated(True) is False
