"""How the conformance programs are captured by Stator; `make corpus` scores `static` and `saved`.

static  converted and run in the same process
saved   one saved model for all inputs, loaded and run by the interpreter
native  the same, run by the native runtime (`make native`)
onnx    the same as one ONNX file, run by ONNX Runtime (`pip install 'stator[onnx]'`)
bridge  as a program of torch.export, by `stator.to_exported_program`; it has no gradients

Nothing falls back to eager code: `full_graph` is True.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from corpuslib import Case, tree_map

import stator
from stator import InputSpec


def spec_of(value: Any, dynamic: Mapping[int, str] | None) -> Any:
    """The specs of an argument; sizes that vary are dynamic, Python values stay as they are."""

    def leaf_spec(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        shape = [None if d in (dynamic or ()) else size for d, size in enumerate(leaf.shape)]
        return InputSpec(shape, str(leaf.dtype).removeprefix("torch."))

    return tree_map(leaf_spec, value)


def input_spec(case: Case) -> list[Any]:
    """The specs of all arguments."""
    dynamic = case.dynamic or (None,) * len(case.inputs[0])
    return [spec_of(value, d) for value, d in zip(case.inputs[0], dynamic, strict=True)]


def static(_case: Case, target: Any) -> tuple[Any, Any]:
    """A static function or module."""
    owner = target if isinstance(target, torch.nn.Module) else None
    return stator.to_static(target, full_graph=True), owner


def loaded(case: Case, target: Any, backend: str) -> tuple[Any, Any]:
    """The saved and loaded model."""
    path = Path(tempfile.mkdtemp()) / "model"
    stator.save(target, path, input_spec=input_spec(case))
    model = stator.load(path, backend=backend)
    return model, model


def saved(case: Case, target: Any) -> tuple[Any, Any]:
    """The saved model in the interpreter."""
    return loaded(case, target, "interpreter")


def native(case: Case, target: Any) -> tuple[Any, Any]:
    """The saved model in the native runtime."""
    return loaded(case, target, "native")


def onnx(case: Case, target: Any) -> tuple[Any, Any]:
    """The ONNX file in ONNX Runtime."""
    path = Path(tempfile.mkdtemp()) / "model"
    stator.save(target, path, input_spec=input_spec(case), onnx=True)
    return stator.load(path, backend="onnxruntime"), None


def bridge(case: Case, target: Any) -> tuple[Any, Any]:
    """The program of torch.export, run by torch."""
    return stator.to_exported_program(target, input_spec(case)).module(), None


PEERS = {"static": static, "saved": saved, "native": native, "onnx": onnx, "bridge": bridge}
