"""inspect: what a saved model holds."""

from __future__ import annotations

import collections
import hashlib
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from stator.cli.screen import CommandOutcome, columns, show_table, size_text, working
from stator.english import counted
from stator.export.contents import ModelContents, read_contents
from stator.export.files import Paths
from stator.program.program import Program
from stator.program.signatures import inputs_in_words, output_text

LARGEST = 8  # tensors that are listed unless all are wanted
MOST_OPS = 12  # kinds of ops that are listed for people
CHUNK = 2**20


def inspect(model: str, tensors: bool) -> CommandOutcome:
    """Everything that the files say of themselves, after they were checked."""
    with working(f"reading {model}"):
        saved = read_contents(model)
        data = _data(model, saved)
    return CommandOutcome(data, lambda screen: _show(screen, data, tensors))


def _data(path: str, saved: ModelContents) -> dict[str, Any]:
    files = Paths.of(path)
    return {
        "model": path,
        "format": saved.version,
        "producer": dict(saved.producer),
        "mode": "train" if saved.training else "eval",
        "files": [_file_data(file) for file in (files.text, files.weights)],
        "methods": {
            name: {"programs": dict(method.programs), "refused": dict(method.refused)}
            for name, method in saved.methods.items()
        },
        "programs": {name: _program_data(program) for name, program in saved.programs.items()},
        "tensors": [_tensor_data(saved, *both) for both in saved.names.first_names().items()],
        "properties": dict(saved.properties),
    }


def _file_data(file: Path) -> dict[str, Any]:
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
    return {"file": str(file), "bytes": file.stat().st_size, "sha256": digest.hexdigest()}


def _program_data(program: Program) -> dict[str, Any]:
    ops = collections.Counter(op.name for op in program.ops())
    ordered = sorted(ops.items(), key=lambda item: (-item[1], item[0]))
    return {
        "inputs": [{"name": name, "type": kind} for name, kind in inputs_in_words(program)],
        "outputs": output_text(program),
        "ops": sum(ops.values()),
        "ops_by_count": dict(ordered),
        "functions": list(program.functions),
        **({"state": [use.name for use in program.state]} if program.state else {}),
    }


def _tensor_data(saved: ModelContents, name: str, first: str) -> dict[str, Any]:
    kind, entry = saved.names.types[name], saved.entries[name]
    return {
        "name": name,
        "kind": entry.kind,
        "dtype": kind.dtype,
        "shape": list(kind.shape),
        "bytes": saved.names.sizes[name],
        "requires_grad": entry.requires_grad,
        "persistent": entry.persistent,
        "tied_to": None if first == name else first,
    }


# ---- for people


def _show(screen: Console, data: dict[str, Any], all_tensors: bool) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in data["producer"].items())
    screen.print(Text(data["model"], style="bold"), soft_wrap=True)
    screen.print(f"format {data['format']}, written by {versions}; saved in {data['mode']} mode")
    _show_files(screen, data)
    _show_methods(screen, data)
    for name, program in data["programs"].items():
        _show_program(screen, name, program)
    _show_tensors(screen, data["tensors"], all_tensors)
    if data["properties"]:
        screen.print()
        screen.print(f"properties: {data['properties']}")


def _show_files(screen: Console, data: dict[str, Any]) -> None:
    screen.print()
    table = columns("file", "size", "sha256", right=("size",))
    for file in data["files"]:
        table.add_row(Path(file["file"]).name, size_text(file["bytes"]), file["sha256"])
    show_table(screen, table)


def _show_methods(screen: Console, data: dict[str, Any]) -> None:
    screen.print()
    table = columns("method", "mode", "program")
    for name, method in data["methods"].items():
        for mode, program in method["programs"].items():
            table.add_row(name, mode, program)
        for mode, reason in method["refused"].items():
            table.add_row(name, mode, Text(f"refused: {reason}", style="red"))
    show_table(screen, table)


def _show_program(screen: Console, name: str, program: dict[str, Any]) -> None:
    screen.print()
    heading = Text("program ").append(name, style="bold")
    screen.print(heading.append(f": {counted(program['ops'], 'op')}"))
    for one in program["inputs"]:
        screen.print(Text(f"  takes {one['name']}: {one['type']}"))
    screen.print(Text(f"  returns {program['outputs']}"))
    table = columns("count", "op", right=("count",))
    counts = list(program["ops_by_count"].items())
    for op, count in counts[:MOST_OPS]:
        table.add_row(str(count), op)
    if len(counts) > MOST_OPS:
        rest = counts[MOST_OPS:]
        table.add_row(str(sum(n for _, n in rest)), "other ops")
    if counts:
        show_table(screen, table)


def _show_tensors(screen: Console, tensors: list[dict[str, Any]], every: bool) -> None:
    screen.print()
    own = [one for one in tensors if one["tied_to"] is None]
    kinds = collections.Counter(one["kind"] for one in own)
    said = ", ".join(counted(count, kind) for kind, count in kinds.items()) or "no tensors"
    screen.print(f"{said}; {size_text(sum(one['bytes'] for one in own))}")
    listed = tensors if every else sorted(own, key=lambda one: -one["bytes"])[:LARGEST]
    table = columns("tensor", "kind", "dtype", "shape", "size", right=("size",))
    for one in listed:
        size = size_text(one["bytes"]) if one["tied_to"] is None else f"is {one['tied_to']}"
        table.add_row(one["name"], one["kind"], one["dtype"], str(one["shape"]), size)
    if listed:
        show_table(screen, table)
    if len(listed) < len(tensors):
        screen.print(f"  and {len(tensors) - len(listed)} more: --tensors lists them all")
