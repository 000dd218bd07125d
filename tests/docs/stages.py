"""What each stage makes of `docs/examples`: the blocks of docs/architecture.md, by name."""

import ast
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

import stator
from docs.examples import captures
from docs.examples.collatz import collatz
from stator import InputSpec, StaticFunction
from stator.program.printer import print_program
from stator.rewrite.convert import PASSES
from stator.rewrite.prepare import as_function
from stator.source.facts import study
from stator.source.fence import FENCE
from stator.source.liveness import liveness
from stator.source.scopes import scope_of
from stator.source.text import read_source
from stator.values.describe import describe, name_of
from stator.values.merge import merge
from tests.docs.documents import ROOT

STORY = "rewrite_while|while_stmt|capture_while|stator::while|run_while"
ANY_LENGTH = InputSpec([None], "float32")


def captured_collatz() -> StaticFunction:
    static: StaticFunction = stator.to_static(collatz)
    static(torch.tensor(6))
    return static


def source_of(*functions: Callable[..., Any]) -> str:
    return "\n\n\n".join(inspect.getsource(function).rstrip() for function in functions)


def source() -> str:
    return source_of(collatz)


def fence() -> str:
    """The fence's decision for each kind of statement in the example."""
    tree = read_source(collatz).tree
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    kinds = dict.fromkeys(type(node).__name__ for node in nodes)
    return "\n".join(f"{kind:<12}{FENCE[kind].verdict}" for kind in kinds)


def facts() -> str:
    """What is known of the loop and of the branch in it."""
    tree = as_function(read_source(collatz).tree)
    known, live = study(tree, scope_of(tree)), liveness(tree.body)
    lines = []
    for node, state in known.state.items():
        lines += [
            f"{type(node).__name__.lower()} at line {node.lineno}",
            f"  assigned, and wanted after it or on the next iteration   {', '.join(state)}",
            f"  wanted after it                                     {_names(live.live_out[node])}",
        ]
    return "\n".join(lines)


def _names(names: frozenset[str]) -> str:
    return ", ".join(sorted(names & {*scope_of(read_source(collatz).tree).locals}))


def passes() -> str:
    return " → ".join(step.name for step in PASSES)


def rewritten() -> str:
    return str(stator.to_static(collatz).code)


def decisions() -> str:
    """What staging did with each construct, in the order it met them."""
    found = captured_collatz().concrete_programs[-1].captured.decisions
    inside = [one for one in found if one.place and one.place.file.endswith("collatz.py")]
    return "\n".join(
        f"{one.place.short:<15}{one.what:<8}{one.choice:<11}{one.why}"
        for one in inside
        if one.place
    )


def python_number() -> str:
    """The same function, called with a Python number."""
    static = stator.to_static(collatz)
    result = static(6)
    count = len(list(static.program.body.ops))
    return f"collatz(6) = {result}, a program of {count} ops"


def program_captured() -> str:
    return str(captured_collatz().concrete_programs[-1].captured.program)


def program_optimized() -> str:
    return str(captured_collatz().program)


def runs() -> str:
    """Eager and static results; one program serves them all."""
    static = captured_collatz()
    lines = []
    for start in (6, 1, 27):
        eager, result = collatz(torch.tensor(start)), static(torch.tensor(start))
        assert eager == result
        lines.append(f"collatz(torch.tensor({start:>2})) = {result}")
    lines.append(f"programs captured: {len(static.concrete_programs)}")
    return "\n".join(lines)


def saved() -> str:
    """The loop in the saved file, the ops of its body left out."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "collatz"
        stator.save(collatz, path, input_spec=[InputSpec([], "int64", "n")])
        assert stator.load(path)(torch.tensor(6)) == (1, 8)
        file = json.loads(path.with_suffix(".stator").read_text())
    body = file["programs"]["forward"]["body"]
    (loop,) = [op for op in body["ops"] if op["name"] == "stator::while"]
    for block in loop["blocks"]:
        block["ops"] = [f"... {len(block['ops'])} ops"]
    return _compact(loop)


def _compact(item: dict[str, Any]) -> str:
    """JSON with a line for each key of `item` and of its blocks."""
    lines = []
    for key, value in item.items():
        if key == "blocks":
            inner = [",\n    ".join(_pairs(block)) for block in value]
            lines.append('"blocks": [{\n    ' + "}, {\n    ".join(inner) + "}]")
        else:
            lines.append(f'"{key}": {json.dumps(value)}')
    return "{" + ",\n ".join(lines) + "}"


def _pairs(block: dict[str, Any]) -> list[str]:
    return [f'"{key}": {json.dumps(value)}' for key, value in block.items()]


def story() -> str:
    """What `git grep -E STORY src` prints."""
    lines = []
    for file in sorted((ROOT / "src").rglob("*.py"), key=lambda file: file.as_posix()):
        for line in file.read_text().splitlines():
            if re.search(STORY, line):
                lines.append(f"{file.relative_to(ROOT).as_posix()}:{line}")
    return f"$ git grep -E '{STORY}' src\n" + "\n".join(lines)


def kinds() -> str:
    """How two values of one variable join."""
    pairs = (
        ("0", "0", 0, 0),
        ("0", "1", 0, 1),
        ("zeros(2, 3)", "zeros(4, 3)", torch.zeros(2, 3), torch.zeros(4, 3)),
        ("None", "zeros(2)", None, torch.zeros(2)),
        ("0", "0.5", 0, 0.5),
        ("'mean'", "'sum'", "mean", "sum"),
        ("(1, 2)", "(1, 3)", (1, 2), (1, 3)),
    )
    return "\n".join(
        f"{a:<12} and {b:<12} → {name_of(merge(describe(one), describe(other)))}"
        for a, b, one, other in pairs
    )


def _program_of(function: Callable[..., Any], *args: Any, spec: Any = None) -> str:
    static = stator.to_static(function, input_spec=spec)
    result, eager = static(*args), function(*args)
    torch.testing.assert_close(result, eager, rtol=0, atol=0)
    return print_program(static.program, places=False)


def union() -> str:
    return _program_of(captures.double_and_add, torch.ones(3))


def containers() -> str:
    return _program_of(captures.keep_positive, torch.tensor([1.0, -1.0, 2.0]), spec=[ANY_LENGTH])


def walk_rewritten() -> str:
    return str(stator.to_static(captures.settle).code)


def walk() -> str:
    return _program_of(captures.settle, torch.ones(3), torch.tensor(7.0))


def sizes() -> str:
    return _program_of(captures.grow, torch.ones(3), spec=[ANY_LENGTH])


def demands() -> str:
    return _program_of(captures.add, torch.ones(3), torch.zeros(3), spec=[ANY_LENGTH, ANY_LENGTH])


def functions() -> str:
    return _program_of(captures.halvings, torch.tensor(9))


def floats() -> str:
    return _program_of(captures.drift, torch.tensor(9.0))


def guards() -> str:
    """When `scaled` is captured again, and why."""
    static: StaticFunction = stator.to_static(captures.scaled)
    before, lines = captures.SCALE, []
    try:
        for scale, length in ((2, 3), (2, 3), (5, 3), (5, 4), (5, 1)):
            captures.SCALE = scale
            count = len(static.concrete_programs)
            assert torch.equal(static(torch.ones(length)), captures.scaled(torch.ones(length)))
            new = static.concrete_programs[count:]
            why = f"captured: {new[0].reason}" if new else "the program is still right"
            inputs = ", ".join(f"{one.name}: {one.type}" for one in static.program.inputs)
            lines.append(f"SCALE = {scale}, length {length}   {why}   ({inputs})")
    finally:
        captures.SCALE = before
    return "\n".join(lines)


MAKERS: Mapping[str, Callable[[], str]] = {
    "source": source,
    "fence": fence,
    "facts": facts,
    "passes": passes,
    "rewritten": rewritten,
    "decisions": decisions,
    "python-number": python_number,
    "captured": program_captured,
    "optimized": program_optimized,
    "runs": runs,
    "saved": saved,
    "story": story,
    "kinds": kinds,
    "union-source": partial(source_of, captures.double, captures.double_and_add),
    "union": union,
    "containers-source": partial(source_of, captures.keep_positive),
    "containers": containers,
    "walk-source": partial(source_of, captures.settle),
    "walk-rewritten": walk_rewritten,
    "walk": walk,
    "sizes-source": partial(source_of, captures.grow),
    "sizes": sizes,
    "demands-source": partial(source_of, captures.add),
    "demands": demands,
    "functions-source": partial(source_of, captures.halvings),
    "functions": functions,
    "floats-source": partial(source_of, captures.drift),
    "floats": floats,
    "guards": guards,
}
