"""Methods of strings that only a run knows take what Python's do, and raise what they raise."""

from __future__ import annotations

import pytest
import torch

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
    error = refusal(UnsupportedCall, lambda n: str(int(n)).title(), torch.tensor(7))
    assert error.problem == "`str.title` of captured values is not supported"
    assert error.fix == "use an f-string, slices, or methods such as `find` and `split`"
