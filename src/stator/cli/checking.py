"""check: what of a file would be converted, and what refused, by line, without running it."""

from __future__ import annotations

import ast
import copy
import difflib
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from stator.cli.failures import FOUND, OK, CommandFailure
from stator.cli.python_files import python_files
from stator.cli.screen import CommandOutcome, columns, show_plain, show_table, working
from stator.english import counted
from stator.errors import UnsupportedSyntax
from stator.location import Location
from stator.rewrite.convert import rewrite
from stator.source.fence import FENCE, refusals
from stator.source.files import File, FoundFunction, own_parts, read_file
from stator.source.private import mangle
from stator.source.text import Source

# what is worth a line of the report, of all that the rewrite touches
CONSTRUCTS = {
    "If": "a branch", "IfExp": "a branch", "While": "a loop", "For": "a loop",
    "Match": "branches", "Break": "a jump", "Continue": "a jump", "Try": "a try",
    "Assert": "an assertion", "Raise": "a raise", "With": "a context",
    "ListComp": "a loop", "SetComp": "a loop", "DictComp": "a loop", "GeneratorExp": "a loop",
    "Yield": "a generator's step", "YieldFrom": "a generator's steps",
}  # fmt: skip
STATIC, LEFT_ALONE = "to_static", "not_to_static"
NAMED = "named"  # why a function is read: the command names it


@dataclass(frozen=True)
class CheckedLine:
    """A construct of a function that is converted."""

    line: int
    column: int
    kind: str
    source: str


@dataclass(frozen=True)
class FunctionCheck:
    """One function: why it is looked at, what of it is converted, what is refused."""

    file: str
    name: str
    line: int
    why: str
    lines: tuple[CheckedLine, ...]
    refused: tuple[UnsupportedSyntax, ...]


@dataclass(frozen=True)
class Unreadable:
    """A file that is no Python."""

    file: str
    line: int
    column: int
    problem: str
    source: str


def check(targets: Sequence[str], everything: bool, exclude: Sequence[str]) -> CommandOutcome:
    """Every function of the targets that would be converted."""
    files = [pair for target in targets for pair in _files(target, exclude)]
    checked: list[FunctionCheck] = []
    unreadable: list[Unreadable] = []
    with working("checking", len(files)) as step:
        for file, name in files:
            try:
                checked += _check_file(file, name, everything)
            except SyntaxError as error:
                unreadable.append(_unreadable(file, error))
            except RecursionError:
                unreadable.append(Unreadable(file, 1, 0, "it is nested too deeply", ""))
            step()
    wrong = any(one.refused for one in checked) or bool(unreadable)
    return CommandOutcome(
        _data(checked, unreadable),
        lambda screen: _show(screen, checked, unreadable, len(files)),
        FOUND if wrong else OK,
    )


def _files(target: str, exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The files of a target, each with the name of the function in it, if there is one."""
    path, _, name = target.partition(":") if not Path(target).exists() else (target, "", "")
    if Path(path).is_dir():
        yield from ((str(file), "") for file in python_files(Path(path), exclude))
    elif Path(path).is_file():
        yield path, name
    else:
        near = difflib.get_close_matches(Path(path).name, _neighbours(Path(path)), 1)
        raise CommandFailure(f"there is no file {path}",
                      fix=f"did you mean {Path(path).parent / near[0]}?" if near
                      else "check the path; a function in it is named FILE:NAME")  # fmt: skip


def _neighbours(path: Path) -> list[str]:
    return [file.name for file in path.parent.glob("*.py")] if path.parent.is_dir() else []


def _check_file(file: str, name: str, everything: bool) -> list[FunctionCheck]:
    try:
        with tokenize.open(file) as stream:
            text = stream.read()
    except UnicodeDecodeError as error:
        raise SyntaxError(f"it is not text: {error}") from error
    compile(text, file, "exec", dont_inherit=True)  # what parses may still be no Python
    chosen = _chosen(read_file(file, text), file, name, everything)
    lines = text.split("\n")  # as Python counts them: a form feed ends none
    return list(_deduplicated(_checked(found, why, lines) for found, why in chosen))


def _deduplicated(checked: Iterable[FunctionCheck]) -> Iterator[FunctionCheck]:
    """Drop repeated refusals (of a nested `async def`) and lambdas without findings."""
    reported: set[tuple[str, Location | None]] = set()
    for one in checked:
        new = [error for error in one.refused if (error.problem, _spot(error)) not in reported]
        reported.update((error.problem, _spot(error)) for error in new)
        plain = one.name.endswith("<lambda>") and not one.lines
        if new or not (one.refused or plain):
            yield replace(one, refused=tuple(new))


def _spot(error: UnsupportedSyntax) -> Location | None:
    return replace(error.at, function="") if error.at is not None else None


def _unreadable(file: str, error: SyntaxError) -> Unreadable:
    column = max((error.offset or 1) - 1, 0)
    return Unreadable(file, error.lineno or 1, column, error.msg, (error.text or "").rstrip("\n"))


def _chosen(
    read: File, file: str, name: str, everything: bool
) -> Iterator[tuple[FoundFunction, str]]:
    """The functions to look at, each with the reason."""
    reasons: dict[str, str] = {}
    if name:
        reasons = {one.name: NAMED for one in read.functions if _is_meant(one.name, name)}
        if not reasons:
            raise _no_such_function(read, file, name)
    elif not everything:
        reasons = {one.name: why for one in read.functions if (why := _why_static(one, read))}
    if not reasons:
        reasons = {one.name: "all functions" for one in read.functions}
    else:
        reasons = _with_called(read.functions, reasons)
    for one in read.functions:
        if one.name in reasons and not _is_left_alone(one):
            yield one, reasons[one.name]


def _is_meant(name: str, wanted: str) -> bool:
    """`Model.forward`, or `Model` for all its methods."""
    return name == wanted or name.startswith(f"{wanted}.")


def _no_such_function(read: File, file: str, name: str) -> CommandFailure:
    known = [one.name for one in read.functions if "<lambda>" not in one.name]
    near = difflib.get_close_matches(name, known, 3)
    shown = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known[:12])}"
    return CommandFailure(f"{file} has no function `{name}`", fix=shown)


def _why_static(found: FoundFunction, read: File) -> str:
    if any(one.rpartition(".")[2] == STATIC for one in found.decorators):
        return "decorated with to_static"
    owner, _, last = found.name.rpartition(".")
    if found.name in read.made_static or (last == "forward" and owner in read.made_static):
        return "passed to to_static"
    return ""


def _is_left_alone(found: FoundFunction) -> bool:
    return any(one.rpartition(".")[2] == LEFT_ALONE for one in found.decorators)


def _with_called(functions: tuple[FoundFunction, ...], reasons: dict[str, str]) -> dict[str, str]:
    """With the functions of the same file that those call, or that are inside them."""
    by_name = {one.name: one for one in functions}
    pending = list(reasons)
    while pending:
        caller = pending.pop(0)
        inside = [name for name in by_name if name.startswith(f"{caller}.")]
        called = [name for name in _called_by(by_name[caller]) if name in by_name]
        for name in (*inside, *called):
            if name not in reasons and not _is_left_alone(by_name[name]):
                reasons[name] = f"in {caller}" if name in inside else f"called by {caller}"
                pending.append(name)
    return reasons


def _called_by(found: FoundFunction) -> Iterator[str]:
    """The names of functions that it seems to call: `helper`, and `Model.step` of `self.step`."""
    owner = found.name.rpartition(".")[0]
    arguments = found.node.args.args
    own = arguments[0].arg if owner and arguments else ""
    for node in own_parts(found.node):
        function = node.func if isinstance(node, ast.Call) else None
        if isinstance(function, ast.Name):
            yield function.id
            yield f"{function.id}.forward"
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            yield f"{owner if function.value.id == own else function.value.id}.{function.attr}"


def _checked(found: FoundFunction, why: str, lines: Sequence[str]) -> FunctionCheck:
    refused = tuple(_refused(found))
    constructs = sorted(_constructs(found, lines), key=lambda one: (one.line, one.column))
    return FunctionCheck(
        found.source.file, found.name, found.node.lineno, why, tuple(constructs), refused
    )


def _constructs(found: FoundFunction, lines: Sequence[str]) -> Iterator[CheckedLine]:
    for node in own_parts(found.node):
        kind = CONSTRUCTS.get(type(node).__name__)
        if kind is not None and FENCE[type(node).__name__].verdict != "refused":
            at: Any = node
            yield CheckedLine(at.lineno, at.col_offset, kind, lines[at.lineno - 1].strip())


def _refused(found: FoundFunction) -> list[UnsupportedSyntax]:
    """Every refusal, from top to bottom: what is refused is cut out, and the rest tried again."""
    refused = list(refusals(found.source))
    source: Source | None = _without(found.source, refused)
    while source is not None:
        error = _refusal_of_passes(source, found.is_generator)
        if error is None:
            break
        refused.append(error)
        source = _without(source, [error])
    return sorted(refused, key=lambda one: (one.at.line, one.at.column) if one.at else (0, 0))


def _refusal_of_passes(source: Source, is_generator: bool) -> UnsupportedSyntax | None:
    own = replace(source, tree=copy.deepcopy(source.tree))
    mangle(own.tree, own.class_name)
    try:
        rewrite(own, is_generator=is_generator)
    except UnsupportedSyntax as error:
        return error
    return None


def _without(source: Source, refused: Iterable[UnsupportedSyntax]) -> Source | None:
    """`source` with `pass` for each statement that is refused; None if it is refused whole."""
    tree = copy.deepcopy(source.tree)
    for error in refused:
        if error.at is None or not _cut(tree, (error.at.line, error.at.column)):
            return None
    return replace(source, tree=tree)


def _cut(tree: ast.AST, place: tuple[int, int]) -> bool:
    """Put `pass` for the innermost statement of `tree` that holds `place`."""
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            statements: Any = getattr(node, block, None)
            for index, statement in enumerate(statements if isinstance(statements, list) else ()):
                if isinstance(statement, ast.stmt) and _holds(statement, place):
                    if not _cut(statement, place):
                        statements[index] = ast.copy_location(ast.Pass(), statement)
                    return True
    return False


def _holds(node: ast.stmt, place: tuple[int, int]) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return start <= place < end


# ---- the report


def _data(checked: Sequence[FunctionCheck], unreadable: Sequence[Unreadable]) -> dict[str, Any]:
    functions = [
        {
            "file": one.file,
            "function": one.name,
            "line": one.line,
            "why": one.why,
            "converted": [vars(line) for line in one.lines],
            "refused": [_refusal_data(error) for error in one.refused],
        }
        for one in checked
    ]
    return {
        "ok": not unreadable and not any(one.refused for one in checked),
        "functions": functions,
        "unreadable": [vars(one) for one in unreadable],
    }


def _refusal_data(error: UnsupportedSyntax) -> dict[str, Any]:
    return {
        "code": error.code, "problem": error.problem, "fix": error.fix,
        "line": error.at.line if error.at else None,
        "column": error.at.column if error.at else None,
    }  # fmt: skip


def _show(
    screen: Console, checked: Sequence[FunctionCheck], unreadable: Sequence[Unreadable], files: int
) -> None:
    for broken in unreadable:
        _show_unreadable(screen, broken)
    for one in checked:
        _show_function(screen, one)
    refused = sum(len(one.refused) for one in checked)
    said = f"{counted(len(checked), 'function')} in {counted(files, 'file')}: "
    said += f"{refused} refused" if refused else "nothing refused"
    if unreadable:
        said += f", {counted(len(unreadable), 'file')} not readable"
    screen.print(Text(said, style="bold red" if refused or unreadable else "bold green"))


def _show_unreadable(screen: Console, broken: Unreadable) -> None:
    screen.print(Text(f"{broken.file}:{broken.line}: {broken.problem}", style="red"))
    if broken.source:
        show_plain(screen, f"    {broken.source}\n    {' ' * broken.column}^")
    screen.print()


def _show_function(screen: Console, one: FunctionCheck) -> None:
    heading = Text(f"{one.file}:{one.line}  ")
    heading.append(one.name, style="bold")
    if one.why != NAMED:
        heading.append(f"  ({one.why})", style="dim")
    screen.print(heading)
    table = columns("line", "source", "becomes", right=("line",))
    table.show_header = False
    for line in _merged(one.lines):
        table.add_row(str(line.line), Text(line.source), Text(line.kind, style="cyan"))
    if one.lines:
        show_table(screen, table)
    for error in one.refused:
        show_plain(screen, "\n".join(f"  {text}" for text in str(error).splitlines()))
    screen.print()


def _merged(lines: Iterable[CheckedLine]) -> Iterator[CheckedLine]:
    """The constructs of one source line, as one."""
    by_line: dict[int, list[CheckedLine]] = {}
    for line in lines:
        by_line.setdefault(line.line, []).append(line)
    for several in by_line.values():
        kinds = dict.fromkeys(line.kind for line in several)
        yield replace(several[0], kind=", ".join(kinds))
