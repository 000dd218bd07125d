"""Imports point one way: down the pipeline."""

import ast
from pathlib import Path

SRC = Path(__file__).parents[1] / "src" / "stator"
GROUND = {"debugger", "errors", "frames", "location", "logs"}
STAGES = {"source", "rewrite", "staging", "capture", "program", "optimize", "execute", "export"}
MAY_IMPORT = {
    "location": set(),
    "logs": set(),
    "frames": {"location", "logs"},
    "errors": {"frames", "location"},
    "debugger": {"frames"},
    "source": GROUND,
    "program": GROUND,
    "rewrite": {"source"} | GROUND,
    "capture": {"program"} | GROUND,
    "optimize": {"program"} | GROUND,
    "execute": {"program"} | GROUND,
    "export": {"program"} | GROUND,
    "staging": {"capture", "rewrite", "source", "program"} | GROUND,
    "static": {"staging", "capture", "program", "optimize", "execute", "export"} | GROUND,
    "debug": STAGES | {"static"} | GROUND,
    "api": STAGES | {"static", "debug"} | GROUND,
    "testing": {"api", "debug"} | GROUND,
    "public": STAGES | {"static", "debug", "api", "testing"} | GROUND,
    "cli": STAGES | {"static", "debug", "api", "public"} | GROUND,
    "__main__": {"cli"},
    # to know their types: see there
    "__init__": {"public", "debug", "errors", "static", "testing"},
}


def part_of(file: Path, src: Path = SRC) -> str:
    return file.relative_to(src).parts[0].removesuffix(".py")


def modules_imported_by(file: Path) -> set[str]:
    """Absolute names: `from stator import api` counts as `stator.api`."""
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
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
