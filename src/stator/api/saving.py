"""save and load: a model as two open files, and back as an nn.Module."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

import torch

from stator.ahead.folder import remove_folder
from stator.ahead.using import mention_libraries, trusted_libraries
from stator.api.captures import Capture, capture_all
from stator.api.saved_methods import example_calls, requests_of
from stator.api.saving_warnings import warn_of_exported_methods, warn_of_failing_paths
from stator.api.static_function import StaticFunction
from stator.api.translated import TranslatedLayer, check_tensors
from stator.errors import SpecMismatch, UnknownOption
from stator.execute.selection import check_backend
from stator.export.files import remove_onnx_files
from stator.export.saved_model import read_model, write_model
from stator.export.sources import NO_SOURCES
from stator.extras import install_command
from stator.frames import user_facing
from stator.garbage import fewer_collections
from stator.logs import LOGGER
from stator.page.sources import sources_of
from stator.torch_private.modules import tables

ONNX_PACKAGES = ("onnx", "onnx_ir", "onnxscript", "onnxruntime")
ONNX_BACKEND = "onnxruntime"

__all__ = ["TranslatedLayer", "load", "save"]


@user_facing
def save(
    model: Any,
    path: str | os.PathLike[str],
    input_spec: Sequence[Any] | Mapping[str, Any] | None = None,
    *,
    methods: Mapping[str, Sequence[Any] | Mapping[str, Any] | None] | None = None,
    output_spec: Any = None,
    properties: Mapping[str, Any] | None = None,
    host_calls: Literal["drop", "refuse"] = "drop",
    embed_source: bool = False,
    onnx: bool = False,
    embed: bool = False,
    opset: int | None = None,
    search_paths: bool = True,
    compiled: Literal["cpu", "cuda"] | None = None,
    **options: Any,
) -> Any:
    """Save a module or a function as `path`.stator and `path`.safetensors.

    For example: `stator.save(model, "classifier", input_spec=[InputSpec([None, 784])])`.

    `input_spec` has one entry for each argument, in a list or in a dict by the names of parameters:
    an InputSpec, a tensor to derive a spec from, or a constant. It defaults to the spec passed to
    `to_static`, or to the call that was captured if there is only one. `methods` maps method names
    to input specs; by default `forward` and all methods with a spec from `to_static` are saved.
    `output_spec` lists the results to keep; with `methods` it is a dict of such lists. `properties`
    are small values that the loaded model carries. Host calls (logging, warnings, files) are
    omitted and listed in a log message; with `host_calls="refuse"` they raise an error.
    `embed_source=True` stores the source of the captured functions in the .stator file, for the
    viewer.

    `onnx=True` also writes `path`.onnx for `forward`, and `path`.METHOD.onnx for other methods, in
    the current mode of the module. The ONNX files refer to the weights in the .safetensors file;
    `embed=True` stores them inside. `opset` defaults to the newest that ONNX Runtime supports. Each
    file is compared with the program in ONNX Runtime: on the tensors of `input_spec`, if all specs
    are tensors; on random inputs; and on generated inputs that take other paths, unless
    `search_paths=False`. Returns a list with a report for each file.

    `compiled="cpu"` or `"cuda"` also compiles the regions of the programs ahead of time, into
    libraries in the folder `path`.compiled, for `load(..., trust_compiled=True)`. The tensors of
    `input_spec` and random inputs determine how regions are compiled: pass typical ones.
    """
    if options:
        raise SpecMismatch(f"save has no option {next(iter(options))!r} here",
                           fix="leave it out")  # fmt: skip
    if compiled is not None:
        _compiling().check_device(compiled)
    properties = dict(properties or {})
    saving = importlib.import_module("stator.api.onnx_saving") if onnx and has_onnx() else None
    if isinstance(model, TranslatedLayer) and input_spec is None and methods is None:
        plan = None if saving is None else saving.plan_onnx(
            model._stator_programs, model._stator_methods, training=model.training, opset=opset
        )  # fmt: skip
        _save_again(model, path, output_spec, properties, embed_source)
        if compiled is not None:
            _compiling().compile_saved(path, compiled)
        return None if saving is None else saving.write_onnx(
            path, plan, embed=embed, search=search_paths
        )  # fmt: skip
    requests = requests_of(model, input_spec, methods, output_spec)
    owner = owner_of(model)
    capture = capture_all(requests, owner, refuse_host_calls=host_calls == "refuse")
    training = owner.training if owner is not None else False
    plan = None if saving is None else saving.plan_onnx(
        capture.programs, capture.methods, training=training, opset=opset
    )  # fmt: skip
    _remove_files_beside(path)
    write_capture(path, capture, owner, properties, embed_source=embed_source)
    if owner is not None and owner.training:
        _warn_of_train_mode(owner, capture)
    if owner is not None:
        warn_of_exported_methods(owner, capture.methods)
    warn_of_failing_paths(capture.programs.values())
    if compiled is not None:
        _compiling().compile_saved(path, compiled, example_calls(input_spec, methods))
    return None if saving is None else saving.write_onnx(
        path, plan, embed=embed, search=search_paths, examples=example_calls(input_spec, methods)
    )  # fmt: skip


def _warn_of_train_mode(owner: torch.nn.Module, capture: Capture) -> None:
    """One warning, if the loaded model will start in a mode in which it computes something else."""
    for name, method in capture.methods.items():
        if len({*method.programs.values()}) > 1:
            LOGGER.warning(
                "%s is saved in train mode, in which `%s` differs from eval mode (dropout, batch "
                "normalization), and the loaded model starts in train mode: call `.eval()` before "
                "saving, or on the loaded model",
                type(owner).__name__, name,
            )  # fmt: skip
            return


def has_onnx() -> bool:
    """Whether the extra `onnx` is installed; UnknownOption says how to install it if not."""
    missing = [name for name in ONNX_PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        raise UnknownOption(
            f"ONNX files need packages that are not installed: {', '.join(missing)}",
            fix=install_command("onnx"),
        )
    return True


def _compiling() -> Any:
    """What compiles ahead of time; torch's compiler is imported with it."""
    return importlib.import_module("stator.api.compiling")


def _remove_files_beside(path: str | os.PathLike[str]) -> None:
    """What belongs to the weights that were there goes before others come."""
    remove_onnx_files(path)
    remove_folder(path)


def owner_of(model: Any) -> torch.nn.Module | None:
    """The module that `model` is, or is a method of."""
    function = model.dygraph_function if isinstance(model, StaticFunction) else model
    owner = getattr(function, "__self__", function)
    return owner if isinstance(owner, torch.nn.Module) else None


def write_capture(
    path: str | os.PathLike[str],
    capture: Capture,
    owner: torch.nn.Module | None,
    properties: dict[str, Any],
    *,
    embed_source: bool = False,
) -> None:
    """Write what was captured, with the tensors of `owner` as they are now."""
    tensors = _tensors(owner, capture.tensors)
    for name in capture.states:
        tensors.pop(name, None)  # a buffer that is state
    transient = [] if owner is None else [n for n in tensors if not _is_persistent(owner, n)]
    write_model(
        path,
        capture.programs,
        tensors,
        transient=transient,
        training=owner.training if owner is not None else False,
        methods=capture.methods,
        properties=properties,
        states=capture.states,
        sources=sources_of(capture.programs.values()) if embed_source else NO_SOURCES,
    )


def _tensors(
    owner: torch.nn.Module | None, stored: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """All the module's own tensors in the order of its state_dict, then what the programs add."""
    tensors: dict[str, torch.Tensor] = {}
    for prefix, module in owner.named_modules(remove_duplicate=False) if owner is not None else ():
        for name, tensor in (*tables(module).parameters.items(), *tables(module).buffers.items()):
            if tensor is not None:
                tensors[f"{prefix}.{name}" if prefix else name] = tensor
    return tensors | {name: stored[name] for name in stored if name not in tensors}


def _is_persistent(owner: torch.nn.Module, name: str) -> bool:
    prefix, _, last = name.rpartition(".")
    try:
        module = owner.get_submodule(prefix)
    except AttributeError:
        return True
    return last not in module._non_persistent_buffers_set


def _save_again(
    layer: TranslatedLayer,
    path: str | os.PathLike[str],
    output_spec: Any,
    properties: dict[str, Any],
    embed_source: bool,
) -> None:
    """The programs as they are, with the tensors as they are now."""
    if output_spec is not None:
        raise SpecMismatch("a loaded model keeps all its outputs when it is saved again",
                           fix="leave output_spec out, or give an input_spec too")  # fmt: skip
    check_tensors(layer)
    _remove_files_beside(path)
    tensors = _tensors(layer, {})
    for name, buffer in layer._stator_constants.items():
        tensors[name] = tensors.pop(buffer)
    write_model(
        path,
        layer._stator_programs,
        tensors,
        transient=[name for name in tensors if not _is_persistent(layer, name)],
        training=layer.training,
        methods=layer._stator_methods,
        properties=layer._stator_properties | properties,
        states=layer._stator_state.as_saved(),
        sources=layer._stator_sources if embed_source else NO_SOURCES,
    )


@overload
def load(
    path: str | os.PathLike[str], *, backend: Literal["onnxruntime"], verify_weights: bool = True
) -> Any: ...
@overload
def load(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    verify_weights: bool = True,
    trust_compiled: bool = False,
) -> TranslatedLayer: ...
@user_facing
def load(
    path: str | os.PathLike[str],
    *,
    backend: str | None = None,
    verify_weights: bool = True,
    trust_compiled: bool = False,
) -> Any:
    """Load the model saved at `path` as an nn.Module, to run it or to train it further.

    The weights are checked against their digests. `verify_weights=False` skips this check: a large
    model loads at once, but damage to its weights goes unnoticed. `backend` selects what runs the
    programs; it defaults to the environment variable `STATOR_BACKEND`, then to "native" if that is
    built, then to "interpreter". `backend="onnxruntime"` runs the ONNX files that
    `save(..., onnx=True)` wrote; the result has the same signature, but is not an nn.Module.

    `trust_compiled=True` runs the libraries in `path`.compiled that `save(..., compiled=...)` or
    `stator compile` wrote. They are machine code and can do whatever this process can do: trust
    only a folder whose origin you know. If they do not fit this model, torch or processor, a
    warning gives the reason and the model runs without them.
    """
    if trust_compiled and backend not in (None, "native"):
        raise UnknownOption(f"the backend {backend!r} runs no libraries",
                            fix="leave out backend=, or trust_compiled=")  # fmt: skip
    if backend == ONNX_BACKEND and has_onnx():
        layers = importlib.import_module("stator.api.onnx_layer")
        return layers.OnnxLayer(path, read_model(path, verify_weights=verify_weights))
    check_backend(backend, ONNX_BACKEND)
    with fewer_collections():
        saved = read_model(path, verify_weights=verify_weights)
        if not trust_compiled:
            mention_libraries(path)
            return TranslatedLayer(saved, backend)
        return TranslatedLayer(saved, backend, trusted_libraries(path, saved.digest))
