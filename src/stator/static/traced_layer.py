"""TracedLayer: a module whose ops were recorded from one real call, with no source rewritten."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from stator.capture.modes import Modes
from stator.english import with_article
from stator.errors import InputError, SpecMismatch, UnsupportedCall
from stator.execute.arguments import check_type, flatten_inputs
from stator.execute.backend import values_of
from stator.execute.selection import check_backend
from stator.frames import user_facing
from stator.optimize.pipeline import optimize
from stator.program.ir import Op, StoredTensor
from stator.program.program import Program
from stator.static.executor import check_strategy
from stator.static.inference_model import select, write_inference_model
from stator.static.plan import Plan
from stator.static.strategy import BuildStrategy, ExecutionStrategy
from stator.static.tracing import RecordedCall, tensors_in, trace_layer


class TracedLayer:
    """The program of one call of a module: call it with inputs like those it was traced with.

    Created by `TracedLayer.trace`. It shares parameters and buffers with the module.

    >>> outputs, traced = TracedLayer.trace(torch.nn.ReLU(), torch.tensor([-1.0, 2.0]))
    >>> traced(torch.tensor([3.0, -4.0]))
    [tensor([3., 0.])]
    """

    def __init__(self, *_: Any, **__: Any) -> None:
        raise InputError(
            "TracedLayer has no public constructor",
            fix="call `TracedLayer.trace(layer, inputs)`, which gives (outputs, traced)",
        )

    @classmethod
    @user_facing
    def trace(
        cls, layer: torch.nn.Module, inputs: Any, *, backend: str | None = None
    ) -> tuple[Any, TracedLayer]:
        """Run `layer` once on real `inputs`; return its outputs and a TracedLayer of the run.

        `inputs` is a tensor, or a list or tuple of the arguments. `backend` selects what runs the
        program; it defaults as for `to_static`.
        """
        check_backend(backend)
        _check_layer(layer)
        traced = trace_layer(layer, _arguments(inputs))
        made = object.__new__(cls)
        made._set_up(layer, traced, backend)
        return traced.outputs, made

    def _set_up(self, layer: torch.nn.Module, traced: RecordedCall, backend: str | None) -> None:
        self._backend = backend
        self._layer, self._recorded, self._modes = layer, traced.program, traced.modes
        self._tensors, self._literals = traced.tensors, traced.literals
        self._path_checks, self._repeats = traced.path_checks, traced.repeats
        self._program = optimize(traced.program)
        self.set_strategy()

    @property
    def program(self) -> Program:
        """The recorded program."""
        return self._program

    def set_strategy(
        self,
        build_strategy: BuildStrategy | None = None,
        exec_strategy: ExecutionStrategy | None = None,
    ) -> None:
        """Use these strategies from now on; without `build_strategy`, run it as recorded."""
        check_strategy("build_strategy", build_strategy, BuildStrategy)
        check_strategy("exec_strategy", exec_strategy, ExecutionStrategy)
        self._execution = exec_strategy or ExecutionStrategy()
        self._plan = Plan(
            self._program, self._tensors, build_strategy, private=self._literals,
            modes=self._modes, backend=self._backend,
        )  # fmt: skip

    @user_facing
    def __call__(self, inputs: Any) -> list[Any]:
        """Run the program; returns a list of the output tensors, in the order of the layer."""
        self._check_modes()
        program, args = self._program, _arguments(inputs)
        types = [value.type for value in program.inputs]
        leaves = flatten_inputs(program.input_structure, args, {}, types=types)
        self._check_repeats(args)
        stored = {item.name: self._tensor(item) for item in program.stored}
        return list(values_of(self._plan.run(leaves, stored, self._execution)))

    def _check_modes(self) -> None:
        now = Modes.current().autocast
        if now != self._modes.autocast:
            raise InputError(
                f"the layer was traced {_autocast_in_words(self._modes.autocast)}, "
                f"and is called {_autocast_in_words(now)}",
                fix="call it as it was traced, or trace it again",
            )

    def _check_repeats(self, args: tuple[Any, ...]) -> None:
        tensors = tensors_in(args)
        for index, first in enumerate(self._repeats):
            if tensors[index] is not tensors[first]:
                raise SpecMismatch(
                    f"inputs {first} and {index} were one tensor when the layer was traced",
                    fix="give one tensor for both, or trace it with two",
                )

    def _tensor(self, stored: StoredTensor) -> torch.Tensor:
        """The tensor that the layer has under this name now."""
        if stored.kind == "constant":
            return self._tensors[stored.name]
        *path, last = stored.name.split(".")
        owner: Any = self._layer
        for part in path:
            owner = getattr(owner, part)
        found: torch.Tensor = getattr(owner, last)
        check_type(stored.value.type, found, f"the {stored.kind} `{stored.name}`", {})
        return found

    @user_facing
    def save_inference_model(
        self,
        dirname: str | os.PathLike[str],
        feed: Sequence[int] | None = None,
        fetch: Sequence[int] | None = None,
    ) -> None:
        """Save as `dirname`.stator and `dirname`.safetensors, with all or some inputs and outputs.

        `feed` and `fetch` are positions among the input and output tensors; None keeps all.
        """
        program = self._recorded
        inputs = _chosen("feed", feed, len(program.inputs), "inputs")
        outputs = _chosen("fetch", fetch, len(program.body.outputs), "outputs")
        feeds = [(f"feed {index}", program.inputs[index]) for index in inputs]
        fetches = [(f"fetch {index}", program.body.outputs[index]) for index in outputs]
        chosen = select(program, feeds, fetches, whole=fetch is None, must_stay=self._is_path_check)
        stored = {item.name: self._tensor(item) for item in chosen.stored}
        write_inference_model(dirname, chosen, stored)

    def _is_path_check(self, op: Op) -> bool:
        return any(op is check for check in self._path_checks)

    def __repr__(self) -> str:
        return f"<TracedLayer of {type(self._layer).__name__}, {len(self._program.body.ops)} ops>"


def _arguments(inputs: Any) -> tuple[Any, ...]:
    if isinstance(inputs, torch.Tensor):
        return (inputs,)
    if isinstance(inputs, list | tuple) and not hasattr(inputs, "_fields"):
        return tuple(inputs)
    raise InputError(
        f"the inputs are {with_article(type(inputs).__name__)}",
        fix="give a tensor, or a list of the layer's arguments",
    )


def _check_layer(layer: Any) -> None:
    if not isinstance(layer, torch.nn.Module):
        raise InputError(
            f"{with_article(type(layer).__name__)} cannot be traced",
            fix="give an nn.Module; for a function, use `stator.to_static`",
        )
    for name, module in layer.named_modules():
        if getattr(module.forward, "__stator_original__", None) is not None:
            where = f"`{name}` of the layer" if name else "the layer"
            raise UnsupportedCall(
                f"{where} is converted by `to_static`, and has programs of its own",
                fix="save it with `stator.save`, or trace it before it is converted",
            )


def _chosen(name: str, indices: Sequence[int] | None, count: int, what: str) -> list[int]:
    chosen = list(range(count)) if indices is None else list(indices)
    for index in chosen:
        if type(index) is not int or not 0 <= index < count:
            raise InputError(
                f"{name} has {index!r}, and the layer has {count} {what}",
                fix=f"give positions from 0 to {count - 1}",
            )
    return chosen


def _autocast_in_words(autocast: tuple[str, str] | None) -> str:
    return "without autocast" if autocast is None else f"under autocast to {autocast[1]}"
