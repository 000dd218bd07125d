"""onnx: the ONNX files of a saved model."""

import shutil
from pathlib import Path

import onnx
import onnxruntime
import pytest
import torch

import stator
from stator.api import onnx_saving, saving
from stator.extras import install_command

MODELS = """\
import torch

def says(x):
    print("the sum is", x.sum())
    return x * 2

def noise(x):
    return x + torch.randn(3)

def long(x):
    count = 0
    while count < x.sum() * 0 + 4000:
        count += 1
    return count
"""


class Two(torch.nn.Module):
    """A model with two methods."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(x)

    def twice(self, x):
        return self.layer(self.layer(x))


@pytest.fixture
def model(saved, folder):
    """A copy of the saved `Net` that a test may write beside."""
    for ending in (".stator", ".safetensors"):
        shutil.copy(saved + ending, folder / f"net{ending}")
    return "net"


@pytest.fixture
def keep(shell, folder):
    """Saves a function of MODELS under its name."""
    (folder / "models.py").write_text(MODELS)

    def save(name):
        done = shell("save", f"models.py:{name}", "-i", "x:f32[3]", "-o", name)
        assert done.exit_code == 0, done.err
        return name

    return save


def outputs(file, x):
    """What ONNX Runtime gives for `x`, by itself."""
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    return [torch.as_tensor(one) for one in session.run(None, {"x": x.numpy()})]


def test_the_file_is_beside_the_model_and_uses_its_weights(shell, model):
    done = shell("onnx", model)
    assert done.exit_code == 0
    head, *findings = done.out.splitlines()
    assert head.startswith("net.onnx  ")
    assert findings[0] == "  ✓ onnx.checker"
    assert findings[1].startswith("  ✓ ONNX Runtime equals the program in ")
    assert findings[2].startswith("  ✓ paths of branches and loops: ")
    assert [line.rpartition(" ")[0] for line in findings if "output" in line] == [
        "  output 0: greatest difference", "  output 1: greatest difference",
    ]  # fmt: skip
    plain = shell("onnx", model, "--no-search")
    assert "paths of branches" not in plain.out
    assert "  ✓ ONNX Runtime equals the program in 10 runs, " in plain.out
    proto = onnx.load("net.onnx", load_external_data=False)
    places = {entry.value for item in proto.graph.initializer for entry in item.external_data}
    assert "net.safetensors" in places
    x = torch.full((2, 4), 3.0)
    wanted = stator.load(model).eval()(x)
    torch.testing.assert_close(stator.load(model, backend="onnxruntime")(x), wanted)


def test_a_file_of_another_name_holds_its_weights(shell, model):
    """Also in the model's folder: saving the model again would move them under it."""
    x = torch.full((2, 4), 3.0)
    wanted, count = stator.load(model).eval()(x)
    assert shell("onnx", model, "-o", "other.onnx", "--opset", "20").exit_code == 0
    assert onnx.load("other.onnx").opset_import[0].version == 20
    args = ("-i", "x:f32[None,4]", "-o", model)
    assert shell("save", "net.py:Net", *args).exit_code == 0  # with other weights
    Path("net.safetensors").unlink()
    found, looks, *_ = outputs("other.onnx", x)
    torch.testing.assert_close(found, wanted)
    assert looks == count


def test_the_weights_are_put_inside_where_that_is_asked_for(shell, model):
    assert shell("onnx", model, "--embed").exit_code == 0
    Path("net.safetensors").unlink()
    assert outputs("net.onnx", torch.ones(1, 4))[0].shape == (1, 4)


def test_json_has_the_report(shell, keep, folder):
    (folder / "files").mkdir()
    data = shell("onnx", keep("says"), "-o", "files", "--json").json
    assert data["model"] == "says"
    (told,) = data["files"]
    assert told["file"] == "files/says.onnx"
    assert told["bytes"] == (folder / "files" / "says.onnx").stat().st_size
    assert (told["runs"], told["raised"], told["endless"]) == (10, 0, 0)
    assert told["differences"] == [{"output": 0, "greatest": 0.0}]


def test_what_is_left_out_is_listed(shell, keep):
    assert "  left out: print(the sum is …) at models.py:4\n" in shell("onnx", keep("says")).out


def test_each_method_has_a_file_named_after_the_output(shell):
    two = Two()
    spec = [stator.InputSpec([None, 3], "float32", "x")]
    stator.save(two, "two", methods={"forward": spec, "twice": spec})
    done = shell("onnx", "two", "-o", "new/both.onnx")
    assert done.exit_code == 0
    assert [line.split("  ")[0] for line in done.out.splitlines() if "opset" in line] == [
        "new/both.onnx", "new/both.twice.onnx",
    ]  # fmt: skip
    x = torch.ones(2, 3)
    torch.testing.assert_close(outputs("new/both.onnx", x)[0], two(x).detach())
    torch.testing.assert_close(outputs("new/both.twice.onnx", x)[0], two.twice(x).detach())


def test_a_model_without_one_run_to_compare_is_a_finding(shell, keep):
    done = shell("onnx", keep("long"))
    assert done.exit_code == 1
    assert "  ✗ ONNX Runtime was not compared with the program: no run ended" in done.out


def test_too_many_weights_for_one_file_are_refused(shell, model, monkeypatch):
    monkeypatch.setattr(onnx_saving, "INSIDE_LIMIT", 79)  # they have 80 bytes
    done = shell("onnx", model, "--embed")
    assert done.exit_code == 3
    assert "80 bytes of weights do not fit into net.onnx" in done.err
    assert not Path("net.onnx").exists()
    assert shell("onnx", model).exit_code == 0


def test_the_error_says_what_to_install(shell, model, monkeypatch):
    monkeypatch.setattr(saving, "ONNX_PACKAGES", ("onnx", "a_package_that_is_missing"))
    done = shell("onnx", model)
    assert done.exit_code == 3
    assert "ONNX files need packages that are not installed: a_package_that_is_missing" in done.err
    assert install_command("onnx") in done.err


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["nothing"], 3, "nothing.stator does not exist"),
        (["net", "-o", "net.safetensors"], 2, "`net.safetensors` does not end in .onnx"),
        (["net", "-o", ".onnx"], 2, "`.onnx` has no name"),
        (["net", "--opset", "3"], 3, "opset 3 is older than 18"),
        (["net", "--opset", "99"], 3, "opset 99 is not known here"),
        (["net", "--opset", "0"], 2, "0 is not in the range"),
    ],
)
def test_what_cannot_be_done_ends_with_its_code(shell, model, args, code, message):
    done = shell("onnx", *args)
    assert done.exit_code == code
    assert message in done.err
    assert not list(Path().glob("*.onnx"))


def test_what_onnx_cannot_hold_is_refused_by_line(shell, keep):
    done = shell("onnx", keep("noise"))
    assert done.exit_code == 3
    assert "[ST401]" in done.err
    assert "models.py:8" in done.err
    assert not Path("noise.onnx").exists()


def test_damaged_weights_are_not_exported(shell, model):
    weights = Path("net.safetensors")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert shell("onnx", model).exit_code == 3
    assert not Path("net.onnx").exists()
