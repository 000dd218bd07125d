"""The conformance programs in the native runtime: by file, and trained in Python's process."""

from __future__ import annotations

import warnings

import pytest

import stator
from stator.extension import command
from tests.native.by_file import same
from tests.native.corpus import saved_calls
from tests.test_conformance import machinery

__all__ = ["machinery"]  # a fixture
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(command() is None, reason="the native runtime is not built"),
]


def test_every_saved_program_does_by_file_what_the_interpreter_does(machinery, tmp_path):
    cases = machinery["corpuslib"].load_cases()
    batch, refused = saved_calls(cases, tmp_path)
    found = list(batch.differences())
    assert not found, "\n".join(found)
    assert len(refused) < len(cases) / 4
    assert len(batch.jobs) > 2 * (len(cases) - len(refused))


def test_gradients_are_those_of_the_interpreter_to_the_bit(machinery):
    corpuslib = machinery["corpuslib"]
    cases = [case for case in corpuslib.load_cases() if case.train]
    compared = 0
    for case in cases:
        calls = [trained(corpuslib, case, name) for name in ("interpreter", "native")]
        for want, got in zip(*calls, strict=True):
            assert repr(want.error) == repr(got.error), case.name
            assert same(want.input_gradients, got.input_gradients), case.name
            assert same(values(want), values(got)), case.name
            compared += isinstance(want.error, type(None)) and bool(want.input_gradients)
    assert compared > len(cases)


def trained(corpuslib, case, backend):
    """The calls of a program with their gradients."""
    target = case.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return corpuslib.run_callable(case, stator.to_static(target, backend=backend), target, True)


def values(call):
    """The gradients of the parameters, in order; missing ones stay missing."""
    return list((call.parameter_gradients or {}).values())
