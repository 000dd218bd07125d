"""save_onnx(): the ONNX models of a saved model's methods, checked after they are written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx_ir as ir

from stator.api.onnx_checking import OnnxReport, checked_runs
from stator.api.onnx_layer import onnx_file, program_name
from stator.export.files import Paths, temporary
from stator.export.methods import Method
from stator.export.onnx.model import OnnxModel, WeightSpan, attach, build
from stator.export.onnx.session import OnnxSession, newest_opset
from stator.export.saved_model import read_model
from stator.export.tensor_file import keys_of, spans_in
from stator.optimize.functionalize import functionalize
from stator.optimize.inline import inline
from stator.optimize.pipeline import optimize
from stator.optimize.prune import drop_unused_stored, prune
from stator.program.program import Program


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
        inlined = inline(program)
        functional = functionalize(inlined.program)
        pure = optimize(functional.program, (prune, drop_unused_stored))
        models[name] = build(pure, functional.written, opset=opset or newest_opset())
        chosen[name], depths[name] = program, inlined.depth
    return OnnxPlan(models, chosen, depths)


def write_onnx(
    path: str | os.PathLike[str], plan: OnnxPlan, *, embed: bool, output: Path | None = None
) -> list[OnnxReport]:
    """Write the planned models beside the saved model at `path`, check and run them."""
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
        file = output if output is not None else onnx_file(path, name)
        attach(planned.model, weights, stored, embed=embed or file.parent != weights.parent)
        proto = ir.to_proto(planned.model)
        with temporary(file) as new:
            new.write_bytes(proto.SerializeToString(deterministic=True))
            onnx.checker.check_model(str(new), full_check=True)
            report = checked_runs(
                file, OnnxSession(new), plan.programs[name], saved, planned, plan.depths[name]
            )
            new.replace(file)
        reports.append(report)
    return reports
