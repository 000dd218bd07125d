"""The command as a shell runs it: in a terminal, in a pipe, without torch, interrupted."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

ROOT = Path(__file__).parents[2]
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STATOR = [sys.executable, "-m", "stator"]
SLOW_FILE = "import time\nprint('begins', flush=True)\ntime.sleep(600)\n"


def environment(**more):
    keep = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "HOME") if key in os.environ}
    return {**keep, "TERM": "xterm-256color", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", **more}


def in_pipe(*args, **more):
    return subprocess.run(
        [*STATOR, *args], capture_output=True, text=True, env=environment(**more), check=False,
        stdin=subprocess.DEVNULL, timeout=120,
    )  # fmt: skip


def listen():
    """Ctrl-C is heard, also where the tests run in the background, which does not hear it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A terminal of a given width with the command in it."""

    def __init__(self, folder, *args, width=80, **more):
        self.child = pexpect.spawn(
            sys.executable, ["-m", "stator", *args], cwd=str(folder), dimensions=(40, width),
            env=environment(**more), encoding="utf-8", timeout=120, preexec_fn=listen,
        )  # fmt: skip

    def finish(self):
        """What was printed, and the exit code."""
        self.child.expect(pexpect.EOF)
        printed = self.child.before.replace("\r\n", "\n")
        self.child.close()
        return printed, self.child.exitstatus


def without_bars(printed):
    """What stays on the screen: a bar is a line that is erased again."""
    lines = [line.rpartition("\r")[2] for line in printed.split("\n")]
    return CONTROL.sub("", "\n".join(line for line in lines if "\u2501" not in line))


def test_in_a_terminal_there_are_colours_and_its_width_is_kept(folder):
    printed, code = Terminal(folder, "check", "syntax.py", width=50).finish()
    assert code == 1
    assert "\x1b[1;31m3 functions in 1 file: 3 refused\x1b[0m" in printed
    plain = CONTROL.sub("", printed)
    (table,) = re.findall(r"  25  while.*\n(?:   .*\n)?", plain)
    assert all(len(line) <= 50 for line in table.splitlines())
    assert "".join(table.split()) == "25whilex.sum()>0ifaloop,abranchx.any()elseFalse:"


def test_in_a_terminal_without_colour_there_is_none(folder):
    printed, code = Terminal(folder, "check", "syntax.py", NO_COLOR="1").finish()
    assert code == 1
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", printed)
    assert "3 functions in 1 file: 3 refused" in CONTROL.sub("", printed)


@pytest.mark.slow
def test_in_a_terminal_work_of_seconds_has_a_bar_which_goes_away(folder):
    (folder / "late.py").write_text("import time\ntime.sleep(2.5)\ndef f(x): return x * 2\n")
    printed, code = Terminal(folder, "program", "late.py:f", "-i", "x:f32[2]").finish()
    assert code == 0
    assert "importing late.py" in printed
    assert "\u2501" in printed
    shown = without_bars(printed)
    assert "program f(%x: f32[2]) {" in shown
    assert "importing" not in shown
    assert "\x1b[36m%x\x1b[0m" in printed  # a value, in colour


@pytest.mark.slow
def test_an_interruption_in_a_terminal_ends_with_130_and_no_traceback(folder):
    (folder / "late.py").write_text(SLOW_FILE)
    terminal = Terminal(folder, "program", "late.py:f")
    terminal.child.expect("begins")
    terminal.child.sendintr()
    printed, code = terminal.finish()
    assert code == 130
    assert "interrupted" in printed
    assert "Traceback" not in printed


@pytest.mark.slow
def test_in_a_pipe_there_is_neither_colour_nor_bar_nor_broken_line(folder):
    line = "x = " + " + ".join(["x"] * 60)
    (folder / "long.py").write_text(
        f"def f(x):\n    if x.sum() > 0:\n        {line}\n    return x\n"
    )
    done = in_pipe("code", "long.py:f")
    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert any(len(text) > 1000 for text in done.stdout.splitlines())


def test_a_reader_that_has_enough_is_no_error(folder):
    (folder / "large.py").write_text("".join(f"def f{n}(x): return x\n" for n in range(3000)))
    command = f"'{sys.executable}' -m stator check large.py | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment(), check=False,
        timeout=120,
    )  # fmt: skip
    assert done.stdout == "large.py:1  f0  (all functions)\n"
    assert done.stderr == ""


WITHOUT = """
import sys
for name in {names}:
    sys.modules[name] = None  # importing it fails
sys.argv = ["stator", *{args}]
from stator.__main__ import main
try:
    main()
finally:
    print("torch is imported" if sys.modules.get("torch") else "no torch", file=sys.stderr)
"""


def without(names, *args):
    text = WITHOUT.format(names=names, args=args)
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment(),
        check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("args", [("--help",), ("bench", "--help"), ("check", "net.py")])
def test_help_and_check_import_no_torch(folder, args):
    done = without(("torch", "numpy"), *args)
    assert (done.returncode, done.stderr) == (0, "no torch\n")


@pytest.mark.parametrize(
    "args",
    [
        ("inspect",), ("inspect", "--json"), ("program",), ("program", "--mode", "train"),
        ("diff",), ("view",), ("view", "-o", "page.html", "--json"),
    ],
)  # fmt: skip
def test_what_only_reads_a_saved_model_imports_no_torch(folder, saved, shell, args):
    command, *options = args
    models = [saved, saved] if command == "diff" else [saved]
    done = without(("torch", "numpy"), command, *models, *options)
    assert (done.returncode, done.stderr) == (0, "no torch\n")
    assert done.stdout == shell(command, *models, *options).out


def test_without_torch_the_doctor_answers_and_others_lead_to_it(folder):
    done = without(("torch",), "doctor")
    assert done.returncode == 1
    assert "cannot be imported" in done.stdout
    done = without(("torch",), "run", "model")
    assert done.returncode == 3
    assert done.stderr == (
        "Error: torch is not installed\n  fix: run `stator doctor` to see what is\nno torch\n"
    )


@pytest.mark.parametrize("name", ["click", "rich"])
def test_without_the_extra_one_line_says_how_to_get_it(folder, name):
    done = without((name,), "check", "net.py")
    assert done.returncode == 2
    said, command = done.stderr.removesuffix("no torch\n").split(": ")
    assert said == "the command `stator` needs click and rich"
    assert command == f"pip install -c {ROOT}/constraints.txt -e '{ROOT}[cli]'\n"


def test_a_shell_is_given_completions(folder):
    done = in_pipe(_STATOR_COMPLETE="bash_complete", COMP_WORDS="stator in", COMP_CWORD="1")
    assert done.stdout == "plain,inspect\n"
