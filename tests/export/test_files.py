"""Two files are put in place as one."""

import os
from pathlib import Path

import pytest

from stator.errors import FormatError
from stator.export.digests import digests_of
from stator.export.files import Paths, put_in_place, remove_onnx_files, temporary
from stator.export.saved_model import read_model, write_model
from tests.said import said


@pytest.mark.parametrize("given", ["out/my.model", "out/my.model.stator", Path("out/my.model")])
def test_a_model_is_two_files_of_one_name(given):
    paths = Paths.of(given)
    assert paths.text == Path("out/my.model.stator")
    assert paths.weights == Path("out/my.model.safetensors")
    assert paths.old_weights == Path("out/my.model.safetensors.old")


def test_a_temporary_file_is_gone_afterwards_also_after_an_error(tmp_path):
    with pytest.raises(ValueError, match="stop"), temporary(tmp_path / "a") as path:
        path.write_text("x")
        assert path.parent == tmp_path
        raise ValueError("stop")
    assert os.listdir(tmp_path) == []


def write_pair(tmp_path, content, expected=None):
    paths = Paths.of(tmp_path / "m")
    with temporary(paths.text) as text, temporary(paths.weights) as weights:
        text.write_text(content)
        weights.write_text(content)
        put_in_place(text, weights, paths, expected=expected)
    return paths


def test_both_files_are_replaced_and_nothing_else_is_left(tmp_path):
    paths = write_pair(tmp_path, "old")
    write_pair(tmp_path, "new", expected=digests_of(paths.weights))
    assert (paths.text.read_text(), paths.weights.read_text()) == ("new", "new")
    assert sorted(os.listdir(tmp_path)) == ["m.safetensors", "m.stator"]


def test_a_file_system_without_hard_links_is_served_by_a_copy(tmp_path, monkeypatch):
    def link(*_):
        raise OSError

    paths = write_pair(tmp_path, "old")
    monkeypatch.setattr(os, "link", link)
    write_pair(tmp_path, "new", expected=digests_of(paths.weights))
    assert paths.weights.read_text() == "new"


def test_files_can_be_read_as_the_process_umask_says(tmp_path):
    paths = write_pair(tmp_path, "x")
    (tmp_path / "plain").touch()
    assert paths.text.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("path", ["", "folder/", ".stator", "a/..", "."])
def test_a_path_without_a_name_is_refused(path):
    with pytest.raises(FormatError) as caught:
        Paths.of(path)
    assert said(caught.value) == (
        f"[ST400] the path {path!r} does not name a model\n"
        f"  fix: add a name: {os.path.join(path.removesuffix('.stator'), 'model')!r}"
    )


@pytest.mark.parametrize("name", ["model.stator", "model.safetensors"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    write_model(tmp_path / "model", {}, {})
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(FormatError) as caught:
        read_model(tmp_path / "model")
    assert (caught.value.problem, caught.value.fix) == (
        f"{tmp_path / name} is not a regular file",
        "copy its contents into a file",
    )


ONNX = b"\x08\x0a\x12\x06stator" + b"the rest"


def test_onnx_files_of_an_earlier_save_are_removed(tmp_path):
    """They point into weights that are about to be replaced."""
    ours = ["model.onnx", "model.encode.onnx"]
    others = {
        "model.onnx.txt": ONNX,
        "model2.onnx": ONNX,
        "model.decode.onnx": ONNX,  # of the model `model.decode`
        "model.decode.stator": b"{}",
        "model.from_torch.onnx": b"\x08\x0a\x12\x07pytorch",
    }
    for name in ours:
        (tmp_path / name).write_bytes(ONNX)
    for name, content in others.items():
        (tmp_path / name).write_bytes(content)
    remove_onnx_files(tmp_path / "model")
    assert {file.name for file in tmp_path.iterdir()} == {*others}
