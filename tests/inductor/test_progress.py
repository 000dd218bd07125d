"""The bar while regions are compiled: in a terminal only, and only if there is something to do."""

import io
import sys

import pytest

from stator.inductor.progress import progress
from stator.inductor.queue import CompileQueue


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "total"), [(io.StringIO(), 3), (Terminal(), 0)])
def test_nothing_is_shown_elsewhere(monkeypatch, stream, total):
    monkeypatch.setattr(sys, "stderr", stream)
    with progress("compiling", total) as done:
        done(total)
    assert stream.getvalue() == ""


def test_a_terminal_shows_how_much_is_done(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with progress("compiling regions", 3) as done:
        done(2)
    assert "compiling regions" in stream.getvalue()
    assert "2/3" in stream.getvalue()


def test_without_rich_nothing_is_shown(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with progress("compiling", 3) as done:
        done(1)
    assert stream.getvalue() == ""


def test_waiting_tells_how_many_jobs_are_left():
    queue, told = CompileQueue(), []
    for _ in range(3):
        queue.add(lambda: None)
    assert queue.wait(10, told.append)
    assert queue.left == 0
    assert sorted(told, reverse=True) == told
