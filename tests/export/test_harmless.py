"""Python's auditing sees what loading and running a file does: it reads its two files, no more."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stator
from stator import InputSpec
from stator.errors import FormatError
from tests.export.fuzz import Model, dumped, models, mutated, rng_of
from tests.export.hostile_cases import CASES
from tests.export.test_hostile import loaded_and_run, written

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it forks")
MUTATED = 60
RUN = ("raise_", "format", "from_file", "set", "_stack", "as_strided", "gather", "int_pow")
# what a file could do harm by; Python has no event for reading a Python object
WATCHED = (
    "import", "open", "exec", "compile", "os.", "subprocess.", "socket.", "shutil.", "ctypes.",
    "pty.", "urllib.", "http.", "ftplib.", "smtplib.", "tempfile.", "webbrowser.", "pickle.",
    "marshal.", "code.__new__", "cpython.run",
)  # fmt: skip
CODE = "__import__('os').system('true')"


def audited(stems: list[Path]) -> list[str]:
    """What a child does that loads and runs each model, as far as it is `WATCHED`."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(60)
            os.write(writing, json.dumps(_events(stems)).encode())
            os._exit(0)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as stream:
        said = stream.read()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    found: list[str] = json.loads(said)
    return found


def _events(stems: list[Path]) -> list[str]:
    found: dict[str, None] = {}
    own: set[str] = set()

    def note(event: str, args: tuple[Any, ...]) -> None:
        if event.startswith(WATCHED) and not (event == "open" and str(args[0]) in own):
            found[f"{event} {args[:1]}"] = None

    sys.addaudithook(note)
    for stem in stems:
        own |= {f"{stem}{end}" for end in (".stator", ".safetensors", ".safetensors.old")}
        loaded_and_run(stem)
    return list(found)


@pytest.fixture
def warm(tmp_path):
    """What the first load of a process imports is imported."""
    for name in ("gather", "raise_names", "from_file", "format_attr"):
        loaded_and_run(written(tmp_path, name, CASES[name]))
    folder = tmp_path / "files"
    folder.mkdir()
    return folder


# kinds of records, names of classes, and names of fields that would do something as code
RECORDS = {
    "not_imported": ("dataclass", "antigravity:Fly", ("a", "b")),
    "system": ("namedtuple", "os:system", ("command", "b")),
    "popen": ("dataclass", "subprocess:Popen", ("args", "shell")),
    "code_for_a_field": ("namedtuple", "a:b", (f"x={CODE}", f"y: {CODE}")),
    "code_for_a_name": ("namedtuple", f"a:b = {CODE}", ("a", "b")),
    "dunder": ("dataclass", "builtins:object", ("__class__", "__init__")),
}


def _records(folder: Path) -> Iterator[Path]:
    """Models that give a record of the vector and of a text, and name another class for it."""
    stator.save(lambda x: (x + 1, CODE), folder / "plain", [InputSpec([3])])
    plain = Model.at(folder / "plain")
    for name, (kind, type_name, fields) in RECORDS.items():
        data = json.loads(plain.text)
        (program,) = data["programs"].values()
        items = program["output_structure"]["tuple"]
        program["output_structure"] = {
            kind: {"type": type_name, "fields": list(fields), "items": items}
        }
        Model(dumped(data), plain.weights).write(folder / name)
        yield folder / name


def test_a_crafted_file_reads_no_other_file_and_runs_no_code(warm):
    stems = [written(warm, name, CASES[name]) for name in CASES if name.startswith(RUN)]
    assert len(stems) > 10
    assert audited(stems) == []


def test_names_of_classes_and_fields_are_names_and_no_code(warm):
    stems = [*_records(warm)]
    events = audited(stems)
    own = ("compile (b'lambda _cls, ", "exec (<code object <module>")  # what `namedtuple` compiles
    assert [event for event in events if not event.startswith(own)] == []
    assert not any("system" in event or "__" in event for event in events)
    assert {loaded_and_run(stem) for stem in stems} == {"gave a result"}


@pytest.mark.slow
def test_mutated_files_read_no_other_file_and_run_no_code(warm):
    pool = models(warm)
    for number in range(MUTATED):
        mutated(pool, rng_of(5, number)).write(warm / f"m{number}")
    assert audited([warm / f"m{number}" for number in range(MUTATED)]) == []


def test_another_file_or_an_import_would_be_seen(warm, monkeypatch):
    def load(stem):
        stem.with_name("other").write_text("x")
        with contextlib.suppress(ImportError):
            __import__("no_such_module_there_is")
        raise FormatError("refused")

    monkeypatch.setattr(stator, "load", load)
    found = audited([warm / "m"])
    assert found[:1] == [f"open ({str(warm / 'other')!r},)"]
    assert "import ('no_such_module_there_is',)" in found
