"""save and load: a model as two open files, and back as an nn.Module."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from stator.api.static_function import StaticFunction
from stator.errors import CaptureError, SpecMismatch, StatorError
from stator.execute.arguments import flatten_inputs
from stator.execute.interpreter import prepare
from stator.execute.structure import unflatten
from stator.export.saved_model import SavedModel, read_model, write_model
from stator.optimize.pipeline import optimize
from stator.program.ir import Op, Stored
from stator.program.printer import print_program
from stator.program.program import Program
from stator.program.structure import Structure
from stator.staging.trace import Captured, Effect

MODE_NAMES = {True: "train", False: "eval"}


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
    owner = _owner(static)
    programs, tensors = _programs(static, spec, owner)
    transient = [] if owner is None else [n for n in tensors if not _is_persistent(owner, n)]
    training = owner.training if owner is not None else False
    metadata = {"modes": owner is not None}  # a function has but one
    write_model(path, programs, tensors, transient=transient, training=training, metadata=metadata)


def _programs(
    static: StaticFunction, spec: Sequence[Any], owner: torch.nn.Module | None
) -> tuple[dict[str, Program], dict[str, torch.Tensor]]:
    """The program as the module stands, and the one of its other mode, and their tensors."""
    program, tensors = _capture(static, spec, owner)
    programs = {"forward": program}
    if owner is not None:
        with _other_mode(owner):
            try:
                other, more = _capture(static, spec, owner)
            except StatorError:  # then the loaded model refuses that mode
                return programs, tensors
        name = MODE_NAMES[not owner.training]
        if _same(program, other, tensors, more):
            programs[name] = program
            return programs, tensors
        for stored in other.stored:
            if stored.kind == "constant":
                tensors[f"{name}.{stored.name}"] = more[stored.name]
                stored.name = f"{name}.{stored.name}"
        programs[name] = other
    return programs, tensors


def _capture(
    static: StaticFunction, spec: Sequence[Any], owner: torch.nn.Module | None
) -> tuple[Program, dict[str, torch.Tensor]]:
    with torch.set_grad_enabled(True):
        captured = static.capture(spec)
    program = optimize(_without_effects(captured, owner))
    return program, _tensors(owner, program, captured)


@contextlib.contextmanager
def _other_mode(owner: torch.nn.Module) -> Iterator[None]:
    """`owner` in training mode if it is not, and the other way round; each part as before after."""
    flags = {module: module.training for module in owner.modules()}
    owner.train(not owner.training)
    try:
        yield
    finally:
        for module, training in flags.items():
            module.training = training


def _same(
    one: Program, other: Program, tensors: Mapping[str, Any], more: Mapping[str, Any]
) -> bool:
    """Do two programs say the same, with the same constants?"""
    return print_program(one, places=False) == print_program(other, places=False) and all(
        torch.equal(tensors[stored.name], more[stored.name])
        for stored in one.stored
        if stored.kind == "constant"
    )


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
        self._stator_programs = {MODE_NAMES[saved.training]: saved.programs["forward"]}
        self._stator_programs.update(
            {name: program for name, program in saved.programs.items() if name != "forward"}
        )
        if not saved.metadata.get("modes", True):
            self._stator_programs = dict.fromkeys(MODE_NAMES.values(), saved.programs["forward"])
        self._stator_runners = {
            name: prepare(program) for name, program in self._stator_programs.items()
        }
        self._stator_saved_mode = MODE_NAMES[saved.training]
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
            self.register_buffer(_constant_name(name), tensor, persistent=False)

    def _submodule(self, path: list[str]) -> torch.nn.Module:
        module: torch.nn.Module = self
        for part in path:
            if part not in module._modules:
                module.add_module(part, torch.nn.Module())
            found = module._modules[part]
            assert found is not None
            module = found
        return module

    def _tensor(self, stored: Stored) -> torch.Tensor:
        if stored.kind == "constant":
            return self.get_buffer(_constant_name(stored.name))
        *path, last = stored.name.split(".")
        owner: Any = self
        for part in path:
            owner = owner._modules[part]
        found: torch.Tensor = getattr(owner, last)
        return found

    def program(self) -> Program:
        """The program that `forward` runs in the mode the module is in."""
        name = MODE_NAMES[self.training]
        if name not in self._stator_programs:
            raise SpecMismatch(
                f"this model was saved in {self._stator_saved_mode} mode, and could not be "
                f"captured in {name} mode",
                fix=f"call `.{'train' if name == 'eval' else 'eval'}()`, or save it again",
            )
        return self._stator_programs[name]

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program."""
        program = self.program()
        leaves = flatten_inputs(
            program.input_structure, args, kwargs,
            types=[value.type for value in program.inputs],
        )  # fmt: skip
        stored = {item.name: self._tensor(item) for item in program.stored}
        outputs = self._stator_runners[MODE_NAMES[self.training]](leaves, stored)
        return unflatten(program.output_structure, outputs)


def _constant_name(name: str) -> str:
    """The buffer that holds a constant: no name of a user's module."""
    return f"_stator_{name.replace('.', '_')}"
