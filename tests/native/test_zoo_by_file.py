"""The programs of the zoo, saved and run by `stator-run`, do what the interpreter does."""

from __future__ import annotations

import pytest

import stator
from stator import StatorError
from stator.extension import command
from tests.native.by_file import Batch
from tests.zoo.harness import groups, spec_of
from tests.zoo.whole import PROGRAMS

pytestmark = pytest.mark.skipif(command() is None, reason="the native runtime is not built")


@pytest.mark.slow
def test_saved_programs_do_what_the_interpreter_does(tmp_path):
    batch = Batch(tmp_path)
    for program in PROGRAMS:
        if "saved" not in program.stages or program.refused or program.refused_saved:
            continue
        if program.pending and "saved" in program.pending_stages:
            continue
        for index, calls in enumerate(groups(program.calls, "saved")):
            path = tmp_path / f"{program.name}-{index}"
            try:
                stator.save(program.make(), path, input_spec=spec_of(program, calls[0]))
            except StatorError:
                continue  # the zoo's own tests say whether it may
            batch.add(program.name, path, calls)
    found = list(batch.differences())
    assert not found, "\n".join(found)
    assert len(batch.jobs) > 500
