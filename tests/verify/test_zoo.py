"""The zoo, verified: every fifteenth program, from the inputs that it has."""

import pytest
from hypothesis.internal.conjecture import providers

import stator
from tests.zoo.whole import PROGRAMS

SOME = [one for one in PROGRAMS if one.refused is None and one.pending is None][::15]


@pytest.fixture(autouse=True)
def only_constants_of_hypothesis(monkeypatch):
    """It also draws constants of all modules that other tests have loaded."""
    monkeypatch.setattr(providers, "CONSTANTS_CACHE", {})
    kinds = ("integers", "floats", "bytes", "strings")
    none = providers.Constants(**{kind: providers.SortedSet() for kind in kinds})
    monkeypatch.setattr(providers, "_get_local_constants", lambda: none)


@pytest.mark.slow
@pytest.mark.parametrize("program", SOME, ids=[one.name for one in SOME])
def test_a_program_of_the_zoo_is_what_eager_code_is(program):
    if program.reset:
        program.reset()
    report = stator.verify(program.make(), list(program.calls), budget=16)
    assert report.ok, str(report)
