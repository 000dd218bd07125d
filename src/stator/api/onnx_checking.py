"""checked_runs(): an ONNX model, run beside the program that it was made from."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stator.api.onnx_inputs import drawn_inputs
from stator.api.onnx_layer import OnnxMethod
from stator.api.onnx_report import OnnxPaths, OnnxReport
from stator.api.result_parts import result_parts
from stator.errors import ExportError
from stator.execute.backend import RaisedError, RunOptions
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import RunLimit, RunStop
from stator.export.onnx.model import OnnxModel
from stator.export.onnx.session import OnnxSession, RunFailure
from stator.extras import install_command
from stator.program.ir import ops_in
from stator.program.program import Program
from stator.program.structure import positions_in
from stator.program.types import TensorType

MOST_OPS = 3000  # of a run, before it counts as endless
CHOOSING = frozenset({"stator::if", "stator::while", "stator::assert"})
ROUNDINGS = 4  # of an input, to see whether they change what the program gives
ROUNDING = 4  # in units of the last place


@dataclass(frozen=True)
class OnnxTolerance:
    """How far rounding may lead: of the value, at all, and of the greatest value in a tensor."""

    relative: float
    absolute: float
    of_greatest: float


HALF = OnnxTolerance(1e-2, 1e-3, 2e-3)  # ONNX Runtime computes more precisely between some ops
SINGLE, DOUBLE = OnnxTolerance(1e-3, 1e-4, 1e-5), OnnxTolerance(1e-10, 1e-10, 1e-12)
Leaves = Sequence[Any]
Outcome = tuple[Any, ...] | RaisedError
Tensors = Mapping[str, torch.Tensor]


def checked_runs(
    file: Path,
    session: OnnxSession,
    program: Program,
    tensors: Tensors,
    model: OnnxModel,
    depth: int,
    *,
    examples: Sequence[Leaves] = (),
    search: bool = True,
) -> OnnxReport:
    """Runs both on `examples`, on drawn inputs, and with `search` on inputs for other paths.

    ExportError where they differ.
    """
    runs = _SideBySide(file, session, program, tensors, model, depth)
    for leaves in examples:
        runs.compare(leaves)
    of_examples = runs.equal
    drawn = list(drawn_inputs(program))
    for leaves in drawn:  # the state goes on from one to the next
        runs.compare(leaves)
    paths = runs.search([*examples, *drawn]) if search else None
    messages = tuple(f"{m.error}: {m.text}" for m in model.messages)
    opset = int(model.model.graph.opset_imports[""])
    return OnnxReport(
        file, opset, runs.equal, runs.raised, runs.endless, runs.undefined, runs.greatest,
        messages, tuple(name for name, _ in model.states), model.dropped, depth, tuple(runs.gaps),
        of_examples, paths,
    )  # fmt: skip


class _SideBySide:
    """The model and the program, on one input after the other."""

    def __init__(
        self, file: Path, session: OnnxSession, program: Program, tensors: Tensors,
        model: OnnxModel, depth: int,
    ) -> None:  # fmt: skip
        self.file, self.session, self.program, self.depth = file, session, program, depth
        self.tolerance = _tolerance(program)
        self.unchecked = {message.text for message in model.messages if message.is_undefined}
        self.given = {item.name: tensors[item.name] for item in program.stored}
        self.changing = tuple(name for name, _ in session.states if name in self.given)
        self.equal = self.raised = self.endless = self.undefined = self.unstable = 0
        self.greatest: dict[int, float] = {}
        self.gaps: dict[str, None] = {}
        self.reset()

    def reset(self) -> None:
        """The state that the model was saved with, on both sides."""
        self.stored = self.given | {name: self.given[name].clone() for name in self.changing}
        self.state = {name: self.given[name].clone() for name in self.changing}

    def compare(self, inputs: Leaves, *, excuses: bool = False) -> None:
        """One run of each; with `excuses`, a difference that a rounding of the inputs makes too.

        The last is for inputs that are near the point where a condition turns.
        """
        before = {name: tensor.clone() for name, tensor in self.state.items()}
        try:
            wanted = self._reference(inputs, self.stored)
        except RunStop:
            self.endless += 1
            return
        found = OnnxMethod(self.session, self.program, self.state).run(_copied(inputs))
        if isinstance(found, RunFailure):
            if found.error == "RecursionError" and self.depth:
                self.endless += 1
                return
            if found.text in self.unchecked:
                self.undefined += 1
                return
            if _is_gap(inputs, wanted, found):
                self.gaps[f"ONNX Runtime reports {found.text}"] = None
                self._forget()
                return
        problem = self._difference(wanted, found)
        if problem and excuses and self._is_unstable(inputs, before, wanted):
            self.unstable += 1
            return
        if problem:
            raise ExportError(
                f"ONNX Runtime behaves differently from the program ({self.file.name}): {problem}",
                fix="report it as a bug in Stator, or save without onnx=True",
            )
        self.equal += 1
        if isinstance(wanted, RaisedError):
            self.raised += 1
            self._forget()

    def _forget(self) -> None:
        """After an error, the state of the model is that of the program."""
        for name, tensor in self.state.items():
            tensor.copy_(self.stored[name])

    def _difference(self, wanted: Outcome, found: tuple[Any, ...] | RunFailure) -> str:
        if isinstance(wanted, RaisedError) or isinstance(found, RunFailure):
            if isinstance(wanted, RaisedError) and isinstance(found, RunFailure):
                return ""
            return f"one of them raises: {_said(wanted)}, and {_said(found)}"
        pairs = self._outputs(wanted, found)
        if pairs is None:
            return "the results have other structures"
        for index, one, other in pairs:
            same, distance = _close(one, other, self.tolerance)
            if not same:
                return f"output {index} is {other!r}, not {one!r}"
            self.greatest[index] = max(self.greatest.get(index, 0.0), distance)
        for name, tensor in self.state.items():
            if not _close(self.stored[name], tensor, self.tolerance)[0]:
                return f"the buffer {name} differs after a run"
        return ""

    def _outputs(self, wanted: Leaves, found: Leaves) -> list[tuple[int, Any, Any]] | None:
        """What both give, by the number of the output: not what the result does not contain."""
        one, other = (self._parts(leaves) for leaves in (wanted, found))
        if [position for position, _ in one] != [position for position, _ in other]:
            return None
        return [(index, a, b) for (index, a), (_, b) in zip(one, other, strict=True)]

    def _parts(self, leaves: Leaves) -> list[tuple[int, Any]]:
        structure = self.program.output_structure
        known = set(positions_in(structure))
        others = [(k, leaf) for k, leaf in enumerate(leaves) if k not in known]
        return [*result_parts(structure, leaves), *others]

    def _reference(self, inputs: Leaves, stored: Tensors) -> Outcome:
        """What the program gives; what it prints is of no interest here."""
        options = RunOptions(observer=RunLimit(ops=MOST_OPS), gradients=False)
        with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
            return INTERPRETER.prepare(self.program, options).bind(stored)(_copied(inputs))

    def _is_unstable(self, inputs: Leaves, state: Tensors, wanted: Outcome) -> bool:
        """Whether a change of the inputs that is no more than a rounding changes the result."""
        generator = torch.Generator().manual_seed(0)
        for _ in range(ROUNDINGS):
            stored = self.given | {name: tensor.clone() for name, tensor in state.items()}
            try:
                found = self._reference(_rounded(inputs, generator), stored)
            except RunStop:
                return True
            if isinstance(found, RaisedError) or isinstance(wanted, RaisedError):
                if isinstance(found, RaisedError) != isinstance(wanted, RaisedError):
                    return True
                continue
            pairs = self._outputs(wanted, found)
            if pairs is None or not all(
                _close(one, other, self.tolerance)[0] for _, one, other in pairs
            ):
                return True
        return False

    def search(self, given: Sequence[Leaves]) -> OnnxPaths | None:
        """Compare both on inputs for the paths that no given input takes."""
        if not any(op.name in CHOOSING for op in self.program.ops()):
            return None
        try:
            finding = importlib.import_module("stator_verify.program_paths")
        except ModuleNotFoundError as error:
            return OnnxPaths(0, problem=f"{error.name} is missing, {install_command('verify')}")
        found = finding.find_paths(self.program, self.given, given, changing=self.changing)
        before = self.equal, self.unstable
        for leaves in found.inputs:
            self.reset()
            self.compare(leaves, excuses=True)
        return OnnxPaths(found.taken, found.missing, self.equal - before[0], self.unstable)


def _is_gap(inputs: Sequence[Any], wanted: object, found: object) -> bool:
    """Whether ONNX Runtime has no kernel for tensors without elements, where torch has one."""
    if isinstance(wanted, RaisedError) or not isinstance(found, RunFailure):
        return False
    is_empty = any(isinstance(leaf, torch.Tensor) and not leaf.numel() for leaf in inputs)
    return found.by_runtime and is_empty


def _tolerance(program: Program) -> OnnxTolerance:
    """That of doubles, unless something is computed in less."""
    values = [value for op in ops_in(program.body) for value in op.results]
    values += [*program.inputs, *(item.value for item in program.stored)]
    dtypes = {kind.dtype for value in values if isinstance(kind := value.type, TensorType)}
    if dtypes & {"float16", "bfloat16"}:
        return HALF
    return SINGLE if "float32" in dtypes else DOUBLE


def _said(outcome: object) -> str:
    if isinstance(outcome, RaisedError):
        return f"the program raises {outcome.class_name}{outcome.args!r}"
    if isinstance(outcome, RunFailure):
        return f"ONNX Runtime reports {outcome.error}: {outcome.text}"
    return "the other gives a result"


def _close(one: Any, other: Any, tolerance: OnnxTolerance = SINGLE) -> tuple[bool, float]:
    """Whether two leaves are equal up to rounding, and how far they are from each other."""
    if isinstance(one, list):
        if not isinstance(other, list) or len(one) != len(other):
            return False, float("inf")
        pairs = [_close(a, b, tolerance) for a, b in zip(one, other, strict=True)]
        return all(same for same, _ in pairs), max((d for _, d in pairs), default=0.0)
    if not isinstance(one, torch.Tensor):
        one = torch.tensor(one) if isinstance(one, bool | int | float) else one
        other = torch.tensor(other) if isinstance(other, bool | int | float) else other
        if not isinstance(one, torch.Tensor):
            return one == other, 0.0
    if one.dtype != other.dtype or one.shape != other.shape:
        return False, float("inf")
    if not one.is_floating_point():
        return torch.equal(one, other), 0.0 if torch.equal(one, other) else float("inf")
    magnitude = one[one.isfinite()].abs().max().item() if one.isfinite().any() else 0.0
    absolute = tolerance.absolute + tolerance.of_greatest * magnitude  # large terms cancel out
    close = torch.allclose(one, other, rtol=tolerance.relative, atol=absolute, equal_nan=True)
    distance = (one - other).abs().nan_to_num(0.0, 0.0, 0.0)
    return close, float(distance.max()) if distance.numel() else 0.0


def _copied(leaves: Leaves) -> list[Any]:
    return [leaf.clone() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]


def _rounded(leaves: Leaves, generator: torch.Generator) -> list[Any]:
    """Every float changed a little."""
    made = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
            noise = torch.rand(leaf.shape, generator=generator, dtype=torch.float64) * 2 - 1
            step = ROUNDING * torch.finfo(leaf.dtype).eps * (leaf.abs() + 1e-3)
            leaf = leaf + (step * noise.sign()).to(leaf.dtype)
        made.append(leaf)
    return made
