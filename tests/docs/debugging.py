"""The made parts of docs/debugging.md: real code, real messages, real reports."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

import stator
from docs.examples import looking
from stator import InputSpec
from tests.docs import stepping
from tests.docs.documents import ROOT, RUNS_IN
from tests.docs.error_pages import example_file
from tests.docs.mistakes import HEAD, MISTAKES, Mistake

FILE = "model.py"


# ---- the twelve mistakes


def message_of(code: str) -> str:
    """What `code` ends with, as it is shown under the traceback; nothing if it runs to its end."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with example_file(HEAD + code.strip(), FILE) as compiled:
            try:
                exec(compiled, {"__name__": "model"})
            except Exception as error:  # noqa: BLE001  # whatever a user would see
                return "\n".join([_head(error), *getattr(error, "__notes__", ())])
    return ""


def _head(error: Exception) -> str:
    return str(error) if isinstance(error, stator.StatorError) else f"{_name(error)}: {error}"


def _name(error: Exception) -> str:
    return type(error).__name__


def mistakes() -> str:
    """Each mistake: the code, what it says, and the code that the message leads to."""
    return "\n".join(_section(number, one) for number, one in enumerate(MISTAKES, 1))


def _section(number: int, one: Mistake) -> str:
    return (
        f"### {number}. {one.title}\n\n```python\n{HEAD}{one.wrong.strip()}\n```\n\n"
        f"```text\n{message_of(one.wrong)}\n```\n\n"
        f"```python\n{HEAD}{one.right.strip()}\n```\n"
    )


# ---- looking inside


def source() -> str:
    """The example, without its docstring."""
    text = (ROOT / "docs" / "examples" / "looking.py").read_text()
    return text.partition('"""\n\n')[2].rstrip()


def report() -> str:
    """The report on the example, for two sizes."""
    model = looking.Halving()
    static = stator.to_static(model.forward)
    looking.call_twice(static, torch.ones(3, 3))
    text = str(static.explain()).replace(looking.__file__, "looking.py")
    return re.sub(r"runs in: .*", RUNS_IN, text)


def code_after_calls() -> str:
    """What `set_code_level("calls")` shows."""
    with _told() as told:
        stator.set_code_level("calls")
        try:
            stator.to_static(looking.clipped)(torch.ones(2))
        finally:
            stator.set_code_level(None)
    return "\n".join(told)


def verbosity() -> str:
    """What `set_verbosity(2)` tells."""
    with _told() as told:
        stator.set_verbosity(2)
        try:
            looking.call_twice(stator.to_static(looking.clipped), torch.ones(3))
        finally:
            stator.set_verbosity(0)
    return "\n".join(told)


@contextlib.contextmanager
def _told() -> Iterator[list[str]]:
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("stator")
    logger.addHandler(handler)
    try:
        yield told
    finally:
        logger.removeHandler(handler)


def printed_tensor() -> str:
    """How a captured tensor is shown while the program is made."""
    seen: list[str] = []
    look = stator.not_to_static(lambda value: seen.append(repr(value)))
    looking.look = look
    try:
        stator.to_static(looking.watched, [InputSpec([None, 3])])(torch.ones(2, 3))
    finally:
        looking.look = print
    return re.sub(r"\bu\d+\b", "u0", seen[0])


def explained_error() -> str:
    """What `errors.explain` prints."""
    return stator.errors.page("ST302")


MAKERS: Mapping[str, Callable[[], str]] = {
    "source": source,
    "report": report,
    "code": code_after_calls,
    "verbosity": verbosity,
    "tensor": printed_tensor,
    "page": explained_error,
    **stepping.MAKERS,
}
TABLES: Mapping[str, Callable[[], Any]] = {"mistakes": mistakes}
