"""Methods of strings that only a run knows take what Python's do, and raise what they raise."""

from __future__ import annotations

import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.capture.oracle import check, refusal

CALLS = ((torch.tensor(7),), (torch.tensor(-120),))


@pytest.mark.parametrize(
    "use",
    [
        lambda text: text.find(3), lambda text: text.zfill("a"), lambda text: text.rjust(),
        lambda text: text.replace("a"), lambda text: 3 in text, lambda text: text["a"],
        lambda text: text.split(3), lambda text: text.absent, lambda text: int(text, "a"),
        lambda text: text.value, lambda text: text.rjust(9, "ab"), lambda text: text.join(3),
        lambda text: text[1.5], lambda text: text.startswith(1), lambda text: text.upper(1),
    ],
)  # fmt: skip
def test_wrong_arguments_raise_as_python_does(use):
    check(lambda n: use(str(int(n))), *CALLS)


@pytest.mark.parametrize(
    "use",
    [
        lambda text: text.split(sep="2", maxsplit=1), lambda text: text.__doc__ == str.__doc__,
        lambda text: str.format("{}-{}", text, 1), lambda text: text.startswith("", 9),
        lambda text: [text.find(one) for one in ("1", "2", "")], lambda text: "0120".find(text),
    ],
)  # fmt: skip
def test_arguments_are_given_as_to_python(use):
    check(lambda n: use(str(int(n))), *CALLS)


def test_a_method_that_is_not_known_is_refused():
    error = refusal(UnsupportedCall, lambda n: str(int(n)).expandtabs(), torch.tensor(7))
    assert error.problem == "`str.expandtabs` of captured values is not supported"
    assert error.fix == "use an f-string, slices, or methods such as `find` and `split`"


def test_cases_and_lines_of_a_text_are_those_of_python():
    def f(n):
        text = f"it's {int(n)} o'Clock\r\nthen\x85 {int(n)}\n"
        ascii_text = text.replace("\x85", "A")
        cases = ascii_text.title(), ascii_text.capitalize(), ascii_text.swapcase()
        lines = text.splitlines(), text.splitlines(True), text.splitlines(keepends=True)
        words = text.rsplit(), text.rsplit(None, 1), text.rsplit(" ", 1), text.rsplit("o", -1)
        return cases, ascii_text.casefold(), lines, words

    static = stator.to_static(f)
    for n in (0, -12, 345):
        assert static(torch.tensor(n)) == f(torch.tensor(n))


def test_other_letters_than_those_of_ascii_are_refused_by_the_run():
    def f(n):
        return (f"{int(n)}" + ("ß" if n > 1 else "s")).capitalize()

    static = stator.to_static(f)
    assert static(torch.tensor(1)) == "1s"
    with pytest.raises(stator.StatorError, match="letters that are not ASCII"):
        static(torch.tensor(2))
