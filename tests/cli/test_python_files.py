"""python_files: the project's own source, and nothing that was installed or built."""

import subprocess

import pytest

from stator.cli.python_files import python_files


@pytest.fixture
def project(tmp_path):
    for name in (
        "model.py", "parts/decoder.py", "parts/decoder_test.py", "notes.txt", ".hidden/a.py",
        "parts/__pycache__/a.py", "node_modules/tool/a.py", "build/lib/model.py",
        "env/lib/python3.11/site-packages/torch.py", "generated/made.py",
    ):  # fmt: skip
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    return tmp_path


def found(project, *exclude):
    return [file.relative_to(project).as_posix() for file in python_files(project, exclude)]


def test_only_source_is_found(project):
    assert found(project) == [
        "generated/made.py", "model.py", "parts/decoder.py", "parts/decoder_test.py"
    ]  # fmt: skip


def test_what_git_ignores_is_left_out(project):
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".gitignore").write_text("generated/\n")
    assert found(project) == ["model.py", "parts/decoder.py", "parts/decoder_test.py"]
    assert found(project / "parts") == ["decoder.py", "decoder_test.py"]


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        ("*_test.py", ["generated/made.py", "model.py", "parts/decoder.py"]),
        ("parts/", ["generated/made.py", "model.py"]),
        ("parts/*", ["generated/made.py", "model.py"]),
        ("generated", ["model.py", "parts/decoder.py", "parts/decoder_test.py"]),
    ],
)
def test_a_pattern_leaves_out_files_and_folders(project, pattern, left):
    assert found(project, pattern) == left
