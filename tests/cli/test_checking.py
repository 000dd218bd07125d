"""check: what would be converted or refused, without running the file."""

import ast
import inspect

import pytest

from stator.cli.checking import CONSTRUCTS, _check_file
from stator.errors import UnsupportedSyntax
from stator.rewrite.convert import convert
from stator.source.fence import FENCE
from tests.docs import refused
from tests.rewrite import zoo


def test_a_file_is_checked_by_line_and_not_run(shell):
    done = shell("check", "syntax.py")
    assert done.err == ""
    assert done.exit_code == 1
    assert (
        done.out
        == """\
syntax.py:9  helper  (called by Model.forward)
  10  return [eval("x") for _ in range(3)]  a loop
  [ST102] a call of `eval` cannot be converted
    at syntax.py:10, in helper
          return [eval("x") for _ in range(3)]
                  ^
    fix: call the code directly

syntax.py:20  Model.forward  (decorated with to_static)
  25  while x.sum() > 0 if x.any() else False:  a loop, a branch
  27  match x:                                  branches
  [ST102] `except*` cannot be converted
    at syntax.py:23, in forward
              except* ValueError:
              ^
    fix: use `except`
    edit:
      - except* ValueError:
      + except ValueError:

syntax.py:32  Model.step  (called by Model.forward)
  33  for _ in range(3):  a loop
  34  try:                a try
  [ST102] a call of `exec` cannot be converted
    at syntax.py:37, in step
                      exec("x")
                      ^
    fix: call the code directly

3 functions in 1 file: 3 refused
"""
    )


def test_the_same_as_json(shell):
    data = shell("check", "syntax.py:Model.step", "--json").json
    assert data == {
        "schema": 1,
        "command": "check",
        "ok": False,
        "functions": [
            {
                "file": "syntax.py",
                "function": "Model.step",
                "line": 32,
                "why": "named",
                "converted": [
                    {"line": 33, "column": 8, "kind": "a loop", "source": "for _ in range(3):"},
                    {"line": 34, "column": 12, "kind": "a try", "source": "try:"},
                ],
                "refused": [
                    {
                        "code": "ST102",
                        "problem": "a call of `exec` cannot be converted",
                        "fix": "call the code directly",
                        "line": 37,
                        "column": 16,
                    }
                ],
            }
        ],
        "unreadable": [],
    }


def names(done):
    return [one["function"] for one in done.json["functions"]]


def test_a_class_stands_for_its_methods(shell):
    done = shell("check", "net.py:Net", "--json")
    assert names(done) == ["Net.__init__", "Net.forward", "Net.double"]
    assert done.exit_code == 0


def test_all_means_all_but_what_is_left_alone(shell):
    done = shell("check", "syntax.py", "--all", "--json")
    assert names(done) == ["helper", "Model.forward", "Model.step", "unrelated"]


def test_a_nested_async_function_is_refused_once(shell):
    (one,) = shell("check", "syntax.py:unrelated", "--json").json["functions"]
    assert [error["problem"] for error in one["refused"]] == ["`async def` cannot be converted"]


def test_without_a_static_function_all_are_checked(shell, folder):
    (folder / "plain.py").write_text("def f(x):\n    return (lambda y: y)(x)\n")
    done = shell("check", "plain.py")
    assert done.exit_code == 0
    assert done.out == "plain.py:1  f  (all functions)\n\n1 function in 1 file: nothing refused\n"


def test_what_a_call_makes_static_is_found(shell, folder):
    (folder / "calls.py").write_text(
        "import stator as s\n"
        "class A:\n"
        "    def forward(self, x): return x\n"
        "    def other(self, x): return x\n"
        "def f(x): return x\n"
        "def g(x): return x\n"
        "a = A()\n"
        "s.to_static(a)\n"
        "h = s.to_static(f)\n"
    )
    done = shell("check", "calls.py", "--json")
    assert names(done) == ["A.forward", "f"]
    assert {one["why"] for one in done.json["functions"]} == {"passed to to_static"}


def test_a_folder_stands_for_its_files(shell, folder):
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "broken.py").write_text("def")
    done = shell("check", ".", "--json")
    assert {one["file"] for one in done.json["functions"]} == {"net.py", "syntax.py"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def f(x):\n    return x +\n", "invalid syntax"),
        ("return 3\n", "'return' outside function"),  # parses, and is no Python
    ],
)
def test_a_file_that_is_no_python_is_shown_with_its_line(shell, folder, text, problem):
    (folder / "broken.py").write_text(text)
    done = shell("check", "broken.py")
    assert done.exit_code == 1
    assert f": {problem}\n" in done.out
    assert done.out.endswith("0 functions in 1 file: nothing refused, 1 file not readable\n")


def test_a_file_of_bytes_is_not_readable(shell, folder):
    (folder / "broken.py").write_bytes(b"\xff\xfe")
    assert shell("check", "broken.py").exit_code == 1


def test_lines_are_counted_as_python_counts_them(shell, folder):
    (folder / "feed.py").write_text("x = 'a\x0cb\u2028c'\n\x0c\ndef f(x):\n    return eval('x')\n")
    ((one,)) = shell("check", "feed.py", "--json").json["functions"]
    assert (one["line"], one["refused"][0]["line"]) == (3, 4)


def test_a_class_can_be_decorated(shell, folder):
    (folder / "decorated.py").write_text(
        "import stator\n@stator.to_static\nclass A:\n"
        "    def forward(self, x): return x\n    def other(self, x): return x\n"
    )
    assert names(shell("check", "decorated.py", "--json")) == ["A.forward"]


def test_a_file_that_is_nested_too_deeply_is_not_readable(shell, folder):
    (folder / "deep.py").write_text(
        "x = " + "(" * 190 + "1" + ")" * 190 + "\n" + "y = " + "-" * 5000
    )
    done = shell("check", "deep.py")
    assert done.exit_code == 1
    assert "1 file not readable" in done.out


def test_a_wrong_name_is_told_with_what_is_near(shell):
    done = shell("check", "sintax.py")
    assert (done.exit_code, done.out) == (2, "")
    assert done.err == "Error: there is no file sintax.py\n  fix: did you mean syntax.py?\n"
    done = shell("check", "syntax.py:Model.foward")
    assert done.exit_code == 2
    assert done.err == (
        "Error: syntax.py has no function `Model.foward`\n  fix: did you mean Model.forward?\n"
    )


@pytest.mark.parametrize("module", [zoo, refused], ids=["zoo", "refused"])
def test_it_refuses_what_the_rewrite_refuses_and_nothing_else(module):
    """The oracle is the rewrite itself, on the functions that Python has made."""
    file = inspect.getsourcefile(module)
    checked = {one.name: one for one in _check_file(file, "", everything=True)}
    compared = 0
    for name, function in vars(module).items():
        if inspect.isfunction(function) and function.__module__ == module.__name__:
            if name != function.__qualname__ or name not in checked:
                continue
            compared += 1
            found = [(error.problem, error.at.line) for error in checked[name].refused]
            try:
                convert(function, None)
            except UnsupportedSyntax as error:
                assert found[0] == (error.problem, error.at.line), name
            else:
                assert found == [], name
    assert compared > 20


def test_every_construct_of_the_report_is_one_of_the_rewrite():
    for name in CONSTRUCTS:
        assert FENCE[name].verdict in ("allowed", "rewritten")
        assert hasattr(ast, name)
