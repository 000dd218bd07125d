"""compiled_library(): a region for one layout as a library, which gives what the ops give."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stator.ahead.calls import RegionCall, RegionCalls
from stator.ahead.conditions import Condition, conditions_of, holds
from stator.inductor.checking import agree, same_strides, share_memory
from stator.inductor.compiling import library_runner, write_library
from stator.inductor.layouts import DynamicSize, RegionLayout, SizeRule, StrideAfter, StrideRule


@dataclass(frozen=True)
class RegionLibrary:
    """A library in the folder of a model: its file, and what it may be called with."""

    file: Path
    layout: RegionLayout
    conditions: tuple[Condition, ...]


class DifferingResults(Exception):
    """A library does not give what the ops give."""


def compiled_library(region: RegionCalls, layout: RegionLayout, file: Path) -> RegionLibrary:
    """The library of `region` for `layout`, compared with the ops on the calls of it.

    DifferingResults where they differ; what torch's compiler raises is raised.
    """
    with tempfile.TemporaryDirectory(prefix="stator-") as scratch:
        made = Path(scratch) / file.name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # advice of torch's compiler, not about the model
            expression = write_library(region.op.blocks[0], region.inputs, layout, made)
        conditions = conditions_of(expression, len(layout.examples))
        if any(other != made for other in made.parent.glob(f"{made.stem}.*")):
            raise NotImplementedError("its code needs more than one file")
        shutil.copyfile(made, file)
    run = library_runner(file, layout)
    for call in region.calls[layout]:
        sizes = layout.dynamic_sizes(call.tensors, call.numbers, gradients=False)
        if sizes is not None and holds(conditions, sizes):
            _compare(region, call, run(call.tensors, call.numbers))
    return RegionLibrary(file, layout, tuple(conditions))


def _compare(region: RegionCalls, call: RegionCall, found: Sequence[torch.Tensor]) -> None:
    expected = [one.detach() for one in region.ops([*call.tensors, *call.numbers])]
    if not agree(found, expected):
        raise DifferingResults("its results differ from those of the ops")
    if not same_strides(found, expected) or share_memory(found, call.tensors):
        raise DifferingResults("its results have another memory layout than those of the ops")


def encode_layout(layout: RegionLayout) -> dict[str, Any]:
    """A layout as the native runtime reads it."""
    return {
        "dynamic": len(layout.examples),
        "tensors": [
            {
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "sizes": [_rule(rule) for rule in tensor.sizes],
                "strides": [_rule(rule) for rule in tensor.strides],
            }
            for tensor in layout.tensors
        ],
        "numbers": [_rule(rule) for rule in layout.numbers],
    }


def _rule(rule: SizeRule | StrideRule) -> int | dict[str, int]:
    if isinstance(rule, DynamicSize):
        return {"dynamic": rule.number}
    if isinstance(rule, StrideAfter):
        return {"after": rule.dimension}
    return rule
