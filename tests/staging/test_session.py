"""Session: one capture's state."""

import pytest

from stator.capture.values import StagedList
from stator.errors import UnsupportedCall
from stator.staging.operators import Staging
from stator.staging.session import Session


@pytest.fixture
def session():
    session = Session()
    Staging(session)
    return session


def test_a_list_from_outside_has_one_shadow(session):
    plain = [1, 2]
    shadow = session.shadow(plain)
    assert shadow == plain
    assert session.shadow(plain) is shadow
    assert not session.is_own(shadow)


def test_a_list_made_now_is_own(session):
    assert session.is_own(StagedList([1]))


def test_a_frozen_list_cannot_be_noted(session):
    items = StagedList()
    items.frozen = "it is given away"
    with pytest.raises(UnsupportedCall) as caught:
        session.note(items)
    assert caught.value.problem == "a list cannot be changed here: it is given away"


def test_known_conditions_are_decided_now(session):
    assert session.select(True, 1, 2) == 1
    assert session.select(False, 1, 2) == 2
    session.raise_if(False, ValueError("no"))
    with pytest.raises(ValueError, match="yes"):
        session.raise_if(True, ValueError("yes"))


def test_two_sessions_share_nothing():
    one, two = Session(), Session()
    one.decide("if", "recorded", "why")
    assert two.decisions == []
    assert one.recorder is not two.recorder
