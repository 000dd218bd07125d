"""One ONNX file: the model with its loop, for programs that know neither Python nor Stator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

import stator
from stator import InputSpec
from stator.errors import UnknownOption

TOLERANCE = 1e-4
SINGLE = 50  # digits that are also given one by one, each with a number of looks of its own


@dataclass(frozen=True)
class OneFile:
    """What the file of a model is, and how it compares with the model."""

    file: Path
    opset: int
    difference: float  # the greatest of a logit
    looks: list[int]  # for each batch
    equal_looks: bool


def write_and_compare(
    model: nn.Module, path: Path, spec: list[InputSpec], x: Tensor
) -> OneFile | str:
    """Write the ONNX file of `model`, and run both; why not, where the extra is not installed."""
    try:
        (report,) = stator.save(model, path, input_spec=spec, onnx=True)
    except UnknownOption as error:
        return f"{error.problem}: {error.fix}"
    loaded = stator.load(path, backend="onnxruntime")
    batches = [x, *x[:SINGLE].split(1)]
    wanted, found = _answers(model, batches), _answers(loaded, batches)
    pairs = [(a, b) for (a, _), (b, _) in zip(wanted, found, strict=True)]
    looks, others = [n for _, n in wanted], [n for _, n in found]
    difference = torch.stack([(a - b).abs().max() for a, b in pairs]).max()  # NaN, if one is
    return OneFile(report.file, report.opset, float(difference), looks, looks == others)


def _answers(
    model: Callable[[Tensor], tuple[Tensor, int]], batches: list[Tensor]
) -> list[tuple[Tensor, int]]:
    """Logits and looks for each batch."""
    with torch.no_grad():
        return [model(batch) for batch in batches]
