"""Torch's function library for ONNX: one function for each ATen op, and what records their calls.

NOTE: why private names. `torch.onnx.export` takes a whole model, without data-dependent control
flow; its function library for single ops has no public entrance.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import onnxscript
from onnxscript import evaluator
from torch.onnx._internal.exporter._building import OpRecorder
from torch.onnx._internal.exporter._registration import ONNXRegistry
from torch.onnx._internal.exporter._tensors import SymbolicTensor

from stator.torch_private.ops import OpOverload

LIBRARY_OPSET = 18  # the library is written for this opset
UNFIT = frozenset(  # what it writes for these fails for sizes 0, or has too few digits
    {"aten::einsum", "aten::cross_entropy_loss", "aten::linspace"}
)

__all__ = ["LIBRARY_OPSET", "OpRecorder", "SymbolicTensor", "function_of", "opset", "recording"]


@functools.cache
def _registry() -> ONNXRegistry:
    quiet = logging.getLogger("torch.onnx._internal.exporter._registration")
    level, quiet.level = quiet.level, logging.ERROR  # torchvision is not needed
    try:
        return ONNXRegistry.from_torchlib()
    finally:
        quiet.level = level


def warm_up() -> None:
    """Read the library now: it takes seconds, and processes that are forked later have it."""
    _registry()


@functools.cache
def _is_straight(function: Any) -> bool:
    """Whether a function can be recorded node by node: Python's `if` is no `If` of the graph."""
    nodes = function.function_ir
    return not any(node.op_type in ("If", "Loop", "Scan") for node in nodes)


@functools.cache
def opset() -> Any:
    """The operators of ONNX, for the recorder."""
    return onnxscript.values.Opset("", LIBRARY_OPSET)


def function_of(op: OpOverload) -> Callable[..., Any] | None:
    """The function that writes `op` in ONNX; None if there is none."""
    if op.name() in UNFIT:
        return None
    found = [meta for meta in _registry().get_decomps(op) if not meta.is_complex]
    function = found[0].onnx_function if found else None
    if isinstance(function, onnxscript.OnnxFunction) and not function.traceable:
        if not _is_straight(function):
            return None
        function.traceable = True
    return function


def is_script(function: Callable[..., Any]) -> bool:
    """Whether a function is compiled by the library: its numbers have no types of their own."""
    return isinstance(function, onnxscript.OnnxFunction)


def recording(recorder: OpRecorder) -> Any:
    """A context in which calls of library functions are recorded."""
    return evaluator.default_as(recorder)


def new_recorder() -> OpRecorder:
    """A recorder for one graph."""
    return OpRecorder(opset(), {})  # type: ignore[abstract] # an evaluator has an empty method


def new_value(name: str, kind: ir.TypeProtocol | None, shape: ir.Shape | None) -> ir.Value:
    """A value that functions of the library can use."""
    return SymbolicTensor(opset(), name=name, type=kind, shape=shape)
