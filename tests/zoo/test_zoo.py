"""Every program of the zoo means at every stage what it means in eager PyTorch."""

from __future__ import annotations

import signal

import pytest

from tests.zoo.harness import STAGES, check
from tests.zoo.whole import PROGRAMS

QUICK = ("captured",)  # the other stages are left to `make test`
CASES = [
    pytest.param(
        program, stage, id=f"{program.name}-{stage}",
        marks=() if stage in QUICK else (pytest.mark.slow,),
    )
    for program in PROGRAMS
    for stage in STAGES
    if stage in program.stages
]  # fmt: skip
LIMIT = 30  # seconds: a capture that never ends is a failure like any other


@pytest.fixture(autouse=True)
def time_limit():
    def stop(signum, frame):
        raise TimeoutError(f"no answer after {LIMIT} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("program", "stage"), CASES)
def test_a_program_does_what_eager_does(program, stage, tmp_path, request, monkeypatch):
    if stage == "unoptimised":
        monkeypatch.setattr("stator.api.concrete.optimize", lambda given: given)
    if program.pending and stage in program.pending_stages:
        request.applymarker(pytest.mark.xfail(reason=program.pending, strict=True))
    check(program, stage, tmp_path)


def test_names_are_given_once():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))


def test_every_program_says_what_it_shows():
    assert [program.name for program in PROGRAMS if not program.target.__doc__] == []
