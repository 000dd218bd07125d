"""to_exported_program(): a program for whatever reads those of torch.export."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stator.api.captures import capture_all
from stator.api.saved_methods import requests_of
from stator.api.saving import owner_of
from stator.errors import ExportError
from stator.execute.arguments import flatten_inputs
from stator.execute.structure import unflatten
from stator.export.fx.equal_sizes import equal_sizes
from stator.export.fx.graph import build_graph
from stator.export.methods import mode_name
from stator.frames import user_facing
from stator.optimize.functionalize import functionalize
from stator.optimize.inline import inline
from stator.optimize.pipeline import optimize
from stator.optimize.prune import drop_unused_stored, prune
from stator.optimize.write_casts import write_casts
from stator.program.ir import Value, ops_in
from stator.program.layout import nodes
from stator.program.program import Program
from stator.program.sizes import Symbol, evaluate
from stator.program.structure import Choice
from stator.program.types import NumberType, TensorType
from stator.torch_private.exporting import exported

FIRST_SIZE = 5  # of the dynamic sizes of example inputs; each other one is larger


@user_facing
def to_exported_program(
    model: Any, input_spec: Sequence[Any] | Mapping[str, Any] | None = None
) -> torch.export.ExportedProgram:
    """Convert a function or module to a `torch.export.ExportedProgram`, with its control flow.

    `model` and `input_spec` are the same as for `stator.save`. Branches become `torch.cond` and
    loops become `while_loop`; an ExportError points to the line of code that these cannot express.
    The program is for the current mode (`train` or `eval`) of the module and computes no gradients.
    """
    requests = requests_of(model, input_spec, None, None)
    owner = owner_of(model)
    capture = capture_all(requests, owner, refuse_host_calls=False)
    method = capture.methods.get("forward") or next(iter(capture.methods.values()))
    mode = mode_name(owner.training if owner is not None else False)
    program = capture.programs[method.programs.get(mode) or next(iter(method.programs.values()))]
    inlined = inline(program)
    if inlined.depth:
        calls = [op for op in ops_in(program.body) if op.name == "stator::call"]
        raise ExportError(
            "recursion cannot be in a graph of torch.export",
            at=calls[0].place if calls else None,
            fix="write it as a loop, or use stator.save",
        )
    functional = functionalize(inlined.program)
    pure = optimize(write_casts(functional.program), (prune, drop_unused_stored))
    _refuse_choices(pure)
    tensors = {item.name: _stored(owner, item.name, capture.tensors) for item in pure.stored}
    module = ProgramModule(pure, functional.written, tensors)
    args, kwargs, shapes = _examples(pure)
    try:
        return exported(module, args, kwargs, shapes)
    except ExportError:
        raise
    except Exception as error:  # whatever torch.export, which has no type for it, cannot hold
        text = "".join(traceback.format_exception(error))
        reason = next((line for line in str(error).strip().splitlines() if line.strip()), "")
        raise ExportError(
            f"torch.export does not take the program: {type(error).__name__}: {reason[:300]}",
            at=module.graph.place_in(text),
            fix="change that line, or use stator.save",
        ) from error


def _refuse_choices(program: Program) -> None:
    """ExportError for a result that is one of several types, by what only a run knows."""
    for node in nodes(program.output_structure):
        if not isinstance(node, Choice):
            continue
        tag = program.body.outputs[node.tag]
        makers = (op for op in program.body.ops if tag in op.results)
        if isinstance(tag, Value):
            raise ExportError(
                "the result is one of several types: a graph of torch.export has one",
                at=next((op.place for op in makers), None),
                fix="return a value of one type, or use stator.save",
            )


def _stored(
    owner: torch.nn.Module | None, name: str, tensors: Mapping[str, torch.Tensor]
) -> torch.Tensor:
    if name in tensors:
        return tensors[name]
    assert owner is not None
    found = owner.state_dict(keep_vars=True)[name]
    assert isinstance(found, torch.Tensor)
    return found


class ProgramModule(torch.nn.Module):
    """A program as a module with the signature and the results of the user's function."""

    def __init__(
        self, program: Program, written: Sequence[Value], tensors: Mapping[str, torch.Tensor]
    ) -> None:
        super().__init__()
        self.graph = build_graph(program)
        self.program, self.written = program, written
        self.names = [item.name.replace(".", "_") for item in program.stored]
        for name, item in zip(self.names, program.stored, strict=True):
            tensor = tensors[item.name]
            if isinstance(tensor, torch.nn.Parameter):
                self.register_parameter(name, tensor)
            else:
                self.register_buffer(name, tensor)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The results; inputs and buffers that the program writes are changed."""
        types = [value.type for value in self.program.inputs]
        leaves = flatten_inputs(self.program.input_structure, args, kwargs, types=types)
        stored = [getattr(self, name) for name in self.names]
        found = self.graph.module(*leaves, *stored)
        count = len(found) - len(self.written)
        places = dict(zip(self.program.inputs, leaves, strict=True))
        places |= dict(zip((item.value for item in self.program.stored), stored, strict=True))
        for value, new in zip(self.written, found[count:], strict=True):
            places[value].copy_(new)
        return unflatten(self.program.output_structure, tuple(found[:count]))


def _examples(program: Program) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """Arguments and keyword arguments to trace with, and which of their sizes are dynamic."""
    sizes: dict[str, int] = {}
    leaves, dynamic = [], []
    same = _representatives(program)
    for value in program.inputs:
        leaf, dims = _example(value, sizes, same)
        leaves.append(leaf)
        dynamic.append(dims)
    args, kwargs = unflatten(program.input_structure, tuple(leaves))
    shapes, named = unflatten(program.input_structure, tuple(dynamic))
    shapes = _without_constants(tuple(args), tuple(shapes))
    named = _without_constants(kwargs, named)
    return tuple(args), kwargs, {"args": shapes, **named}


def _representatives(program: Program) -> dict[str, str]:
    """For a dynamic size, the one that represents all that must be equal to it."""
    same: dict[str, str] = {}
    for pair in equal_sizes(program):
        found = [value.type.shape[dim] for value, dim in pair if isinstance(value.type, TensorType)]
        if all(isinstance(size, Symbol) for size in found):
            first, second = (same.get(str(size), str(size)) for size in found)
            same |= {name: first for name, other in same.items() if other == second}
            same |= {second: first, first: first}
    return same


def _example(value: Value, sizes: dict[str, int], same: Mapping[str, str]) -> tuple[Any, Any]:
    kind = value.type
    if isinstance(kind, NumberType) and kind.kind == "int":
        return FIRST_SIZE, torch.export.Dim.DYNAMIC
    if not isinstance(kind, TensorType):
        raise ExportError(
            f"torch.export takes no input of type {kind}: `{value.name}`", fix="pass a tensor"
        )
    shape, dims = [], {}
    for index, size in enumerate(kind.shape):
        found = size if isinstance(size, int) else evaluate(size, sizes)
        if found is None:
            name = same.get(str(size), str(size))
            found = sizes.setdefault(name, FIRST_SIZE + 2 * len(sizes))
            sizes[str(size)] = found
        if not isinstance(size, int):
            dims[index] = torch.export.Dim.DYNAMIC
        shape.append(found)
    return torch.zeros(shape, dtype=getattr(torch, kind.dtype)), dims


def _without_constants(args: Any, shapes: Any) -> Any:
    """Where an argument is a constant, torch.export gets no size."""
    if isinstance(args, dict):
        return {key: _without_constants(args[key], shapes[key]) for key in args}
    if isinstance(args, torch.Tensor):
        return shapes
    if isinstance(args, list | tuple):
        return type(args)(_without_constants(a, s) for a, s in zip(args, shapes, strict=True))
    return shapes if shapes is torch.export.Dim.DYNAMIC else None
