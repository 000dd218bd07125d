"""The reference interpreter: what a Program means; every other executor is held to it.

`run` is the definition. `prepare` does once what does not depend on the inputs: ops are resolved
to the functions they name, arguments to readers, and each value's last use is found, so that a
tensor lives no longer than it would in eager code. The ops are torch's own, so autograd, random
numbers, in-place writes and dispatch modes work as they do without Stator.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from stator.errors import DemandViolated, InputError, ProgramError, StatorError
from stator.execute.arguments import describe
from stator.execute.checks import split_checks
from stator.execute.effects import EFFECT_FUNCTIONS, class_names, modes_restored, type_name
from stator.execute.gradients import (
    Backward,
    CustomGradient,
    ModuleHooks,
    add_hook,
    run_gradients,
)
from stator.execute.observing import Observer
from stator.program.ir import Arg, Block, Op, Value, ops_in, used_by, values_in
from stator.program.numbers import NUMBER_FUNCTIONS
from stator.program.ops import EFFECTS
from stator.program.program import Program
from stator.program.registry import constant_of, resolve
from stator.program.types import ListType, OptionalType, Type

Values = dict[Value, Any]
Reader = Callable[[Values], Any]
Handler = Callable[["Step", "Frame"], Sequence[Any]]
NOTE = "  in the program"


@dataclass(slots=True)
class Run:
    """What a run has beside its values."""

    hooks: ModuleHooks
    noted: tuple[int, list[Any]] | None = None  # what Python objects hold by now


@dataclass(slots=True)
class Frame:
    """One activation: of the program, or of one of its functions."""

    values: Values
    runner: Runner
    outer: Values  # the program's inputs and stored tensors: what a function sees
    run: Run
    depth: int = 0
    kept: dict[int, tuple[Any, ...]] = field(default_factory=dict)  # for handlers, by try
    caught: list[Exception] = field(default_factory=list)  # what handlers that run have caught


@dataclass(frozen=True, slots=True)
class Step:
    """An op, ready to run."""

    op: Op
    run: Handler
    function: Callable[..., Any] | None
    args: tuple[Reader, ...]
    attributes: tuple[tuple[str, Reader], ...]
    blocks: tuple[Steps, ...]
    released: tuple[Value, ...]  # used here for the last time


@dataclass(frozen=True, slots=True)
class Steps:
    """A block, ready to run."""

    inputs: tuple[Value, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Reader, ...]
    released: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Runner:
    """A program, ready to run: `runner(inputs, stored)` gives its flat outputs."""

    program: Program
    checks: Steps  # what the program demands of the sizes of its inputs
    body: Steps
    functions: Mapping[str, Steps]
    sets_modes: bool
    autocast_devices: tuple[str, ...]

    def __call__(
        self, inputs: Sequence[object], stored: Mapping[str, torch.Tensor]
    ) -> tuple[object, ...]:
        """The flat outputs of one run."""
        _check_inputs(self.program, inputs)
        return self.bind(stored)(inputs)

    def bind(
        self,
        stored: Mapping[str, torch.Tensor],
        modules: Mapping[str, torch.nn.Module] = MappingProxyType({}),
    ) -> Callable[[Sequence[object]], tuple[object, ...]]:
        """The program over these stored tensors: its flat outputs, as a function of the inputs.

        The backward hooks of `modules` run where the program goes through them.
        """
        kept = _bind_stored(self.program, stored)

        def run_inputs(inputs: Sequence[object]) -> tuple[object, ...]:
            _check_inputs(self.program, inputs)
            values = dict(zip(self.program.inputs, inputs, strict=True)) | kept
            this = Run(ModuleHooks(modules))
            frame = Frame(values, self, dict(values) if self.functions else {}, this)
            if self.checks.steps:
                _check_sizes(self.checks, frame)
            try:
                return self._run(frame)
            except Exception as error:
                if this.noted is not None:
                    error.stator_noted = this.noted  # type: ignore[attr-defined]
                raise

        return run_inputs

    def _run(self, frame: Frame) -> tuple[object, ...]:
        if not self.sets_modes:
            return tuple(run_block(self.body, (), frame))
        with modes_restored(self.autocast_devices):
            return tuple(run_block(self.body, (), frame))


def _check_sizes(checks: Steps, frame: Frame) -> None:
    try:
        run_block(checks, (), frame)
    except DemandViolated as error:
        error.before_running = True
        raise


def run(
    program: Program, inputs: Sequence[object], stored: Mapping[str, torch.Tensor]
) -> tuple[object, ...]:
    """The flat outputs of `program`: tensors, numbers, lists, texts; None for what is absent."""
    return prepare(program)(inputs, stored)


def run_block(block: Steps, given: Sequence[Any], frame: Frame) -> list[Any]:
    """What `block` yields when it is given these inputs."""
    values = frame.values
    values.update(zip(block.inputs, given, strict=True))
    for step in block.steps:
        try:
            results = step.run(step, frame)
        except Exception as error:
            _add_notes(error, step, values)
            raise
        values.update(zip(step.op.results, results, strict=True))
        for value in step.released:
            del values[value]
    outputs = [read(values) for read in block.outputs]
    for value in block.released:
        del values[value]
    return outputs


def run_if(step: Step, frame: Frame) -> Sequence[Any]:
    """One of the two blocks runs."""
    then, orelse = step.blocks
    return run_block(then if step.args[0](frame.values) else orelse, (), frame)


def run_while(step: Step, frame: Frame) -> Sequence[Any]:
    """The body runs as long as the condition it yielded last holds."""
    condition, *carried = (read(frame.values) for read in step.args)
    while condition:
        condition, *carried = run_block(step.blocks[0], carried, frame)
    return carried


def run_try(step: Step, frame: Frame) -> Sequence[Any]:
    """The body runs; the first handler that catches what it raises runs instead."""
    body, *handlers = step.blocks
    number = int(step.op.attributes["number"])  # type: ignore[arg-type] # checked
    frame.kept[number] = tuple(read(frame.values) for read in step.args)
    try:
        with modes_restored(frame.runner.autocast_devices):
            return run_block(body, (), frame)
    except StatorError:
        raise
    except Exception as error:
        found = class_names(error)
        attributes: Any = step.op.attributes
        choices = zip(attributes["catches"], attributes["asks"], handlers, strict=True)
        for names, asks, handler in choices:
            if found & {*names}:
                answers = (not found.isdisjoint(asked) for asked in asks)
                given = (type_name(error), str(error), *frame.kept[number], *answers)
                return _run_handler(handler, given, error, frame)
        raise


def _run_handler(handler: Steps, given: Sequence[Any], error: Exception, frame: Frame) -> Any:
    frame.caught.append(error)
    try:
        return run_block(handler, given, frame)
    finally:
        frame.caught.pop()


def run_keep(step: Step, frame: Frame) -> Sequence[Any]:
    """What handlers are to get, should the next op raise."""
    number = int(step.op.attributes["number"])  # type: ignore[arg-type] # checked
    frame.kept[number] = tuple(read(frame.values) for read in step.args)
    return ()


def run_reraise(_step: Step, frame: Frame) -> Sequence[Any]:
    """The exception that the handler has caught goes on."""
    raise frame.caught[-1]


def run_call(step: Step, frame: Frame) -> Sequence[Any]:
    """A function of the program runs on values of its own."""
    name, limit = str(step.op.attributes["function"]), sys.getrecursionlimit() // 5
    if frame.depth >= limit:
        raise RecursionError(f"`{name}` calls itself more than {limit} times deep")
    given = [read(frame.values) for read in step.args]
    inner = Frame(dict(frame.outer), frame.runner, frame.outer, frame.run, frame.depth + 1)
    return run_block(frame.runner.functions[name], given, inner)


def run_custom_gradient(step: Step, frame: Frame) -> Sequence[Any]:
    """The results are given the gradient that a block computes."""
    results, inputs = (read(frame.values) for read in step.args)
    backward, kept = _backward(step, frame)
    return tuple(CustomGradient.apply(backward, kept, results, *inputs))


def run_autograd(step: Step, frame: Frame) -> Sequence[Any]:
    """Gradients of values of the program, along the graph that this run has made."""
    given = [read(frame.values) for read in step.args]
    return run_gradients(*given, **{name: read(frame.values) for name, read in step.attributes})


def run_hook(step: Step, frame: Frame) -> Sequence[Any]:
    """The gradient of a tensor goes through a block."""
    add_hook(step.args[0](frame.values), *_backward(step, frame))
    return ()


def run_hook_inputs(step: Step, frame: Frame) -> Sequence[Any]:
    """What goes into a module that has backward hooks."""
    return frame.run.hooks.go_in(*_hooked(step, frame))


def run_hook_outputs(step: Step, frame: Frame) -> Sequence[Any]:
    """What comes out of it."""
    return frame.run.hooks.come_out(*_hooked(step, frame))


def run_note(step: Step, frame: Frame) -> Sequence[Any]:
    """What Python objects are to hold, should the run raise from here on."""
    ((_, number),) = step.attributes
    frame.run.noted = (number(frame.values), [read(frame.values) for read in step.args])
    return ()


def _hooked(step: Step, frame: Frame) -> tuple[str, list[Any], Sequence[int], int]:
    options: dict[str, Any] = {name: read(frame.values) for name, read in step.attributes}
    tensors = [read(frame.values) for read in step.args]
    return options["module"], tensors, options["places"], options["count"]


def _backward(step: Step, frame: Frame) -> tuple[Backward, list[Any]]:
    """A function that runs the block of `step` later, and the values of now that it needs."""
    (block,) = step.blocks
    names = tuple(dict.fromkeys(value for value in _seen_by(step.op) if value in frame.values))
    kept = [frame.values[value] for value in names]

    def backward(values: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
        inner = Frame(dict(zip(names, values, strict=True)), frame.runner, frame.outer, frame.run)
        return run_block(block, gradients, inner)

    return backward, kept


def _seen_by(op: Op) -> Iterator[Value]:
    """The values that the blocks of `op` name."""
    for block in op.blocks:
        yield from values_in(block.outputs)
        for inner in block.ops:
            yield from used_by(inner)


def run_demand(step: Step, frame: Frame) -> Sequence[Any]:
    """What the capture relied on must hold."""
    condition, text = (read(frame.values) for read in step.args)
    if not condition:
        raise _with_inputs(DemandViolated(text, at=step.op.place), frame)
    return ()


def _with_inputs(error: DemandViolated, frame: Frame) -> DemandViolated:
    error.involved = _named(frame.values)
    return error


def run_function(step: Step, frame: Frame) -> Sequence[Any]:
    """A Python function is called: the number, text, list and effect ops."""
    result = _call(step, frame)
    return (result,) if step.op.results else ()


def run_torch(step: Step, frame: Frame) -> Sequence[Any]:
    """An op of torch is called."""
    result, results = _call(step, frame), step.op.results
    if len(results) == 1 and not (
        isinstance(result, list | tuple) and not _is_list(results[0].type)
    ):
        return (result,)
    if not results:
        return ()
    if len(result) != len(results):
        error = DemandViolated(
            f"{step.op.name} gives {len(result)} values; it was captured to give {len(results)}",
            at=step.op.place,
        )
        raise _with_inputs(error, frame)
    return tuple(result)


def _call(step: Step, frame: Frame) -> Any:
    values = frame.values
    assert step.function is not None
    return step.function(
        *[read(values) for read in step.args],
        **{name: read(values) for name, read in step.attributes},
    )


def _is_list(kind: Type) -> bool:
    return isinstance(kind.element if isinstance(kind, OptionalType) else kind, ListType)


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "stator::if": run_if,
        "stator::while": run_while,
        "stator::call": run_call,
        "stator::try": run_try,
        "stator::keep": run_keep,
        "stator::reraise": run_reraise,
        "stator::demand": run_demand,
        "stator::custom_gradient": run_custom_gradient,
        "stator::gradients": run_autograd,
        "stator::hook": run_hook,
        "stator::hook_inputs": run_hook_inputs,
        "stator::hook_outputs": run_hook_outputs,
        "stator::note": run_note,
    }
)
FUNCTIONS = MappingProxyType({**NUMBER_FUNCTIONS, **EFFECT_FUNCTIONS})


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the blocks of a program are made ready."""

    release: bool
    observer: Observer | None


def prepare(program: Program, *, release: bool = True, observer: Observer | None = None) -> Runner:
    """A runner of `program`; the program must not be changed afterwards.

    Without `release`, each block keeps what it makes until it ends. An `observer` is told of every
    op that a run comes to; without one, a run does nothing for the sake of it.
    """
    blocks = (program.body, *program.functions.values())
    ops = [op for block in blocks for op in ops_in(block)]
    casts = [op.args[0] for op in ops if op.name == "stator::set_autocast"]
    checks, body = split_checks(program)
    plan = _Plan(release, observer)
    return Runner(
        program,
        _prepare_block(checks, plan if checks.ops else _Plan(release, None)),
        _prepare_block(body, plan),
        {name: _prepare_block(block, plan) for name, block in program.functions.items()},
        any(op.name.startswith("stator::set_") for op in ops),
        tuple(sorted({torch.device(constant_of(device)).type for device in casts})),
    )


def _prepare_block(block: Block, plan: _Plan) -> Steps:
    released = _last_uses(block)
    if not plan.release:
        released = [()] * len(block.ops) + [tuple(value for part in released for value in part)]
    pairs = zip(block.ops, released, strict=False)
    steps = tuple(_prepare_op(op, values, plan) for op, values in pairs)
    if plan.observer is not None:
        enter, leave = plan.observer.enter, plan.observer.leave
        steps = (_telling(enter, block), *steps, _telling(leave, block))
    return Steps(block.inputs, steps, tuple(map(_reader, block.outputs)), released[-1])


def _prepare_op(op: Op, released: tuple[Value, ...], plan: _Plan) -> Step:
    handler, function = HANDLERS.get(op.name), None
    if handler is None:
        function = FUNCTIONS.get(op.name) or _resolve(op)
        handler = run_function if op.name in FUNCTIONS else run_torch
    if plan.observer is not None:
        handler = _observed(handler, plan.observer)
    attributes = tuple((name, _reader(arg)) for name, arg in op.attributes.items())
    blocks = tuple(_prepare_block(block, plan) for block in op.blocks)
    return Step(op, handler, function, tuple(map(_reader, op.args)), attributes, blocks, released)


def _observed(run: Handler, observer: Observer) -> Handler:
    """`run`, of which `observer` is told."""

    def run_observed(step: Step, frame: Frame) -> Sequence[Any]:
        observer.begin(step.op, frame.values)
        try:
            results = run(step, frame)
        except BaseException as error:
            observer.fail(step.op, error)
            raise
        observer.end(step.op, frame.values, results)
        return results

    return run_observed


def _telling(tell: Callable[[Block, Values], None], block: Block) -> Step:
    """A step of a block that is observed: it says that the block begins, or has run."""

    def run_telling(_step: Step, frame: Frame) -> Sequence[Any]:
        tell(block, frame.values)
        return ()

    return Step(Op("stator::tell", (), {}, ()), run_telling, None, (), (), (), ())


def _resolve(op: Op) -> Callable[..., Any]:
    try:
        return resolve(op.name)
    except LookupError as error:
        raise ProgramError(str(error), at=op.place) from None


def _last_uses(block: Block) -> list[tuple[Value, ...]]:
    """For each op of `block`, then for its end: the block's own values that nothing uses later."""
    end = len(block.ops)
    last = dict.fromkeys(block.inputs, end)
    for index, op in enumerate(block.ops):
        last.update({value: index for value in used_by(op) if value in last})
        last.update(dict.fromkeys(op.results, index))
    last.update({value: end for value in values_in(block.outputs) if value in last})
    released: list[list[Value]] = [[] for _ in range(end + 1)]
    for value, index in last.items():
        released[index].append(value)
    return [tuple(values) for values in released]


def _reader(arg: Arg) -> Reader:
    """A function that gives the object `arg` stands for."""
    if isinstance(arg, Value):
        return operator.itemgetter(arg)
    if isinstance(arg, tuple):
        readers = tuple(map(_reader, arg))
        return lambda values: [read(values) for read in readers]
    constant = constant_of(arg)
    return lambda _: constant


def _check_inputs(program: Program, inputs: Sequence[object]) -> None:
    if len(inputs) != len(program.inputs):
        raise InputError(
            f"program {program.name} takes {len(program.inputs)} inputs, not {len(inputs)}"
        )


def _bind_stored(program: Program, stored: Mapping[str, torch.Tensor]) -> Values:
    for item in program.stored:
        if item.name not in stored:
            raise InputError(f"program {program.name} needs the {item.kind} `{item.name}`")
    return {item.value: stored[item.name] for item in program.stored}


def _add_notes(error: Exception, step: Step, values: Values) -> None:
    """Says where the op that failed stands, and what it was given; the innermost op does, once."""
    notes: Sequence[str] = getattr(error, "__notes__", ())
    if isinstance(error, StatorError) or any(note.startswith(NOTE) for note in notes):
        return
    if place := step.op.place:
        error.add_note(f"{NOTE} at {place}")
    else:
        error.add_note(NOTE)
    if step.op.name not in EFFECTS:
        given = ", ".join(describe(read(values)) for read in step.args)
        error.add_note(f"  {step.op.name} was given ({given})")
    elif named := _named(values):
        given = ", ".join(f"{name}: {kind}" for name, kind in named.items())
        error.add_note(f"  called with {given}")


def _named(values: Values) -> dict[str, str]:
    """The inputs of the program that are still there, as the user calls them, and their types."""
    return {
        value.name: describe(given) for value, given in values.items() if not value.name.isdigit()
    }
