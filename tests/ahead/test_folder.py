"""The folder of a model's libraries is replaced whole, and only if it is one."""

import json

import pytest

from stator.ahead.folder import (
    MANIFEST,
    folder_of,
    is_ours,
    new_folder,
    remove_folder,
    target_in,
    write_manifest,
)


def write(path, target="cpu"):
    with new_folder(path) as folder:
        (folder / "0.so").write_bytes(b"code")
        write_manifest(folder, "digest", target, {}, portable=True)


def test_a_new_folder_takes_the_place_of_the_old_one(tmp_path):
    path = tmp_path / "model"
    write(path)
    write(path, "cuda")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["model.compiled"]
    assert target_in(folder_of(path)) == "cuda"
    manifest = json.loads((folder_of(path) / MANIFEST).read_bytes())
    assert manifest["model"] == "digest"
    assert len(manifest["digest"]) == 64


def test_a_failure_leaves_the_old_folder(tmp_path):
    path = tmp_path / "model"
    write(path)
    with pytest.raises(RuntimeError), new_folder(path):
        raise RuntimeError
    assert sorted(one.name for one in tmp_path.iterdir()) == ["model.compiled"]
    assert is_ours(folder_of(path))


def test_a_folder_of_someone_else_is_not_removed(tmp_path):
    folder = tmp_path / "model.compiled"
    folder.mkdir()
    (folder / "notes").write_text("mine")
    remove_folder(tmp_path / "model")
    assert (folder / "notes").exists()
    write(tmp_path / "other")
    remove_folder(tmp_path / "other")
    assert not (tmp_path / "other.compiled").exists()


def test_a_damaged_list_names_no_target(tmp_path):
    assert target_in(tmp_path) == "cpu"
    (tmp_path / MANIFEST).write_text('{"target": "toaster"}')
    assert target_in(tmp_path) == "cpu"
