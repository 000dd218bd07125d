"""inspect: what a saved model holds; damaged ones are refused."""

import hashlib
import re
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

import stator
from stator import InputSpec


def test_everything_a_model_says_of_itself(shell, saved):
    data = shell("inspect", saved, "--json").json
    assert data["format"] == 3
    assert data["producer"] == {
        "stator": version("stator"),
        "torch": torch.__version__.partition("+")[0],
    }
    assert data["mode"] == "eval"
    assert data["methods"] == {
        "forward": {"programs": {"eval": "forward", "train": "train"}, "refused": {}}
    }
    program = data["programs"]["train"]
    assert program["inputs"] == [{"name": "x", "type": "f32[s0, 4]"}]
    assert program["outputs"] == "(f32[s0, 4], int)"
    counts = program["ops_by_count"]
    assert sum(counts.values()) == program["ops"]
    assert counts["stator::while"] == 1
    assert list(counts.values()) == sorted(counts.values(), reverse=True)
    for file in data["files"]:
        content = Path(file["file"]).read_bytes()
        assert file["bytes"] == len(content)
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    assert [(one["name"], one["shape"], one["bytes"]) for one in data["tensors"]] == [
        ("step.weight", [4, 4], 64), ("step.bias", [4], 16),
    ]  # fmt: skip


def test_the_text_for_people(shell, saved):
    text = re.sub(r"[0-9a-f]{64}", "DIGEST", shell("inspect", saved).out)
    written = f"{saved}\nformat 3, written by stator {version('stator')}, torch "
    assert text.startswith(written)
    assert (
        "\n  method   mode   program\n  forward  eval   forward\n  forward  train  train\n" in text
    )
    assert "\n  takes x: f32[s0, 4]\n  returns (f32[s0, 4], int)\n" in text
    assert text.endswith(
        "2 parameters; 80 bytes\n"
        "  tensor       kind       dtype    shape       size\n"
        "  step.weight  parameter  float32  [4, 4]  64 bytes\n"
        "  step.bias    parameter  float32  [4]     16 bytes\n"
    )


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(2, 2, bias=False)
        self.two = torch.nn.Linear(2, 2, bias=False)
        self.two.weight = self.one.weight

    def forward(self, x):
        return {"y": [self.two(self.one(x))], "z": None}


def test_tied_weights_count_once(shell):
    stator.save(Tied(), "tied", input_spec=[InputSpec([None, 2])], properties={"labels": 3})
    done = shell("inspect", "tied", "--tensors")
    assert "returns {'y': [f32[s0, 2]], 'z': None}\n" in done.out
    assert "\n1 parameter; 16 bytes\n" in done.out
    assert "is one.weight" in done.out
    assert done.out.endswith("properties: {'labels': 3}\n")


@pytest.fixture
def damaged(saved, folder):
    """A function: the path of a copy of the model with a change in one of its files."""

    def make(end, change):
        for each in ("stator", "safetensors"):
            content = Path(f"{saved}.{each}").read_bytes()
            (folder / f"bad.{each}").write_bytes(change(content) if each == end else content)
        return "bad"

    return make


@pytest.mark.parametrize("command", ["inspect", "run", "diff", "program", "bench"])
@pytest.mark.parametrize(
    ("end", "change", "said"),
    [
        ("stator", lambda text: text[:-20], "is damaged"),
        ("stator", lambda text: b"[1, 2]", "is not a Stator model"),
        ("safetensors", lambda data: data[:-1] + b"x", "is damaged, or belongs to another"),
    ],
)
def test_a_damaged_model_is_one_message(shell, damaged, saved, command, end, change, said):
    args = {"run": ["-i", "f32[2,4]"], "diff": [saved], "bench": ["-i", "f32[2,4]"]}
    done = shell(command, damaged(end, change), *args.get(command, []))
    assert (done.exit_code, done.out) == (3, "")
    assert done.err.startswith("[ST400] bad.")
    assert said in done.err.splitlines()[0]
    assert done.err.splitlines()[1:] == [
        "  fix: give a file written by `save`" if "not a Stator" in said
        else "  fix: save the model again, or copy both its files again"
    ]  # fmt: skip


def test_names_in_a_model_cannot_speak_to_the_terminal(shell):
    """A file from elsewhere may hold anything that its format allows."""
    hostile = "a\x1b]0;title\x07\x1b[2J\u202eb"
    function = torch.nn.ReLU()
    function.register_parameter(hostile.replace(".", ""), torch.nn.Parameter(torch.zeros(1)))
    stator.save(function, "hostile", [InputSpec([2], name="x\x1b[31m")],
                properties={"p": hostile})  # fmt: skip
    for args in (["inspect", "hostile"], ["program", "hostile"], ["run", "hostile"],
                 ["diff", "hostile", "hostile"]):  # fmt: skip
        done = shell(*args)
        printed = done.out + done.err
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", printed), args
    assert "\\x1b[31m" in shell("inspect", "hostile").out


def test_a_model_that_is_not_there(shell):
    done = shell("inspect", "nowhere")
    assert done.exit_code == 3
    assert done.err == "[ST400] nowhere.stator does not exist\n  fix: check the path\n"
    error = shell("inspect", "nowhere", "--json").json["error"]
    assert error == {
        "kind": "refused", "code": "ST400", "problem": "nowhere.stator does not exist",
        "details": "", "at": None, "fix": "check the path",
    }  # fmt: skip
