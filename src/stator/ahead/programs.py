"""compile_program(): libraries for the regions of a program, and the program that calls them.

Example runs show how the regions are called. A region that none of them reaches is not compiled:
nothing would say what its tensors are like, or whether the code is right.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from stator.ahead.calls import RegionCalls
from stator.ahead.folder import new_folder, write_manifest
from stator.ahead.libraries import DifferingResults, RegionLibrary, compiled_library, encode_layout
from stator.english import in_one_line
from stator.execute.backend import DEFAULT_OPTIONS, RunOptions, values_of
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import RunLimit, RunStop
from stator.export.encoding import Json, encode_program
from stator.inductor.compiling import is_portable
from stator.inductor.layouts import RegionLayout
from stator.locks import ONE_AT_A_TIME
from stator.optimize.alias import Aliases
from stator.optimize.regions import Outline, outline
from stator.program.ir import Block, Op
from stator.program.program import Program
from stator.program.regions import REGION, tensors_first
from stator.regions.calls import region_program, with_calls
from stator.regions.running import prepared_elsewhere, warn_of

SECONDS = 10.0  # that one example may run
UNREACHED = "no example input reaches it"

Inputs = Sequence[Any]  # of a program, flat


@dataclass(frozen=True)
class ExampleRuns:
    """A program with the tensors that it runs over, and inputs for it."""

    program: Program
    stored: Mapping[str, torch.Tensor]
    inputs: tuple[Inputs, ...]


@dataclass(frozen=True)
class RegionReport:
    """What became of one region."""

    program: str
    place: str
    ops: int
    libraries: int
    failure: str = ""

    def __str__(self) -> str:
        state = f"{self.libraries} librar{'y' if self.libraries == 1 else 'ies'}"
        more = f": {self.failure}" if self.failure else ""
        return f"{self.place or 'a region'}: {self.ops} ops, {state}{more}"


def compile_programs(
    path: str, model: str, device: str, runs: Mapping[str, ExampleRuns], done: Callable[[int], None]
) -> list[RegionReport]:
    """Write the folder of the model at `path`; `model` is the digest of its text.

    `done` is called with the number of regions that are done. One that cannot be compiled is a
    warning at its line.
    """
    reports: list[RegionReport] = []
    with new_folder(path) as folder, ONE_AT_A_TIME:
        files = (folder / f"{number}.so" for number in itertools.count())
        programs = {}
        for name, examples in runs.items():
            outlined = outline(examples.program)
            found = []
            for region in _calls(outlined, examples):
                found.append(_compiled(region, name, files))
                reports.append(found[-1][1])
                done(len(reports))
            programs[name] = {
                "program": _numbered(outlined.program),
                "regions": [[_encode(one) for one in libraries] for libraries, _ in found],
            }
        write_manifest(folder, model, device, programs, portable=is_portable())
    return reports


def count_regions(runs: Mapping[str, ExampleRuns]) -> int:
    """How many regions the programs have."""
    return sum(len(outline(one.program).regions) for one in runs.values())


def _calls(outlined: Outline, examples: ExampleRuns) -> list[RegionCalls]:
    """The regions of a program, with the calls that the examples make of them."""
    name = outlined.program.name
    regions = [RegionCalls(op, _ops(op, name)) for op in outlined.regions]
    if not regions:
        return []
    called = with_calls(outlined.program, {one.op: one for one in regions})
    for inputs in examples.inputs:
        _run(called, examples.stored, inputs)
    return regions


def _ops(op: Op, name: str) -> Callable[[Sequence[Any]], Sequence[Any]]:
    alone = prepared_elsewhere(region_program(op, name), DEFAULT_OPTIONS).bind({})
    return lambda given: values_of(alone(given))


def _run(program: Program, stored: Mapping[str, torch.Tensor], inputs: Inputs) -> None:
    """One run, which leaves no trace; what it raises is of no interest here."""
    options = RunOptions(observer=RunLimit(seconds=SECONDS), gradients=False)
    written = Aliases(program)
    kept = {item.name for item in program.stored if not written.is_written(item.value)}
    own = {name: one if name in kept else one.clone() for name, one in stored.items()}
    given = [one.clone() if isinstance(one, torch.Tensor) else one for one in inputs]
    with (
        torch.no_grad(),
        torch.random.fork_rng(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.suppress(RunStop),
    ):
        INTERPRETER.prepare(program, options).bind(own)(given)


def _compiled(
    region: RegionCalls, program: str, files: Iterator[Path]
) -> tuple[list[RegionLibrary], RegionReport]:
    """The libraries of a region."""
    found: list[RegionLibrary] = []
    failure = "" if region.calls else UNREACHED
    for layout in region.calls:
        try:
            found.append(_library(region, layout, next(files)))
        except DifferingResults as error:
            found, failure = [], str(error)
            break
        except Exception as error:  # noqa: BLE001  # torch's compiler may raise anything
            failure = in_one_line(error)
    if failure:
        where = f"a region of `{program}`"
        warn_of(region.place, f"{where} has no library for some inputs: {failure}" if found
                else f"{where} is not compiled: {failure}")  # fmt: skip
    place = region.place.short if region.place is not None else ""
    return found, RegionReport(program, place, len(region.op.blocks[0].ops), len(found), failure)


def _library(region: RegionCalls, layout: RegionLayout, file: Path) -> RegionLibrary:
    try:
        return compiled_library(region, layout, file)
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _encode(library: RegionLibrary) -> dict[str, Json]:
    return {
        "library": library.file.name,
        "sha256": hashlib.sha256(library.file.read_bytes()).hexdigest(),
        "layout": encode_layout(library.layout),
        "conditions": list(library.conditions),
    }


def _numbered(program: Program) -> Json:
    """The program as the native runtime reads it: regions have numbers, and their inputs."""
    numbers = itertools.count()

    def block_of(block: Block) -> Block:
        return Block(block.inputs, [op_of(op) for op in block.ops], block.outputs)

    def op_of(op: Op) -> Op:
        if op.name == REGION:
            return replace(op, args=tensors_first(op), attributes={"region": next(numbers)})
        return replace(op, blocks=tuple(map(block_of, op.blocks)))

    body = block_of(program.body)  # first, as `regions_in` has them
    functions = {name: block_of(block) for name, block in program.functions.items()}
    return encode_program(replace(program, body=body, functions=functions), with_regions=True)
