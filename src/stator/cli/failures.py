"""What ends a command early: the message, and the exit code that says whose fault it was.

0    it is as it should be
1    the command has found something: a refusal, a difference, something missing
2    it was called wrongly: an option, a name, a file, an input
3    Stator refuses, with a code (ST102 and so on)
4    the user's own code has raised an exception
5    a bug in Stator
130  interrupted
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import traceback
from collections.abc import Iterator
from typing import IO, Any

import click

from stator.errors import ProgramError, StatorError
from stator.frames import place_of
from stator.location import Location

OK, FOUND, WRONG_CALL, REFUSED, USER_CODE, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130
KINDS = {
    WRONG_CALL: "usage", REFUSED: "refused", USER_CODE: "user code", BUG: "bug",
    INTERRUPTED: "interrupted",
}  # fmt: skip
SCHEMA = 1  # of what `--json` prints; another number where a field changes its meaning


CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def spelled(text: str) -> str:
    r"""`text` with control characters spelled out: a name in a file must not steer a terminal.

    >>> print(spelled("a\x1b[31m"))
    a\x1b[31m
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class CommandFailure(click.ClickException):
    """The end of a command: `problem` in a line, where it is, what to do."""

    def __init__(
        self,
        problem: str,
        exit_code: int = WRONG_CALL,
        *,
        details: str = "",
        fix: str = "",
        code: str | None = None,
        at: Location | None = None,
        whole: str = "",
    ) -> None:
        super().__init__(problem)
        vars(self)["exit_code"] = exit_code  # click declares it for the whole class
        self.problem, self.details = problem, details
        self.fix, self.code, self.at, self.whole = fix, code, at, whole
        self.as_json_of: str | None = None  # the command, where it was asked for JSON

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it: for people to stderr; as JSON, where that was asked for, to stdout."""
        if self.as_json_of is not None:
            click.echo(json.dumps(self.to_dict(), indent=2))
        else:
            click.echo(spelled(self.text()), file=file or sys.stderr)

    def text(self) -> str:
        """The message: the problem, the details and the fix."""
        if self.whole:
            return self.whole
        lines = [f"Error: {self.problem}", *(f"  {line}" for line in self.details.splitlines())]
        return "\n".join([*lines, f"  fix: {self.fix}"] if self.fix else lines)

    def to_dict(self) -> dict[str, Any]:
        """What `--json` prints instead of a result."""
        place = None
        if self.at is not None:
            place = {"file": self.at.file, "line": self.at.line, "column": self.at.column}
        error = {
            "kind": KINDS[self.exit_code], "code": self.code, "problem": self.problem,
            "details": self.details, "at": place, "fix": self.fix,
        }  # fmt: skip
        return {"schema": SCHEMA, "command": self.as_json_of, "error": error}


def of_stator(error: StatorError) -> CommandFailure:
    """An error of Stator's tree, whose text is already made for users."""
    exit_code = BUG if isinstance(error, ProgramError) else REFUSED
    notes = tuple(getattr(error, "__notes__", ()))
    involved = [f"with {name}: {kind}" for name, kind in error.involved.items()]
    return CommandFailure(
        error.problem, exit_code, details="\n".join([*involved, *notes]), fix=error.fix,
        code=error.code, at=error.at, whole="\n".join([str(error), *notes]),
    )  # fmt: skip


def of_user_code(error: BaseException, doing: str) -> CommandFailure:
    """What the user's own code raised, with their line."""
    place = place_of(error)
    if isinstance(error, SyntaxError) and error.filename:
        column = max((error.offset or 1) - 1, 0)
        place = Location(error.filename, error.lineno or 1, column, "<module>")
    notes = getattr(error, "__notes__", ())
    head = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}"
    lines = [f"at {place}"] if place is not None and not notes else []
    return CommandFailure(doing, USER_CODE, details="\n".join([*lines, head, *notes]), at=place)


def of_files(error: OSError) -> CommandFailure:
    """A file that cannot be read or written."""
    name = f"{error.filename}: " if error.filename else ""
    return CommandFailure(
        f"{name}{error.strerror or error}", fix="check the path and its permissions"
    )


def of_bug(error: Exception) -> CommandFailure:
    """Anything else: only a bug of ours can have caused it."""
    lines = traceback.format_exception_only(error)
    return CommandFailure(
        "this should not have happened: a bug in Stator",
        BUG,
        details="".join(lines).rstrip(),
        fix="please report it, with what `--verbose` shows",
    )


@contextlib.contextmanager
def user_code(doing: str) -> Iterator[None]:
    """Inside, code of the user's runs: what it prints goes to stderr, what it raises is its own.

    `doing` says what could not be done if it raises. Stator's own errors pass through.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (StatorError, click.ClickException):
        raise
    except SystemExit as error:
        raise CommandFailure(
            doing, USER_CODE, details=f"it ended itself: exit({error.code})"
        ) from error
    except Exception as error:
        if isinstance(error, OSError) and place_of(error) is None:
            raise  # of a file that we write
        raise of_user_code(error, doing) from error
