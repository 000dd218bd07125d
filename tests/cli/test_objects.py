"""Which object of the user's is meant."""

import sys

import pytest
import torch

from stator.cli.failures import REFUSED, USER_CODE, CommandFailure
from stator.cli.objects import fresh_imports, load_subject
from stator.cli.targets import is_object


def failure(target, *init):
    with pytest.raises(CommandFailure) as caught:
        load_subject(target, init)
    return caught.value


def test_a_class_is_made_and_takes_settings(folder):
    assert load_subject("net.py:Net").module.step.in_features == 4
    assert load_subject("net.py:Net", ["width=7"]).module.step.in_features == 7


def test_a_factory_an_instance_a_function_a_static_function_and_a_method(folder):
    assert load_subject("net.py:make()").module.step.in_features == 3
    assert load_subject("net.py:model").module.step.in_features == 2
    assert load_subject("net.py:pair").function.__name__ == "pair"
    sign = load_subject("net.py:sign")
    assert sign.function is sign.object.dygraph_function
    method = load_subject("net.py:Net.double")
    assert (method.function.__name__, type(method.module).__name__) == ("double", "Net")
    assert load_subject("net.py:make().double").module.step.in_features == 3
    assert load_subject("net.py:layers.1").module.out_features == 6


def test_a_module_is_found_in_the_current_folder(folder):
    (folder / "package").mkdir()
    (folder / "package" / "inner.py").write_text("def f(x): return x\n")
    assert load_subject("package.inner:f").function(3) == 3


def test_a_file_may_import_its_neighbours_and_make_dataclasses(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "beside.py").write_text("WIDTH = 5\n")
    (folder / "sub" / "main.py").write_text(
        "from __future__ import annotations\n"
        "import dataclasses, beside\n"
        "@dataclasses.dataclass\n"
        "class Settings:\n"
        "    width: int = beside.WIDTH\n"
        "def f(): return Settings().width\n"
    )
    assert load_subject("sub/main.py:f").function() == 5


def test_what_is_imported_inside_fresh_imports_is_forgotten(folder):
    (folder / "layers.py").write_text("VERSION = 1\n")
    (folder / "old.py").write_text("import layers\ndef f(): return layers.VERSION\n")
    (folder / "new").mkdir()
    (folder / "new" / "layers.py").write_text("VERSION = 2\n")
    (folder / "new" / "old.py").write_text("import layers\ndef f(): return layers.VERSION\n")
    found = []
    for file in ("old.py", "new/old.py"):
        with fresh_imports():
            found.append(load_subject(f"{file}:f").function())
    assert found == [1, 2]
    assert "layers" not in sys.modules
    assert "torch" in sys.modules


def test_a_saved_model_may_have_a_colon_in_its_path(folder):
    assert is_object("net.py:Net")
    assert is_object("a:b")
    (folder / "a:b.stator").touch()
    assert not is_object("a:b")
    assert not is_object("out/model")


def test_the_mode_is_set(folder):
    assert load_subject("net.py:Net").module.training
    assert not load_subject("net.py:Net", mode="eval").module.training
    assert not load_subject("net.py:Net.double", mode="eval").module.training


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("net.py:", "Error: `net.py:` names no object\n"
         "  fix: name it as `package.module:Name` or `file.py:Name`"),
        ("nat.py:Net", "Error: there is no file nat.py\n  fix: did you mean net.py?"),
        ("no.such.module:f", "Error: there is no module `no`\n"
         "  fix: run it where the module can be imported, or give the path of its file"),
        ("a b:f", "Error: `a b` is neither a module nor a .py file\n"
         "  fix: name it as `package.module:Name` or `file.py:Name`"),
        ("net.py:Nat", "Error: `net.py` has no `Nat`\n  fix: did you mean Net?"),
        ("net.py:Net.fourward", "Error: `Net` has no `fourward`\n  fix: did you mean forward?"),
        ("net.py:a b", "Error: `a b` in `net.py:a b` is not a name\n"
         "  fix: write NAME, or NAME() to call it"),
        ("net.py:NUMBER", "Error: net.py:NUMBER is of the type int, which cannot be captured\n"
         "  fix: name a function, an nn.Module or a class of one, or a factory `make()`"),
        ("net.py:NUMBER()", "Error: net.py:NUMBER() cannot be called: it is of the type int\n"
         "  fix: leave the () out"),
    ],
)  # fmt: skip
def test_a_wrong_name_is_a_wrong_call(folder, target, text):
    caught = failure(target)
    assert caught.exit_code == 2
    assert caught.text() == text


def test_wrong_settings_are_a_wrong_call(folder):
    caught = failure("net.py:Net", "widht=3")
    assert caught.exit_code == 2
    assert caught.text() == (
        "Error: net.py:Net cannot be made: got an unexpected keyword argument 'widht'\n"
        "  Net(width: int = 4) -> None\n"
        "  fix: give each argument with --init NAME=VALUE"
    )
    assert "takes no --init" in failure("net.py:pair", "x=3").text()


def test_an_error_of_the_users_file_is_shown_with_its_line(folder):
    file = folder / "broken.py"
    file.write_text("import torch\n\nimport nothing_of_this_name\n")
    caught = failure("broken.py:f")
    assert caught.exit_code == USER_CODE
    assert caught.text() == (
        "Error: broken.py could not be imported\n"
        f"  at {file}:3, in <module>\n"
        "      import nothing_of_this_name\n"
        "      ^\n"
        "  ModuleNotFoundError: No module named 'nothing_of_this_name'"
    )
    assert "broken" not in sys.modules


def test_a_syntax_error_of_the_users_file_is_shown_with_its_line(folder):
    file = folder / "broken.py"
    file.write_text("x = 1\ny = = 2\n")
    caught = failure("broken.py:f")
    assert caught.exit_code == USER_CODE
    assert caught.text() == (
        "Error: broken.py could not be imported\n"
        f"  at {file}:2, in <module>\n"
        "      y = = 2\n"
        "          ^\n"
        "  SyntaxError: invalid syntax"
    )


def test_a_file_that_ends_the_process_does_not(folder):
    (folder / "ends.py").write_text("import sys\nsys.exit(3)\n")
    caught = failure("ends.py:f")
    assert caught.exit_code == USER_CODE
    assert caught.text() == "Error: ends.py could not be imported\n  it ended itself: exit(3)"


def test_an_error_in_a_constructor_is_the_users(folder):
    (folder / "bad.py").write_text(
        "import torch\n"
        "class Bad(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc = torch.nn.Linear(-1, 2)\n"
    )
    caught = failure("bad.py:Bad")
    assert caught.exit_code == USER_CODE != REFUSED
    assert "bad.py:5, in __init__" in caught.text()


def test_what_the_file_prints_goes_to_stderr(folder, capsys):
    load_subject("net.py:pair")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "net.py is imported\n")
    assert torch.is_grad_enabled()
