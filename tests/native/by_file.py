"""Calls of saved models, run by `stator-run` in one process, compared with the interpreter.

    batch = Batch(folder)
    batch.add("loops.while_sum", path_of_model, calls)
    for difference in batch.differences(): ...

Values must be equal to the bit, printed text and errors letter by letter. Calls of one model are
made in order, so what a call leaves in a buffer, or in the state of the model, is seen by the next
one, on both sides.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from stator.api.loaded_state import LoadedState
from stator.api.translated import keep_state
from stator.errors import SpecMismatch, StatorError
from stator.execute.arguments import flatten_inputs
from stator.execute.backend import RaisedError
from stator.execute.interpreter import INTERPRETER
from stator.export.encoding import encode_constant
from stator.export.saved_model import SavedModel, read_model
from stator.extension import command
from stator.program.program import Program

SEED = 1


@dataclass(frozen=True)
class Result:
    """What a call did."""

    outputs: tuple[Any, ...] | None
    error: tuple[str, str] | None  # the class and the message
    printed: str


@dataclass
class Job:
    """One call: what the interpreter did, and where `stator-run` writes what it does."""

    name: str
    wanted: Result
    line: dict[str, Any]
    outputs: Path


@dataclass
class Batch:
    """Calls of many models."""

    folder: Path
    jobs: list[Job] = field(default_factory=list)

    def add(self, name: str, path: Path, calls: Sequence[tuple[Any, ...]]) -> None:
        """Calls of the method `forward` of the model at `path`."""
        saved = read_model(path)
        program = saved.program_of(training=saved.training)
        if program is None:
            return
        stored, state = _stored(saved), LoadedState(saved.states)
        for index, call in enumerate(calls):
            types = [value.type for value in program.call_inputs]
            try:
                leaves = flatten_inputs(program.input_structure, call, {}, types=types)
            except SpecMismatch:
                continue  # what Python refuses is not the runtime's
            self._add_call(f"{name} call {index}", path, program, leaves, stored, state)

    def _add_call(
        self,
        name: str,
        path: Path,
        program: Program,
        leaves: tuple[Any, ...],
        stored: Mapping[str, torch.Tensor],
        state: LoadedState,
    ) -> None:
        inputs = self.folder / f"in{len(self.jobs)}.safetensors"
        outputs = self.folder / f"out{len(self.jobs)}.safetensors"
        _write_inputs(inputs, program, leaves)
        line = {
            "model": str(path), "inputs": [str(inputs)], "outputs": str(outputs), "seed": SEED,
            "gradients": True,  # as in the interpreter: some kernels differ in the last bit
        }  # fmt: skip
        self.jobs.append(Job(name, _interpreted(program, leaves, stored, state), line, outputs))

    def differences(self, *options: str) -> Iterator[str]:
        """What `stator-run` does otherwise, one line for each call."""
        jobs = self.folder / "jobs.jsonl"
        jobs.write_text("".join(json.dumps(job.line) + "\n" for job in self.jobs))
        subprocess.run(
            [str(command()), "--batch", str(jobs), "--threads", "1", *options],
            check=True, timeout=600,
        )  # fmt: skip
        for job in self.jobs:
            if difference := _difference(job.wanted, _read_result(job.outputs)):
                yield f"{job.name}: {difference}"


def _stored(saved: SavedModel) -> dict[str, torch.Tensor]:
    for name, entry in saved.entries.items():
        saved.tensors[name].requires_grad_(entry.requires_grad)
    return dict(saved.tensors)


def _interpreted(
    program: Program,
    leaves: tuple[Any, ...],
    stored: Mapping[str, torch.Tensor],
    state: LoadedState,
) -> Result:
    torch.manual_seed(SEED)
    printed = io.StringIO()
    inputs = [*map(_copy, leaves), *state.before(program)]
    with contextlib.redirect_stdout(printed):
        outcome = keep_state(state, program, INTERPRETER.prepare(program).bind(stored)(inputs))
    if isinstance(outcome, RaisedError):
        return Result(None, _error(outcome), printed.getvalue())
    return Result(tuple(map(_copy, outcome)), None, printed.getvalue())  # a later call may write


def _error(raised: RaisedError) -> tuple[str, str]:
    """The class, or the code of an error of Stator's own, and the message."""
    error = raised.exception()
    if isinstance(error, StatorError):
        return error.code, error.problem
    name = raised.classes[0].rpartition(".")[2] if raised.classes else type(error).__name__
    return name, str(error)


def _copy(leaf: Any) -> Any:
    if isinstance(leaf, list):
        return [_copy(item) for item in leaf]
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _write_inputs(path: Path, program: Program, leaves: tuple[Any, ...]) -> None:
    tensors: dict[str, torch.Tensor] = {}
    constants: dict[str, str] = {}

    def enter(name: str, leaf: Any) -> None:
        if isinstance(leaf, torch.Tensor):
            tensors[name] = leaf.detach().clone().contiguous()
        elif isinstance(leaf, list):
            for index, item in enumerate(leaf):
                enter(f"{name}.{index}", item)
        else:
            constants[name] = json.dumps(encode_constant(leaf))

    for value, leaf in zip(program.call_inputs, leaves, strict=True):
        enter(value.name, leaf)
    save_file(tensors, path, constants)


def _read_result(path: Path) -> Result:
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  # no dict
    printed = metadata.get("printed", "")
    if "error" in metadata:
        error = json.loads(metadata["error"])
        return Result(None, (error["code"] or error["class"], error["message"]), printed)
    outputs = json.loads(metadata["outputs"])
    return Result(tuple(_decode(item, tensors) for item in outputs), None, printed)


def _decode(data: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    match data:
        case {"tensor": name, "dtype": dtype}:
            stored = tensors[name]
            return torch.view_as_complex(stored) if dtype.startswith("complex") else stored
        case {"float": number}:
            return float(number)
        case {"complex": [real, imaginary]}:
            return complex(float(real), float(imaginary))
        case list():
            return [_decode(item, tensors) for item in data]
    return data


def _difference(wanted: Result, found: Result) -> str | None:
    if wanted.error != found.error:
        return f"raises {found.error}, not {wanted.error}"
    if wanted.printed != found.printed:
        return f"prints {found.printed!r}, not {wanted.printed!r}"
    if wanted.outputs is None or found.outputs is None:
        return None
    for index, (want, got) in enumerate(zip(wanted.outputs, found.outputs, strict=True)):
        if not same(want, got):
            return f"output {index} is {got!r}, not {want!r}"
    return None


def same(want: Any, got: Any) -> bool:
    """Are these equal to the bit?"""
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        return len(want) == len(got) and all(map(same, want, got))
    if isinstance(want, torch.Tensor) and isinstance(got, torch.Tensor):
        kinds = [(one.dtype, one.shape, one.layout) for one in (want, got)]
        return kinds[0] == kinds[1] and _bytes(want) == _bytes(got)
    return type(want) is type(got) and repr(want) == repr(got)


def _bytes(tensor: torch.Tensor) -> bytes:
    given = tensor.detach()
    dense = given if given.layout == torch.strided else given.to_dense()
    dense = dense.resolve_conj().resolve_neg().contiguous()
    row = dense.as_strided((dense.numel(),), (1,))  # one item may have any stride
    return row.view(torch.uint8).numpy().tobytes() if dense.numel() else b""
