"""What Stator says while it works: the logger `stator`, and how much of it is wanted.

    level 0   nothing
    level 1   each capture and why it was made, each call that falls back       (INFO)
    level 2   what became of each construct and callee                          (DEBUG)
    level 3   the same, and tracebacks show the frames of Stator and torch

The logger is an ordinary one: what an application sets up for it, or for the root, is used. Only
where there is no handler, and a level is set, the messages go to stderr.
"""

from __future__ import annotations

import logging
import sys

LOGGER = logging.getLogger("stator")
CODE_LOGGER = logging.getLogger("stator.code")
_LEVELS = (logging.NOTSET, logging.INFO, logging.DEBUG, logging.DEBUG)
HIGHEST = len(_LEVELS) - 1


class Output(logging.Handler):
    """Writes to stderr where no other handler is there, and to stdout where that is wanted too."""

    def __init__(self) -> None:
        super().__init__()
        self.also_to_stdout = False

    def emit(self, record: logging.LogRecord) -> None:
        """Write one message."""
        text = self.format(record) + "\n"
        others = [*LOGGER.handlers, *logging.getLogger().handlers]
        if all(handler is self for handler in others):
            sys.stderr.write(text)
        if self.also_to_stdout:
            sys.stdout.write(text)


class Settings:
    """What was asked for last; read wherever something may be said."""

    verbosity = 0
    code: frozenset[str] = frozenset()  # the passes whose result is shown
    asked = 0  # how often the code was asked for: a function is shown once for each time
    output = Output()


def set_level(verbosity: int) -> None:
    """Say what belongs to `verbosity`, and below."""
    Settings.verbosity = verbosity
    _listen()


def set_code(passes: frozenset[str]) -> None:
    """Show functions as these passes of the rewrite leave them."""
    Settings.code, Settings.asked = passes, Settings.asked + 1
    _listen()


def to_stdout(wanted: bool) -> None:
    """Whether messages go to stdout as well."""
    Settings.output.also_to_stdout = wanted


def _listen() -> None:
    LOGGER.setLevel(_LEVELS[Settings.verbosity])
    CODE_LOGGER.setLevel(logging.INFO if Settings.code else logging.NOTSET)
    if not (Settings.verbosity or Settings.code):
        LOGGER.removeHandler(Settings.output)
    elif Settings.output not in LOGGER.handlers:
        LOGGER.addHandler(Settings.output)


def frames_are_shown() -> bool:
    """Do tracebacks keep the frames of Stator and torch?"""
    return Settings.verbosity >= HIGHEST
