"""The prompt of a stepper: what it says, in a terminal and to a stream."""

import io
import subprocess
import sys

import pexpect
import pytest
import torch

import stator
from stator.debug.stepping.prompt import Prompt

SCRIPT = """\
import torch
import stator

def halved(x):
    while x.sum() > 1:
        x = x / 2
    return x

with stator.debug.step(halved) as stepper:
    print("gives", stepper(torch.ones(4)))
print("after", len(stepper.values("x", line=6)))
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT)
    return file


def said(function, commands, *args):
    """What a prompt that is given these lines writes."""
    out = io.StringIO()
    stepper = stator.debug.step(function, lambda frame: prompt(frame))
    prompt = Prompt(stepper, stdin=io.StringIO("\n".join(commands) + "\n"), stdout=out)
    prompt.use_rawinput = False
    prompt.prompt = ""
    with stepper:
        stepper(*args)
    return out.getvalue().replace(__file__, "FILE")


def added(x, y):
    total = x + y
    if total.sum() > 0:
        total = total * 2
    return total


FIRST = added.__code__.co_firstlineno
HEAD = f"> FILE:{FIRST + 1}, in added\n    total = x + y\n"


def test_a_stop_shows_the_line_and_the_op():
    text = said(added, ["c"], torch.ones(2), torch.ones(2))
    assert text == f"{HEAD}    %1: f32[2] = aten::add.Tensor(%x, %y)\n"


def test_p_evaluates_an_expression_of_the_lines_names():
    text = said(added, ["p x + 1", "x.shape", "p %y", "c"], torch.ones(2), torch.zeros(2))
    assert text.splitlines()[3:] == ["tensor([2., 2.])", "torch.Size([2])", "tensor([0., 0.])"]


def test_what_is_wrong_is_said_and_asked_again():
    commands = ["p nothing", "b 1", "b x", "b 9:y", "h nothing", "c"]
    text = said(added, commands, torch.ones(2), torch.zeros(2))
    near = ", ".join(str(FIRST + k) for k in (1, 2, 3))
    assert text.splitlines()[3:] == [
        "*** NameError: name 'nothing' is not defined",
        "*** no op of the program comes from test_prompt.py:1",
        f"    fix: lines near it that have ops: {near}",
        "*** ValueError: invalid literal for int() with base 10: 'x'",
        "*** ValueError: invalid literal for int() with base 10: 'y'",
        "*** there is no command nothing",
    ]


def test_breakpoints_are_made_listed_and_cleared():
    commands = ["b", f"b test_prompt.py:{FIRST + 3} if total.sum() > 3", "b", "c", "cl 1", "b", "c"]
    text = said(added, commands, torch.ones(2), torch.ones(2))
    where = f"test_prompt.py:{FIRST + 3} when total.sum() > 3"
    assert text.splitlines()[3:] == [
        "no breakpoints",
        f"breakpoint 1: {where}",
        f"1  {where}",
        f"> FILE:{FIRST + 3}, in added (the true side of the branch at line {FIRST + 2})",
        "    total = total * 2",
        "    %5: f32[2] = aten::mul.Tensor(%1, 2)",
        "no breakpoints",
    ]


def test_vars_trips_op_and_where_tell_what_is_there():
    commands = [f"b {FIRST + 3}", "c", "vars", "loops", "op", "w", "c"]
    text = said(added, commands, torch.ones(2), torch.ones(2))
    side = f"the true side of the branch at line {FIRST + 2}"
    assert text.splitlines()[7:] == [
        "x      f32[2]  tensor([1., 1.])",
        "y      f32[2]  tensor([1., 1.])",
        "total  f32[2]  tensor([2., 2.])",
        side,
        "%5: f32[2] = aten::mul.Tensor(%1, 2)",
        "%1  f32[2]  tensor([2., 2.])",
        f"> FILE:{FIRST + 3}, in added ({side})",
        "    total = total * 2",
    ]


def test_watch_and_values_tell_how_a_variable_changes():
    text = said(added, ["watch total", "c", "values total", "values z", "c"], *[torch.ones(2)] * 2)
    assert text.splitlines()[3:] == [
        "changed: total",
        f"> FILE:{FIRST + 4}, in added",
        "    return total",
        f"test_prompt.py:{FIRST + 2}: total = tensor([2., 2.])",
        f"after test_prompt.py:{FIRST + 3}: total = tensor([4., 4.])",
        "z was not seen",
    ]


def test_quit_ends_the_with_and_not_the_script():
    def never(x):
        return x + 1

    assert said(never, ["q"], torch.ones(2)).startswith("> FILE")


@pytest.mark.slow
def test_a_terminal_gets_a_prompt(script):
    child = pexpect.spawn(
        sys.executable, [str(script)], encoding="utf8", dimensions=(24, 40), timeout=60
    )
    told = []
    for command in ("vars", "s", "", "l", "b 6", "c", "p x", "n", "q"):
        child.expect(r"\(step\) ")
        told.append(child.before.replace("\r\n", "\n"))
        child.sendline(command)
    child.expect(pexpect.EOF)
    assert told[0] == f"> {script}:5, in halved\n    while x.sum() > 1:\n" + (
        "    %1: f32[] = aten::sum(%x)\n"
    )
    assert told[1] == "vars\nx  f32[4]  tensor([1., 1., 1., 1.])\n"
    assert told[3].endswith("    %3: bool = aten::is_nonzero(%2)\n")  # an empty line: `s` again
    assert "    5 ->     while x.sum() > 1:\n" in told[4]
    assert told[6].startswith(f"c\n> {script}:6, in halved (iteration 1 of the loop at line 5)\n")
    assert told[7] == "p x\ntensor([1., 1., 1., 1.])\n"
    assert "after 1" in child.before


@pytest.mark.slow
def test_in_a_pipe_nothing_stops(script):
    done = subprocess.run(
        [sys.executable, str(script)], input="", capture_output=True, text=True, check=True
    )
    assert done.stdout == "gives tensor([0.2500, 0.2500, 0.2500, 0.2500])\nafter 2\n"
