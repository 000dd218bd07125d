"""Blocks: what user code changes in one is put back, and what it raises is recorded."""

import pytest
import torch

from stator.capture.blocks import record_block, refuse_aliases
from stator.capture.flatten import NOTHING
from stator.errors import CaptureError, UnsupportedCall
from stator.staging.operators import Staging
from stator.state.session import Session
from stator.values.kinds import always, never


@pytest.fixture
def recorder():
    return Session(Staging).recorder


def test_what_the_block_changed_is_put_back_and_told(recorder):
    items = [1]

    def code():
        recorder.journal.note(items)
        items.append(2)
        return "value"

    recorded = record_block(recorder, code)
    assert items == [1]
    assert recorded.value == "value"
    assert recorded.state_after(items) == (1, 2)


def test_an_error_of_the_user_is_a_raise_of_the_program(recorder):
    def code():
        raise KeyError("k")

    recorded = record_block(recorder, code)
    assert recorded.value is NOTHING
    assert [op.name for op in recorded.scope.block.ops] == ["stator::raise"]
    assert recorded.scope.block.ops[0].args == ("KeyError", "k")


def test_an_error_of_stator_passes_through(recorder):
    def code():
        raise CaptureError("no")

    with pytest.raises(CaptureError):
        record_block(recorder, code)
    assert recorder.depth == 0


def test_grad_mode_is_put_back_after_an_error(recorder):
    def code():
        torch.set_grad_enabled(False)
        raise ValueError

    try:
        record_block(recorder, code)
        assert torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_a_container_under_two_names_may_not_leave():
    items = [1]
    with pytest.raises(UnsupportedCall):
        refuse_aliases([items, (items,)], always)
    refuse_aliases([items, items], never)
    refuse_aliases([[1], [1]], always)
