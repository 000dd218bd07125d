"""The programs of the zoo, saved and run by `stator-run`, do what the interpreter does."""

from __future__ import annotations

import pytest
import torch

import stator
from stator.extension import command
from tests.api.test_saving_state import CASES
from tests.native.by_file import Batch
from tests.native.saved_models import save_all

pytestmark = pytest.mark.skipif(command() is None, reason="the native runtime is not built")


@pytest.mark.slow
def test_saved_programs_do_what_the_interpreter_does(tmp_path):
    batch = Batch(tmp_path)
    for program, path, calls in save_all(tmp_path):
        batch.add(program.name, path, calls)
    found = list(batch.differences())
    assert not found, "\n".join(found)
    assert len(batch.jobs) > 500


@pytest.mark.slow
def test_models_with_state_go_on_from_call_to_call(tmp_path):
    batch = Batch(tmp_path)
    for make, spec, calls in CASES:
        torch.manual_seed(0)
        path = tmp_path / make.__name__
        stator.save(make(), path, spec)
        batch.add(make.__name__, path, [(x,) for x in calls])
    assert list(batch.differences()) == []
