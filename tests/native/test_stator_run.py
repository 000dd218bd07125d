"""The command `stator-run`: inputs and outputs in files, options, errors."""

from __future__ import annotations

import json
import subprocess

import numpy
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import stator
from stator import InputSpec
from stator.extension import command
from tests.export.crafted import Call, craft, value

pytestmark = pytest.mark.skipif(command() is None, reason="the native runtime is not built")


ROWS = InputSpec([None, 3], torch.float32)


def run(*words):
    return subprocess.run(
        [str(command()), *map(str, words)], capture_output=True, text=True, timeout=60
    )


class TwoMethods(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 2)

    def forward(self, x):
        print("rows:", x.shape[0])
        return {"scores": self.layer(x), "count": x.shape[0]}

    @stator.to_static(input_spec=[ROWS])
    def halve(self, x):
        while x.abs().sum() > 1:
            x = x / 2
        return x


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("saved") / "model"
    stator.save(TwoMethods().eval(), path, input_spec=[ROWS])
    return path


def test_outputs_have_the_names_of_their_places_in_the_result(model, tmp_path):
    x = torch.randn(4, 3)
    save_file({"x": x}, tmp_path / "in.safetensors")
    outputs = tmp_path / "out.safetensors"
    done = run(model, "--inputs", tmp_path / "in.safetensors", "--outputs", outputs)
    assert (done.returncode, done.stdout) == (0, "rows: 4\n"), done.stderr
    wanted = stator.load(model)(x)["scores"]
    assert torch.equal(load_file(outputs)["output.scores"], wanted)
    with safe_open(outputs, "pt") as file:
        assert json.loads(file.metadata()["outputs"])[1] == 4


def test_a_reader_of_the_outputs_of_one_run_keeps_them_when_another_run_replaces_them(
    model, tmp_path
):
    inputs, outputs = tmp_path / "x.npy", tmp_path / "out.safetensors"
    numpy.save(inputs, numpy.zeros((2, 3), numpy.float32))
    run(model, "--inputs", inputs, "--outputs", outputs)
    before = load_file(outputs)["output.scores"]  # mapped, not read
    numpy.save(inputs, numpy.ones((1, 3), numpy.float32))
    run(model, "--inputs", inputs, "--outputs", outputs)
    assert torch.equal(before, stator.load(model)(torch.zeros(2, 3))["scores"])
    assert len(load_file(outputs)["output.scores"]) == 1
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out.safetensors", "x.npy"]


@pytest.mark.parametrize("named", [True, False])
def test_an_input_can_be_an_array_of_numpy(model, tmp_path, named):
    x = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    path = tmp_path / ("other.npy" if named else "x.npy")
    numpy.save(path, x)
    outputs = tmp_path / "out.safetensors"
    done = run(model, "--inputs", f"x={path}" if named else path, "--outputs", outputs)
    assert done.returncode == 0, done.stderr
    wanted = stator.load(model)(torch.from_numpy(x))["scores"]
    assert torch.equal(load_file(outputs)["output.scores"], wanted)


def test_describe_lists_methods_with_their_inputs_and_outputs(model):
    text = run(model, "--describe").stdout
    assert "forward (eval, as saved)\n  input   x: f32[s0, 3]\n" in text
    assert "  output  output.scores: f32[s0, 2]\n" in text


def test_a_method_is_run_by_its_name(model, tmp_path):
    x = numpy.full((2, 3), 5, numpy.float32)
    numpy.save(tmp_path / "x.npy", x)
    outputs = tmp_path / "out.safetensors"
    done = run(model, "--method", "halve", "--inputs", tmp_path / "x.npy", "--outputs", outputs)
    assert done.returncode == 0, done.stderr
    assert torch.equal(load_file(outputs)["output"], torch.from_numpy(x) / 32)


def test_repeat_and_threads(model, tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.ones((2, 3), numpy.float32))
    done = run(model, "--inputs", tmp_path / "x.npy", "--repeat", 3, "--threads", 2)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("call ") == 3


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--inputs", "{bad}"], 1, "[ST301] x must be a tensor f32[s0, 3], not f32[2, 5]"),
        (["--method", "other"], 1, "was saved without a method 'other'; it has forward, halve"),
        (["--mode", "both"], 1, "could not be captured in both mode"),
        (["--threads", "many"], 2, "--threads takes a number, not `many`"),
        (["--threads", "0"], 2, "--threads takes a number from 1"),
        (["--repeat", "0"], 2, "--repeat takes a number from 1"),
        (["--threads"], 2, "--threads takes a value"),
        (["--speed", "9"], 2, "there is no argument `--speed`"),
        (["--inputs", "{missing}"], 1, "nowhere.safetensors"),
        ([], 1, "the inputs have no `x`"),
    ],
)
def test_what_is_wrong_is_said(model, tmp_path, words, status, message):
    bad, missing = tmp_path / "x.npy", tmp_path / "nowhere.safetensors"
    numpy.save(bad, numpy.ones((2, 5), numpy.float32))
    done = run(model, *[word.format(bad=bad, missing=missing) for word in words])
    assert done.returncode == status
    assert message in done.stderr


def test_a_damaged_model_is_refused(model, tmp_path):
    (tmp_path / "broken.stator").write_bytes(model.with_suffix(".stator").read_bytes()[:-40])
    (tmp_path / "broken.safetensors").write_bytes(model.with_suffix(".safetensors").read_bytes())
    done = run(tmp_path / "broken", "--describe")
    assert done.returncode == 1
    assert "[ST400]" in done.stderr


def mixed(x, y, n, flag, mode, eps):
    result = x * n + y
    if flag:
        result = result + eps
    return -result if mode == "minus" else result


@pytest.mark.parametrize(("rows", "status"), [(3, 0), (1, 1)])
def test_named_sizes_are_checked_and_python_values_are_inputs(tmp_path, rows, status):
    spec = [
        InputSpec(["batch"]), InputSpec(["batch"]), InputSpec.int(), InputSpec.bool(),
        InputSpec.str(), InputSpec.float(),
    ]  # fmt: skip
    stator.save(mixed, tmp_path / "mixed", spec)
    x, y = torch.randn(3), torch.randn(rows)
    values = {"n": 3, "flag": True, "mode": "minus", "eps": {"float": 0.25}}
    given = {name: json.dumps(value) for name, value in values.items()}
    save_file({"x": x, "y": y}, tmp_path / "in.safetensors", metadata=given)
    outputs = tmp_path / "out.safetensors"
    done = run(tmp_path / "mixed", "--inputs", tmp_path / "in.safetensors", "--outputs", outputs)
    assert done.returncode == status, done.stderr
    if status:
        assert "y must be a tensor f32[batch], not f32[1]" in done.stderr
    else:
        wanted = mixed(x, y, 3, True, "minus", 0.25)
        assert torch.equal(load_file(outputs)["output"], wanted)


def moved(x, by: int | None):
    return x * 2 if by is None else x + by


@pytest.mark.parametrize(
    ("tag", "by", "said"),
    [
        (0, None, ""),
        (1, 3, ""),
        (1, None, "by must be given: by.tag is 1"),
        (0, 3, "by must be None: by.tag is 0"),
        (2, 3, "by.tag must be a number from 0 to 1, not 2"),
    ],
)
def test_an_input_that_may_be_none_is_a_tag_and_a_value(tmp_path, tag, by, said):
    stator.save(moved, tmp_path / "moved", [InputSpec([None])])
    given = {"by.tag": json.dumps(tag), "by": json.dumps(by)}
    save_file({"x": torch.ones(2)}, tmp_path / "in.safetensors", metadata=given)
    outputs = tmp_path / "out.safetensors"
    done = run(tmp_path / "moved", "--inputs", tmp_path / "in.safetensors", "--outputs", outputs)
    assert said in done.stderr
    assert done.returncode == (1 if said else 0), done.stderr
    if not said:
        assert torch.equal(load_file(outputs)["output"], moved(torch.ones(2), by))


@pytest.mark.parametrize(
    ("op", "args", "problem"),
    [
        ("aten::sum.dim_IntList", [value("x"), [0], "yes"], "'keepdim'"),
        ("aten::sum.dim_IntList", [value("x"), "rows"], "'dim'"),
        ("aten::add.Scalar", [value("x"), "one"], "'other'"),
        ("aten::div.Tensor_mode", [value("x"), value("x")], "'rounding_mode'"),
    ],
)
def test_a_constant_of_another_kind_is_refused_when_the_model_is_loaded(
    tmp_path, op, args, problem
):
    attributes = {"rounding_mode": 1} if op.endswith("_mode") else {}
    craft(tmp_path / "model", [Call(op, args, attributes)], {})
    done = run(tmp_path / "model", "--describe")
    assert done.returncode == 1
    assert "[ST400]" in done.stderr
    assert problem in done.stderr
