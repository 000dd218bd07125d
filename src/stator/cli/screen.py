"""The terminal: colours where they are wanted, its width, and bars for work that takes long."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from stator.cli.failures import CONTROL, spelled

PATIENCE = 1.0  # seconds of work before a bar is shown
UNLIMITED = 100_000  # columns: lines of a pipe are never broken
PROGRAM_STYLES = (
    (r"%[\w.]+", "cyan"), (r"\b(aten|stator|prims)::[\w.]+", "bold"), (r"  # \S+$", "dim"),
    (r"^(program|function)|^ *(return|yield)\b", "magenta"),
)  # fmt: skip
SMALL = 1024  # below it, bytes are bytes


@dataclass(frozen=True)
class CommandOutcome:
    """What a command has to say: as data for `--json`, for people, and as an exit code."""

    data: dict[str, Any]
    show: Callable[[Console], None]
    exit_code: int = 0


class Screen(Console):
    """Where results go; names from a model cannot speak to the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does, with control characters made visible."""
        super().print(*map(visible, objects), **options)


class SafeTable(Table):
    """A table whose cells cannot speak to the terminal either."""

    def add_row(self, *cells: Any, **options: Any) -> None:
        """As rich does."""
        super().add_row(*map(visible, cells), **options)


def visible(shown: Any) -> Any:
    """`shown` with its control characters spelled out, if it is text; anything else as it is."""
    if isinstance(shown, str):
        return spelled(shown)
    if isinstance(shown, Text) and CONTROL.search(shown.plain):
        return Text(spelled(shown.plain))
    return shown


def console() -> Console:
    """Plain text without broken lines, unless it is a terminal."""
    terminal = sys.stdout.isatty()
    width = None if terminal or os.environ.get("COLUMNS") else UNLIMITED
    return Screen(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def show_code(screen: Console, text: str) -> None:
    """Python source, every line as it is."""
    if screen.is_terminal and not screen.no_color:
        shown = Syntax(text, "python", theme="ansi_dark").highlight(text)
        shown.rstrip()
        screen.print(shown, soft_wrap=True)
    else:
        show_plain(screen, text)


def show_plain(screen: Console, text: str) -> None:
    """Text as it is; the terminal itself may wrap it."""
    screen.print(Text(text), soft_wrap=True)


def show_program(screen: Console, text: str) -> None:
    """The text of a program."""
    shown = Text(text)
    for pattern, style in PROGRAM_STYLES:
        shown.highlight_regex(rf"(?m){pattern}", style)
    screen.print(shown, soft_wrap=True)


def columns(*headers: str, right: tuple[str, ...] = (), title: str = "") -> Table:
    """An empty table with these columns, without lines around it."""
    table = SafeTable(
        box=None, title=title or None, title_justify="left", title_style="bold", pad_edge=False,
        header_style="dim",
    )  # fmt: skip
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    return table


def show_table(screen: Console, table: Table, indent: int = 2) -> None:
    """A table, without the blanks that would fill its last column."""
    with screen.capture() as captured:
        screen.print(Padding(table, (0, 0, 0, indent), expand=False))
    for line in captured.get().splitlines():
        screen.file.write(line.rstrip() + "\n")


def size_text(count: int) -> str:
    """`1.5 MiB`."""
    if count < SMALL:
        return f"{count} bytes"
    size, unit = count / SMALL, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if size >= SMALL:
            size, unit = size / SMALL, larger
    return f"{size:.1f} {unit}"


def time_text(seconds: float) -> str:
    """`1.5 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.1f} µs"


@contextlib.contextmanager
def working(what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """A bar on stderr while the block runs, if that is a terminal and it takes over a second.

    The block is given a function to call after each of `total` steps.
    """
    if not sys.stderr.isatty():
        yield _nothing
        return
    bar = _Bar(what, total)
    try:
        yield bar.step
    finally:
        bar.end()


def _nothing() -> None:
    return None


class _Bar:
    def __init__(self, what: str, total: int | None) -> None:
        counts = () if total is None else (MofNCompleteColumn(),)
        self._progress = Progress(
            TextColumn("{task.description}"), BarColumn(), *counts, TimeElapsedColumn(),
            console=Console(stderr=True), transient=True, redirect_stdout=False,
            redirect_stderr=False,
        )  # fmt: skip
        self._task = self._progress.add_task(what, total=total)
        self._lock = threading.Lock()
        self._ended = self._started = False
        self._timer = threading.Timer(PATIENCE, self._start)
        self._timer.daemon = True
        self._timer.start()

    def step(self) -> None:
        self._progress.advance(self._task)

    def end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._ended = True
            if self._started:
                self._progress.stop()

    def _start(self) -> None:
        with self._lock:
            if not self._ended:
                self._started = True
                self._progress.start()
