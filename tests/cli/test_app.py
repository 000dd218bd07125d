"""Errors become messages and exit codes, results text or JSON; help has examples."""

import importlib
import json
import tomllib
from pathlib import Path

import click
import pytest

import stator
from stator.cli import app, looking
from stator.cli.commands import main
from stator.cli.screen import CommandOutcome, size_text, time_text
from stator.errors import ProgramError

COMMANDS = (
    "bench", "build-native", "check", "code", "compile", "diff", "doctor", "explain", "inspect",
    "onnx", "program", "run", "save", "verify", "view",
)  # fmt: skip


def test_these_are_the_commands(shell):
    assert tuple(sorted(main.commands)) == COMMANDS
    done = shell("--help")
    assert done.exit_code == 0
    assert "Exit codes: 0 success; 1 the command found" in done.out
    assert "..." not in done.out.split("Commands:")[1]  # no line of help is cut short


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example_json_and_verbose(shell, name):
    done = shell(name, "--help")
    assert done.exit_code == 0
    assert f"\n  Example:\n    stator {name} " in done.out or f"    stator {name}\n" in done.out
    assert "--json" in done.out
    assert "-v, --verbose" in done.out
    assert all(len(line) <= 80 for line in done.out.splitlines())


def test_the_script_of_the_package_is_this_command():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, name = project["scripts"]["stator"].split(":")
    assert getattr(importlib.import_module(module), name).__module__ == "stator.__main__"
    needed = {text.partition(">")[0] for text in project["optional-dependencies"]["cli"]}
    assert {"click", "rich"} <= needed


def test_the_version(shell):
    assert shell("--version").out == f"stator, version {stator.__version__}\n"


def test_a_wrong_call_shows_how_it_is_called(shell):
    done = shell("frobnicate")
    assert done.exit_code == 2
    assert "No such command 'frobnicate'" in done.err
    done = shell("check")
    assert done.exit_code == 2
    assert done.err.startswith("Usage: stator check [OPTIONS] FILE[:NAME]...\n")


def test_an_error_as_json_is_on_stdout_and_nothing_is_on_stderr(shell, folder):
    done = shell("program", "net.py:refused", "-i", "x:f32[2]", "--json")
    assert done.exit_code == 3
    assert done.err == "net.py is imported\n"
    assert done.json == {
        "schema": 1,
        "command": "program",
        "error": {
            "kind": "refused",
            "code": "ST102",
            "problem": "a call of `eval` cannot be converted",
            "details": "",
            "at": {"file": str(folder / "net.py"), "line": 61, "column": 11},
            "fix": "call the code directly",
        },
    }


@pytest.mark.parametrize(
    ("args", "kind", "code"),
    [
        (["program", "net.py:crash", "-i", "f32[2]"], "user code", 4),
        (["program", "net.py:Nat"], "usage", 2),
        (["program"], "usage", 2),
        (["bench", "net.py:sign", "--rounds", "x"], "usage", 2),
    ],
)
def test_the_kinds_of_errors_as_json(shell, args, kind, code):
    done = shell(*args, "--json")
    assert (done.exit_code, done.json["error"]["kind"]) == (code, kind)
    assert done.json["command"] == args[0]


def breaking(error):
    def broken(**_):
        raise error

    return broken


def test_a_bug_is_called_one(shell, monkeypatch):
    monkeypatch.setattr(looking, "code", breaking(ZeroDivisionError("oops")))
    done = shell("code", "net.py:sign")
    assert done.exit_code == 5
    assert done.err == (
        "Error: this should not have happened: a bug in Stator\n"
        "  ZeroDivisionError: oops\n"
        "  fix: please report it, with what `--verbose` shows\n"
    )
    monkeypatch.setattr(looking, "code", breaking(ProgramError("a rule is broken")))
    done = shell("code", "net.py:sign", "--json")
    assert (done.exit_code, done.json["error"]["kind"]) == (5, "bug")


def test_an_interruption_ends_with_130(shell, monkeypatch):
    monkeypatch.setattr(looking, "code", breaking(KeyboardInterrupt()))
    done = shell("code", "net.py:sign")
    assert (done.exit_code, done.err) == (130, "\ninterrupted\n")


def test_a_missing_package_leads_to_the_doctor(shell, monkeypatch):
    missing = ModuleNotFoundError("No module named 'torch'", name="torch")
    monkeypatch.setattr(looking, "code", breaking(missing))
    done = shell("code", "net.py:sign")
    assert done.exit_code == 3
    assert done.err == (
        "Error: torch is not installed\n  fix: run `stator doctor` to see what is\n"
    )


@pytest.mark.parametrize("how", ["--verbose", "STATOR_VERBOSITY"])
def test_a_traceback_is_shown_where_it_is_asked_for(shell, monkeypatch, how):
    args = ["program", "net.py:crash", "-i", "x:f32[2]"]
    assert "Traceback" not in shell(*args).err
    if how == "--verbose":
        done = shell(*args, how)
    else:
        monkeypatch.setenv(how, "3")
        done = shell(*args)
    assert done.exit_code == 4
    assert "Traceback (most recent call last)" in done.err
    assert 'src/stator/cli/looking.py", line' in done.err


def test_a_wrong_variable_of_the_environment_is_one_message(shell, monkeypatch):
    monkeypatch.setenv("STATOR_VERBOSITY", "lots")
    done = shell("check", "net.py")
    assert done.exit_code == 3
    assert done.err == "[ST303] 'lots' is not a verbosity level\n  fix: give 0 to 3\n"


def test_what_json_cannot_hold_becomes_text(monkeypatch):
    data = {1: [float("nan"), float("-inf"), (1.5, None, True)], "z": 1 + 2j}
    shown = json.dumps(app._plain(data), allow_nan=False)
    assert json.loads(shown) == {"1": ["nan", "-inf", [1.5, None, True]], "z": "(1+2j)"}


def test_sizes_and_times_for_people():
    assert [size_text(n) for n in (0, 1023, 1024, 3 * 2**20, 5 * 2**30)] == [
        "0 bytes", "1023 bytes", "1.0 KiB", "3.0 MiB", "5.0 GiB",
    ]  # fmt: skip
    assert [time_text(s) for s in (2.0, 0.0123, 4.5e-6)] == ["2.00 s", "12.30 ms", "4.5 µs"]


def test_every_option_of_a_command_is_taken_by_its_work(shell, monkeypatch):
    """The declarations and the work stand in different modules: nothing else checks them."""
    given = {
        "build-native": [],
        "bench": ["net.py:sign"], "check": ["net.py"], "code": ["net.py:sign"],
        "compile": ["a"], "diff": ["a", "b"], "doctor": [], "explain": ["net.py:sign"],
        "inspect": ["a"],
        "onnx": ["a"], "program": ["a"], "run": ["a"], "save": ["net.py:sign", "-o", "x"],
        "verify": ["net.py:sign"], "view": ["a"],
    }  # fmt: skip
    seen = {}

    def import_module(name):
        if name == "stator.cli.screen":
            return imported(name)
        module = imported(name)
        command = click.get_current_context().info_name
        function = command.replace("-", "_")
        work = getattr(module, function)

        class Stand:
            pass

        def called(**options):
            seen[command] = (work, options)
            return CommandOutcome({}, lambda screen: None)

        setattr(Stand, function, staticmethod(called))
        return Stand

    imported = app.importlib.import_module
    monkeypatch.setattr(app.importlib, "import_module", import_module)
    for name, args in given.items():
        assert shell(name, *args).exit_code == 0, name
        work, options = seen[name]
        names = work.__code__.co_varnames[: work.__code__.co_argcount]
        assert sorted(names) == sorted(options), name
    assert tuple(sorted(seen)) == COMMANDS
