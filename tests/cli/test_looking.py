"""explain, code and program: what became of an object."""

import stator


def test_explain_captures_for_the_inputs_and_does_not_run(shell):
    done = shell("explain", "net.py:Net", "-i", "x:f32[None,4]", "--mode", "eval")
    assert done.exit_code == 0
    assert done.out.startswith("Net.forward: captured once\n")
    assert "takes x: f32[s0, 4]; " in done.out
    assert "while x.abs().max() > limit and count < 4:" in done.out
    assert "x.shape[0], called s0 in the program" in done.out
    assert done.err == "net.py is imported\n"


def test_explain_as_json_and_as_a_page(shell, folder):
    done = shell("explain", "net.py:Net", "-i", "x:f32[2,4]", "--json", "--html", "report.html")
    data = done.json
    assert (data["ok"], data["function"], data["page"]) == (True, "Net.forward", "report.html")
    assert data["captures"][0]["inputs"] == ["x: f32[2, 4]"]
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


def test_an_argument_by_name_alone_is_explained(shell):
    done = shell("explain", "net.py:Net", "-i", "x:f32[2,4]", "-i", "scale=2")
    assert done.exit_code == 0
    assert "ran as Python: the condition is True, a Python value" in done.out


def test_the_code_of_a_module_is_that_of_its_forward(shell):
    assert shell("code", "net.py:Net").out.startswith("def forward(self, x, limit")


def test_a_function_in_c_has_no_code(shell):
    done = shell("code", "math:sin")
    assert done.exit_code == 2
    assert done.err == (
        "Error: math:sin is not a Python function: there is no code to show\n"
        "  fix: name a function, a method or an nn.Module\n"
    )


def test_what_is_refused_is_explained_and_found(shell):
    done = shell("explain", "net.py:refused", "-i", "x:f32[3]")
    assert done.exit_code == 1
    assert "[ST102] a call of `eval` cannot be converted" in done.out
    assert shell("explain", "net.py:refused", "-i", "x:f32[3]", "--json").json["ok"] is False


def test_a_function_without_arguments_is_explained(shell, folder):
    (folder / "none.py").write_text(
        "import torch\n"
        "def f():\n"
        "    print('it runs')\n"
        "    return torch.ones(2)\n"
        "def g(): return eval('1')\n"
    )
    done = shell("explain", "none.py:f")
    assert (done.exit_code, done.err) == (0, "")
    assert done.out.startswith("f: captured once\n\n1. because it takes no arguments\n")
    done = shell("explain", "none.py:g")
    assert done.exit_code == 1
    assert "refused:\n  [ST102] a call of `eval` cannot be converted" in done.out


def test_code_is_that_of_the_static_function(shell):
    done = shell("code", "net.py:sign")
    assert done.exit_code == 0
    assert done.out.startswith("def sign(x):\n")
    assert "stator__.if_stmt(" in done.out
    assert shell("code", "net.py:sign", "--json").json["code"] + "\n" == done.out


def test_a_program_is_printed_with_or_without_places(shell):
    done = shell("program", "net.py:sign")
    assert (
        done.out
        == """\
program sign(%anything: f32[s0, 2]) {
  %1: f32[] = aten::sum(%anything)  # net.py:42
  %2: b8[] = aten::gt.Scalar(%1, 0)  # net.py:42
  %3: bool = aten::is_nonzero(%2)  # net.py:42
  %6: f32[s0, 2] = stator::if(%3) {  # net.py:42
    %4: f32[s0, 2] = aten::add.Tensor(%anything, 1)  # net.py:43
    yield %4
  } {
    %5: f32[s0, 2] = aten::sub.Tensor(%anything, 1)  # net.py:44
    yield %5
  }
  return %6
}
"""
    )
    plain = shell("program", "net.py:sign", "--no-places").out
    assert plain == "\n".join(line.partition("  #")[0] for line in done.out.split("\n"))


def test_an_input_is_called_after_its_parameter(shell):
    data = shell("program", "net.py:sign", "-i", "x:f64[7,2]", "--json").json
    assert data["inputs"] == [{"name": "x", "type": "f64[7, 2]"}]
    assert data["ops"] == 6


def test_a_program_before_it_is_optimized_has_more_ops(shell, folder):
    (folder / "dead.py").write_text("def f(x):\n    y = x * 2\n    return x + 1\n")
    whole = shell("program", "dead.py:f", "-i", "f32[2]", "--raw", "--json").json
    assert whole["ops"] == shell("program", "dead.py:f", "-i", "f32[2]", "--json").json["ops"] + 1


def test_the_program_of_a_saved_model_by_method_and_mode(shell, saved):
    model = stator.load(saved)
    assert shell("program", saved).out == f"{model.eval().program()}\n"
    assert shell("program", saved, "--mode", "train").out == f"{model.train().program()}\n"
    done = shell("program", saved, "--method", "encode")
    assert done.exit_code == 2
    assert done.err == (
        "Error: the model has no method `encode`\n  fix: give --method one of forward\n"
    )
    assert shell("program", saved, "-i", "x:f32[2]").exit_code == 2


def test_what_cannot_be_captured_is_refused_and_what_raises_is_the_users(shell, folder):
    done = shell("program", "net.py:refused", "-i", "f32[3]")
    assert done.exit_code == 3
    assert done.err == (
        "net.py is imported\n"
        "[ST102] a call of `eval` cannot be converted\n"
        f"  at {folder}/net.py:61, in refused\n"
        '        return eval("x")\n'
        "               ^\n"
        "  fix: call the code directly\n"
    )
    done = shell("program", "net.py:crash", "-i", "x:f32[3]")
    assert done.exit_code == 4
    assert "Error: crash could not be captured\n  IndexError: " in done.err
    assert f"{folder}/net.py:57, in crash" in done.err
    assert "Traceback" not in done.err
