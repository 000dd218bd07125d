"""Session: one capture's state."""

import pytest

from stator.errors import UnsupportedCall
from stator.staging.operators import Staging
from stator.state.session import Session
from stator.values.staged import StagedList


@pytest.fixture
def session():
    return Session(Staging)


def test_a_list_from_outside_has_one_shadow(session):
    plain = [1, 2]
    shadow = session.stand_in(plain)
    assert shadow == plain
    assert session.stand_in(plain) is shadow
    assert not session.is_local(shadow)


def test_a_list_made_now_is_local(session):
    assert session.is_local(StagedList([1]))


def test_a_frozen_list_cannot_be_noted(session):
    items = StagedList()
    items.frozen = "it is given away"
    with pytest.raises(UnsupportedCall) as caught:
        session.note(items)
    assert caught.value.problem == "a list cannot be changed here: it is given away"


def test_two_sessions_share_nothing():
    one, two = Session(Staging), Session(Staging)
    one.decisions.add("if", "recorded", "why")
    assert list(two.decisions) == []
    assert one.recorder is not two.recorder
