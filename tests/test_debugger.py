"""A debugger goes through converted code line by line, and shows the user's names and frames."""

import io
import pdb
import subprocess
import sys

import pexpect
import pytest
import torch

import stator
from stator.debugger import SKIPPED, Pdb, for_converted_code, stepping_around

SCRIPT = """\
import torch
import stator


def doubled(value):
    twice = value * 2
    return twice


@stator.to_static(input_spec=[stator.InputSpec([None, 3], "float32")])
def model(x):
    total = x.sum()
    count = 0
    while total > 1:
        STOP
        total = total / 2
        count += 1
    y = doubled(x)
    return y, count


print("count", model(torch.ones(2, 3))[1])
"""
CAPTURED = "<captured f32[u0, 3], u0 is x.shape[0], the input x>"


def halved(x, debugger):
    spare = 2
    while x.sum() > 1:
        debugger.set_trace()
        x = x / spare
        if x.sum() > 0:
            x = x * 1
    return x


def dialogue(commands):
    """What our debugger writes while `halved` is captured."""
    out = io.StringIO()
    debugger = Pdb(stdin=io.StringIO("\n".join([*commands, "c"] + ["c"] * 9) + "\n"), stdout=out)
    debugger.use_rawinput = False
    before = sys.gettrace()
    try:
        result = stator.to_static(halved)(torch.ones(4), debugger)
    finally:
        sys.settrace(before)
    assert torch.equal(result, torch.full((4,), 0.25))
    return out.getvalue().replace(__file__, "FILE")


FIRST = halved.__code__.co_firstlineno


def test_next_goes_from_line_to_line_of_the_users():
    text = dialogue(["n"] * 5)
    places = [line.removeprefix("(Pdb) ") for line in text.splitlines() if "FILE(" in line]
    wanted = (4, 5, 6, 5, 2, 7)  # both sides of the branch: the empty one is its head
    assert places[:6] == [f"> FILE({FIRST + k})halved()" for k in wanted]
    assert "--Return--" not in text
    assert "--Call--" not in text


def test_return_goes_to_the_end_of_the_whole_function():
    text = dialogue(["p 1", "r", "p x"])
    assert f"--Return--\n> FILE({FIRST + 7})halved()->" in text
    assert f"-> return x\n(Pdb) <captured f32[4], from test_debugger.py:{FIRST + 2}: while " in text


def test_every_name_of_the_function_is_there_inside_a_loop():
    text = dialogue(["p spare", "p x", "p [n for n in locals() if not n.endswith('__')]"])
    assert "(Pdb) 2\n" in text
    place = f"test_debugger.py:{FIRST + 2}: while x.sum() > 1:"
    assert f"(Pdb) <captured f32[4], carried by the loop at {place}>\n" in text
    assert "(Pdb) ['debugger', 'spare', 'x']\n" in text


def test_up_goes_to_the_users_caller():
    text = dialogue(["u", "p [type(result) for result in ()]"])
    assert "FILE(" in text.split("(Pdb) ")[1]
    assert text.split("(Pdb) ")[1].splitlines()[0].endswith("dialogue()")


def test_the_debugger_that_the_user_has_chosen_stays(monkeypatch):
    assert for_converted_code(pdb.set_trace) is stator.debug.set_trace
    assert for_converted_code(breakpoint) is stator.debug.set_trace
    assert for_converted_code(print) is print
    monkeypatch.setattr(sys, "breakpointhook", print)
    assert for_converted_code(breakpoint) is breakpoint
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONBREAKPOINT", "other.set_trace")
    assert for_converted_code(breakpoint) is breakpoint


def test_a_running_debugger_skips_the_recorder_for_the_time_of_a_capture(monkeypatch):
    running = pdb.Pdb(skip=["mine"])
    monkeypatch.setattr(sys, "gettrace", lambda: running.trace_dispatch)
    with stepping_around():
        assert set(running.skip) == {"mine", *SKIPPED}
    assert set(running.skip) == {"mine"}


def test_without_a_debugger_there_is_nothing_to_do():
    before = sys.gettrace()
    sys.settrace(None)
    try:
        with stepping_around():
            assert sys.gettrace() is None
    finally:
        sys.settrace(before)


def spawn(tmp_path, stop, *arguments):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.replace("STOP", stop))
    return file, pexpect.spawn(
        sys.executable, [*arguments, str(file)], encoding="utf8", timeout=60, dimensions=(24, 100)
    )


def said(child, commands):
    told = []
    for command in commands:
        child.expect(r"\(Pdb\) ")
        told.append(child.before.replace("\r\n", "\n"))
        child.sendline(command)
    return told


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["breakpoint()", "__import__('pdb').set_trace()"])
def test_a_breakpoint_in_a_terminal(tmp_path, stop):
    file, child = spawn(tmp_path, stop)
    told = said(child, ["p x", "p count", "w", "n", "n", "n", "b 6", "c", "p value", "u", "q"])
    assert told[0] == f"> {file}(16)model()\n-> total = total / 2\n"
    assert told[1] == f"p x\n{CAPTURED}\n"
    assert told[2] == "p count\n<captured int>\n"
    assert told[3].count("script.py") == 2  # the module, and the function: once each
    where = [text.splitlines()[1] for text in told[4:7]]
    assert where == [f"> {file}({line})model()" for line in (17, 14, 18)]
    assert told[8].splitlines()[1:] == [f"> {file}(6)doubled()", "-> twice = value * 2"]
    assert told[9] == f"p value\n{CAPTURED}\n"
    assert told[10].splitlines()[1:] == [f"> {file}(18)model()", "-> y = doubled(x)"]
    child.expect(pexpect.EOF)


@pytest.mark.slow
def test_a_script_under_pdb_steps_over_the_recorder(tmp_path):
    file, child = spawn(tmp_path, "pass", "-m", "pdb")
    told = said(child, ["b 16", "c", "p total", "n", "n", "q"])
    assert told[2].splitlines()[1:] == [f"> {file}(16)model()", "-> total = total / 2"]
    assert (
        told[3]
        == "p total\n<captured f32[], carried by the loop at script.py:14: while total > 1:>\n"
    )
    assert told[4].splitlines()[1] == f"> {file}(17)model()"


@pytest.mark.slow
def test_a_script_that_nobody_watches_runs_as_it_is(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(SCRIPT.replace("STOP", "pass"))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "count 3\n"
