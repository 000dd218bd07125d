"""Sites: the branches and loops of programs, by source line, and what was seen of each."""

from __future__ import annotations

import ast
import functools
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from stator.frames import is_library_file
from stator.location import Location
from stator.program.ir import Op
from stator.program.program import Program

BRANCH = ("taken", "not taken")
LOOP = ("no iteration", "one iteration", "many iterations")
ASSERTED = ("holds", "fails")
PATHS = {
    "if": BRANCH, "case": BRANCH, "and/or": BRANCH, "except": BRANCH,
    "assert": ASSERTED, "while": LOOP, "for": LOOP,
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """A place where a program chooses: `kind` is the word that is there."""

    file: str
    line: int
    column: int
    kind: str
    function: str

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths that a run can take here."""
        return PATHS[self.kind]

    @property
    def source(self) -> str:
        """The line's text."""
        return linecache.getline(self.file, self.line).rstrip()


@dataclass(frozen=True)
class Goal:
    """A path at a site."""

    site: Site
    path: str


@dataclass
class Coverage:
    """All sites, how often each path was taken, and what was tried for the missing ones.

    A site in a program of the examples is covered only by runs of such a program: another one,
    made for other sizes, may be right where this one is wrong.
    """

    sites: dict[Site, None] = field(default_factory=dict)  # in the order they were found
    main: set[Program] = field(default_factory=set)  # the programs of the examples
    _main_sites: set[Site] = field(default_factory=set)
    seen: Counter[Goal] = field(default_factory=Counter)
    barely: Counter[Goal] = field(default_factory=Counter)  # by inputs that say little of it
    tried: Counter[Goal] = field(default_factory=Counter)

    def add(self, program: Program, *, is_main: bool) -> None:
        """Learn the sites of `program`."""
        found = [site for op in program.ops() if (site := site_of(op)) is not None]
        self.sites.update(dict.fromkeys(found))
        if is_main:
            self.main.add(program)
            self._main_sites.update(found)

    def goals(self) -> tuple[Goal, ...]:
        """All paths of all sites."""
        return tuple(Goal(site, path) for site in self.sites for path in site.paths)

    def missing(self) -> tuple[Goal, ...]:
        """The paths that no run took."""
        return tuple(goal for goal in self.goals() if not self.seen[goal])

    def is_told_by(self, goal: Goal, program: Program | None) -> bool:
        """Does a run of `program` say anything about `goal`?"""
        return program in self.main or goal.site not in self._main_sites

    def note(self, taken: Iterable[Goal], program: Program | None, *, counts: bool) -> bool:
        """Count the paths that a run of `program` took; was any of them new?

        A path that does not count is still searched for.
        """
        listed = [goal for goal in taken if self.is_told_by(goal, program)]
        if not counts:
            self.barely.update(listed)
            return False
        new = any(not self.seen[goal] for goal in listed)
        self.seen.update(listed)
        return new


def loop_path(iterations: int) -> str:
    """The path of a loop that ran so many iterations."""
    return LOOP[min(iterations, 2)]


# ---- which ops are sites


def site_of(op: Op) -> Site | None:
    """The site that `op` is; None for ops that choose nothing, or nothing that a user wrote."""
    if op.name not in ("stator::if", "stator::while", "stator::assert") or op.place is None:
        return None
    return _site(op.name, op.place)


@functools.cache
def _site(name: str, place: Location) -> Site | None:
    if is_library_file(place.file):
        return None
    words = _words(place.file, len(linecache.getlines(place.file))).get((place.line, place.column))
    is_loop = name == "stator::while"
    fitting = [word for word in words or () if (PATHS[word] is LOOP) == is_loop]
    if not fitting:
        return None  # not the user's: the search of a list; does a loop go on after a `break`?
    return Site(place.file, place.line, place.column, fitting[-1], place.function)


@functools.lru_cache(maxsize=64)
def _words(file: str, _lines: int) -> dict[tuple[int, int], list[str]]:
    """What a user can choose at, by line and column; inner nodes come after outer ones."""
    found: dict[tuple[int, int], list[str]] = {}
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return found
    for node in ast.walk(tree):
        for place, word in _choices(node):
            found.setdefault((place.lineno, place.col_offset), []).append(word)
    return found


def _choices(node: ast.AST) -> Iterator[tuple[Any, str]]:
    if isinstance(node, ast.If | ast.IfExp):
        yield node, "if"
    elif isinstance(node, ast.While):
        yield node, "while"
    elif isinstance(node, ast.For):
        yield node, "for"
    elif isinstance(node, ast.Assert):
        yield node, "assert"
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
        yield node, "and/or"
    elif isinstance(node, ast.match_case):
        yield node.pattern, "case"
    elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        for generator in node.generators:
            yield generator.target, "for"
            for test in generator.ifs:
                yield test, "if"
