"""How the runtime is built: what cmake is told."""

from pathlib import Path

import pytest

from stator.native import building


@pytest.fixture
def told(monkeypatch, tmp_path):
    """The commands that a build would run."""
    commands = []
    monkeypatch.setattr(building, "_run", commands.append)
    monkeypatch.setattr(building, "_tools", lambda: {"cmake": "cmake", "ninja": "ninja"})
    monkeypatch.setattr(building, "build_folder", lambda: tmp_path / "build")
    return commands


def test_a_build_is_configured_and_then_compiled(told, tmp_path):
    assert building.build(jobs=3) == tmp_path / "build"
    configure, compile_ = told
    assert configure[:5] == ["cmake", "-S", str(building.sources()), "-B", str(tmp_path / "build")]
    assert compile_ == ["ninja", "-C", str(tmp_path / "build"), "-j", "3", "--quiet"]


def test_warnings_are_errors_only_where_that_is_asked_for_and_stay_so(told):
    building.build(strict=True)
    building.build()
    strict, plain = told[0], told[2]
    setting = "-DSTATOR_WARNINGS_ARE_ERRORS=ON"
    assert setting in strict
    assert not any("STATOR_WARNINGS_ARE_ERRORS" in word for word in plain)  # cmake keeps its own
    assert plain == [word for word in strict if word != setting]


def test_the_sources_are_in_the_checkout():
    assert Path(building.sources(), "CMakeLists.txt").exists()


def test_a_sanitized_build_has_a_folder_of_its_own_and_the_trials(told, tmp_path):
    folder = building.build(sanitize="address,undefined")
    assert folder == tmp_path / "build-address-undefined"
    assert told[0][-2:] == ["-DSTATOR_SANITIZE=address,undefined", "-DSTATOR_TRIALS=ON"]


def test_a_build_for_libfuzzer_makes_only_what_it_drives(told):
    building.build(sanitize="fuzzer,address,undefined")
    assert told[1][-1] == "stator-explore"
