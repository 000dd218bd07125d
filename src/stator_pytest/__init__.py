"""The pytest plugin: calls of static functions in tests are verified against eager code.

    @pytest.mark.stator          this test's calls; takes the options of `stator.verify`
    pytest --stator-verify       those of all tests

NOTE: why this is a package of its own. pytest imports every plugin that is installed, also in
projects that never use this one; `stator.testing` imports torch. So nothing of Stator is imported
here until a test asks for it.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

PROPERTY = "stator"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--stator-verify`."""
    parser.getgroup("stator").addoption(
        "--stator-verify",
        action="store_true",
        help="verify every call of a static function against eager code",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "stator(**options): calls of static functions are verified against eager code; "
        "the options are those of `stator.verify`",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Verify what the test calls, and fail it if anything differs."""
    marker = item.get_closest_marker("stator")
    if marker is None and not item.config.getoption("--stator-verify"):
        return (yield)
    options = dict(marker.kwargs) if marker is not None else {}
    checks = importlib.import_module("stator_verify.calls").CallChecks(options)
    try:
        with checks.active():
            result = yield
    finally:
        item.user_properties.append((PROPERTY, checks.summary()))
    texts = [str(report) for report in checks.differing()]
    if texts:
        pytest.fail("\n\n".join(texts), pytrace=False)
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was verified, if anything was asked for."""
    total: Counter[str] = Counter()
    asked = False
    reports = [one for group in terminalreporter.stats.values() for one in group]
    for report in reports:
        if getattr(report, "when", None) == "call":
            for name, numbers in report.user_properties:
                if name == PROPERTY:
                    asked = True
                    total.update(numbers)
    if asked:
        terminalreporter.write_sep("=", "stator")
        terminalreporter.write_line(_in_words(total))


def _in_words(total: Counter[str]) -> str:
    text = f"{_counted(total['calls'], 'call')} verified with {_counted(total['runs'], 'input')}"
    if total["paths"]:
        text += f"; {total['covered']} of {total['paths']} paths of branches and loops covered"
    text += f"; {_counted(total['differences'], 'difference')}"
    if total["left_out"]:
        text += f"; {_counted(total['left_out'], 'call')} left out"
    return text


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
