"""compile_saved(): libraries beside a saved model, for `save(compiled=)` and `stator compile`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from stator.ahead.folder import TARGETS, folder_of
from stator.ahead.programs import ExampleRuns, RegionReport, compile_programs, count_regions
from stator.api.loaded_calls import call_leaves
from stator.api.moving import moved
from stator.api.onnx_inputs import drawn_inputs
from stator.api.translated import TranslatedLayer, stored_tensors
from stator.errors import UnknownOption
from stator.export.saved_model import read_model
from stator.inductor.progress import progress
from stator.program.program import Program
from stator.program.types import TensorType

SIZES = (16, 1, 8, 2, 5)  # of dynamic sizes, in the runs that show how regions are called
NO_EXAMPLES: Mapping[str, Sequence[Any]] = MappingProxyType({})


@dataclass(frozen=True)
class CompilationReport:
    """What was compiled of a saved model, and where the libraries are."""

    folder: Path
    device: str
    regions: tuple[RegionReport, ...]

    def __str__(self) -> str:
        ready = sum(bool(one.libraries) for one in self.regions)
        head = f"{self.folder}: {ready} of {len(self.regions)} regions compiled for {self.device}"
        return "\n".join([head, *(f"  {one}" for one in self.regions)])


def check_device(device: str) -> None:
    """UnknownOption unless libraries can be made for this device here."""
    if device not in TARGETS:
        raise UnknownOption(f"nothing can be compiled for the device {device!r}",
                            fix=f"use one of {', '.join(TARGETS)}")  # fmt: skip
    if device == "cuda" and not torch.cuda.is_available():
        raise UnknownOption("there is no GPU here to compile for",
                            fix="compile on a machine that has one")  # fmt: skip


def compile_saved(
    path: str | os.PathLike[str],
    device: str,
    examples: Mapping[str, Sequence[Any]] = NO_EXAMPLES,
) -> CompilationReport:
    """Compile the regions of the model at `path`; `examples` has arguments for methods.

    Programs of eval mode are compiled, and those of methods that have no other. In a terminal, a
    bar shows how far it is.
    """
    check_device(device)
    saved = read_model(path)
    layer = TranslatedLayer(saved).eval().requires_grad_(requires_grad=False)
    if device != "cpu" and layer._stator_slots:
        layer = layer.to(device)
    runs: dict[str, ExampleRuns] = {}
    for method, about in layer._stator_methods.items():
        name = about.programs.get("eval") or next(iter(about.programs.values()))
        if name not in runs:
            runs[name] = _runs(layer, name, method, device, examples.get(method))
    with progress(f"compiling {os.fspath(path)}", count_regions(runs)) as done:
        reports = compile_programs(os.fspath(path), saved.digest, device, runs, done)
    return CompilationReport(folder_of(path), device, tuple(reports))


def _runs(
    layer: TranslatedLayer, name: str, method: str, device: str, example: Sequence[Any] | None
) -> ExampleRuns:
    """A program on `device`, with inputs for it."""
    program = layer._stator_programs[name]
    state = layer._stator_state.before(program) if program.state else ()
    count = len(program.call_inputs)
    given = [
        list(leaves[:count]) for leaves, _ in zip(drawn_inputs(program, SIZES), SIZES, strict=False)
    ]
    if example is not None:
        signature = layer._stator_methods[method].signature
        given.insert(0, list(call_leaves(program, signature, method, (tuple(example), {}))))
    inputs = tuple([*_on(device, leaves), *state] for leaves in given)
    if device not in _devices(program):
        program = moved(program, device)
    return ExampleRuns(program, stored_tensors(layer, name), inputs)


def _devices(program: Program) -> set[str]:
    values = [stored.value for stored in program.stored] or list(program.inputs)
    kinds = (value.type for value in values)
    return {torch.device(one.device).type for one in kinds if isinstance(one, TensorType)}


def _on(device: str, leaves: Sequence[Any]) -> Iterator[Any]:
    return (one.to(device) if isinstance(one, torch.Tensor) else one for one in leaves)
