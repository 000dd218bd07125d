"""The error that a model reports where a later node fails.

ONNX Runtime runs the nodes after a reported error too, and one that fails ends the run without a
status. Then the part of the model that computes the status is run by itself.
"""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass


def status_model(file: Path, status: str) -> bytes:
    """The part of a model that computes its output `status`; weights stay beside the file."""
    model = ir.load(file)
    model.graph.outputs[:] = [value for value in model.graph.outputs if value.name == status]
    RemoveUnusedNodesPass()(model)
    serialized: bytes = ir.to_proto(model).SerializeToString()
    return serialized
