"""Every program of the zoo means at every stage what it means in eager PyTorch.

The stage `unoptimised` is part of `captured`: it is run for the programs that a pass changes, but
for the heavy ones.
"""

from __future__ import annotations

import signal

import pytest

from stator.optimize.pipeline import optimize
from tests.zoo.harness import STAGES, check
from tests.zoo.whole import HEAVY, PROGRAMS

# the other stages, and five programs of six, are left to `make test`
QUICK, EVERY = ("captured",), 6


def is_quick(program, stage, number):
    return stage in QUICK and number % EVERY == 0 and program.name not in HEAVY


CASES = [
    pytest.param(
        program, stage, id=f"{program.name}-{stage}",
        marks=() if is_quick(program, stage, number) else (pytest.mark.slow,),
    )
    for number, program in enumerate(PROGRAMS)
    for stage in STAGES
    if stage in program.stages and stage != "unoptimised"
]  # fmt: skip
# seconds of CPU time, since workers share the cores: a capture that never ends is a failure, too
LIMIT = 30


@pytest.fixture(autouse=True)
def time_limit():
    def stop(signum, frame):
        raise TimeoutError(f"no answer after {LIMIT} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture
def changed(monkeypatch):
    """The programs that the optimiser changes."""
    found = []

    def noting(program):
        before = str(program)
        optimised = optimize(program)
        if str(optimised) != before:
            found.append(program)
        return optimised

    monkeypatch.setattr("stator.api.concrete.optimize", noting)
    return found


@pytest.mark.parametrize(("program", "stage"), CASES)
def test_a_program_does_what_eager_does(program, stage, tmp_path, request, monkeypatch, changed):
    if program.pending and stage in program.pending_stages:
        request.applymarker(pytest.mark.xfail(reason=program.pending, strict=True))
    check(program, stage, tmp_path)
    is_heavy = program.name in HEAVY
    if changed and stage == "captured" and "unoptimised" in program.stages and not is_heavy:
        monkeypatch.setattr("stator.api.concrete.optimize", lambda given: given)
        check(program, "unoptimised", tmp_path)


def test_names_are_given_once():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names))


def test_heavy_programs_are_programs():
    assert HEAVY - {program.name for program in PROGRAMS} == set()


def test_every_program_says_what_it_shows():
    assert [program.name for program in PROGRAMS if not program.target.__doc__] == []
