"""set_verbosity and set_code_level: what is said, where it goes, and what is refused."""

import logging
import os
import pty
import subprocess
import sys

import pytest
import torch

import stator
from stator.api.settings import set_from
from stator.errors import UnknownOption
from stator.logs import Settings


@pytest.fixture(autouse=True)
def settings_as_before():
    yield
    stator.set_verbosity(0)
    stator.set_code_level(None)


def countdown(x):
    while x.sum() > 0:
        x = torch.sub(x, 1)
    return x


def messages(caplog):
    return [record.getMessage() for record in caplog.records if record.name.startswith("stator")]


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, **environment},
    )  # fmt: skip


FILE = """
import stator, torch
from tests.api.test_settings import countdown
stator.to_static(countdown)(torch.ones(1))
"""


def test_at_level_0_nothing_is_said(caplog):
    stator.to_static(countdown)(torch.ones(1))
    assert messages(caplog) == []


def test_at_level_1_each_capture_is_told_with_its_reason(caplog):
    stator.set_verbosity(1)
    static = stator.to_static(countdown)
    static(torch.ones(1))
    static(torch.ones(1))
    static(torch.ones(1, dtype=torch.float64))
    assert messages(caplog) == [
        "countdown was captured because it was called for the first time",
        "countdown was captured because the dtype of x is float64, not float32",
    ]


def test_at_level_2_each_decision_is_told(caplog):
    stator.set_verbosity(2)
    stator.to_static(countdown)(torch.ones(1))
    line = countdown.__code__.co_firstlineno + 1
    told = f"test_settings.py:{line}: while recorded: the condition is captured"
    assert told in messages(caplog)


def test_a_call_that_falls_back_is_told(caplog):
    stator.set_verbosity(1)
    static = stator.to_static(lambda x: x.grad_fn, full_graph=False)
    with pytest.warns(UserWarning, match="runs eagerly"):
        static(torch.ones(1))
    assert [text for text in messages(caplog) if "runs eagerly: `.grad_fn` cannot be" in text]


def test_code_is_shown_after_the_pass_that_is_named(caplog):
    stator.set_code_level("calls")
    stator.to_static(countdown)(torch.ones(1))
    (text,) = messages(caplog)
    line = countdown.__code__.co_firstlineno
    assert text.startswith(f"countdown (test_settings.py:{line}) after calls: \ndef countdown(x):")
    assert "stator__.call(" in text
    assert "while_stmt" not in text


def test_loops_are_what_the_pass_over_control_flow_makes(caplog):
    stator.set_code_level("loops")
    stator.to_static(countdown)(torch.ones(1))
    (text,) = messages(caplog)
    assert "stator__.while_stmt(" in text


def test_all_shows_every_pass_and_says_which_change_nothing(caplog):
    stator.set_code_level("all")
    stator.to_static(countdown)(torch.ones(1))
    texts = messages(caplog)
    assert len(texts) == 14
    assert any(text.endswith("after comprehensions: no change") for text in texts)


def test_code_is_shown_again_when_it_is_asked_for_again_and_not_before(caplog):
    for _ in range(2):
        stator.set_code_level("calls")
        stator.to_static(countdown)(torch.ones(1))
        stator.to_static(countdown)(torch.ones(1))
    assert len(messages(caplog)) == 2


@pytest.mark.parametrize("level", ["no_pass", 3, ["calls", "x"]])
def test_a_pass_that_does_not_exist_is_refused_with_the_names(level):
    with pytest.raises(UnknownOption) as caught:
        stator.set_code_level(level)
    assert "to show" in caught.value.problem
    assert caught.value.fix.startswith("give one of all, sets, generators, jumps")


@pytest.mark.parametrize("level", [-1, 4, True, "2"])
def test_a_verbosity_that_does_not_exist_is_refused(level):
    with pytest.raises(UnknownOption) as caught:
        stator.set_verbosity(level)
    assert caught.value.problem == f"{level!r} is not a verbosity level"
    assert caught.value.fix == "give 0 to 3"


def test_the_environment_sets_both():
    set_from({"STATOR_VERBOSITY": "2", "STATOR_CODE_LEVEL": "calls, loops"})
    assert (Settings.verbosity, Settings.code) == (2, {"calls", "control"})


@pytest.mark.slow
def test_without_any_logging_of_the_application_messages_go_to_stderr():
    done = run_python(FILE, STATOR_VERBOSITY="1")
    assert done.stderr == "countdown was captured because it was called for the first time\n"
    assert done.stdout == ""


@pytest.mark.slow
def test_messages_go_to_stdout_too_where_that_is_asked_for():
    done = run_python("import stator; stator.set_verbosity(1, also_to_stdout=True)" + FILE)
    said = "countdown was captured because it was called for the first time\n"
    assert (done.stdout, done.stderr) == (said, said)


@pytest.mark.slow
def test_an_application_with_logging_of_its_own_gets_each_message_once():
    setup = "import logging; logging.basicConfig(format='%(name)s|%(message)s')"
    done = run_python(setup + FILE, STATOR_VERBOSITY="1")
    assert done.stderr == "stator|countdown was captured because it was called for the first time\n"


def test_the_logger_alone_can_ask_for_messages(caplog):
    with caplog.at_level(logging.INFO, "stator"):
        stator.to_static(countdown)(torch.ones(1))
    assert len(messages(caplog)) == 1


def test_code_is_plain_in_a_pipe(capfd):
    code = stator.to_static(countdown).code
    print(code)
    assert capfd.readouterr().out == "".join(code) + "\n"
    assert "\x1b" not in "".join(code)


def test_code_is_coloured_in_a_terminal_and_has_the_same_lines(monkeypatch):
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    with open(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", terminal)
        print(stator.to_static(countdown).code)
    printed = b""
    while chunk := _read(ours):
        printed += chunk
    os.close(ours)
    shown = printed.decode().replace("\r\n", "\n")
    assert "\x1b[" in shown
    assert _without_colours(shown) == "".join(stator.to_static(countdown).code) + "\n"


def _read(descriptor):
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed
        return b""


def _without_colours(text):
    parts = text.split("\x1b[")
    return parts[0] + "".join(part.partition("m")[2] for part in parts[1:])
