"""docs/refusals.md, made: every error text of the source, by code, with examples that are tried.

The texts are read from the source, so none can be left out; holes in them are shown as `…`. The
examples are run, and each is shown with the text whose words it meets.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import re
import textwrap
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

import stator
from stator import StatorError, errors
from stator.capture.torch_ops import REFUSED_OPS
from stator.library.tensor_calls import REFUSED_CALLS
from stator.source import fence
from tests.docs import limits, refused
from tests.docs.documents import ROOT

SOURCE = ROOT / "src" / "stator"
VERIFY = ROOT / "src" / "stator_verify"
HOLE = "…"
CLASSES = {
    name: one
    for name, one in vars(errors).items()
    if isinstance(one, type) and issubclass(one, StatorError)
}
# the texts of these are not at the place that raises: `table_refusals` has them
TABLES = {
    ("capture/torch_ops.py", "problem"),
    ("source/fence.py", "problem"),
    ("library/refused_calls.py", "found[0]"),
}
# what a call or a file is told: their texts are made from what is at hand
MADE_AT_RUN_TIME = {
    ("api/onnx_layer.py", "failure.text"),
    ("export/fx/graph.py", "problem"),
    ("export/onnx/lowering.py", "problem"),
    ("execute/backend.py", "problem"),
    ("execute/interpreter.py", "text"),
    ("execute/interpreter.py", "str(error)"),
    ("export/contents.py", "problem"),
    ("native/backend.py", "error['message']"),
    ("native/backend.py", "str(error).partition('] ')[2] or str(error)"),
    ("program/boundary.py", "rule"),
}

# texts of a refused program that no example meets yet: take one off when you write its example
WITHOUT_EXAMPLE = frozenset({
    "a function calls itself more often than Python's limit allows, and what it does before the "
    "RecursionError depends on how many frames there were before it",  # takes long
    "…, and what it has done by then depends on the frames before it",
    "`.…` is read, which the caller has set on a tensor that is an argument",
    "the random state of a CUDA device is read or set inside a program",  # needs a GPU
    "the … whose method this is does not exist any more",
    "`…` is replaced by another container, and other modules have the old one",
    "`…` shares memory with `…`, and one of them is changed in place: a saved model cannot keep "
    "that",
    "a call changes `…`, and keeps … there, which a saved model cannot keep",
    "`…`, which a call changes, is also reached by another name",
    "`…` is …, and has another type after every call",
    "a view of a dict with data-dependent keys is used as a set",
    "an argument is a list or a dict that the function also reaches by another name",
    "an iterator that may be endless is turned into a list",
    "items of … that may be from outside this branch or loop of the program are taken inside it",
    "library code is called while … profiles it, and may call user code unseen",
    "torch compiles a function inside a program",
    "items of … from outside are taken: only the capture would take them, not later calls",
    "a host call cannot return a …",
    "a list or a dict of constants is returned in two places: a loaded model would return two",
    "`…` receives a value that a program cannot pass to Python: …",
    "`…` receives an object from outside that this call has changed",
    "the result of `…` is used, but it exists only at run time",
    "… is …, which has no Python source",
    "build_strategy is …",
    "… cannot be made static",
    "`…` of …, which has no `__dict__`, cannot be made static",
    "… cannot be explained",
    "… cannot be stepped through",
    "… cannot be verified",
    "capturing this call raises …",
    "a list of tensors that every run reads again is compared or searched",
    "`…` (…:…) …",
    "… does not parse: …",
    "… cannot be converted",
    "`async for` cannot be converted",
    "`async with` cannot be converted",
    "`await` cannot be converted",
    "a template string cannot be converted",
    "torch cannot trace this: …",
    "whether `…` works here depends on …: …",
    "`….…` of a captured number",
    "… a captured key of a …",
    "Python code needs …",
    "an op receives …, which a program cannot hold",
    "the higher-order op `…` cannot be recorded",
    "a set is searched for, or given, a captured value",
    "`…=` of a set with data-dependent items",
    "`…` needs the value of a captured number",
    "… has backward hooks, which are Python: a saved model has none",
    "… has backward hooks, and takes or returns a value that depends on the path taken",
    "… cannot be changed here: …",
    "`is` between containers that a list of the program holds copies of",
    "the custom op `…` has no fake kernel, so its result cannot be described",
    "… inside a program: what it exchanges with other processes cannot be captured",
    "`ctx.set_materialize_grads(False)` is not supported",
    "a tensor was made in a block that has ended, or by code the recorder cannot see",
})  # fmt: skip

# texts of traced layers and of programs by hand: tests/static meets them, not by `to_static`
OF_THE_STATIC_SIDE = frozenset({
    "torch cannot trace `…` with open sizes: …",
    "torch cannot record this: …: …",
    "a loop variable is … in one loop",
    "the branches return values of different structures",
    "the branches return …",
    "the body of a loop returns values of another structure",
    "Python code needs …, which is known only at run time",
    "the path through the layer depends on data: Python code needs …",
    "… is made inside `program_guard`: its `…` would not be a real tensor",
    "a tensor was made by code that the recorder cannot see",
    "… is converted by `to_static`, and has programs of its own",
    "a layer cannot be traced with …",
    "the call changes … of the layer, which a traced program would not do",
    "the layer draws random numbers of Python or numpy, which a traced program would not",
    "the call changes a … that it is given, which a traced program would not do",
    "a tensor that the call makes is kept outside of it, which a traced program would not do",
    "… here, which cannot be recorded",
})  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """One text that an error can have, and the way out that it names."""

    code: str
    problem: str
    fix: str

    def meets(self, error: StatorError) -> bool:
        """Whether `error` has this text."""
        pattern = ".*".join(re.escape(part) for part in self.problem.split(HOLE))
        fits = re.fullmatch(pattern, error.problem, re.DOTALL) is not None
        return fits and error.code == self.code


@dataclass(frozen=True)
class Example:
    """A function, and what a user does to it that is refused."""

    shown: types.FunctionType
    attempt: Callable[[], Any]


# ---- the texts


@functools.cache
def refusals() -> tuple[Refusal, ...]:
    """Every text, by code, then as the source has them."""
    found = [*_source_refusals(), *table_refusals()]
    return tuple(sorted(dict.fromkeys(found), key=lambda one: one.code))


def _source_refusals() -> Iterator[Refusal]:
    for where, call in error_calls():
        problem = text_of(call.args[0])
        if problem is not None:
            yield Refusal(_code(call), problem, _fix_of(where, call))
        else:
            known = (where, ast.unparse(call.args[0]))
            assert known in TABLES | MADE_AT_RUN_TIME, f"a text that is not read: {known}"


def error_calls() -> Iterator[tuple[str, ast.Call]]:
    """Each place in the source that makes a StatorError."""
    files = [*SOURCE.rglob("*.py"), *VERIFY.rglob("*.py")]
    for file in sorted(files, key=lambda file: file.as_posix()):
        for node in ast.walk(ast.parse(file.read_text())):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if named and node.func.id in CLASSES and node.args:
                yield os.path.relpath(file, SOURCE), node


def _code(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Name)
    return CLASSES[call.func.id].code


def _fix_of(where: str, call: ast.Call) -> str:
    given = [item.value for item in call.keywords if item.arg == "fix"]
    if given and isinstance(given[0], ast.Name):
        return _constants(where).get(given[0].id, "")
    return "; or: ".join(_alternatives(given[0])) if given else ""


def _alternatives(fix: ast.expr) -> Iterator[str]:
    """The texts of a fix that depends on the mistake."""
    if isinstance(fix, ast.IfExp):
        yield from (*_alternatives(fix.body), *_alternatives(fix.orelse))
    else:
        yield text_of(fix) or ""


@functools.cache
def _constants(where: str) -> dict[str, str]:
    """The texts that a file gives names to."""
    assigned = [
        (node.targets[0].id, text_of(node.value))
        for node in ast.parse((SOURCE / where).read_text()).body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    ]
    return {name: text for name, text in assigned if text is not None}


def text_of(node: ast.expr) -> str | None:
    """The text that `node` makes, with `…` for what only a run knows; None if that is all of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) or HOLE for part in node.values)
    if isinstance(node, ast.BinOp):
        return (text_of(node.left) or HOLE) + (text_of(node.right) or HOLE)
    return None


def table_refusals() -> Iterator[Refusal]:
    """The texts that stand in tables: the fence's, and those of calls and ops."""
    fix = "call it with sizes that fit, or capture it for fixed sizes"
    yield Refusal("ST302", f"this needs {HOLE}", fix)
    for decision in fence.FENCE.values():
        if decision.verdict == "refused":
            yield Refusal("ST102", f"{decision.what} cannot be converted", decision.fix)
    for name, fix in fence._REFUSED_CALLS.items():
        yield Refusal("ST102", f"a call of `{name}` cannot be converted", fix)
    for problem, fix in (*REFUSED_CALLS.values(), *REFUSED_OPS.values(), *_pairs_in_calls()):
        yield Refusal("ST204", problem, fix)


def _pairs_in_calls() -> Iterator[tuple[str, str]]:
    tree = ast.parse((SOURCE / "library" / "refused_calls.py").read_text())
    for node in ast.walk(tree):
        pair = isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple)
        if pair and ast.unparse(node.targets[0]) == "found":
            problem, fix = (text_of(item) for item in node.value.elts)
            yield problem or "", fix or ""


# ---- the examples


def examples() -> list[Example]:
    """The functions of `refused`, and those of the README's limits that represent themselves."""
    functions = [one for one in vars(refused).values() if isinstance(one, types.FunctionType)]
    found = [Example(one, _call(one)) for one in functions if one.__module__ == refused.__name__]
    attempts = [attempt for _, attempt in limits.LIMITS.values()]
    alone = [one for one in attempts if isinstance(one, types.FunctionType) and not one.__closure__]
    return [*found, *(Example(one, one) for one in alone)]


def _call(function: types.FunctionType) -> Callable[[], Any]:
    return lambda: stator.to_static(function)(torch.ones(3), torch.tensor(2))


def met_by(error: StatorError) -> Refusal | None:
    """The text of `error`: of those that fit, the one with the fewest words left open."""
    fitting = [one for one in refusals() if one.meets(error)]
    return max(fitting, key=lambda one: len(one.problem), default=None)


@functools.cache
def tried() -> tuple[tuple[Example, StatorError], ...]:
    """Each example with the refusal that it ends with."""
    return tuple((one, error_of(one).with_traceback(None)) for one in examples())


def error_of(example: Example) -> StatorError:
    """The refusal that `example` ends with."""
    try:
        example.attempt()
    except StatorError as error:
        return error
    raise AssertionError(f"{example.shown.__name__} is not refused")


# ---- the page

INTRODUCTION = """\
# Refusals

What Stator cannot do as eager PyTorch does, it refuses, with a code, your line and a fix. This page
lists every message; `…` marks what depends on your code. It is generated from the source and from
examples that are run.

In the examples `x` is a vector of three floats and `y` an integer tensor, as in

```python
stator.to_static(example)(torch.ones(3), torch.tensor(2))
```

The classes are in `stator.errors`; each is also the builtin exception that you would expect, so
`except ValueError` and the like keep working. What a program itself raises is never changed.

| code | class | means |
|---|---|---|"""


def page() -> str:
    """The whole document."""
    found = refusals()
    shown: dict[Refusal | None, str] = {}
    for example, error in tried():
        shown.setdefault(met_by(error), _shown(example, error))
    codes = list(dict.fromkeys(one.code for one in found))
    parts = ["\n".join([INTRODUCTION, *map(_row, codes)])]
    for code in codes:
        first = (_class(code).__doc__ or "").splitlines()[0]
        more = f"[What it means](errors/{code}.md)"
        parts.append(f"## {code} {_class(code).__name__}\n\n{first} {more}")
        parts += [_entry(one, shown.get(one)) for one in found if one.code == code]
    return "\n\n".join(parts) + "\n"


def _class(code: str) -> type[StatorError]:
    return next(one for one in CLASSES.values() if one.code == code)


def _row(code: str) -> str:
    one = _class(code)
    link = f"{code} {one.__name__}".lower().replace(" ", "-")
    return f"| [{code}](#{link}) | `{one.__name__}` | {(one.__doc__ or '').splitlines()[0]} |"


def _entry(refusal: Refusal, example: str | None) -> str:
    """One text, its way out, and an example that meets it."""
    text = f"**{refusal.problem}**" + (f": {refusal.fix}." if refusal.fix else "")
    return text if example is None else f"{text}\n\n```python\n{example}\n```"


def _shown(example: Example, error: StatorError) -> str:
    """The example's text, with a mark on the line that the error names."""
    text, first = inspect.getsourcelines(example.shown)
    lines = textwrap.dedent("".join(text)).rstrip().splitlines()
    if error.at is not None and first <= error.at.line < first + len(lines):
        lines[error.at.line - first] += f"  # {error.code}"
    return "\n".join(lines)
