"""docs/errors/, made: a page for each code, from the text of its class and a run of its example."""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import re
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass

from stator import StatorError, errors
from tests.docs.documents import ROOT

FOLDER = ROOT / "docs" / "errors"
PART = re.compile(
    r"^(?P<title>Fails|Instead)::\n\n(?P<code>.*?)(?=^\S|\Z)", re.DOTALL | re.MULTILINE
)
FILE = "example.py"


@dataclass(frozen=True)
class Explanation:
    """The parts of a class's docstring."""

    cls: type[StatorError]
    first: str
    why: str
    fails: str
    instead: str


def explanation(cls: type[StatorError]) -> Explanation:
    """What the docstring of `cls` says, part by part."""
    text = inspect.getdoc(cls) or ""
    codes = {
        match["title"]: textwrap.dedent(match["code"]).strip() for match in PART.finditer(text)
    }
    first, _, why = PART.sub("", text).partition("\n")
    return Explanation(cls, first, why.strip(), codes["Fails"], codes["Instead"])


@contextlib.contextmanager
def example_file(code: str, file: str = FILE) -> Iterator[types.CodeType]:
    """`code`, compiled as a file of its own, whose lines errors can show."""
    text = code + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield compile(text, file, "exec")
    finally:
        linecache.cache.pop(file)


def run_example(code: str) -> None:
    """Run `code` as a module."""
    with example_file(code) as compiled:
        exec(compiled, {"__name__": "example"})


def text_of_failure(one: Explanation) -> str:
    """What the failing example ends with, as Python shows it without the traceback."""
    with example_file(one.fails) as compiled:
        try:
            exec(compiled, {"__name__": "example"})
        except one.cls as error:
            return str(error)
    raise AssertionError(f"the example of {one.cls.__name__} does not fail")


def page(cls: type[StatorError]) -> str:
    """The page of one error."""
    one = explanation(cls)
    builtin = [base.__name__ for base in cls.__mro__ if base.__module__ == "builtins"][0]
    article = "an" if builtin[0] in "AEIO" else "a"
    also = "" if builtin == "Exception" else f"It is also {article} `{builtin}`. "
    link = f"../refusals.md#{cls.code.lower()}-{cls.__name__.lower()}"
    return "\n\n".join([
        f"# {cls.code} {cls.__name__}",
        "<!-- fmt: off -->",
        one.first,
        one.why,
        also + f"`stator.errors.explain(\"{cls.code}\")` prints this page.",
        "## An example that fails",
        f"```python\n{one.fails}\n```",
        f"```text\n{text_of_failure(one)}\n```",
        "## Instead",
        f"```python\n{one.instead}\n```",
        f"[Every message with this code]({link})" if cls is not StatorError else "",
    ]).rstrip() + "\n"  # fmt: skip


def pages() -> dict[str, str]:
    """Every page, by the name of its file."""
    return {f"{code}.md": page(cls) for code, cls in errors.all_errors().items()}
