"""The reference interpreter: what a Program means; every other executor is held to it.

`run` is the definition. `Interpreter.prepare` does once what does not depend on the inputs (see
`steps`). The ops are torch's own, so autograd, random numbers, in-place writes and dispatch modes
work as they do without Stator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import torch

from stator.errors import InputError, IntegerOverflow, ProgramError, SizeCheckFailed, StatorError
from stator.execute.arguments import describe
from stator.execute.backend import (
    DEFAULT_OPTIONS,
    NOTHING,
    Capability,
    EffectsDone,
    HostCallbacks,
    Outcome,
    Run,
    RunOptions,
    values_of,
)
from stator.execute.checks import split_checks
from stator.execute.conditions import with_conditions
from stator.execute.effects import EFFECT_FUNCTIONS, class_names, modes_restored, type_name
from stator.execute.gradients import Backward, CustomGradient, add_hook, run_gradients
from stator.execute.list_ops import LIST_CHANGES, LIST_FUNCTIONS, is_only_owner
from stator.execute.raised import NOTE, raised_error
from stator.execute.steps import (
    Activation,
    Caught,
    Handler,
    RunState,
    Step,
    Steps,
    Values,
    prepare_block,
)
from stator.program.ir import Op, Value, used_by, values_in
from stator.program.numbers import NUMBER_FUNCTIONS, OutOfRange, checked
from stator.program.opset.queries import is_effect, kind_of
from stator.program.program import Program
from stator.program.registry import constant_of, resolve
from stator.program.types import ListType, NumberType, Type
from stator.program.typing_rules import present
from stator.recursion_limit import more_frames, users_limit


@dataclass(frozen=True, slots=True)
class Runner:
    """A program, ready to run: see `backend.Executable`."""

    program: Program
    checks: Steps  # what the program demands of the sizes of its inputs
    body: Steps
    functions: Mapping[str, Steps]
    sets_modes: bool
    autocast_devices: tuple[str, ...]
    host: Callable[[], HostCallbacks] | None

    def bind(self, stored: Mapping[str, torch.Tensor]) -> Run:
        """The program over these stored tensors."""
        kept, host = _bind_stored(self.program, stored), self.host

        def run_inputs(inputs: Sequence[object]) -> Outcome:
            _check_inputs(self.program, inputs)
            values = dict(zip(self.program.inputs, inputs, strict=True)) | kept
            callbacks = host() if host is not None else NOTHING
            state = RunState(callbacks, self.functions, self.autocast_devices)
            frame = Activation(values, dict(values) if self.functions else {}, state)
            if self.checks.steps:
                try:
                    run_block(self.checks, (), frame)
                except Exception as error:  # noqa: BLE001  # the outcome has it
                    return raised_error(error, state, before_running=True)
            try:
                return self._run(frame)
            except Exception as error:  # noqa: BLE001  # the outcome has it
                return raised_error(error, state)

        return run_inputs

    def _run(self, frame: Activation) -> tuple[object, ...]:
        if self.functions:
            with more_frames():
                return self._run_body(frame)
        return self._run_body(frame)

    def _run_body(self, frame: Activation) -> tuple[object, ...]:
        if not self.sets_modes:
            return tuple(run_block(self.body, (), frame))
        with modes_restored(self.autocast_devices):
            return tuple(run_block(self.body, (), frame))


def run(
    program: Program,
    inputs: Sequence[object],
    stored: Mapping[str, torch.Tensor],
    options: RunOptions = DEFAULT_OPTIONS,
) -> tuple[object, ...]:
    """The flat outputs of `program`; what it raises, raised."""
    _check_inputs(program, inputs)
    return values_of(INTERPRETER.prepare(program, options).bind(stored)(inputs))


def bind_inputs(block: Steps, given: Sequence[Any], frame: Activation) -> None:
    """Give `block`, which runs next, its inputs."""
    frame.values.update(zip(block.inputs, given, strict=True))


def run_block(block: Steps, given: Sequence[Any] | None, frame: Activation) -> list[Any]:
    """What `block` yields when it is given these inputs; None: they are bound already."""
    values = frame.values
    if given is not None:
        bind_inputs(block, given, frame)
    if block.observe is not None:
        block.observe("enter", values)
    for step in block.steps:
        try:
            results = step.run(step, frame)
        except Exception as error:
            _add_notes(error, step, frame)
            raise
        values.update(zip(step.op.results, results, strict=True))
        results = ()  # so that `values` is all that holds them
        for value in step.released:
            del values[value]
    if block.observe is not None:
        block.observe("leave", values)
    outputs = [read(values) for read in block.outputs]
    for value in block.released:
        del values[value]
    return outputs


def run_if(step: Step, frame: Activation) -> Sequence[Any]:
    """One of the two blocks runs."""
    then, orelse = step.blocks
    return run_block(then if step.args[0](frame.values) else orelse, (), frame)


def run_while(step: Step, frame: Activation) -> Sequence[Any]:
    """The body runs as long as the condition it yielded last holds."""
    condition, *carried = (read(frame.values) for read in step.args)
    (body,) = step.blocks
    while condition:
        bind_inputs(body, carried, frame)
        carried = []  # so that the frame is all that holds them
        condition, *carried = run_block(body, None, frame)
    return carried


def run_try(step: Step, frame: Activation) -> Sequence[Any]:
    """The body runs; the first handler that catches what it raises runs instead."""
    body, *handlers = step.blocks
    number = int(step.op.attributes["number"])  # type: ignore[arg-type] # checked
    frame.kept[number] = tuple(read(frame.values) for read in step.args)
    try:
        with modes_restored(frame.run.autocast_devices):
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


def _run_handler(handler: Steps, given: Sequence[Any], error: Exception, frame: Activation) -> Any:
    frame.caught.append(Caught(error, frame.run.place))
    frame.run.handled.append(error)
    try:
        return run_block(handler, given, frame)
    finally:
        frame.caught.pop()


def run_keep(step: Step, frame: Activation) -> Sequence[Any]:
    """What handlers are to get, should the next op raise."""
    number = int(step.op.attributes["number"])  # type: ignore[arg-type] # checked
    frame.kept[number] = tuple(read(frame.values) for read in step.args)
    return ()


def run_reraise(_step: Step, frame: Activation) -> Sequence[Any]:
    """The exception that the handler has caught goes on."""
    error, frame.run.place = frame.caught[-1]
    raise error


def run_call(step: Step, frame: Activation) -> Sequence[Any]:
    """A function of the program runs on values of its own."""
    name, limit = str(step.op.attributes["function"]), users_limit()
    if frame.depth >= limit:
        raise RecursionError(f"`{name}` calls itself more than {limit} times deep")
    given = [read(frame.values) for read in step.args]
    inner = Activation(dict(frame.outer), frame.outer, frame.run, frame.depth + 1)
    return run_block(frame.run.functions[name], given, inner)


def run_custom_gradient(step: Step, frame: Activation) -> Sequence[Any]:
    """The results are given the gradient that a block computes."""
    results, inputs = (read(frame.values) for read in step.args)
    backward, kept = _backward(step, frame)
    return tuple(CustomGradient.apply(backward, kept, results, *inputs))


def run_autograd(step: Step, frame: Activation) -> Sequence[Any]:
    """Gradients of values of the program, along the graph that this run has made."""
    given = [read(frame.values) for read in step.args]
    return run_gradients(*given, **{name: read(frame.values) for name, read in step.attributes})


def run_hook(step: Step, frame: Activation) -> Sequence[Any]:
    """The gradient of a tensor goes through a block."""
    add_hook(step.args[0](frame.values), *_backward(step, frame))
    return ()


def run_host(step: Step, frame: Activation) -> Sequence[Any]:
    """Python outside the program is called."""
    given = [read(frame.values) for read in step.args]
    attributes = {name: read(frame.values) for name, read in step.attributes}
    return frame.run.host[step.op.name](given, attributes)


def run_note(step: Step, frame: Activation) -> Sequence[Any]:
    """What Python objects are to hold, should the run raise from here on."""
    number = next((read(frame.values) for _, read in step.attributes), 0)
    values = [read(frame.values) for read in step.args]
    frame.run.effects = EffectsDone(number, values)
    return ()


def _backward(step: Step, frame: Activation) -> tuple[Backward, list[Any]]:
    """A function that runs the block of `step` later, and the values of now that it needs."""
    (block,) = step.blocks
    names = tuple(dict.fromkeys(value for value in _seen_by(step.op) if value in frame.values))
    kept = [frame.values[value] for value in names]

    def backward(values: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
        inner = Activation(dict(zip(names, values, strict=True)), frame.outer, frame.run)
        return run_block(block, gradients, inner)

    return backward, kept


def _seen_by(op: Op) -> Iterator[Value]:
    """The values that the blocks of `op` name."""
    for block in op.blocks:
        yield from values_in(block.outputs)
        for inner in block.ops:
            yield from used_by(inner)


def run_demand(step: Step, frame: Activation) -> Sequence[Any]:
    """What the capture relied on must hold."""
    condition, text = (read(frame.values) for read in step.args)
    if not condition:
        raise _with_inputs(SizeCheckFailed(text, at=step.op.place), frame)
    return ()


def _with_inputs(error: SizeCheckFailed, frame: Activation) -> SizeCheckFailed:
    error.involved = _named(frame.values)
    return error


def run_function(step: Step, frame: Activation) -> Sequence[Any]:
    """A Python function is called: the number, text, list and effect ops."""
    result = _call(step, frame)
    return (result,) if step.op.results else ()


def run_integer(step: Step, frame: Activation) -> Sequence[Any]:
    """An op that gives an integer, which must have at most 64 bits."""
    try:
        return (checked(_call(step, frame)),)
    except OutOfRange as error:
        raise IntegerOverflow(
            f"{error} does not fit into 64 bits with a sign, which the integers of a program have",
            at=step.op.place,
        ) from None


def run_list_change(step: Step, frame: Activation) -> Sequence[Any]:
    """A list with a change: a new one."""
    items, *rest = [read(frame.values) for read in step.args]
    assert step.function is not None
    changed = list(items)
    step.function(changed, *rest)
    return (changed,)


def run_last_list_change(step: Step, frame: Activation) -> Sequence[Any]:
    """The same where nothing uses the list later: in place, if nothing else holds it."""
    values, (name, *_) = frame.values, step.op.args
    assert step.function is not None
    assert isinstance(name, Value)
    rest = [read(values) for read in step.args[1:]]
    if not is_only_owner(values, name):
        return run_list_change(step, frame)
    items = values[name]
    step.function(items, *rest)
    values[name] = None  # a block around this one may release it only later
    return (items,)


def run_torch(step: Step, frame: Activation) -> Sequence[Any]:
    """An op of torch is called."""
    result, results = _call(step, frame), step.op.results
    if len(results) == 1 and not (
        isinstance(result, list | tuple) and not _is_list(results[0].type)
    ):
        return (result,)
    if not results:
        return ()
    if len(result) != len(results):
        error = SizeCheckFailed(
            f"{step.op.name} gives {len(result)} values; it was captured to give {len(results)}",
            at=step.op.place,
        )
        raise _with_inputs(error, frame)
    return tuple(result)


def _call(step: Step, frame: Activation) -> Any:
    values = frame.values
    assert step.function is not None
    return step.function(
        *[read(values) for read in step.args],
        **{name: read(values) for name, read in step.attributes},
    )


def _is_list(kind: Type) -> bool:
    return isinstance(present(kind), ListType)


HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "stator::if": run_if,
        "stator::region": lambda step, frame: run_block(step.blocks[0], (), frame),
        "stator::while": run_while,
        "stator::call": run_call,
        "stator::try": run_try,
        "stator::keep": run_keep,
        "stator::reraise": run_reraise,
        "stator::demand": run_demand,
        "stator::custom_gradient": run_custom_gradient,
        "stator::gradients": run_autograd,
        "stator::hook": run_hook,
        "host::call": run_host,
        "host::hook_inputs": run_host,
        "host::hook_outputs": run_host,
        "host::note": run_note,
        "stator::note": run_note,
    }
)
FUNCTIONS = MappingProxyType(
    {**NUMBER_FUNCTIONS, **EFFECT_FUNCTIONS, **LIST_FUNCTIONS, **LIST_CHANGES}
)
INTEGER_SOURCES = frozenset(  # unsigned tensors hold more
    {*NUMBER_FUNCTIONS, "aten::item", "stator::text_int"}
)


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The backend that can run every program."""

    name: str = "interpreter"
    capabilities: frozenset[Capability] = frozenset(Capability)

    def refusal(self, _program: Program) -> str:
        """Nothing is refused."""
        return ""

    def prepare(self, program: Program, options: RunOptions = DEFAULT_OPTIONS) -> Runner:
        """A runner of `program`, which must not be changed afterwards."""
        ops = [*program.ops()]
        casts = [op.args[0] for op in ops if op.name == "stator::set_autocast"]
        checks, body = split_checks(program)
        return Runner(
            program,
            prepare_block(
                checks, options if checks.ops else replace(options, observer=None), handler_of
            ),
            prepare_block(body, options, handler_of),
            {
                name: prepare_block(block, options, handler_of)
                for name, block in program.functions.items()
            },
            any(kind_of(op) == "mode" for op in ops),
            tuple(sorted({torch.device(constant_of(device)).type for device in casts})),
            options.host,
        )


INTERPRETER = Interpreter()


def handler_of(op: Op, ends: frozenset[Value]) -> tuple[Handler, Callable[..., Any] | None]:
    """What runs `op`, and the function that it calls; nothing uses the values `ends` after it."""
    if op.name in HANDLERS:
        return HANDLERS[op.name], None
    if op.name in LIST_CHANGES:
        handler = run_last_list_change if op.args[0] in ends else run_list_change
        return handler, FUNCTIONS[op.name]
    if op.name in INTEGER_SOURCES and op.results[0].type == NumberType("int"):
        return run_integer, FUNCTIONS.get(op.name) or _resolve(op)
    if op.name in FUNCTIONS:
        return run_function, FUNCTIONS[op.name]
    return run_torch, with_conditions(op.name, _resolve(op))


def _resolve(op: Op) -> Callable[..., Any]:
    try:
        return resolve(op.name)
    except LookupError as error:
        raise ProgramError(str(error), at=op.place) from None


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


def _add_notes(error: Exception, step: Step, frame: Activation) -> None:
    """Adds where the op that failed is, and what it was given; the innermost op does, once."""
    values = frame.values
    notes: Sequence[str] = getattr(error, "__notes__", ())
    if isinstance(error, StatorError) or any(note.startswith(NOTE) for note in notes):
        return
    frame.run.place = step.op.place
    if place := step.op.place:
        error.add_note(f"{NOTE} at {place}")
    else:
        error.add_note(NOTE)
    if not is_effect(step.op):
        given = ", ".join(describe(read(values)) for read in step.args)
        error.add_note(f"  {step.op.name} was given ({given})")
    elif named := _named(values):
        given = ", ".join(f"{name}: {kind}" for name, kind in named.items())
        error.add_note(f"  called with {given}")


def _named(values: Values) -> dict[str, str]:
    """The inputs of the program that are still there, as the user calls them, and their types.

    An input that may be None has a tag beside it.
    """
    return {
        value.name: describe(given)
        for value, given in values.items()
        if given is not None and not value.name.isdigit() and not value.name.endswith(".tag")
    }
