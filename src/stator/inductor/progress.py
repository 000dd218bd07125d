"""progress(): a bar in a terminal while regions are compiled, if `rich` is there to draw it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on stderr while the block runs, if that is a terminal and there is something to do.

    The block is given a function to call with the number of steps that are done.
    """
    if not total or not sys.stderr.isatty() or importlib.util.find_spec("rich") is None:
        yield lambda _: None
        return
    rich: Any = importlib.import_module("rich.progress")
    console: Any = importlib.import_module("rich.console").Console(stderr=True)
    columns = (rich.TextColumn("{task.description}"), rich.BarColumn(), rich.MofNCompleteColumn(),
               rich.TimeElapsedColumn())  # fmt: skip
    with rich.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
