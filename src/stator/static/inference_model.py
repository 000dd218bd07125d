"""Inference models: a program with chosen feeds and fetches, as files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from stator.english import with_article
from stator.errors import FormatError, InputError
from stator.export.saved_model import SavedModel, read_model, write_model
from stator.frames import user_facing
from stator.optimize.dataflow import needed_for
from stator.optimize.pipeline import optimize
from stator.optimize.restrict import used_inputs, with_inputs, with_outputs
from stator.program.ir import Arg, Block, Op, StoredTensor, Value
from stator.program.program import Program
from stator.program.types import NumberType
from stator.program.verifier import verify
from stator.static.executor import Executor
from stator.static.program import StaticProgram, current_program

Named = tuple[str, Arg]  # what the user calls it, and what it is


def select(
    program: Program,
    feeds: Sequence[tuple[str, Value]],
    fetches: Sequence[Named],
    *,
    whole: bool,
    must_stay: Callable[[Op], bool],
) -> Program:
    """The program from `feeds` to `fetches`; what these do not need goes, unless `whole`."""
    outputs = [value for _, value in fetches]
    if whole:
        chosen = with_outputs(program, outputs)
    else:
        chosen = needed_for(program, outputs, must_stay=must_stay)
    given = {value for _, value in feeds}
    chosen = optimize(chosen)
    for value in program.inputs:
        if value in used_inputs(chosen) - given:
            raise _not_fed(program, value, feeds, fetches, must_stay)
    return with_inputs(chosen, [value for _, value in feeds])


def _not_fed(
    program: Program,
    value: Value,
    feeds: Sequence[tuple[str, Value]],
    fetches: Sequence[Named],
    must_stay: Callable[[Op], bool],
) -> InputError:
    """The error that names the fetch, or the check, and the input that it needs."""
    names = ", ".join(f"`{one.name}`" for _, one in feeds) or "none"
    for name, output in fetches:
        alone = needed_for(program, [output], must_stay=lambda _: False)
        if value in used_inputs(alone):
            return InputError(
                f"{name} needs the input `{value.name}`, which is not among the feeds ({names})",
                fix=f"add `{value.name}` to the feeds, or leave {name} out",
            )
    for op in filter(must_stay, program.body.ops):
        alone = needed_for(program, [], must_stay=lambda one, check=op: one is check)  # type: ignore[misc]
        if value in used_inputs(alone):
            return InputError(
                f"a check of the program needs the input `{value.name}`, which is not among the "
                f"feeds ({names})",
                at=op.place, fix=f"add `{value.name}` to the feeds",
            )  # fmt: skip
    return InputError(
        f"the program uses the input `{value.name}`, which is not among the feeds ({names})",
        fix=f"add `{value.name}` to the feeds",
    )


def write_inference_model(
    path: str | os.PathLike[str], program: Program, tensors: Mapping[str, torch.Tensor]
) -> None:
    """Write the two files; the model has one form, for training and evaluation alike."""
    stored = {item.name: tensors[item.name].detach() for item in program.stored}
    kinds = {item.name: item.kind for item in program.stored}
    requires_grad = {
        name: tensors[name].requires_grad for name, kind in kinds.items() if kind == "parameter"
    }
    write_model(
        path, {"forward": program}, stored, requires_grad=requires_grad,
        metadata={"modes": False},
    )  # fmt: skip


@user_facing
def save_inference_model(
    path: str | os.PathLike[str],
    feeds: Sequence[Any],
    fetches: Sequence[Any],
    executor: Executor,
    program: StaticProgram | None = None,
) -> None:
    """Save the part of `program` that computes `fetches` from `feeds`, with its tensors.

    `feeds` and `fetches` are names, Values or tensors of the program. `program` defaults to that of
    the current `program_guard`.
    """
    program = _given_program(executor, program)
    inputs = [_input(program, feed) for feed in _listed(feeds)]
    outputs = [
        (_called(program, fetch), program.value_of(fetch, "fetch")) for fetch in _listed(fetches)
    ]
    chosen = select(program.recorded, inputs, outputs, whole=False, must_stay=program.is_path_check)
    write_inference_model(path, chosen, program.tensors)


def _given_program(executor: Any, program: Any) -> StaticProgram:
    if not isinstance(executor, Executor):
        raise InputError(f"the executor is {with_article(type(executor).__name__)}",
                         fix="give a `stator.static.Executor`")  # fmt: skip
    program = program if program is not None else current_program()
    if not isinstance(program, StaticProgram):
        raise InputError(f"the program is {with_article(type(program).__name__)}",
                         fix="give a `stator.static.Program`")  # fmt: skip
    return program


def _listed(wanted: Any) -> list[Any]:
    return list(wanted) if isinstance(wanted, list | tuple) else [wanted]


def _input(program: StaticProgram, feed: Any) -> tuple[str, Value]:
    value = program.value_of(feed, "feed")
    if value not in program.recorded.inputs:
        raise InputError(f"`{value.name}` is not an input of the program, and cannot be a feed",
                         fix="feed what `data` made")  # fmt: skip
    return value.name, value


def _called(program: StaticProgram, fetch: Any) -> str:
    return f"`{program.value_of(fetch, 'fetch').name}`"


@user_facing
def load_inference_model(
    path: str | os.PathLike[str], executor: Executor
) -> tuple[StaticProgram, list[str], list[Value]]:
    """Load the program saved at `path`; returns it, its input names and its fetch values.

    It runs with the backend of the executor.
    """
    if not isinstance(executor, Executor):
        raise InputError(f"the executor is {with_article(type(executor).__name__)}",
                         fix="give a `stator.static.Executor`")  # fmt: skip
    saved = read_model(path)
    recorded = saved.program_of("forward") or saved.program_of("forward", training=True)
    if recorded is None:
        raise FormatError(f"the model at {os.fspath(path)} has no method `forward`",
                          fix="save it with one, or use `stator.load`")  # fmt: skip
    if recorded.state:
        raise FormatError(
            f"the model at {os.fspath(path)} keeps `{recorded.state[0].name}` from one call to the "
            "next, which a program for an executor does not",
            fix="use `stator.load`",
        )
    tensors = {item.name: _live(item, saved) for item in recorded.stored}
    recorded, fetches = _with_values(recorded)
    private = frozenset(item.name for item in recorded.stored if item.kind == "constant")
    program = StaticProgram.of(recorded, tensors, private=private, fetches=fetches)
    return program, [value.name for value in recorded.inputs], fetches


def _live(item: StoredTensor, saved: SavedModel) -> torch.Tensor:
    tensor = saved.tensors[item.name]
    if item.kind != "parameter":
        return tensor
    return torch.nn.Parameter(tensor, requires_grad=saved.entries[item.name].requires_grad)


def _with_values(recorded: Program) -> tuple[Program, list[Value]]:
    """The program with a value for each output, constants included, so that all can be fetched."""
    ops, fetches = list(recorded.body.ops), list[Value]()
    for index, output in enumerate(recorded.body.outputs):
        if not isinstance(output, Value):
            kind: Any = "bool" if isinstance(output, bool) else type(output).__name__
            made = Value(f"output_{index}", NumberType(kind))
            ops.append(Op("stator::select", (0, (output,)), {}, (made,)))
            output = made
        fetches.append(output)
    body = Block(recorded.body.inputs, ops, tuple(fetches))
    return verify(replace(recorded, body=body)), fetches
