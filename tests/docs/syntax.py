"""docs/syntax.md, made from the zoo: each construct with an example, its stages and its limits."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from typing import Any

from tests.docs.constructs import GROUPS, Construct
from tests.zoo import expressions
from tests.zoo.harness import STAGES
from tests.zoo.programs import Program
from tests.zoo.whole import PROGRAMS

COMMON = 60  # a construct in more programs than these does not explain why one of them is refused

INTRODUCTION = """\
# Syntax

Generated from the test programs in `tests/zoo`. At each stage ({stages}), each of them is
compared with eager PyTorch on several inputs: results, dtypes, shapes, errors, prints, side effects
and gradients. Programs that take long to capture are not run unoptimised as well.

The example of each construct is one of the shortest programs that use it. A limit is a program that
is refused, or that cannot be saved; [refusals.md](refusals.md) says what to write instead.
*Pending* marks programs that differ from eager code today.

| construct | programs | |
|---|---|---|
"""


def page() -> str:
    """The whole document."""
    words = ", ".join(STAGES)
    parts = [INTRODUCTION.format(stages=words) + "\n".join(_rows())]
    for group, constructs in GROUPS.items():
        parts.append(f"## {group}")
        parts += [_section(construct) for construct in constructs]
    parts += [_others(), _expressions()]
    return "\n\n".join(parts) + "\n"


@functools.cache
def programs_with(construct: Construct) -> tuple[Program, ...]:
    """The programs of the zoo that use it."""
    return tuple(one for one in PROGRAMS if any(map(construct.uses, _nodes(one))))


def _nodes(program: Program) -> tuple[ast.AST, ...]:
    return _nodes_of(program.target)


@functools.cache
def _nodes_of(target: Any) -> tuple[ast.AST, ...]:
    """The nodes of its own text, without the decorator that enters it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(target))).body
    assert isinstance(tree, ast.FunctionDef | ast.ClassDef)
    tree.decorator_list = []
    return tuple(ast.walk(tree))


def limits_of(construct: Construct) -> list[Program]:
    """The programs that are not right, and use it: those that use nothing rarer.

    A program whose `sorted` is pending also has an `if`, of which it says nothing.
    """
    if len(programs_with(construct)) > COMMON:
        return []
    wrong = [one for one in programs_with(construct) if not is_right(one)]
    return [one for one in wrong if len(programs_with(construct)) == _rarity(one)]


def other_limits() -> list[Program]:
    """The programs that are not right, and use common constructs only, which say nothing of why."""
    return [one for one in PROGRAMS if not is_right(one) and _rarity(one) > COMMON]


def _rarity(program: Program) -> int:
    """How many programs use the rarest of what it uses."""
    counts = (len(programs_with(one)) for group in GROUPS.values() for one in group
              if any(map(one.uses, _nodes(program))))  # fmt: skip
    return min(counts)


def is_right(program: Program) -> bool:
    """Whether it does at every stage what eager does."""
    return not (program.pending or program.refused or program.refused_saved)


def example_of(construct: Construct) -> Program | None:
    """The shortest program that is right at every stage, else the shortest that cannot be saved.

    One that can be read by itself comes first.
    """
    right = [one for one in programs_with(construct) if is_right(one) and not one.makes]
    unsaved = [one for one in programs_with(construct) if one.refused_saved and not one.makes]
    return min(
        right or unsaved,
        key=lambda one: (bool(_names_of_the_module(one)), len(text_of(one)), one.name),
        default=None,
    )


def _names_of_the_module(program: Program) -> set[str]:
    """What it uses that is defined in its file, and so not in the example."""
    names = {node.id for node in _nodes(program) if isinstance(node, ast.Name)}
    known = vars(inspect.getmodule(program.target)).items()
    return {name for name, value in known if name in names - {program.target.__name__}
            and not inspect.ismodule(value)}  # fmt: skip


def text_of(program: Program) -> str:
    """Its source, from `def` or `class` on."""
    text = textwrap.dedent(inspect.getsource(program.target)).rstrip()
    match = re.search(r"^(def|class) ", text, re.MULTILINE)
    assert match is not None
    return text[match.start() :]


# ---- the parts of the page


def _rows() -> list[str]:
    return [
        f"| [{one.title}](#{anchor(one.title)}) | {len(programs_with(one))} | {status(one)} |"
        for constructs in GROUPS.values()
        for one in constructs
    ]


def anchor(title: str) -> str:
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def status(construct: Construct) -> str:
    """Whether it is supported, in words."""
    if example_of(construct) is None:
        return "pending"
    return "supported, see its limits" if limits_of(construct) else "supported"


def _section(construct: Construct) -> str:
    """The entry of one construct."""
    lines, example = [f"### {construct.title}", ""], example_of(construct)
    if example is not None:
        lines += [f"Supported{_tests(construct)}.", "", "```python", text_of(example), "```"]
    limits = [_limit(one) for one in limits_of(construct)]
    if limits:
        lines += ["", "Known limits:", "", *dict.fromkeys(limits)]
    return "\n".join(lines)


def _others() -> str:
    """The limits that no construct of the page explains."""
    limits = dict.fromkeys(map(_limit, other_limits()))
    lines = ["## Other limits", "", "Of programs that use only common constructs:", "", *limits]
    return "\n".join(lines)


def _tests(construct: Construct) -> str:
    """How many programs show it, and at which stages if not at all of them."""
    found = programs_with(construct)
    right = [one for one in found if is_right(one)] or [one for one in found if one.refused_saved]
    stages = [stage for stage in STAGES if any(stage in one.stages for one in right)]
    count = "1 program" if len(right) == 1 else f"{len(right)} programs"
    return f": {count}" + ("" if stages == list(STAGES) else f", {', '.join(stages)}")


def _limit(program: Program) -> str:
    sentence = (program.target.__doc__ or "").splitlines()[0].rstrip(".")
    if program.pending:
        return f"- pending: {sentence} (`{program.name}`: {program.pending})"
    if program.refused:
        return f"- refused, {program.refused}: {sentence} (`{program.name}`)"
    return f"- not saved, {program.refused_saved}: {sentence} (`{program.name}`)"


def _expressions() -> str:
    """The expressions on captured values that do not work, of those that are tried one by one."""
    count = sum(len(group) for _, group, _ in expressions.GROUPS)
    open_ones = [*expressions.PENDING.items(), *expressions.REFUSED.items()]
    right = count - len(open_ones)
    lines = [
        "## Expressions on captured values", "",
        f"{count} expressions are tried one by one on data-dependent numbers, bools and tensors "
        f"(`tests/zoo/expressions.py`); {right} give the same result as eager code. The others:",
        "",
        "| after | expression | |", "|---|---|---|",
    ]  # fmt: skip
    for (setup, expression), what in open_ones:
        before = " ".join(setup.replace("|", "\\|").split())
        shown = expression.replace("|", "\\|")
        lines.append(f"| `{before}` | `{shown}` | {what} |")
    return "\n".join(lines)
