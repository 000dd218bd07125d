"""The programs of the zoo, saved and run by `stator-run`, do what the interpreter does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from stator.extension import command
from tests.native.by_file import Batch
from tests.native.saved_models import save_all

pytestmark = pytest.mark.skipif(command() is None, reason="the native runtime is not built")


def keeps_state(path: Path) -> bool:
    """Does the model keep state between calls?"""
    return json.loads(path.with_name(path.name + ".stator").read_text())["version"] > 3


@pytest.mark.slow
def test_saved_programs_do_what_the_interpreter_does(tmp_path):
    batch = Batch(tmp_path)
    for program, path, calls in save_all(tmp_path):
        if not keeps_state(path):  # the C++ runtime refuses those
            batch.add(program.name, path, calls)
    found = list(batch.differences())
    assert not found, "\n".join(found)
    assert len(batch.jobs) > 500
