"""ConcreteProgram: one capture of a function, and how a call runs it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from stator.api.attribute_writes import AttributeWrite, write_attributes, writes_of
from stator.api.signature import ARGUMENTS, GivenList, Sizes, inputs_in, sizes_in
from stator.capture.inputs import Argument, ListSpec
from stator.debug.stepping.targets import Watcher
from stator.debug.stepping.variables import Scenes
from stator.errors import SizeCheckFailed, UnsupportedCall
from stator.execute.backend import Executable, HostCallbacks, Outcome, RaisedError, Run, RunOptions
from stator.execute.gradients import module_hooks
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import RunStop
from stator.execute.raised import caught_error
from stator.execute.selection import Selection, select
from stator.execute.structure import unflatten
from stator.first_use import FirstUse
from stator.optimize.alias import Aliases
from stator.optimize.pipeline import optimize
from stator.program.opset.queries import leaves_trace
from stator.program.program import Program
from stator.program.structure import Leaf
from stator.staging.trace import CaptureResult, read_state
from stator.state.effects import Effect
from stator.state.host_calls import HOST_CALL
from stator.state.live_trees import HeldContainer
from stator.static.plan import Plan
from stator.static.strategy import BuildStrategy, ExecutionStrategy
from stator.values.contents import change
from stator.values.exceptions import CaughtCause, link


@dataclass(frozen=True)
class ConcreteProgram:
    """One capture: the program, the calls that it is valid for, and the reason for the capture."""

    program: Program
    captured: CaptureResult
    sizes: Sizes
    run: Run
    reason: str
    key: tuple[Any, ...] = ()  # of the signature that it was made for
    is_size_fallback: bool = False  # made for sizes that violate a check of an earlier one
    specs: tuple[Any, ...] = ((), {})  # the arguments, by position and by name, of the capture
    taken: tuple[int, ...] | None = None  # the leaves of a call that are inputs; None: all
    selection: Selection | None = None  # the backend of `run`; None for one that a test has put in

    def __repr__(self) -> str:
        inputs = ", ".join(f"{value.name}: {value.type}" for value in self.program.inputs)
        return f"<ConcreteProgram {self.program.name}({inputs}), captured because {self.reason}>"

    def holds_for(self, sizes: Sizes) -> bool:
        """Do these sizes fit?"""
        return all(
            mine is None or mine == given
            for shape, other in zip(self.sizes, sizes, strict=True)
            for mine, given in zip(shape, other, strict=True)
        )

    def is_for(self, leaves: tuple[Any, ...]) -> bool:
        """Have tensors among the leaves of a call none of the attributes that were found absent?"""
        return not any(
            hasattr(leaves[k if self.taken is None else self.taken[k]], name)
            for k, name in self.captured.untagged
        )

    def inputs_of(self, leaves: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs of a run on the leaves of a call."""
        if self.taken is not None:
            leaves = tuple(leaves[k] for k in self.taken)
        if self.takes_lists:
            leaves = tuple([*one.items] if isinstance(one, GivenList) else one for one in leaves)
        live = self.captured.live
        return (*leaves, *read_state(live)) if live else leaves

    def __call__(self, leaves: tuple[Any, ...], call: tuple[Any, ...]) -> Any:
        """Run the program on the leaves of a call, and make the changes that the call makes."""
        return self._run(self.inputs_of(leaves), call)

    @FirstUse
    def takes_lists(self) -> bool:
        """Are there lists of any length among the arguments?"""
        return any(isinstance(leaf, ListSpec) for leaf in ARGUMENTS.leaves(self.specs))

    def on_tensors(self, tensors: tuple[Any, ...], call: tuple[Any, ...]) -> Any:
        """The same, for a call of which the program takes the tensors alone."""
        live = self.captured.live
        return self._run((*tensors, *read_state(live)) if live else tensors, call)

    def _run(self, inputs: tuple[Any, ...], call: tuple[Any, ...]) -> Any:
        captured = self.captured
        if captured.containers:
            _refuse_known(captured, call)
        writes = self.attribute_writes
        made: dict[int, Any] = {}
        targets: list[Any] = []
        if writes is None:
            targets = [_found(effect.target, call) for effect in captured.effects]
            made = {id(structure): _found(target, call) for structure, target in captured.given}
        outputs = self.run(inputs)
        if isinstance(outputs, RaisedError):
            try:
                self._raise(outputs, call)
            finally:
                del outputs  # it holds the exception, whose traceback holds this frame
        if writes is None:
            for effect, target in zip(captured.effects, targets, strict=True):
                _do(effect, target, outputs, captured.classes, made)
        elif not write_attributes(writes, outputs):
            self.do_effects(outputs, call)
        structure = self.program.output_structure
        return unflatten(structure, outputs, classes=captured.classes, made=made)

    @FirstUse
    def attribute_writes(self) -> tuple[AttributeWrite, ...] | None:
        """What a call does to Python objects, if it only sets attributes to outputs."""
        return None if self.captured.given else writes_of(self.captured.effects)

    @property
    def takes_all(self) -> bool:
        """Is each leaf of a call an input, and no argument a container?"""
        return self.taken is None and not self.captured.containers

    def do_effects(self, outputs: Sequence[Any], call: tuple[Any, ...]) -> None:
        """Make the changes that a call makes whose program has run."""
        do_effects(self.captured.effects, outputs, call, self.captured.classes)

    @property
    def is_pure(self) -> bool:
        """Does a call do nothing in Python but put the result together?"""
        captured = self.captured
        in_python = (captured.live, captured.effects, captured.given, captured.containers)
        return self.taken is None and not any(in_python)

    @property
    def needs_no_call(self) -> bool:
        """Are the tensors of a call all that a run and its result need of it?"""
        captured = self.captured
        in_python = (captured.live, captured.effects, captured.given, *captured.noted)
        return not any(in_python) and not (captured.containers and captured.outside)

    def finished(self, outcome: Outcome, call: tuple[Any, ...]) -> Any:
        """The result of a call whose program has run, if it `is_pure`."""
        if isinstance(outcome, RaisedError):
            try:
                self._raise(outcome, call)
            finally:
                del outcome
        structure = self.program.output_structure
        return unflatten(structure, outcome, classes=self.captured.classes)

    def _raise(self, raised: RaisedError, call: tuple[Any, ...]) -> NoReturn:
        """Raise what the program has raised, after the changes that it had made by then."""
        captured = self.captured
        if raised.effects is not None:
            number, values = raised.effects
            do_effects(captured.noted[number], values, call, captured.classes)
        error = raised.exception(captured.exceptions)
        if isinstance(error, RecursionError):
            self._refuse_lost(raised, str(error))
        if isinstance(error, SizeCheckFailed):
            error.before_running = error.before_running or self._leaves_no_trace
        link(error, sys.exc_info()[1])
        context = error.__context__
        try:
            raise error
        finally:
            error.__context__ = context  # Python has set what the caller is handling
            del raised, error, context  # the traceback of the exception holds this frame

    def _refuse_lost(self, raised: RaisedError, text: str) -> None:
        """An error if calls that went too deep may have changed what the caller sees."""
        is_overflow = any(text.startswith(f"`{name}` calls") for name in self.program.functions)
        if is_overflow and (self.captured.effects or not self._leaves_no_trace):
            raise UnsupportedCall(
                f"{text}, and what it has done by then depends on the frames before it",
                at=raised.place, fix="count the depth, and stop at a limit of your own",
            )  # fmt: skip

    @FirstUse
    def _leaves_no_trace(self) -> bool:
        """Is a run that ends early as if it had never begun?"""
        outside = [*self.program.inputs, *(stored.value for stored in self.program.stored)]
        is_seen = Aliases(self.program).in_groups_of(outside)
        traces = (leaves_trace(op, is_seen) for op in self.program.ops())
        return not any(self.captured.noted) and not any(traces)

    @FirstUse
    def picked(self) -> int | None:
        """The place of the argument that a program only hands back; None for any other program."""
        structure, body = self.program.output_structure, self.program.body
        if body.ops or self.captured.effects or not isinstance(structure, Leaf):
            return None
        output = body.outputs[structure.position]
        count = len(self.sizes if self.taken is None else self.taken)
        given = self.program.inputs[:count]  # the others are state
        return given.index(output) if output in given else None


def concrete_program(
    captured: CaptureResult,
    specs: Any,
    reason: str,
    key: tuple[Any, ...],
    *,
    is_size_fallback: bool = False,
    strategy: BuildStrategy | None = None,
    backend: str | None = None,
) -> ConcreteProgram:
    """What was captured, made ready to run as `strategy` says; hooks are for the plain form."""
    program = optimize(captured.program)
    sizes, taken = sizes_in(specs), inputs_in(specs)
    fuses = strategy is None or strategy.fuse_ops
    options = RunOptions(host=host_callbacks(captured), fuses=fuses)
    selection = select(backend, program, options)
    if strategy is None or captured.hooked:
        run: Run = selection.prepare(program, options).bind(captured.tensors)
    else:
        plan = Plan(program, captured.tensors, strategy, backend=backend)
        run = functools.partial(plan.run, stored=captured.tensors, execution=ExecutionStrategy())
    return ConcreteProgram(
        program, captured, sizes, run, reason, key, is_size_fallback, specs,
        taken if len(taken) < len(sizes) else None, selection,
    )  # fmt: skip


def host_callbacks(captured: CaptureResult) -> Callable[[], HostCallbacks] | None:
    """Makes what one run of a captured program calls in Python; None if it calls nothing."""
    hooks = module_hooks(captured.hooked)
    if not captured.host_calls:
        return hooks

    def call(values: Sequence[Any], attributes: Mapping[str, Any]) -> Sequence[Any]:
        made = captured.host_calls[attributes["number"]]
        args, kwargs = unflatten(made.arguments, values, classes=captured.classes)
        if isinstance(kwargs.get("exc_info"), CaughtCause):
            kwargs["exc_info"] = caught_error(captured.exceptions)
        return made.outputs(made.function(*args, **kwargs))

    return lambda: {HOST_CALL: call, **(hooks() if hooks is not None else {})}


def observed_program(
    concrete: ConcreteProgram, captured: CaptureResult, scenes: Scenes, watcher: Watcher
) -> ConcreteProgram:
    """`concrete` as `captured` again, as it is and not optimized, with `watcher` at its runs."""
    program = captured.program
    executable = observed_run(program, scenes, watcher, host_callbacks(captured))
    run = executable.bind(captured.tensors)
    return replace(concrete, program=program, captured=captured, run=stoppable(run))


def observed_run(
    program: Program,
    scenes: Scenes | None,
    watcher: Watcher,
    host: Callable[[], HostCallbacks] | None = None,
) -> Executable:
    """`program` such that every value is kept until its block ends, and `watcher` sees the runs."""
    observer = watcher.observe(program, scenes)
    options = RunOptions(release=False, observer=observer, host=host)
    return INTERPRETER.prepare(program, options)


def stoppable(run: Any) -> Any:
    """`run`, which raises what an observer has stopped it with."""

    @functools.wraps(run)
    def called(*args: Any) -> Any:
        try:
            return run(*args)
        except RunStop as stopped:
            raise stopped.error from None

    return called


def do_effects(
    effects: Sequence[Effect],
    values: Sequence[Any],
    call: tuple[Any, ...],
    classes: dict[str, type],
) -> None:
    """Make changes, with `values` in the places that are open."""
    made: dict[int, Any] = {}
    targets = [_found(effect.target, call) for effect in effects]
    for effect, target in zip(effects, targets, strict=True):
        _do(effect, target, values, classes, made)


def _refuse_known(captured: CaptureResult, call: tuple[Any, ...]) -> None:
    """An error where an argument is a list or dict that the function knows by another name."""
    if any(id(argument.find(call)) in captured.outside for argument in captured.containers):
        raise UnsupportedCall(
            "an argument is a list or a dict that the function also reaches by another name",
            fix="pass a copy, or use only one of the names",
        )


def _found(target: Any, call: tuple[Any, ...]) -> Any:
    """An object that a call changes or gives back."""
    return target.find(call) if isinstance(target, Argument | HeldContainer) else target


def _do(
    effect: Effect, target: Any, outputs: Any, classes: dict[str, type], made: dict[int, Any]
) -> None:
    """Make the change that the captured run made."""
    state = unflatten(effect.state, outputs, classes=classes, made=made)
    change(target, state, effect.deleted_from(state))
