"""random_text(): a program drawn from the grammar, as source text.

Each program draws a part of the statements first and uses only those, so that programs differ more
from each other than if each could use them all.
"""

from __future__ import annotations

import ast
import itertools
import random
import re

from tests.fuzz.around import AROUND
from tests.fuzz.grammar import EXPRESSIONS, FIRST, NAMES
from tests.fuzz.stateful import STATE_COMPOUND, STATE_SIMPLE
from tests.fuzz.stateful_around import STATEFUL_AROUND
from tests.fuzz.statements import COMPOUND, JUMPS, SIMPLE

HOLE = re.compile(r"\{\{|\}\}|\{(?P<kind>\w+)(?:\.(?P<label>\w))?\}")
BLOCKS = ("BLOCK", "LOOP", "BODY")
DEEPEST, LONGEST = 3, 3
KIND_OF = {name: kind for kind, names in NAMES.items() for name in names}
AROUND_LINES = AROUND.count("\n")


def templates(text: str) -> tuple[str, ...]:
    return tuple(text.strip().split("\n\n"))


class Writer:
    """Writes one function, drawing its choices from `source`."""

    def __init__(self, source: random.Random, *, stateful: bool = False) -> None:
        self.random = source
        self.around = STATEFUL_AROUND if stateful else AROUND
        self.simple = self._some_of(templates(SIMPLE), 4, 12)
        self.compound = self._some_of(templates(COMPOUND), 1, 5)
        if stateful:
            self.simple = self.simple[:4] + self._some_of(templates(STATE_SIMPLE), 3, 10)
            self.compound = self.compound[:3] + self._some_of(templates(STATE_COMPOUND), 0, 3)
        self.fresh = itertools.count()
        self.left = self.random.randint(3, 18)  # how many statements it may still have

    def _some_of(self, choices: tuple[str, ...], least: int, most: int) -> list[str]:
        return [self.random.choice(choices) for _ in range(self.random.randint(least, most))]

    def function(self) -> str:
        """`f` and what it may call."""
        body = self.block(depth=0, loop=False, jumps=False)
        last = self.last(body)
        first = self.bindings([*body, last])
        lines = ["def f(x, y):", *("    " + line for line in [*first, *body, last]), ""]
        return self.around + "\n".join(lines)

    def last(self, body: list[str]) -> str:
        """A return of something and of some of the names used."""
        names = [name for name in _names_in(body) if KIND_OF[name] not in "ug"]
        shown = self.random.sample(names, min(len(names), self.random.randint(0, 5)))
        return self.fill(f"return {', '.join(['{A}', *shown])}", 2)

    def bindings(self, lines: list[str]) -> list[str]:
        """What binds each name that is used, or may bind it."""
        result = []
        for name in _names_in(lines):
            kind = KIND_OF[name]
            if kind == "u":
                result += ["if y > 1:", f"    {name} = 3"]
            else:
                result.append(f"{name} = {self.random.choice(FIRST[kind])}")
        return result

    def block(self, *, depth: int, loop: bool, jumps: bool = True) -> list[str]:
        """The lines of some statements."""
        count = self.random.randint(1, LONGEST + 2 if depth == 0 else LONGEST)
        lines = []
        for k in range(count):
            if self.left > 0 or k == 0:
                self.left -= 1
                lines += self.statement(depth, loop)
        if jumps and self.random.random() < 0.2:
            choices = [*JUMPS["any"], *(JUMPS["loop"] if loop else ())]
            lines.append(self.fill(self.random.choice(choices), 1))
        return lines

    def statement(self, depth: int, loop: bool) -> list[str]:
        compound = (
            depth < DEEPEST
            and self.left > 0
            and self.random.random() < (0.6 if depth == 0 else 0.4)
        )
        template = self.random.choice(self.compound if compound else self.simple)
        return self.expanded(template, depth, loop)

    def expanded(self, template: str, depth: int, loop: bool) -> list[str]:
        """The lines of `template`, its blocks and holes filled."""
        labels: dict[str, str] = {}
        lines = []
        for line in template.splitlines():
            inner = line.strip().strip("{}")
            if inner in BLOCKS:
                lines += _indented(line, self.inner_block(inner, depth, loop))
            elif inner == "SIMPLE":
                lines += _indented(line, self.simple_statement())
            else:
                lines.append(self.fill(line, self.random.randint(0, 2), labels))
        return lines

    def simple_statement(self) -> list[str]:
        lines = self.random.choice(self.simple).splitlines()
        labels: dict[str, str] = {}
        return [self.fill(line, 1, labels) for line in lines]

    def inner_block(self, kind: str, depth: int, loop: bool) -> list[str]:
        if kind != "BODY":
            return self.block(depth=depth + 1, loop=loop or kind == "LOOP")
        lines = self.block(depth=depth + 1, loop=False)
        names = [name for name in _stored(lines) if name in KIND_OF]
        return [f"nonlocal {', '.join(names)}", *lines] if names else lines

    def fill(self, template: str, depth: int, labels: dict[str, str] | None = None) -> str:
        """`template` with each hole filled, `depth` levels of expressions deep."""
        labels = {} if labels is None else labels

        def one(match: re.Match[str]) -> str:
            kind, label = match["kind"], match["label"]
            if kind is None:
                return match[0][0]
            if kind in EXPRESSIONS:
                return self.expression(kind, depth)
            if kind in ("f", "i"):
                return labels.setdefault(kind, f"{kind}_{next(self.fresh)}")
            name = self.random.choice(NAMES[kind])
            return labels.setdefault(label, name) if label else name

        return HOLE.sub(one, template)

    def expression(self, kind: str, depth: int) -> str:
        choices = EXPRESSIONS[kind]
        if depth <= 0:
            choices = tuple(c for c in choices if not re.search(r"\{[A-Z]\}", c)) or choices
        text = self.fill(self.random.choice(choices), depth - 1)
        return f"({text})" if re.match(r"-|.* ", text) and text[0] not in "([{'" else text


def _indented(line: str, block: list[str]) -> list[str]:
    space = line[: len(line) - len(line.lstrip())]
    return [space + inner for inner in block]


def _names_in(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(re.findall(r"\b[a-z]\d\b", "\n".join(lines))))


def _stored(lines: list[str]) -> list[str]:
    """The names that these lines bind themselves, not in functions of their own."""
    try:
        tree = ast.parse("def body():\n" + "\n".join("    " + line for line in lines))
    except SyntaxError:  # the whole program is drawn again
        return []
    found: list[str] = []
    _collect(tree.body[0].body, found)
    return list(dict.fromkeys(found))


def _collect(nodes: list[ast.AST], found: list[str]) -> None:
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.append(node.id)
        if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
            found.append(node.name)
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            _collect(list(ast.iter_child_nodes(node)), found)


def random_text(source: random.Random, *, stateful: bool = False) -> str:
    """The first program drawn that Python accepts."""
    while True:
        text = Writer(source, stateful=stateful).function()
        try:
            compile(text, "<random>", "exec")
        except SyntaxError:  # a walrus where Python allows none, or `match` cases out of order
            continue
        return text
