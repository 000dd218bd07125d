"""diff: two saved models, or what would be saved of two objects."""

import torch

import stator

BEFORE = """\
import torch

def f(x):
    while x.sum() > 1:
        x = torch.tanh(x / 2)
    return x
"""


def test_the_same_model_is_the_same(shell, saved):
    done = shell("diff", saved, saved)
    assert (done.exit_code, done.out) == (0, "the same\n")
    assert shell("diff", saved, saved, "--json").json["same"] is True


def test_renamed_variables_on_other_lines_are_the_same(shell, folder):
    (folder / "a.py").write_text(BEFORE)
    (folder / "b.py").write_text("# a comment\n" + BEFORE.replace("(x)", "(x )"))
    done = shell("diff", "a.py:f", "b.py:f", "-i", "x:f32[None]")
    assert (done.exit_code, done.out) == (0, "the same; 9 ops on other lines\n")


def test_changed_ops_are_shown_with_their_lines(shell, folder):
    (folder / "a.py").write_text(BEFORE)
    (folder / "b.py").write_text(BEFORE.replace("tanh", "relu").replace("> 1", "> 3"))
    done = shell("diff", "a.py:f", "b.py:f", "-i", "x:f32[None]")
    assert done.exit_code == 1
    assert (
        done.out
        == """\
forward (train), forward (eval)
  ~ aten::gt.Scalar(%1, 1) -> aten::gt.Scalar(%1, 3)  # a.py:4 -> b.py:4
      argument 2: 1 -> 3
  in while at a.py:4
  ~ aten::tanh(%5) -> aten::relu(%5)  # a.py:5 -> b.py:5
      aten::tanh -> aten::relu
  ~ aten::gt.Scalar(%7, 1) -> aten::gt.Scalar(%7, 3)  # a.py:4 -> b.py:4
      argument 2: 1 -> 3
they differ: 3 changes in programs
"""
    )


def test_changed_weights_are_shown(shell, saved, folder):
    model = stator.load(saved)
    with torch.no_grad():
        model.step.bias[0] += 0.5
    stator.save(model, "tuned")
    done = shell("diff", saved, "tuned")
    assert done.exit_code == 1
    assert done.out == (
        "weights\n"
        "  ~ step.bias: parameter float32[4]: other values, at most 0.5 apart\n"
        "they differ: 1 weight\n"
    )
    (weight,) = shell("diff", saved, "tuned", "--json").json["weights"]
    assert (weight["name"], weight["max_difference"]) == ("step.bias", 0.5)


def test_an_object_is_compared_with_the_model_it_was_saved_as(shell):
    torch.manual_seed(0)  # as `diff` does before it makes an object
    assert shell("save", "net.py:Net", "-i", "x:f32[None,4]", "-o", "here").exit_code == 0
    done = shell("diff", "here", "net.py:Net", "-i", "x:f32[None,4]", "--mode", "eval")
    assert (done.exit_code, done.out) == (0, "the same\n")


def test_each_file_imports_its_own_neighbours(shell, folder):
    for name, factor in (("old", 2), ("new", 3), ("moved", 2)):
        (folder / name).mkdir()
        (folder / name / "layers.py").write_text(f"def scale(x): return x * {factor}\n")
        (folder / name / "model.py").write_text("import layers\ndef f(x): return layers.scale(x)\n")
    done = shell("diff", "old/model.py:f", "new/model.py:f", "-i", "f32[2]")
    assert done.exit_code == 1
    assert "argument 2: 2 -> 3" in done.out
    assert shell("diff", "old/model.py:f", "moved/model.py:f", "-i", "f32[2]").exit_code == 0


def test_what_is_refused_is_no_difference(shell):
    assert shell("diff", "net.py:refused", "net.py:refused", "-i", "f32[2]").exit_code == 3
