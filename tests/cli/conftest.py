"""A folder with files of a user's, and commands run in it."""

import shutil
from pathlib import Path

import pytest

from stator import logs
from stator.cli.objects import fresh_imports
from tests.cli.shell import Shell

collect_ignore_glob = ["files/*"]  # a user's files; one of them must not be run
FILES = Path(__file__).parent / "files"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Copies of the files, as the current folder; what is imported from it is forgotten."""
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    with fresh_imports():
        yield tmp_path
    logs.set_level(0)


@pytest.fixture
def shell(folder):
    """Runs commands in the folder."""
    return Shell(folder)


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """The path of a saved `Net`."""
    path = tmp_path_factory.mktemp("saved") / "net"
    with fresh_imports():
        shell = Shell(FILES)
        done = shell("save", str(FILES / "net.py") + ":Net", "-i", "x:f32[None,4]", "-o", str(path))
    assert done.exit_code == 0, done.err
    return str(path)
