"""Random functions with nested control flow, as source text.

Every loop is bounded, every value is a small integer, and any name may be unbound anywhere.
"""

from __future__ import annotations

import linecache
import random
import types

NAMES = ("a", "b", "c", "d")


class Writer:
    """Writes one function, drawing its choices from `source`."""

    def __init__(self, source: random.Random, *, effects: bool) -> None:
        self.random = source
        self.effects = effects  # also `try`, `with` and calls that are logged
        self.loops = 0

    def function(self, name: str) -> str:
        bound = [
            f"    {n} = {self.random.randint(0, 3)}" for n in "cd" if self.random.random() < 0.8
        ]
        body = [*bound, *self.block(depth=0, in_loop=False)]
        return "\n".join([f"def {name}(a, b, log):", *body, ""])

    def block(self, *, depth: int, in_loop: bool) -> list[str]:
        count = self.random.randint(1, 4 if depth < 2 else 2)
        lines = [line for _ in range(count) for line in self.statement(depth, in_loop)]
        return ["    " + line for line in lines]

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        kinds = ["assign", "assign", "augmented", "return"]
        kinds += ["break", "continue"] if in_loop else []
        if depth < 4:
            kinds += ["if", "if", "if", "while", "for", "del"]
            kinds += ["try", "finally", "with", "log", "comprehension"] if self.effects else []
        return getattr(self, "write_" + self.random.choice(kinds))(depth, in_loop)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def value(self) -> str:
        left, right = self.name(), self.random.choice([self.name(), str(self.random.randint(0, 3))])
        return self.random.choice([
            str(self.random.randint(0, 3)), f"{left} + {right}", f"({left} - {right}) % 5", left,
            f"({left} if {right} else 1)", f"({left} and {right})",
            f"int({left} < {right} < 4)", f"({left} := {right} + 1)",
            f"({left} and ({self.name()} := {right}))",
        ])  # fmt: skip

    def test(self) -> str:
        return self.random.choice([f"{self.value()} > 1", self.value(), f"not {self.value()}"])

    def write_assign(self, _depth, _in_loop):
        return [f"{self.name()} = {self.value()}"]

    def write_augmented(self, _depth, _in_loop):
        return [f"{self.name()} += {self.value()}"]

    def write_del(self, _depth, _in_loop):
        return [f"del {self.name()}"] if self.random.random() < 0.3 else ["pass"]

    def write_return(self, depth, _in_loop):
        return [f"return {self.value()}"] if depth and self.random.random() < 0.6 else ["pass"]

    def write_break(self, _depth, _in_loop):
        return ["break"]

    def write_continue(self, _depth, _in_loop):
        return ["continue"]

    def write_log(self, _depth, _in_loop):
        return [f"log.append({self.value()})"]

    def write_comprehension(self, _depth, _in_loop):
        source = f"[{self.name()}, {self.name()}, 1]"
        return [f"{self.name()} = sum([i + {self.name()} for i in {source} if i < 3])"]

    def write_if(self, depth, in_loop):
        lines = [f"if {self.test()}:", *self.block(depth=depth + 1, in_loop=in_loop)]
        if self.random.random() < 0.5:
            lines += ["else:", *self.block(depth=depth + 1, in_loop=in_loop)]
        return lines

    def write_while(self, depth, in_loop):
        self.loops += 1
        fuel = f"fuel_{self.loops}"
        lines = [f"{fuel} = 3", f"while {fuel} > 0 and {self.test()}:", f"    {fuel} -= 1"]
        lines += self.block(depth=depth + 1, in_loop=True)
        return lines + self.loop_else(depth, in_loop)

    def write_for(self, depth, in_loop):
        lines = [f"for {self.name()} in range({self.random.randint(0, 3)}):"]
        lines += self.block(depth=depth + 1, in_loop=True)
        return lines + self.loop_else(depth, in_loop)

    def loop_else(self, depth, in_loop):
        if self.random.random() < 0.7:
            return []
        return ["else:", *self.block(depth=depth + 1, in_loop=in_loop)]

    def write_try(self, depth, in_loop):
        lines = ["try:", *self.block(depth=depth + 1, in_loop=in_loop)]
        bound = self.random.choice(["", " as c"])
        lines += [f"except NameError{bound}:", *self.block(depth=depth + 1, in_loop=in_loop)]
        if self.random.random() < 0.4:
            lines += ["else:", *self.block(depth=depth + 1, in_loop=in_loop)]
        return lines

    def write_finally(self, depth, in_loop):
        lines = ["try:", *self.block(depth=depth + 1, in_loop=in_loop)]
        lines += ["finally:", "    log.append('finally')"]
        if self.random.random() < 0.3:
            lines += self.block(depth=depth + 1, in_loop=in_loop)
        return lines

    def write_with(self, depth, in_loop):
        manager = self.random.choice(["nullcontext()", "suppress(NameError)"])
        return [f"with {manager}:", *self.block(depth=depth + 1, in_loop=in_loop)]


def function_from(text: str, name: str, **names: object) -> types.FunctionType:
    """The function `name` of the module `text`, with its source where Python looks for it."""
    file = f"<random {abs(hash(text))}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(text, file, "exec"), names)
    function = names[name]
    assert isinstance(function, types.FunctionType)
    return function


def random_function(seed: int, *, effects: bool, **names: object) -> tuple[types.FunctionType, str]:
    """The function that `seed` represents, and its text."""
    text = Writer(random.Random(seed), effects=effects).function("f")
    return function_from(text, "f", **names), text
