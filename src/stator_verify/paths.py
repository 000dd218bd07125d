"""first_parting(): the first branch or loop where a program leaves the path of eager code.

For programs that compute with Python numbers, which no dispatch mode sees: the lines that
eager code runs are counted, and compared with the iterations of loops and the sides of branches
that the program runs.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
import types
from collections import Counter
from collections.abc import Callable
from typing import Any

from stator.api.verification import FirstDifference
from stator.english import counted
from stator.frames import is_library_file
from stator.location import Location
from stator_verify.sites import LOOP, Site
from stator_verify.watching import PathWatch

Line = tuple[str, int]
COMPOUND = (ast.For, ast.While, ast.With, ast.Try, ast.Match, ast.FunctionDef, ast.ClassDef)


class LineCounts:
    """How often each line of user code was run."""

    def __init__(self) -> None:
        self.counts: Counter[Line] = Counter()

    def calling(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """`call`, whose lines are counted."""

        def called(*args: Any, **kwargs: Any) -> Any:
            before = sys.gettrace()
            sys.settrace(self._enter)
            try:
                return call(*args, **kwargs)
            finally:
                sys.settrace(before)

        return called

    def _enter(self, frame: types.FrameType, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        if code.co_name.startswith("<") or is_library_file(code.co_filename):
            return None  # a comprehension runs its line once for each item
        return self._line

    def _line(self, frame: types.FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            self.counts[frame.f_code.co_filename, frame.f_lineno] += 1
        return self._line


def first_parting(counts: Counter[Line], watch: PathWatch) -> FirstDifference | None:
    """The first site whose body the program runs more or less often than eager code."""
    runs: dict[Site, int] = {}
    for event in watch.events:
        runs[event.site] = runs.get(event.site, 0) + event.times
    for site, number in runs.items():
        body = _bodies(site.file).get((site.line, site.column))
        if body is None:
            continue
        wanted = counts[site.file, body]
        if wanted != number:
            place = Location(site.file, site.line, site.column, site.function)
            return _in_words(site, number, wanted, place)
    return None


def _in_words(site: Site, number: int, wanted: int, place: Location) -> FirstDifference:
    if site.paths is LOOP:
        text = f"the loop stator::while runs {counted(number, 'iteration')}, eager code {wanted}"
        return FirstDifference("stator::while", text, place)
    text = f"the branch stator::if is taken {counted(number, 'time')}, in eager code {wanted}"
    return FirstDifference("stator::if", text, place)


@functools.lru_cache(maxsize=64)
def _bodies(file: str) -> dict[tuple[int, int], int]:
    """For each `if` and loop, by line and column, a line that runs once whenever its body does."""
    found: dict[tuple[int, int], int] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.While | ast.For):
            first = node.body[0]
            is_one_line = first.lineno == first.end_lineno or isinstance(first, ast.If)
            if is_one_line and not isinstance(first, COMPOUND) and first.lineno > node.lineno:
                found[node.lineno, node.col_offset] = first.lineno
    return found
