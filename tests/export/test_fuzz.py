"""A short run of the fuzzer; `make fuzz` does the long one."""

import io
import random

import pytest
from rich.console import Console

from stator.cli.inspecting import inspect
from stator.errors import FormatError
from stator.export.contents import read_contents
from stator.export.model_difference import model_changes
from stator.program.printer import print_program
from tests.export.fuzz import Model, fuzz, models, mutated, rng_of, try_model


@pytest.mark.slow
def test_mutated_files_are_loaded_or_refused_and_nothing_else(tmp_path):
    counts, faults = fuzz(1500, random.randrange(2**32), tmp_path)
    assert faults == {}
    assert counts["refused"] > 500
    assert counts["loaded"] > 50  # the mutations reach beyond the digests


@pytest.mark.slow
def test_mutated_files_are_shown_or_refused_and_nothing_else(tmp_path):
    """`inspect`, `program` and `diff` read them without torch, so ops are not checked."""
    pool, shown, refused = models(tmp_path), 0, 0
    screen = Console(file=io.StringIO())
    for number in range(100):
        path = tmp_path / "m"
        mutated(pool, rng_of(11, number)).write(path)
        try:
            contents = read_contents(path)
        except FormatError:
            refused += 1
            continue
        inspect(str(path), tensors=True).show(screen)
        for program in contents.programs.values():
            assert print_program(program).startswith("program ")
        assert model_changes(contents, read_contents(path), lambda _: None).is_same
        shown += 1
    assert refused > 50
    assert shown > 10


def test_a_run_can_be_repeated(tmp_path):
    pool = models(tmp_path)
    one, two = (mutated(pool, rng_of(3, 7)) for _ in range(2))
    assert (one.text, one.weights) == (two.text, two.weights)


def test_a_fault_would_be_seen(tmp_path, monkeypatch):
    whole = models(tmp_path)[0]
    assert try_model(whole, tmp_path / "m") == ("loaded", None)
    assert try_model(Model(b"", whole.weights), tmp_path / "m") == ("refused", None)
    monkeypatch.setattr("tests.export.fuzz.read_model", lambda stem: 1 / 0)
    assert try_model(whole, tmp_path / "m") == ("failed", "ZeroDivisionError: division by zero")
    monkeypatch.setattr("tests.export.fuzz.mutated", lambda *_: 1 / 0)
    _, faults = fuzz(1, 0, tmp_path)
    assert faults == {0: "the process died (signal 0)"}
