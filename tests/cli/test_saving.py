"""save: an object as a saved model."""

import pytest
import torch

import stator


def test_a_module_is_saved_and_loads(shell, folder):
    done = shell("save", "net.py:Net", "--init", "width=3", "-i", "x:f32[None,3]", "-o", "out/n")
    assert done.exit_code == 0
    assert [line.split("  ")[0] for line in done.out.splitlines()] == [
        "out/n.stator", "out/n.safetensors",
    ]  # fmt: skip
    loaded = stator.load("out/n").eval()
    result, count = loaded(torch.zeros(5, 3))
    assert (result.shape, count) == ((5, 3), 0)


def test_a_folder_gets_the_objects_name(shell, folder):
    (folder / "models").mkdir()
    data = shell("save", "net.py:sign", "-o", "models", "--json").json
    assert data["model"] == "models/sign"
    sizes = [(one["file"], one["bytes"]) for one in data["files"]]
    assert sizes == [
        (f"models/sign.{end}", (folder / f"models/sign.{end}").stat().st_size)
        for end in ("stator", "safetensors")
    ]
    assert torch.equal(stator.load("models/sign")(torch.ones(1, 2)), torch.full((1, 2), 2.0))


def test_the_source_is_kept_if_asked(shell, folder):
    for options in ([], ["--embed-source"]):
        assert shell("save", "net.py:sign", "-o", "sign", *options).exit_code == 0
        assert ("if x.sum()" in (folder / "sign.stator").read_text()) == bool(options)


def test_a_method_and_a_constant(shell):
    assert shell("save", "net.py:Net.double", "-i", "x:f32[2,4]", "-o", "d").exit_code == 0
    assert stator.load("d")(torch.ones(2, 4)).shape == (2, 4)
    assert (
        shell("save", "net.py:Net", "-i", "f32[2,4]", "-i", "limit=9.0", "-o", "c").exit_code == 0
    )
    assert stator.load("c").eval()(torch.ones(2, 4), 9.0)[1] == 0


def test_a_parameter_that_is_given_by_name_alone(shell, folder):
    (folder / "scaled.py").write_text("def scaled(x, *, by): return x * by\n")
    done = shell("save", "scaled.py:scaled", "-i", "x:f32[None]", "-i", "by:f32[1]", "-o", "s")
    assert done.exit_code == 0, done.err
    assert stator.load("s")(torch.ones(3), by=torch.tensor([2.0])).tolist() == [2.0] * 3


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["net.py:Net", "-o", "out/x"], 2, "missing a required argument: 'x'"),
        (["net.py:Net", "-i", "f32[4]"], 2, "Missing option '-o'"),
        (["net.py:sign", "-o", "/proc/no/model"], 2, "No such file or directory"),
        (["net.py:refused", "-i", "f32[4]", "-o", "x"], 3, "[ST102]"),
    ],
)
def test_what_cannot_be_saved_ends_with_its_code(shell, folder, args, code, message):
    done = shell("save", *args)
    assert done.exit_code == code
    assert message in done.err
    assert not list(folder.glob("x*"))
