"""A debugger stops in the user's own file while a function is captured."""

import bdb
import inspect
import sys

import torch

import stator


class Stops(bdb.Bdb):
    """Notes where it stops, and goes on."""

    def __init__(self):
        super().__init__()
        self.places = []

    def user_line(self, frame):
        self.places.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        self.set_continue()


def halved(x, debugger=None):
    while x.sum() > 1:
        x = x / 2
        if debugger is not None:
            debugger.set_trace()
            x = x * 1
    return x


def line_of(text):
    lines, first = inspect.getsourcelines(halved)
    return first + next(k for k, line in enumerate(lines) if text in line)


def test_a_breakpoint_by_file_and_line_stops_in_the_users_function():
    debugger, before = Stops(), sys.gettrace()
    debugger.set_break(__file__, line_of("x = x / 2"))
    try:
        result = debugger.runcall(stator.to_static(halved), torch.ones(4))
    finally:
        debugger.clear_all_breaks()
        sys.settrace(before)
    assert torch.equal(result, halved(torch.ones(4)))
    assert (__file__, line_of("x = x / 2"), "halved") in debugger.places


def test_set_trace_stops_on_the_line_after_it():
    debugger, before = Stops(), sys.gettrace()
    try:
        result = stator.to_static(halved)(torch.ones(4), debugger)
    finally:
        sys.settrace(before)
    assert torch.equal(result, halved(torch.ones(4)))
    assert debugger.places[0] == (__file__, line_of("x = x * 1"), "halved")
