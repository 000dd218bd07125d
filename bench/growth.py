"""How the cost of a capture grows with the size of the code: `python -m bench.growth`.

Each series makes a function of each size and captures it, by processor time, the best of 3. The
exponent is the slope of cost over size, both as logarithms: 1 means in proportion. The last column
is the share of the largest capture that the rewrite of the source takes.
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any
from unittest import mock

import torch
from rich.console import Console

import stator
from stator.rewrite import convert

ROUNDS = 3
INDENT = "    "
_numbers = itertools.count(1)


def ifs(size: int) -> str:
    """`if`s, one after the other."""
    step = "    if x.sum() > {0}:\n        x = x + {0}\n    else:\n        x = x - {0}\n"
    return "def f(x):\n" + "".join(step.format(k) for k in range(size)) + "    return x\n"


def elifs(size: int) -> str:
    """One chain of `elif`s."""
    step = "    elif s > -{0}:\n        x = x + {0}\n"
    start = "def f(x):\n    s = x.sum()\n    if s > 0:\n        x = x + 1\n"
    return start + "".join(step.format(k + 1) for k in range(size)) + "    return x\n"


def ternaries(size: int) -> str:
    """Conditional expressions inside each other."""
    text = "x"
    for number in range(size):
        text = f"(x + {number} if s > {number} else {text})"
    return f"def f(x):\n    s = x.sum()\n    return {text}\n"


def unions(size: int) -> str:
    """Names that are a tensor or None."""
    step = "    y{0} = None\n    if x.sum() > {0}:\n        y{0} = x\n"
    use = "    if y{0} is not None:\n        x = x + 1\n"
    body = "".join((step + use).format(k) for k in range(size))
    return f"def f(x):\n{body}    return x\n"


def early_returns(size: int) -> str:
    """`return`s in branches, one after the other."""
    step = "    if x.sum() > {0}:\n        return x + {0}\n"
    return "def f(x):\n" + "".join(step.format(k) for k in range(size)) + "    return x\n"


def carried_items(size: int) -> str:
    """Items of a list that one loop changes."""
    start = (
        f"    items = [x + k for k in range({size})]\n    while x.sum() < 3:\n        x = x + 1\n"
    )
    body = f"        for k in range({size}):\n            items[k] = items[k] * 2\n"
    return f"def f(x):\n{start}{body}    return items\n"


def recursion(size: int) -> str:
    """Calls of one function by itself, as often as a Python number says."""
    inner = "def g(x, n):\n    return x if n == 0 else g(x * 2, n - 1) + 1\n"
    return f"{inner}def f(x):\n    return g(x, {size})\n"


def carried_names(size: int) -> str:
    """Names that one loop carries."""
    start = "".join(f"    y{k} = x\n" for k in range(size))
    body = "".join(f"        y{k} = y{k} + 1\n" for k in range(size))
    result = " + ".join(f"y{k}" for k in range(size))
    return (
        f"def f(x):\n{start}    while x.sum() < 3:\n        x = x + 1\n{body}    return {result}\n"
    )


def calls(size: int) -> str:
    """Calls inside each other."""
    step = "def f{0}(x):\n    return f{1}(x) + 1\n"
    inner = "".join(step.format(k, k - 1) for k in range(1, size + 1))
    return f"def f0(x):\n    return x\n{inner}def f(x):\n    return f{size}(x)\n"


def lines(size: int) -> str:
    """Lines of a long function."""
    step = "    y{0} = x + {1}\n    x = y{0} * 2\n"
    return "def f(x):\n" + "".join(step.format(k % 7, k) for k in range(size)) + "    return x\n"


def layers(size: int) -> str:
    """Modules, one after the other."""
    made = f"every = [torch.nn.Linear(3, 3) for _ in range({size})]\n"
    return (
        f"import torch\n{made}def f(x):\n    for one in every:\n        x = one(x)\n    return x\n"
    )


def unrolled(size: int) -> str:
    """Iterations of a loop that Python runs."""
    return f"def f(x):\n    for k in range({size}):\n        x = x * 2 + k\n    return x\n"


def nested_loops(size: int) -> str:
    """Loops inside each other."""
    text, indent = "def f(x):\n", INDENT
    for level in range(size):
        text += f"{indent}i{level} = 0\n{indent}while i{level} < x.sum():\n"
        indent += INDENT
    text += f"{indent}x = x + 0\n"
    for level in reversed(range(size)):
        text += f"{INDENT * (level + 2)}i{level} = i{level} + 1\n"
    return text + "    return x\n"


@dataclass(frozen=True)
class Series:
    """What grows, and the sizes that are measured."""

    text: Callable[[int], str]
    sizes: tuple[int, ...]


SERIES: Mapping[str, Series] = MappingProxyType(
    {
        "layers": Series(layers, (25, 100, 400)),
        "ifs in sequence": Series(ifs, (25, 100, 200)),
        "`elif`s": Series(elifs, (10, 40, 80)),
        "nested ternaries": Series(ternaries, (10, 20, 40)),
        "names that may be None": Series(unions, (10, 40, 80)),
        "early returns": Series(early_returns, (10, 40, 80)),
        "names carried by a loop": Series(carried_names, (25, 100, 200)),
        "items of a list changed by a loop": Series(carried_items, (25, 100, 200)),
        "depth of calls": Series(calls, (25, 50, 100)),
        "depth of recursion": Series(recursion, (25, 50, 100)),
        "lines": Series(lines, (50, 200, 400)),
        "unrolled iterations": Series(unrolled, (50, 200, 800)),
        "depth of loops": Series(nested_loops, (2, 4, 8)),
    }
)


def function_of(text: str, folder: Path) -> Callable[..., Any]:
    """The function `f` that `text` defines, in a file of its own."""
    name = f"growth_{next(_numbers)}"
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    function: Callable[..., Any] = module.f
    return function


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time."""

    capture: float
    rewrite: float = 0.0  # what the capture spends on turning source into source


class RewriteTime:
    """The processor time that rewriting takes, while `measured` is what does it."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._work = convert._work

    def measured(self, function: FunctionType, is_machine: bool) -> convert.Work:
        """The rewrite of `function`, timed."""
        start = time.process_time()
        try:
            return self._work(function, is_machine)
        finally:
            self.seconds += time.process_time() - start


def cost(text: str, folder: Path) -> Cost:
    """What the first call takes, at best."""
    taken = []
    for _ in range(ROUNDS):
        static = stator.to_static(function_of(text, folder))
        rewrite = RewriteTime()
        with mock.patch.object(convert, "_work", rewrite.measured):
            start = time.process_time()
            static(torch.full((3,), -1.0))
            taken.append(Cost(time.process_time() - start, rewrite.seconds))
    return min(taken, key=lambda one: one.capture)


@dataclass(frozen=True)
class Growth:
    """The costs of one series."""

    sizes: tuple[int, ...]
    costs: tuple[Cost, ...]

    @property
    def exponent(self) -> float:
        """The slope from the first size to the last."""
        steps = math.log(self.sizes[-1] / self.sizes[0])
        return math.log(self.costs[-1].capture / self.costs[0].capture) / steps

    @property
    def rewrite(self) -> float:
        """The share of the largest capture that is the rewrite."""
        return self.costs[-1].rewrite / self.costs[-1].capture


def measured() -> dict[str, Growth]:
    """All series."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cost(ifs(3), folder)  # imports, and what torch does at first
        return {
            what: Growth(one.sizes, tuple(cost(one.text(size), folder) for size in one.sizes))
            for what, one in SERIES.items()
        }


def table() -> str:
    """The costs and exponents, as a table of Markdown."""
    rows = ["| what grows | sizes | seconds | exponent | rewrite |", "|---|---|---|---|---|"]
    for what, growth in measured().items():
        sizes = ", ".join(map(str, growth.sizes))
        costs = ", ".join(f"{one.capture:.2f}" for one in growth.costs)
        rows.append(
            f"| {what} | {sizes} | {costs} | {growth.exponent:.2f} | {growth.rewrite:.0%} |"
        )
    return "\n".join(rows)


if __name__ == "__main__":
    Console().print(table(), markup=False)
