"""OnnxReport: an ONNX model, run beside the program that it was made from."""

from __future__ import annotations

import contextlib
import io
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from stator.api.onnx_layer import OnnxMethod
from stator.errors import ExportError
from stator.execute.backend import RaisedError, RunOptions
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import RunStop, Seen
from stator.export.onnx.model import OnnxModel
from stator.export.onnx.session import OnnxSession, RunFailure
from stator.export.saved_model import SavedModel
from stator.program.ir import Block, Op, Value, ops_in
from stator.program.program import Program
from stator.program.sizes import evaluate
from stator.program.types import ListType, NumberType, TensorType, TextType, Type
from stator.program.typing_rules import present as present_part
from stator.program.unions import presence_of, tag_of

MOST_OPS = 3000  # of a run, before it counts as endless
DRAWS = 10
SIZES = (4, 1, 3, 2, 5, 0)


@dataclass(frozen=True)
class OnnxTolerance:
    """How far rounding may lead: of the value, at all, and of the greatest value in a tensor."""

    relative: float
    absolute: float
    of_greatest: float


HALF = OnnxTolerance(1e-2, 1e-3, 2e-3)  # ONNX Runtime computes more precisely between some ops
SINGLE, DOUBLE = OnnxTolerance(1e-3, 1e-4, 1e-5), OnnxTolerance(1e-10, 1e-10, 1e-12)


@dataclass(frozen=True)
class OnnxReport:
    """A model that was written: what was checked, and what a reader of it should know."""

    file: Path
    opset: int
    runs: int  # on drawn inputs, each equal to the program
    raised: int  # of those, runs that report an error where the program raises
    endless: int  # drawn inputs that were left out: the program took too long
    undefined: int  # others: torch's result means nothing, and the model reports an error
    differences: Mapping[int, float] = field(default_factory=dict)  # greatest, by output
    messages: tuple[str, ...] = ()  # errors that the model can report
    states: tuple[str, ...] = ()  # buffers and inputs whose next contents are outputs
    dropped: tuple[str, ...] = ()  # what the model leaves out
    recursion: int = 0  # calls inside each other, beyond which the model reports an error
    gaps: tuple[str, ...] = ()  # sizes 0 that the program takes and ONNX Runtime does not

    def __str__(self) -> str:
        return "\n".join([f"{self.file.name}  (opset {self.opset})", *self.findings()])

    def findings(self) -> list[str]:
        """A line for each check, each output, and each thing that a reader should know."""
        lines = ["  ✓ onnx.checker"]
        if self.runs:
            lines.append(f"  ✓ ONNX Runtime equals the program in {self.runs} runs, "
                         f"{self.raised} of them with an error")  # fmt: skip
        else:
            lines.append("  ✗ ONNX Runtime was not compared with the program: no run ended")
        if self.endless:
            lines.append(f"  - {self.endless} drawn inputs left out: the program took too long")
        if self.undefined:
            lines.append(
                f"  - {self.undefined} drawn inputs left out: what torch gives is undefined"
            )
        lines += [f"  output {k}: greatest difference {d:.2g}" for k, d in self.differences.items()]
        lines += [f"  status {n}: {text}" for n, text in enumerate(self.messages, 1)]
        lines += [f"  state: {name} -> {name}.next" for name in self.states]
        lines += [f"  left out: {text}" for text in self.dropped]
        if self.recursion:
            lines.append(f"  recursion: up to {self.recursion} calls inside each other")
        lines += [f"  - a tensor without elements: {text}" for text in self.gaps]
        return lines


class _Budget:
    """Ends a run that takes too many ops."""

    def __init__(self) -> None:
        self.left = MOST_OPS

    def begin(self, op: Op, values: Seen) -> None:
        del op, values
        self.left -= 1
        if self.left < 0:
            raise RunStop(TimeoutError("the run takes too long"))

    def enter(self, block: Block, values: Seen) -> None:
        """Nothing to do."""

    def leave(self, block: Block, values: Seen) -> None:
        """Nothing to do."""

    def end(self, op: Op, values: Seen, results: Sequence[Any]) -> None:
        """Nothing to do."""

    def fail(self, op: Op, error: BaseException) -> None:
        """Nothing to do."""


def checked_runs(
    file: Path,
    session: OnnxSession,
    program: Program,
    saved: SavedModel,
    model: OnnxModel,
    depth: int,
) -> OnnxReport:
    """Runs both on drawn inputs; ExportError where they differ."""
    runs = raised = endless = undefined = 0
    greatest: dict[int, float] = {}
    tolerance = _tolerance(program)
    unchecked = {message.text for message in model.messages if message.is_undefined}
    gaps: dict[str, None] = {}
    stored = {item.name: saved.tensors[item.name] for item in program.stored}
    changing = {name for name, _ in session.states if name in stored}
    stored |= {name: stored[name].clone() for name in changing}
    state = {name: stored[name].clone() for name in changing}
    for inputs in _draws(program):  # the state goes on from one to the next
        try:
            wanted = _reference(program, [_copied(leaf) for leaf in inputs], stored)
        except RunStop:
            endless += 1
            continue
        found = OnnxMethod(session, program, state).run([_copied(leaf) for leaf in inputs])
        is_recursion = isinstance(found, RunFailure) and found.error == "RecursionError" and depth
        if is_recursion:
            endless += 1
            continue
        if isinstance(found, RunFailure) and found.text in unchecked:
            undefined += 1
            continue
        if isinstance(wanted, RaisedError) or isinstance(found, RunFailure):
            for name, tensor in state.items():
                tensor.copy_(stored[name])
            if _is_gap(inputs, wanted, found):
                gaps[f"ONNX Runtime reports {found.text}"] = None  # type: ignore[union-attr]
                continue
            if not (isinstance(wanted, RaisedError) and isinstance(found, RunFailure)):
                _differ(file, f"one of them raises: {_said(wanted)}, and {_said(found)}")
            runs, raised = runs + 1, raised + 1
            continue
        _compare(file, program, wanted, found, greatest, tolerance)
        for name, tensor in state.items():
            if not _close(stored[name], tensor, tolerance)[0]:
                _differ(file, f"the buffer {name} differs after a run")
        runs += 1
    messages = tuple(f"{m.error}: {m.text}" for m in model.messages)
    opset = int(model.model.graph.opset_imports[""])
    states = tuple(name for name, _ in model.states)
    return OnnxReport(file, opset, runs, raised, endless, undefined, greatest, messages, states,
                      model.dropped, depth, tuple(gaps))  # fmt: skip


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


def _differ(file: Path, how: str) -> None:
    raise ExportError(f"ONNX Runtime does not do what the program does ({file.name}): {how}",
                      fix="report it as a bug in Stator, or save without onnx=True")  # fmt: skip


def _said(outcome: object) -> str:
    if isinstance(outcome, RaisedError):
        return f"the program raises {outcome.class_name}{outcome.args!r}"
    if isinstance(outcome, RunFailure):
        return f"ONNX Runtime reports {outcome.error}: {outcome.text}"
    return "the other gives a result"


def _reference(
    program: Program, inputs: Sequence[Any], stored: Mapping[str, torch.Tensor]
) -> tuple[object, ...] | RaisedError:
    """What the program gives; what it prints is of no interest for drawn inputs."""
    options = RunOptions(observer=_Budget(), gradients=False)
    with torch.no_grad(), contextlib.redirect_stdout(io.StringIO()):
        return INTERPRETER.prepare(program, options).bind(stored)(inputs)


def _compare(
    file: Path, program: Program, wanted: Sequence[Any], found: Sequence[Any],
    greatest: dict[int, float], tolerance: OnnxTolerance,
) -> None:  # fmt: skip
    for index, (arg, one, other) in enumerate(
        zip(program.body.outputs, wanted, found, strict=True)
    ):
        if one is None and not isinstance(arg, type(None)):
            continue  # an absent part of a union
        if arg is None:
            continue
        same, distance = _close(one, other, tolerance)
        greatest[index] = max(greatest.get(index, 0.0), distance)
        if not same:
            _differ(file, f"output {index} is {other!r}, not {one!r}")


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


def _copied(leaf: Any) -> Any:
    return leaf.clone() if isinstance(leaf, torch.Tensor) else leaf


# ---- inputs


def _draws(program: Program) -> Iterator[list[Any]]:
    """Inputs of several sizes and scales; the same ones in every process."""
    for number in range(DRAWS):
        draw = random.Random(number)
        sizes: dict[str, int] = {}
        tags: dict[str, int] = {}  # by the name of the union
        yield [_leaf(value, draw, sizes, tags, number) for value in program.inputs]


def _leaf(
    value: Value, draw: random.Random, sizes: dict[str, int], tags: dict[str, int], number: int
) -> Any:
    """An input; a part of a union is there where the tag before it says so."""
    tag, present = tag_of(value.type), presence_of(value.type)
    if present is not None and tags.get(present.union) not in present.alternatives:
        return None
    if tag is None:
        return _drawn(present_part(value.type), draw, sizes, number)
    return tags.setdefault(tag.union, draw.randrange(tag.count))


def _drawn(kind: Type, draw: random.Random, sizes: dict[str, int], number: int) -> Any:
    if isinstance(kind, TensorType):
        return _tensor(kind, draw, sizes, number)
    if isinstance(kind, NumberType):
        return {"int": draw.randint(0, 4), "bool": draw.random() < 0.5}.get(
            kind.kind, draw.uniform(-2, 2)
        )
    if isinstance(kind, ListType):
        return [_drawn(kind.element, draw, sizes, number) for _ in range(draw.randint(0, 3))]
    if isinstance(kind, TextType):
        return draw.choice(("", "a", "text"))
    return None


def _tensor(
    kind: TensorType, draw: random.Random, sizes: dict[str, int], number: int
) -> torch.Tensor:
    shape = []
    for size in kind.shape:
        name = str(size)
        found = size if isinstance(size, int) else evaluate(size, sizes)
        if found is None:
            found = sizes.setdefault(name, _size(number, len(sizes)))
        shape.append(max(0, found))
    return _contents(kind, shape, draw, number)


def _size(number: int, index: int) -> int:
    """A dynamic size: in the first draws all are the same, in others each is another one."""
    if number < len(SIZES):
        return SIZES[number]
    return SIZES[(number + (1, 5, 2, 3)[number % 4] * index) % len(SIZES)]


def _contents(kind: TensorType, shape: list[int], draw: random.Random, number: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    dtype = getattr(torch, kind.dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point:
        return torch.randint(
            0, (4, 2, 7, 3, 5, 6)[number % 6], shape, generator=generator, dtype=dtype
        )
    scale, shift = ((1, 0), (4, 3), (4, -3), (0.1, 0), (20, 0), (1, 1))[number % 6]
    return (torch.randn(shape, generator=generator) * scale + shift).to(dtype)
