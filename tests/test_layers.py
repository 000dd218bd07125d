"""Imports point one way: down the pipeline."""

import ast
import functools
import graphlib
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "stator"
GROUND = {
    "debugger", "english", "errors", "first_use", "frames", "garbage", "location", "locks", "logs",
    "notebook", "recursion_limit", "requirements", "signals",
}  # fmt: skip
TORCH = {
    "torch_private",
    "extension",
    "native_builds",
    "extras",
}  # its private API; what is installed
ROOMS = {"state", "containers", "library", "staging"}
STAGES = ROOMS | {
    "source", "rewrite", "capture", "values", "program", "optimize", "execute", "export", "page",
}  # fmt: skip
MAY_IMPORT = {
    "torch_private": set(),
    "english": set(),
    "extension": {"native_builds"},
    "extras": {"native_builds"},
    "first_use": set(),
    "borrowed_settings": {"locks"},
    "garbage": {"borrowed_settings"},
    "location": set(),
    "locks": set(),
    "logs": set(),
    "native_builds": set(),
    "notebook": set(),
    "requirements": set(),
    "run_command": {"native_builds"},
    "frames": {"location", "logs"},
    "errors": {"frames", "location"},
    "debugger": {"frames"},
    "signals": {"frames"},
    "recursion_limit": {"borrowed_settings"},
    "source": GROUND,
    "program": TORCH | GROUND,
    "rewrite": {"source"} | GROUND,
    "values": TORCH | {"program"} | GROUND,
    "capture": TORCH | {"values", "program"} | GROUND,
    "optimize": TORCH | {"program"} | GROUND,
    "execute": TORCH | {"values", "program"} | GROUND,
    "export": TORCH | {"program"} | GROUND,
    "page": {"export", "program"} | GROUND,
    "state": TORCH | {"capture", "values", "program"} | GROUND,
    "containers": TORCH | {"state", "capture", "values", "program"} | GROUND,
    "library": TORCH
    | {"containers", "state", "capture", "values", "rewrite", "source", "program"}
    | GROUND,
    "staging": TORCH
    | {"library", "containers", "state", "capture", "values", "source", "program"}
    | GROUND,
    "static": TORCH
    | ROOMS
    | {"capture", "values", "program", "optimize", "execute", "export"}
    | GROUND,
    "debug": TORCH | STAGES | {"static"} | GROUND,
    "api": TORCH | STAGES | {"static", "debug", "ahead", "inductor"} | GROUND,
    "native": TORCH | {"execute", "export", "program"} | GROUND,
    "regions": TORCH | {"execute", "native", "optimize", "program"} | GROUND,
    "inductor": TORCH | {"execute", "optimize", "program", "regions"} | GROUND,
    "cudagraph": TORCH | {"execute", "inductor", "optimize", "program", "regions"} | GROUND,
    "ahead": TORCH
    | {"execute", "export", "inductor", "native", "optimize", "program", "regions"}
    | GROUND,
    "testing": {"api", "debug"} | GROUND,
    "public": STAGES | {"static", "debug", "api", "testing", "native", "inductor"} | GROUND,
    "cli": TORCH | STAGES | {"static", "debug", "api", "public", "native", "ahead"} | GROUND,
    "__main__": {"cli", "extras"},
    # to know their types: see there
    "__init__": {"public", "requirements", "debug", "errors", "static", "testing"},
}


@functools.cache
def statements_of(file: Path) -> tuple[ast.stmt, ...]:
    """Every statement of the file, parsed once for all tests; expressions hold no import."""
    found: list[ast.stmt] = []
    waiting: list[ast.AST] = [ast.parse(file.read_text())]
    while waiting:
        node = waiting.pop()
        for part in ("body", "orelse", "handlers", "finalbody", "cases"):
            inner = getattr(node, part, None)
            if isinstance(inner, list):
                found += [one for one in inner if isinstance(one, ast.stmt)]
                waiting += inner
    return tuple(found)


def part_of(file: Path, src: Path = SRC) -> str:
    return file.relative_to(src).parts[0].removesuffix(".py")


def modules_imported_by(file: Path) -> set[str]:
    """Absolute names: `from stator import api` counts as `stator.api`."""
    names = set()
    for node in statements_of(file):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: a relative import"
            if node.module == "stator":
                names.update(f"stator.{alias.name}" for alias in node.names)
            else:
                names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update("stator.__init__" if a.name == "stator" else a.name for a in node.names)
    return names


def parts_imported_by(file: Path) -> set[str]:
    parts = {n.split(".")[1] for n in modules_imported_by(file) if n.startswith("stator.")}
    # what is no part is a public name: only `__init__` gives those
    return {part if part in MAY_IMPORT else "__init__" for part in parts}


def test_every_part_has_a_place_in_the_pipeline():
    parts = {part_of(file) for file in SRC.rglob("*.py")}
    assert parts - MAY_IMPORT.keys() == set()


def test_no_module_imports_up_the_pipeline():
    wrong = []
    for file in sorted(SRC.rglob("*.py")):
        part = part_of(file)
        extra = parts_imported_by(file) - MAY_IMPORT.get(part, set()) - {part}
        wrong += [f"{file.relative_to(SRC)} imports {e}" for e in sorted(extra)]
    assert wrong == []


def test_verification_stands_beside_stator():
    """It is imported by name, when it is asked for; it uses Stator below its public names."""
    for file in sorted(SRC.rglob("*.py")):
        assert not any(name.startswith("stator_verify") for name in modules_imported_by(file)), file
    allowed = TORCH | STAGES | {"api", "debug"} | GROUND
    for file in sorted((SRC.parent / "stator_verify").glob("*.py")):
        assert parts_imported_by(file) - allowed == set(), file


def test_the_rewriter_knows_nothing_of_torch():
    for part in ("source", "rewrite"):
        for file in (SRC / part).rglob("*.py"):
            roots = {name.split(".")[0] for name in modules_imported_by(file)}
            assert "torch" not in roots, file


def test_every_way_to_write_an_import_is_seen(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "import stator.capture.recorder\n"
        "from stator import program, to_static\n"
        "def late():\n"
        "    from stator.rewrite.loops import rewrite_while\n"
    )
    assert parts_imported_by(file) == {"capture", "program", "__init__", "rewrite"}


def module_name(file: Path, src: Path) -> str:
    """`stator.capture.recorder`; a package is named by its folder."""
    parts = file.relative_to(src.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_graph(src: Path) -> dict[str, set[str]]:
    """Which module imports which, also inside functions and where only types are checked."""
    files = {module_name(file, src): file for file in src.rglob("*.py")}
    graph: dict[str, set[str]] = {name: set() for name in files}
    for name, file in files.items():
        for node in statements_of(file):
            if isinstance(node, ast.Import):
                graph[name].update(alias.name for alias in node.names if alias.name in files)
            elif isinstance(node, ast.ImportFrom) and node.module in files:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[name].update(inner & files.keys() or {node.module})
    return graph


def test_no_import_cycle():
    for src in (SRC, SRC.parent / "stator_verify"):
        graphlib.TopologicalSorter(import_graph(src)).prepare()  # raises CycleError


def test_a_cycle_through_type_checking_is_seen(tmp_path):
    package = tmp_path / "stator"
    package.mkdir()
    (package / "one.py").write_text("import stator.two\n")
    (package / "two.py").write_text("if TYPE_CHECKING:\n    from stator.one import One\n")
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter(import_graph(package)).prepare()


def test_no_file_has_more_than_500_lines():
    for src in (SRC, SRC.parent / "stator_verify"):
        long = [file for file in src.rglob("*.py") if len(file.read_text().splitlines()) > 500]
        assert long == []


def test_no_class_name_is_used_twice():
    found: dict[str, set[str]] = {}
    for file in sorted(SRC.parent.rglob("*.py")):
        for node in statements_of(file):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).add(str(file.relative_to(SRC.parent)))
    assert {name: files for name, files in found.items() if len(files) > 1} == {}


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_any_is_rare(room):
    """`object` is what code that only passes a value on needs; `Staged`, a value of user code."""
    lines = [line for file in (SRC / room).rglob("*.py") for line in file.read_text().splitlines()]
    used = [
        line.count("Any")
        for line in lines
        if re.search(r"\bAny\b", line) and " import " not in line
    ]
    assert sum(used) < 40 * len(lines) / 1000
