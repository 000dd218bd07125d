"""convert(): a function -> the function that replaces it, all its work staged.

The passes run in the order of `PASSES`. Jumps come first, because what is live where can only
be said of code that runs from top to bottom; control flow comes last, because it moves code
into functions of their own.
"""

from __future__ import annotations

import ast
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import CO_GENERATOR

from stator.locks import ForkSafeLock
from stator.logs import CODE_LOGGER, Settings
from stator.rewrite.access import freeze_iterated_sets, rewrite_access, rewrite_displays
from stator.rewrite.assignments import rewrite_assignments
from stator.rewrite.calls import rewrite_calls
from stator.rewrite.comprehensions import rewrite_comprehensions, rewrite_generators
from stator.rewrite.contexts import split_contexts
from stator.rewrite.control import rewrite_control
from stator.rewrite.exceptions import rewrite_exceptions
from stator.rewrite.job import Job
from stator.rewrite.jumps import lower_jumps
from stator.rewrite.loader import compile_tree, load
from stator.rewrite.logic import rewrite_logic
from stator.rewrite.machines import acts_when_closed, needs_machine, rewrite_machine
from stator.rewrite.matching import rewrite_matches
from stator.rewrite.names import rewrite_names
from stator.rewrite.prepare import as_function
from stator.rewrite.template import preamble, quote
from stator.rewrite.text import rewrite_text
from stator.rewrite.yields import rewrite_yields
from stator.source.facts import Facts, is_straight, straight_facts, study, unsure_names
from stator.source.fence import check
from stator.source.nodes import COMPREHENSIONS, Search, nodes_in
from stator.source.private import mangle
from stator.source.scopes import Outside, Survey, outside_of, scope_of, survey
from stator.source.text import Source, read_source

PassListener = Callable[[str, ast.FunctionDef], None]


@dataclass(frozen=True)
class ConvertedFunction:
    """A function that replaces another, and what that other one does to its surroundings."""

    function: types.FunctionType
    tree: ast.FunctionDef  # the rewritten function
    nonlocals: tuple[str, ...]  # cells that it, or functions nested in it, assign
    globals_written: tuple[str, ...]
    free_reads: tuple[str, ...]
    global_reads: tuple[str, ...]
    is_generator: bool  # then `function` takes its consumer first: see `yields`

    @property
    def code(self) -> str:
        """The rewritten function, for people."""
        return ast.unparse(self.tree)


@dataclass(frozen=True)
class Pass:
    """One step of the rewrite, by name."""

    name: str
    run: Callable[[ast.FunctionDef, Job], ast.FunctionDef]
    needs: tuple[type[ast.AST], ...] = ()  # without any of these there is nothing to rewrite
    then_study: bool = False  # the facts of the tree are taken after this pass
    is_about_order: bool = False  # in a function that runs straight there is nothing to rewrite


def convert(
    function: types.FunctionType, staging: object, *, is_machine: bool = False
) -> ConvertedFunction:
    """The converted form of `function`, whose work goes through `staging`.

    `is_machine`: a generator function, as a function that goes on to the next `yield`.
    """
    work = _CACHE.work_for(function, is_machine=is_machine)
    if Settings.code and _CACHE.is_to_be_shown(function.__code__):
        _show_passes(function)
    new = load(work.code, function, staging)
    if is_machine:
        new.__defaults__ = new.__kwdefaults__ = None
    return ConvertedFunction(
        new, work.tree, work.outside.nonlocals_written, work.outside.globals_written,
        work.free_reads, work.global_reads, work.is_generator,
    )  # fmt: skip


@dataclass(frozen=True)
class Work:
    """What one code object becomes; every function made of it shares this."""

    code: types.CodeType
    tree: ast.FunctionDef
    outside: Outside
    free_reads: tuple[str, ...]
    global_reads: tuple[str, ...]
    is_generator: bool


@dataclass(frozen=True)
class GeneratorFacts:
    """What decides how a generator function can be converted."""

    uses_yields: bool  # does it use what a `yield` gives? Then only a machine can be it
    acts_when_closed: bool  # has it a `finally` or a `with` around a `yield`?


def generator_facts(function: types.FunctionType) -> GeneratorFacts:
    """The facts of a generator function."""
    return _CACHE.generator_facts(function)


Key = tuple[int, bool]  # the id of a code object, and whether it becomes a machine


class _Cache:
    """The work done for each code object, for as long as that lives."""

    def __init__(self) -> None:
        self._lock = ForkSafeLock()
        self._done: dict[Key, tuple[weakref.ref[types.CodeType], Work]] = {}
        self._generators: dict[int, tuple[weakref.ref[types.CodeType], GeneratorFacts]] = {}
        self._shown: dict[int, int] = {}  # by code object: for which request it was shown

    def work_for(self, function: types.FunctionType, *, is_machine: bool) -> Work:
        """By identity: equal code objects may come from different files."""
        code, key = function.__code__, (id(function.__code__), is_machine)
        with self._lock:
            found = self._done.get(key)
            if found is None or found[0]() is not code:
                gone = weakref.ref(code, lambda _: self._forget(key))
                found = self._done[key] = (gone, _work(function, is_machine))
            return found[1]

    def generator_facts(self, function: types.FunctionType) -> GeneratorFacts:
        """Looked up once for each code object."""
        code, key = function.__code__, id(function.__code__)
        with self._lock:
            found = self._generators.get(key)
            if found is None or found[0]() is not code:
                gone = weakref.ref(code, lambda _: self._generators.pop(key, None))
                tree = as_function(_source(function).tree)
                facts = GeneratorFacts(needs_machine(tree), acts_when_closed(tree))
                found = self._generators[key] = (gone, facts)
            return found[1]

    def is_to_be_shown(self, code: types.CodeType) -> bool:
        """True once for each time that somebody asks to see code."""
        with self._lock:
            before = self._shown.get(id(code))
            self._shown[id(code)] = Settings.asked
            return before != Settings.asked

    def _forget(self, key: Key) -> None:
        self._done.pop(key, None)
        self._shown.pop(key[0], None)


_CACHE = _Cache()
NOTHING = Outside((), (), ())


def _work(function: types.FunctionType, is_machine: bool) -> Work:
    code, source = function.__code__, _source(function)
    declares = "global" in source.text or "nonlocal" in source.text
    outside = outside_of(source.tree) if declares else NOTHING
    free = {*code.co_freevars}
    found = survey(source.tree)
    names = {*found.free, *outside.globals_read}
    if outside.nonlocals_written:
        nonlocals = tuple(name for name in outside.nonlocals_written if name in free)
        outside = replace(outside, nonlocals_written=nonlocals)
    generator = bool(code.co_flags & CO_GENERATOR)
    tree = rewrite(source, found, is_generator=generator, is_machine=is_machine)
    return Work(
        compile_tree(tree, code), tree, outside,
        tuple(sorted(names & free)), tuple(sorted(names - free)), generator,
    )  # fmt: skip


def _source(function: types.FunctionType) -> Source:
    source = read_source(function)
    if "__" in source.text:
        mangle(source.tree, source.class_name)
    return source


def _show_passes(function: types.FunctionType) -> None:
    """Rewrite `function` once more, and log what each pass that is asked for leaves."""
    code, source = function.__code__, _source(function)
    where = source.location(source.tree).short
    before = ast.unparse(source.tree)

    def shown(name: str, tree: ast.FunctionDef) -> None:
        nonlocal before
        after = ast.unparse(ast.fix_missing_locations(tree))
        if name in Settings.code:
            said = "no change" if after == before else f"\n{after}"
            CODE_LOGGER.info("%s (%s) after %s: %s", function.__qualname__, where, name, said)
        before = after

    rewrite(source, is_generator=bool(code.co_flags & CO_GENERATOR), shown=shown)


def rewrite(
    source: Source,
    found: Survey | None = None,
    *,
    is_generator: bool = False,
    is_machine: bool = False,
    shown: PassListener | None = None,
) -> ast.FunctionDef:
    """The rewritten tree of `source`; raises UnsupportedSyntax for what has no staged form.

    `found` is the survey of its tree. `shown` is called after each pass, with its name and the
    tree.
    """
    found = found or survey(source.tree)
    check(source, found)
    tree = as_function(source.tree)
    if ast.Match in found.kinds:
        tree = rewrite_matches(tree, source)
        found = survey(tree)
    parameters = [*tree.args.posonlyargs, *tree.args.args]
    first = parameters[0].arg if parameters else None
    unsure = unsure_names(source.enclosing)
    job = Job(source, found.scope, first, unsure, known=_straight(tree, found))
    if is_generator:
        tree, job = _as_generator(tree, job, is_machine=is_machine)
        found = survey(tree)
    shared: list[str] = []
    if is_generator or "nonlocal" in source.text:
        shared = sorted(written_by_nested(tree) & {*job.original.locals})
    tree = _with_gathered(_run_passes(tree, job, found.kinds, shown))
    return _with_shared(tree, shared)


def _as_generator(
    tree: ast.FunctionDef, job: Job, *, is_machine: bool
) -> tuple[ast.FunctionDef, Job]:
    if is_machine or needs_machine(tree):
        tree = rewrite_machine(tree, job)
        return tree, replace(job, original=scope_of(tree), known=None)
    return rewrite_yields(tree, job), replace(job, known=None)


def _with_shared(tree: ast.FunctionDef, names: list[str]) -> ast.FunctionDef:
    """Tell staging of the variables that nested functions write: they are as new as this call."""
    if names:
        held = "stator__.shared(lambda: (" + ", ".join(names) + ",))"
        start = preamble(tree.body)
        tree.body[start:start] = quote(held, at=tree)
    return tree


def written_by_nested(tree: ast.FunctionDef) -> set[str]:
    """The names that functions inside of `tree` declare `nonlocal`."""
    inner = (node for node in nodes_in(tree) if isinstance(node, ast.Nonlocal))
    return {name for node in inner for name in node.names}


def _with_gathered(tree: ast.FunctionDef) -> ast.FunctionDef:
    """`*args` and `**kwargs` as staging knows them.

    A call may give `*args` a number of arguments that only a run knows. The dict of `**kwargs` is
    made by the call: staging must know that no one else holds it.
    """
    if tree.args.vararg is not None:
        name = tree.args.vararg.arg
        start = preamble(tree.body)
        tree.body[start:start] = quote("NAME = stator__.gathered(NAME)", at=tree, NAME=name)
    if tree.args.kwarg is not None:
        name = tree.args.kwarg.arg
        own = quote("NAME = stator__.new_dict((NAME,))", at=tree, NAME=name)
        start = preamble(tree.body)
        tree.body[start:start] = own
    return tree


def _run_passes(
    tree: ast.FunctionDef,
    job: Job,
    kinds: frozenset[type[ast.AST]],
    shown: PassListener | None = None,
) -> ast.FunctionDef:
    is_studied = job.known is not None
    for step in PASSES:
        if not (is_studied and step.is_about_order) and (
            not step.needs or not kinds.isdisjoint(step.needs)
        ):
            tree = step.run(tree, job)
        if shown is not None:
            shown(step.name, tree)
        if step.then_study and not is_studied:
            job = replace(job, known=study(tree, job.original))
    return tree


def _straight(tree: ast.FunctionDef, found: Survey) -> Facts | None:
    """The facts of a function that runs straight; None of another one, which is to be studied."""
    return straight_facts(found.scope) if is_straight(tree.body, found.kinds) else None


def _rewrite_inner(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    """A generated function goes through all passes, with the numbering of the one around it."""
    found = survey(tree)
    job = replace(job, original=found.scope, known=_straight(tree, found))
    return _run_passes(tree, job, found.kinds)


def _comprehensions(tree: ast.FunctionDef, job: Job) -> ast.FunctionDef:
    return rewrite_comprehensions(tree, job, _rewrite_inner)


# NOTE: what a pass `needs` is in the function as its author wrote it: `jumps` makes an `and` of a
# `while`'s test and a `raise` after a jump in `finally`, and no pass makes another kind of node
# that a later one rewrites.
PASSES = (
    Pass("sets", freeze_iterated_sets, (ast.Set,)),
    Pass("generators", rewrite_generators, (ast.GeneratorExp,)),
    Pass("jumps", lower_jumps, is_about_order=True),
    Pass("contexts", split_contexts, (ast.With, ast.Try), then_study=True),
    Pass("names", rewrite_names),
    Pass(
        "assignments", rewrite_assignments,
        (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.With, ast.Delete),
    ),
    Pass("comprehensions", _comprehensions, (*COMPREHENSIONS, Search)),
    Pass("text", rewrite_text, (ast.JoinedStr,)),
    Pass("access", rewrite_access, (ast.Attribute, ast.Subscript)),
    Pass("displays", rewrite_displays, (ast.List, ast.Dict, ast.Set, ast.Starred)),
    Pass("calls", rewrite_calls, (ast.Call, ast.ClassDef, ast.FunctionDef)),
    Pass(
        "logic", rewrite_logic,
        (ast.BinOp, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Assert, ast.While),
    ),
    Pass("exceptions", rewrite_exceptions, (ast.Raise, ast.Try,)),
    Pass("control", rewrite_control, (ast.If, ast.While, ast.For, ast.Try, ast.With)),
)  # fmt: skip
