"""save and load: a model as two open files, and back as an nn.Module."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stator.api.static_function import StaticFunction
from stator.errors import CaptureError, SpecMismatch
from stator.execute.arguments import flatten_inputs
from stator.execute.interpreter import prepare
from stator.execute.structure import unflatten
from stator.export.saved_model import SavedModel, read_model, write_model
from stator.optimize.pipeline import optimize
from stator.program.ir import Op, Stored
from stator.program.program import Program
from stator.program.structure import Structure
from stator.staging.trace import Captured, Effect


def save(
    model: Any,
    path: str | os.PathLike[str],
    input_spec: Sequence[Any] | None = None,
    **options: Any,
) -> None:
    """Write `path`.stator and `path`.safetensors: a module, or a function, that needs no Python.

    `input_spec` has an InputSpec, a tensor to take one from, or a constant, for each argument.
    """
    if options:
        raise SpecMismatch(f"save has no option {next(iter(options))!r} here",
                           fix="leave it out")  # fmt: skip
    static = _static(model)
    spec = input_spec if input_spec is not None else static.input_spec
    if spec is None:
        raise SpecMismatch(
            f"there is no input_spec to save {static.__name__} for",
            fix="pass input_spec=[InputSpec([None, 3], 'float32'), ...]",
        )
    with torch.set_grad_enabled(True):
        captured = static.capture(spec)
    owner = _owner(static)
    program = optimize(_without_effects(captured, owner))
    tensors = _tensors(owner, program, captured)
    transient = [] if owner is None else [n for n in tensors if not _is_persistent(owner, n)]
    training = owner.training if owner is not None else False
    write_model(path, {"forward": program}, tensors, transient=transient, training=training)


def _static(model: Any) -> StaticFunction:
    if isinstance(model, StaticFunction):
        return model
    if isinstance(model, torch.nn.Module):
        forward = model.forward
        return forward if isinstance(forward, StaticFunction) else StaticFunction(forward)
    return StaticFunction(model)


def _owner(static: StaticFunction) -> torch.nn.Module | None:
    owner = getattr(static.dygraph_function, "__self__", static.dygraph_function)
    return owner if isinstance(owner, torch.nn.Module) else None


def _without_effects(captured: Captured, owner: torch.nn.Module | None) -> Program:
    """The program alone: what it does to buffers is written into it, other effects are refused."""
    program = captured.program
    body = program.body
    for effect in captured.effects:
        for name, position in _buffer_writes(effect, owner):
            stored = _stored(program, name)
            body.ops.append(Op("aten::copy_", (stored.value, body.outputs[position]), {}, ()))
    body.outputs = body.outputs[: _count_leaves(program.output_structure)]
    return program


def _buffer_writes(effect: Effect, owner: torch.nn.Module | None) -> list[tuple[str, int]]:
    for prefix, module in owner.named_modules() if owner is not None else ():
        if effect.target is module._buffers and not effect.deleted:
            structure: Any = effect.state
            return [
                (f"{prefix}.{name}" if prefix else name, item.position)
                for name, item in zip(structure.keys, structure.items, strict=True)
            ]
    raise CaptureError(
        f"a call changes {_target(effect)}, which a saved model does not have",
        fix="return the new value, or keep it in a registered buffer",
    )


def _target(effect: Effect) -> str:
    if effect.is_argument:
        return "a list or dict that it is given"
    keys = getattr(effect.state, "keys", ())
    owner = type(effect.target).__name__
    return f"`{keys[0]}` of a {owner}" if keys else f"a {owner}"


def _stored(program: Program, name: str) -> Stored:
    for stored in program.stored:
        if stored.name == name:
            return stored
    raise CaptureError(f"the buffer `{name}` is written but never read",
                       fix="write it in place: `self.buffer.copy_(...)`")  # fmt: skip


def _count_leaves(structure: Structure) -> int:
    return 1 + max(_positions(structure), default=-1)


def _positions(structure: Any) -> list[int]:
    if hasattr(structure, "position"):
        return [structure.position]
    found = [structure.tag] if hasattr(structure, "tag") else []
    inner = getattr(structure, "alternatives", None) or getattr(structure, "items", None) or ()
    for item in (structure.item,) if hasattr(structure, "item") else inner:
        found += _positions(item)
    return found


def _tensors(
    owner: torch.nn.Module | None, program: Program, captured: Captured
) -> dict[str, torch.Tensor]:
    """All the module's own tensors in its order, then the constants the program uses."""
    tensors: dict[str, torch.Tensor] = {}
    if owner is not None:
        tensors.update(owner.named_parameters(remove_duplicate=False))
        tensors.update(owner.named_buffers(remove_duplicate=False))
    for stored in program.stored:
        tensors.setdefault(stored.name, captured.tensors[stored.name])
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


def _is_persistent(owner: torch.nn.Module, name: str) -> bool:
    prefix, _, last = name.rpartition(".")
    try:
        module = owner.get_submodule(prefix)
    except AttributeError:
        return True
    return last not in module._non_persistent_buffers_set


def load(path: str | os.PathLike[str], *, backend: str | None = None) -> TranslatedLayer:
    """The model saved at `path`: an nn.Module to run, or to train further."""
    if backend not in (None, "interpreter"):
        raise SpecMismatch(f"there is no backend {backend!r} here", fix='use backend="interpreter"')
    return TranslatedLayer(read_model(path))


class TranslatedLayer(torch.nn.Module):
    """A saved model as a module: its parameters train, its programs run."""

    def __init__(self, saved: SavedModel) -> None:
        super().__init__()
        self._program = saved.programs["forward"]
        self._runner = prepare(self._program)
        self._constants: dict[str, torch.Tensor] = {}
        made: dict[int, torch.Tensor] = {}
        for name, tensor in saved.tensors.items():
            self._register(name, tensor, saved.entries[name], made)
        self.train(saved.training)

    def _register(self, name: str, tensor: torch.Tensor, entry: Any, made: dict[int, Any]) -> None:
        *path, last = name.split(".")
        if entry.kind == "parameter":
            if id(tensor) not in made:
                made[id(tensor)] = torch.nn.Parameter(tensor, requires_grad=entry.requires_grad)
            self._submodule(path).register_parameter(last, made[id(tensor)])
        elif entry.kind == "buffer":
            made.setdefault(id(tensor), tensor)
            self._submodule(path).register_buffer(last, tensor, persistent=entry.persistent)
        else:
            self.register_buffer(f"_stator_{last}", tensor, persistent=False)

    def _submodule(self, path: list[str]) -> torch.nn.Module:
        module: torch.nn.Module = self
        for part in path:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            found = module._modules[part]
            assert found is not None
            module = found
        return module

    def _stored(self) -> Mapping[str, torch.Tensor]:
        return {stored.name: self._tensor(stored) for stored in self._program.stored}

    def _tensor(self, stored: Stored) -> torch.Tensor:
        if stored.kind == "constant":
            return self.get_buffer(f"_stator_{stored.name.rpartition('.')[2]}")
        *path, last = stored.name.split(".")
        owner: Any = self
        for part in path:
            owner = owner._modules[part]
        found: torch.Tensor = getattr(owner, last)
        return found

    def program(self) -> Program:
        """The program that `forward` runs."""
        return self._program

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        leaves = flatten_inputs(
            self._program.input_structure, args, kwargs,
            types=[value.type for value in self._program.inputs],
        )  # fmt: skip
        return unflatten(self._program.output_structure, self._runner(leaves, self._stored()))
