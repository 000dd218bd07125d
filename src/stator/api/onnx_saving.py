"""save_onnx(): the ONNX models of a saved model's methods, checked after they are written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx
import onnx_ir as ir

from stator.api.loaded_calls import call_leaves
from stator.api.onnx_checking import checked_runs
from stator.api.onnx_layer import onnx_file, program_name
from stator.api.onnx_report import OnnxReport
from stator.errors import ExportError
from stator.export.files import Paths, temporary
from stator.export.methods import Method
from stator.export.onnx.model import OnnxModel, WeightSpan, attach, build, has_lowering, is_unfit
from stator.export.onnx.session import OnnxSession, newest_opset
from stator.export.saved_model import read_model
from stator.export.tensor_file import keys_of
from stator.export.tensor_header import spans_in
from stator.optimize.decompose import decompose
from stator.optimize.functionalize import functionalize
from stator.optimize.hoist import hoist
from stator.optimize.inline import inline
from stator.optimize.pipeline import optimize
from stator.optimize.prune import drop_unused_stored, prune
from stator.optimize.write_casts import write_casts
from stator.program.program import Program

LARGE = 2**28  # bytes of weights, of which a session that only checks makes no second copy
NO_EXAMPLES: Mapping[str, Sequence[Any]] = MappingProxyType({})
INSIDE_LIMIT = 2**31 - 2**24  # bytes of weights in a file, whose format ends at 2 GiB


@dataclass(frozen=True)
class OnnxPlan:
    """The models that are to be written, by method."""

    models: Mapping[str, OnnxModel]
    programs: Mapping[str, Program]
    depths: Mapping[str, int]  # of recursions that are unrolled


def plan_onnx(
    programs: Mapping[str, Program],
    methods: Mapping[str, Method],
    *,
    training: bool,
    opset: int | None,
) -> OnnxPlan:
    """The models of all methods; ExportError if ONNX cannot hold one of them."""
    models, chosen, depths = {}, {}, {}
    for name, method in methods.items():
        program = programs[program_name(method, training=training)]
        if program.state:
            raise ExportError(
                f"`{name}` keeps `{program.state[0].name}` from one call to the next, which an "
                "ONNX model cannot",
                fix="take the state as an argument, and return it",
            )
        inlined = inline(program)
        functional = functionalize(inlined.program)
        simple = decompose(write_casts(functional.program), has_lowering, is_unfit)
        if simple is not functional.program:
            simple = functionalize(simple).program  # torch may have made parts that write
        pure = optimize(simple, (hoist, prune, drop_unused_stored))
        models[name] = build(pure, functional.written, opset=opset or newest_opset())
        chosen[name], depths[name] = program, inlined.depth
    return OnnxPlan(models, chosen, depths)


def save_onnx(
    path: str | os.PathLike[str],
    *,
    output: Path | None = None,
    opset: int | None = None,
    embed: bool = False,
    search: bool = True,
) -> list[OnnxReport]:
    """Write the ONNX models of the model that was saved at `path`; its own files stay the same."""
    saved = read_model(path)
    plan = plan_onnx(saved.programs, saved.methods, training=saved.training, opset=opset)
    return write_onnx(path, plan, embed=embed, output=output, search=search)


def write_onnx(
    path: str | os.PathLike[str],
    plan: OnnxPlan,
    *,
    embed: bool,
    output: Path | None = None,
    search: bool = True,
    examples: Mapping[str, Sequence[Any]] = NO_EXAMPLES,
) -> list[OnnxReport]:
    """Write the planned models beside the saved model at `path`, check and run them.

    `output` is a file for the only method, or for `forward`; those of other methods are named after
    it. A file of another name than `save` would give has its weights inside: the next save of the
    model, which moves the weights, would not know of it. `examples` has arguments of a method; with
    `search`, inputs are looked for that take other paths than those and the drawn ones.
    """
    saved = read_model(path, verify_weights=False)
    weights = Paths.of(path).weights
    spans, keys = spans_in(weights), keys_of(saved.tensors)
    stored = {
        name: WeightSpan(spans[key].start, spans[key].stop - spans[key].start)
        for name, key in keys.items()
        if key in spans
    }
    reports = []
    for name, planned in plan.models.items():
        usual = onnx_file(path, name)
        file = usual if output is None else _named_after(output, name, len(plan.models))
        file.parent.mkdir(parents=True, exist_ok=True)
        inside = embed or file.resolve() != usual.resolve()
        size = sum(stored[name].length for name in planned.model.graph.initializers)
        if inside:
            _check_size(size, file)
        attach(planned.model, weights, stored, embed=inside)
        proto = ir.to_proto(planned.model)
        with temporary(file) as new:
            new.write_bytes(proto.SerializeToString(deterministic=True))
            _check(new)
            session = OnnxSession(new, packs=size < LARGE)
            program, depth = plan.programs[name], plan.depths[name]
            given = []
            if name in examples:
                signature = saved.methods[name].signature
                given.append(call_leaves(program, signature, name, (examples[name], {})))
            report = checked_runs(
                file, session, program, saved.tensors, planned, depth,
                examples=given, search=search,
            )  # fmt: skip
            new.replace(file)
        reports.append(report)
    return reports


def _check(file: Path) -> None:
    try:
        onnx.checker.check_model(str(file), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        reason = str(error).strip().splitlines()[0][:300]
        raise ExportError(f"onnx.checker does not accept the model: {reason}",
                          fix="report it as a bug in Stator") from None  # fmt: skip


def _named_after(output: Path, method: str, count: int) -> Path:
    if count == 1 or method == "forward":
        return output
    return output.with_name(f"{output.stem}.{method}{output.suffix}")


def _check_size(size: int, file: Path) -> None:
    if size > INSIDE_LIMIT:
        raise ExportError(
            f"{size} bytes of weights do not fit into {file.name}: a file of ONNX ends at 2 GiB",
            fix="write it beside the saved model under the model's name, without embedding",
        )
