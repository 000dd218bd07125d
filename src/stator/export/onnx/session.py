"""Running a model in ONNX Runtime: its inputs and outputs, and its errors."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import torch

from stator.errors import ExportError
from stator.export.onnx.first_error import status_model
from stator.export.onnx.model import ERRORS, MESSAGES, STATES, STATUS, convert
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType, Type
from stator.torch_private.onnx_library import LIBRARY_OPSET

PROVIDERS = ["CPUExecutionProvider"]
ERRORS_OF_RUNTIME: tuple[type[Exception], ...] = tuple(
    found
    for found in vars(ort.capi.onnxruntime_pybind11_state).values()
    if isinstance(found, type) and issubclass(found, Exception)
)
COPYING = ["ConstantFolding"]  # optimizers that may transpose weights and keep both
REFUSALS: tuple[type[Exception], ...] = (*ERRORS_OF_RUNTIME, ExportError)
FAILED_NODE = re.compile(r"Name:'([^']+)'")
ELEMENT = re.compile(r"tensor\((\w+)\)")
NUMPY_TYPES = {"float": np.float32, "double": np.float64, "string": np.object_} | {
    name: np.dtype(name)
    for name in ("float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                 "uint64", "bool")
}  # fmt: skip
WEIGHTS_FOLDER = "session.model_external_initializers_file_folder_path"
PLACE = re.compile(r"@(.+):(\d+)$")


@dataclass(frozen=True)
class RunFailure:
    """What a run reports: the name of an exception, its text, and where it was raised."""

    error: str
    text: str
    classes: tuple[str, ...] = ()
    place: tuple[str, int, str] | None = None
    by_runtime: bool = False  # ONNX Runtime cannot run a node on these inputs


def options(threads: int | None = None, *, packs: bool = True) -> ort.SessionOptions:
    """The settings of a session: errors only, and as many threads as torch uses.

    Unless it `packs`, it reads weights from their file, and makes no copy in an order of its own.
    """
    made = ort.SessionOptions()
    if not packs:
        made.add_session_config_entry("session.disable_prepacking", "1")
    made.log_severity_level = 4
    made.intra_op_num_threads = threads or torch.get_num_threads()
    made.inter_op_num_threads = 1
    return made


@functools.cache
def newest_opset() -> int:
    """The newest opset that the installed ONNX Runtime accepts and models can be converted to."""
    x, y = (onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])], "probe", [x], [y]
    )
    oldest = onnx.helper.make_opsetid("", LIBRARY_OPSET)
    for number in range(onnx.defs.onnx_opset_version(), LIBRARY_OPSET, -1):
        proto = onnx.helper.make_model(graph, opset_imports=[oldest], ir_version=10)
        model = ir.from_proto(proto)
        try:
            convert(model, number)
            ort.InferenceSession(ir.to_proto(model).SerializeToString(), options())
        except REFUSALS:
            continue
        return number
    return LIBRARY_OPSET


class OnnxSession:
    """A model in ONNX Runtime."""

    def __init__(self, model: Path | bytes, *, packs: bool = True) -> None:
        self._model = model
        file = str(model) if isinstance(model, Path) else model
        settings = options(packs=packs)
        try:
            self._session = ort.InferenceSession(
                file, settings, providers=PROVIDERS, disabled_optimizers=[] if packs else COPYING
            )
        except ERRORS_OF_RUNTIME as error:
            raise ExportError(f"ONNX Runtime refuses the model: {_first(str(error))}") from None
        stored = self._session.get_modelmeta().custom_metadata_map
        self.messages = json.loads(stored.get(MESSAGES, "[]"))
        self.states: list[list[str]] = json.loads(stored.get(STATES, "[]"))
        self._errors: dict[str, str] = json.loads(stored.get(ERRORS, "{}"))
        given = (*self._session.get_inputs(), *self._session.get_overridable_initializers())
        self.inputs = {item.name: item for item in given}  # a buffer that changes is both
        self.outputs = [item.name for item in self._session.get_outputs()]

    def run(self, feeds: Mapping[str, Any]) -> list[Any] | RunFailure:
        """The outputs in order, without the status; or what the run reports."""
        used = {
            name: _as_declared(value, self.inputs[name])
            for name, value in feeds.items()
            if name in self.inputs
        }
        try:
            found = self._session.run(None, used)
        except ERRORS_OF_RUNTIME as error:
            return self._first_error(used) or self._failed(str(error))
        if self.outputs and self.outputs[-1] == STATUS:
            *found, status = found
            if int(status):
                return self._reported(int(status))
        return list(found)

    @functools.cached_property
    def _status_only(self) -> ort.InferenceSession | None:
        """The part of the model that computes the status; None if it has none."""
        if self.outputs[-1] != STATUS or not isinstance(self._model, Path):
            return None
        settings = options(packs=False)
        settings.add_session_config_entry(WEIGHTS_FOLDER, str(self._model.resolve().parent))
        part = status_model(self._model, STATUS)
        return ort.InferenceSession(part, settings, providers=PROVIDERS)

    def _first_error(self, feeds: Mapping[str, Any]) -> RunFailure | None:
        """The error that comes before the one with which a run has failed, if there is one."""
        try:
            found = self._status_only and self._status_only.run([STATUS], feeds)
        except ERRORS_OF_RUNTIME:  # the status needs the node that fails
            return None
        return self._reported(int(found[0])) if found and int(found[0]) else None

    def _reported(self, status: int) -> RunFailure:
        message = self.messages[status - 1]
        place = message["place"]
        return RunFailure(
            message["error"], message["text"], tuple(message["classes"]),
            None if place is None else (place[0], place[1], place[2]),
        )  # fmt: skip

    def _failed(self, text: str) -> RunFailure:
        """An error of ONNX Runtime itself, in the words of the node that failed."""
        name = (FAILED_NODE.findall(text) or [""])[-1]  # those of graphs around it come first
        found = PLACE.search(name)
        place = (found[1], int(found[2]), "") if found else None
        known = self._errors.get(name)
        error, _, said = (known or f"RuntimeError: {_first(text)}").partition(": ")
        return RunFailure(error, said, (), place, by_runtime=known is None)


def _first(text: str) -> str:
    return text.strip().splitlines()[0][:300] if text.strip() else "it gives no reason"


def _as_declared(value: Any, declared: ort.NodeArg) -> Any:
    """A list as the tensor or the sequence that the model takes."""
    if not isinstance(value, list):
        return value
    dtype = NUMPY_TYPES[ELEMENT.search(declared.type)[1]]  # type: ignore[index]
    if not declared.type.startswith("seq"):
        sizes = [size if isinstance(size, int) else 0 for size in declared.shape[1:]]
        return np.stack(value) if value else np.zeros([0, *sizes], dtype)
    return [np.array(item, dtype) if isinstance(item, list) else item for item in value]


def to_feed(value: object, kind: Type) -> Any:
    """A leaf of a call, as ONNX Runtime takes it; for an absent number or string, one not read."""
    if isinstance(kind, OptionalType):
        kind = kind.element
        if value is None and isinstance(kind, NumberType | TextType):
            value = "" if isinstance(kind, TextType) else 0
    if isinstance(kind, ListType):
        assert isinstance(value, Sequence)
        return [to_feed(item, kind.element) for item in value]
    if isinstance(value, torch.Tensor):
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if plain.dtype is torch.bfloat16:
            raise ExportError("numpy, through which tensors go to ONNX Runtime, has no bfloat16")
        return plain.numpy()
    if isinstance(kind, TextType):
        return np.array(value, dtype=object)
    assert isinstance(kind, NumberType)
    dtype = {"int": np.int64, "float": np.float64, "bool": np.bool_}[kind.kind]
    return np.array(value, dtype=dtype)


def from_result(value: Any, kind: Type) -> Any:
    """An output as a leaf of the result."""
    if isinstance(kind, OptionalType):
        kind = kind.element
    if isinstance(kind, ListType):
        return [from_result(item, kind.element) for item in value]
    if isinstance(kind, TensorType):
        return torch.from_numpy(np.array(value))
    return np.asarray(value).item()
