"""run: a saved model on arrays and values."""

import numpy
import pytest
import safetensors.torch
import torch

import stator


def eager(saved, x):
    with torch.no_grad():
        return stator.load(saved).eval()(x)


def test_an_array_from_a_file_gives_what_the_loaded_model_gives(shell, saved):
    x = torch.randn(3, 4)
    numpy.save("x.npy", x.numpy())
    done = shell("run", saved, "--input", "x=x.npy", "--output", "out/result.npz")
    assert done.exit_code == 0
    result, count = eager(saved, x)
    with numpy.load("out/result.npz") as written:
        assert torch.equal(torch.from_numpy(written["0"]), result)
        assert written["1"] == count
    lines = done.out.splitlines()
    assert lines[0].split() == ["output", "type", "value"]
    assert lines[1].startswith("0       float32[3, 4]  ")
    assert lines[2:] == [f"1       int            {count}", "written to out/result.npz"]


def test_json_has_the_values_unless_a_file_has_them(shell, saved):
    x = torch.tensor([[0.5, 2.0, -1.0, 0.0]])
    data = shell("run", saved, "-i", "x=[[0.5, 2, -1, 0]]", "--json").json
    result, count = eager(saved, x)
    assert data["outputs"] == [
        {"name": "0", "dtype": "float32", "shape": [1, 4], "values": result.tolist()},
        {"name": "1", "dtype": None, "shape": None, "values": count},
    ]
    data = shell("run", saved, "-i", "x=[[1, 1, 1, 1]]", "--json", "-o", "o.npz").json
    assert data["outputs"][0]["values"] is None
    assert data["written"] == "o.npz"


@pytest.fixture
def pair(shell):
    assert shell("save", "net.py:pair", "-i", "f32[2]", "-i", "f32[2]", "-o", "pair").exit_code == 0
    return "pair"


def test_named_results_and_those_that_no_array_can_hold(shell, pair):
    done = shell("run", pair, "-i", "second=[1, 2]", "-i", "[3, 4]", "-o", "r.npz")
    assert done.exit_code == 0
    assert done.out == (
        "output  type        value\n"
        "sum     float32[2]  4, 6\n"
        "none    NoneType    None\n"
        "word    str         'text'\n"
        "written to r.npz, without none\n"
    )
    assert done.err == "the sum is tensor(7.)\n"  # the program's print
    with numpy.load("r.npz") as written:
        assert (written["sum"].tolist(), str(written["word"])) == ([4.0, 6.0], "text")


def test_the_results_as_safetensors_and_as_one_array(shell, pair):
    done = shell("run", pair, "-i", "[1, 2]", "-i", "[3, 4]", "-o", "r.safetensors", "--json")
    assert done.json["not_written"] == ["none", "word"]
    assert safetensors.torch.load_file("r.safetensors")["sum"].tolist() == [4.0, 6.0]
    shell("save", "net.py:sign", "-o", "sign")
    assert shell("run", "sign", "-i", "[[1, 2]]", "-o", "r.npy").exit_code == 0
    assert numpy.load("r.npy").tolist() == [[2.0, 3.0]]


def test_a_result_of_any_name_can_be_written(shell, folder):
    (folder / "names.py").write_text(
        "def f(x): return {'file': x, 'a.b': x + 1, 'a': {'b': x + 2}, 'nan': x / 0}\n"
    )
    shell("save", "names.py:f", "-i", "f32[1]", "-o", "n")
    done = shell("run", "n", "-i", "[1.0]", "-o", "n.npz")
    assert done.exit_code == 0, done.err
    with numpy.load("n.npz") as written:
        found = {name: written[name].item() for name in written.files}
    assert found == {"file": 1.0, "a.b": 2.0, "a.b_": 3.0, "nan": float("inf")}
    assert shell("run", "n", "-i", "[0.0]", "--json").json["outputs"][3]["values"] == ["nan"]


def test_the_mode_is_eval_unless_another_is_asked_for(shell, saved):
    args = ("run", saved, "-i", "x:f32[64,4]@1..2", "--json")
    zeros = [
        sum(value == 0 for row in shell(*args, *mode).json["outputs"][0]["values"] for value in row)
        for mode in ((), ("--mode", "train"))
    ]
    assert zeros[0] == 0 < zeros[1]  # dropout


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        ([], 2, "Error: --input: there is none for `x`\n  fix: give --input x=... (f32[s0, 4])\n"),
        (["-i", "y=3"], 2, "Error: --input: the program has no input `y`\n  fix: name one of x\n"),
        (["-i", "1", "-i", "2"], 2, "Error: --input: 2 inputs for a program that takes 1\n"
         "  fix: give --input x=... (f32[s0, 4])\n"),
        (["-i", "x:f64[2,4]"], 3, "[ST301] x must be a tensor f32[s0, 4], not f64[2, 4]: "
         "its dtype is float64, not float32\n"
         "  fix: convert it, `.to(torch.float32)`, or capture a program for this dtype\n"),
        (["-i", "x:f32[2,4]", "-o", "r.txt"], 2,
         "Error: --output: `r.txt` is none of .npz, .npy, .safetensors\n"
         "  fix: give the file such an ending\n"),
        (["-i", "x:f32[2,4]", "-o", "r.npy"], 2,
         "Error: --output: a .npy file holds one array, and there are 2\n  fix: write a .npz\n"),
    ],
)  # fmt: skip
def test_a_wrong_run_ends_with_its_code_and_text(shell, saved, args, code, text):
    done = shell("run", saved, *args)
    assert (done.exit_code, done.err, done.out) == (code, text, "")


def test_a_device_that_is_not_there(shell, saved):
    done = shell("run", saved, "-i", "x:f32[2,4]", "--device", "nowhere")
    assert done.exit_code == 2
    assert done.err.startswith("Error: --device: ")


def test_what_the_program_raises_is_the_users(shell, folder):
    (folder / "raises.py").write_text(
        "def f(x):\n    if x.sum() > 0:\n        raise KeyError('too much')\n    return x\n"
    )
    shell("save", "raises.py:f", "-i", "f32[1]", "-o", "r")
    assert shell("run", "r", "-i", "[-1.0]").exit_code == 0
    done = shell("run", "r", "-i", "[1.0]")
    assert done.exit_code == 4
    assert done.err.startswith("Error: forward of r raised\n  KeyError: 'too much'\n")
    assert "raises.py:3" in done.err
    assert "Traceback" not in done.err


def test_an_input_has_the_name_of_its_parameter_too(shell, folder):
    spec = [stator.InputSpec([2], "float32", "features"), stator.InputSpec.int(optional=True)]
    stator.save(lambda feats, n: feats if n is None else feats * n, folder / "m", spec)
    for name in ("feats", "features"):
        done = shell("run", "m", "-i", f"{name}=[1.0, 2.0]", "-i", "n=3")
        assert done.out.split()[-2:] == ["3,", "6"]
