"""The judge of random programs sees each kind of failure, and the reducer keeps it."""

from __future__ import annotations

import pytest

import stator
from stator.location import Location
from tests.fuzz import judge as judging
from tests.fuzz.around import AROUND
from tests.fuzz.judge import Case, judge
from tests.fuzz.reduce import reduced

TEXT = AROUND + "def f(x, y):\n    print('here')\n    return x * 2.0, int(y)\n"
LAST = "    return x * 2.0"
PLACE = Location("model.py", 3, 0, "f")


def verdict(monkeypatch, static, text=TEXT):
    """What the judge says if `static` is what a stage makes of the program."""
    monkeypatch.setattr(judging, "at_stage", lambda program, target, *_: static(target))
    return judge(Case(text, (0,), trains=False), ("captured",))[0]


def test_a_right_program_is_the_same():
    verdicts = judge(Case(TEXT, (0, 1, 5), trains=True))
    assert [one.kind for one in verdicts] == ["same", "same"]


def test_another_value_is_wrong(monkeypatch):
    def static(function):
        return lambda x, y: (function(x, y)[0] + 1, int(y))

    assert verdict(monkeypatch, static).kind == "wrong"


def test_another_print_is_wrong(monkeypatch):
    def static(function):
        return lambda x, y: (print("more"), function(x, y))[1]

    assert verdict(monkeypatch, static).kind == "wrong"


def test_an_error_that_eager_does_not_raise_is_a_crash(monkeypatch):
    def static(function):
        return lambda x, y: {}["nothing"]

    found = verdict(monkeypatch, static)
    assert (found.kind, found.why) == ("crash", "KeyError for nothing")


def test_an_error_that_is_missing_is_wrong(monkeypatch):
    text = TEXT.replace(LAST, "    assert y < 0, 'positive'\n" + LAST)
    assert verdict(monkeypatch, lambda function: lambda x, y: (x, 0), text).kind == "wrong"


def test_another_text_of_the_programs_own_error_is_wrong(monkeypatch):
    def static(function):
        def raises(x, y):
            print("here")
            raise ValueError("small")

        return raises

    text = TEXT.replace(LAST, "    raise ValueError('large')\n" + LAST)
    assert verdict(monkeypatch, static, text).why == "text of ValueError"


def test_a_refusal_with_a_line_is_allowed(monkeypatch):
    def static(function):
        raise stator.StatorError("no", at=PLACE)

    found = verdict(monkeypatch, static)
    assert (found.kind, found.why) == ("refused", "ST000 no")


def test_a_refusal_without_a_line_is_a_crash(monkeypatch):
    def static(function):
        error = stator.StatorError("no")
        error.at = None
        raise error

    assert verdict(monkeypatch, static).kind == "crash"


def test_a_stage_that_does_not_end_hangs(monkeypatch):
    def static(function):
        def forever(x, y):
            while True:
                pass

        return forever

    monkeypatch.setattr(judging, "LIMIT", 1)
    assert verdict(monkeypatch, static).kind == "hang"


def test_a_program_that_does_not_end_in_eager_is_not_compared(monkeypatch):
    monkeypatch.setattr(judging, "EAGER_LIMIT", 1)
    text = TEXT.replace(LAST, "    while True:\n        pass\n" + LAST)
    assert verdict(monkeypatch, lambda function: None, text).kind == "endless"


@pytest.mark.parametrize("line", ["t0 = x.abs()", "if y > 0:\n        n0 = 4"])
def test_a_failing_program_is_made_small(monkeypatch, line):
    def static(function):
        return lambda x, y: None if "+ 3.0" in judged.text else function(x, y)

    text = TEXT.replace(LAST, f"    {line}\n{LAST} + 3.0")
    judged = Case(text, (0, 1, 2), trains=True)
    found = verdict(monkeypatch, static, text)
    small, again = reduced(judged, found)
    assert (again.kind, again.why) == (found.kind, found.why)
    assert len(small.text.removeprefix(AROUND).splitlines()) == 2
    assert len(small.calls) == 1
