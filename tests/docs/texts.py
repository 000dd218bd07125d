"""messages.txt, made: the whole text of the error that each refused example ends with.

And `has_test`: whether some test has a text word for word.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from stator import StatorError
from tests.docs.documents import ROOT
from tests.docs.refusals import HOLE, Example, Refusal, met_by, text_of, tried

MESSAGES = ROOT / "tests" / "docs" / "messages.txt"
TESTS = ROOT / "tests"
NOT_TESTS = {"refusals.py"}  # it lists texts that have none
PLACE = re.compile(r"\S*/(?P<file>[\w.]+):(?P<line>\d+)")


def messages() -> str:
    """What a user reads, example by example; lines count from the head of the example."""
    texts = (f"== {one.shown.__name__}\n{_message(one, error)}\n" for one, error in tried())
    return "\n".join(texts)


def _message(example: Example, error: StatorError) -> str:
    first = example.shown.__code__.co_firstlineno

    def relative(match: re.Match[str]) -> str:
        return f"{match['file']}:+{int(match['line']) - first}"

    return PLACE.sub(relative, str(error))


def has_test(refusal: Refusal) -> bool:
    """Whether an example, or a test, has this text word for word."""
    return refusal in _met() or any(map(_fitting(refusal).fullmatch, tested_texts()))


@functools.cache
def _met() -> frozenset[Refusal | None]:
    return frozenset(met_by(error) for _, error in tried())


def _fitting(refusal: Refusal) -> re.Pattern[str]:
    return re.compile(".+".join(map(re.escape, refusal.problem.split(HOLE))), re.DOTALL)


@functools.cache
def tested_texts() -> frozenset[str]:
    """The texts in tests, and the lines of those that have several."""
    return frozenset(
        re.sub(r"^\[ST\d+\] ", "", line)
        for file in TESTS.rglob("*.py")
        if file.name not in NOT_TESTS
        for text in _texts(file)
        for line in (text, *text.splitlines())
        if len(line) > len(HOLE) * 4
    )


def _texts(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp):
            text = text_of(node)
            if text:
                yield text
