"""ConcreteProgram: one capture of a function, and how a call runs it."""

from __future__ import annotations

import collections
import contextvars
import functools
import operator
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from stator.api.signature import Sizes
from stator.capture.inputs import Argument, TensorSpec
from stator.capture.variables import Scenes
from stator.debug.stepping.targets import Watcher
from stator.execute.interpreter import Runner, prepare
from stator.execute.observing import Stopped
from stator.execute.structure import unflatten
from stator.optimize.pipeline import optimize
from stator.program.program import Program
from stator.program.structure import Leaf
from stator.staging.effects import Effect
from stator.staging.live_trees import Held
from stator.staging.trace import Captured, read_state
from stator.static.plan import Plan
from stator.static.strategy import BuildStrategy, ExecutionStrategy

Run = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class ConcreteProgram:
    """One capture: the program, for which calls it holds, and why it was made."""

    program: Program
    captured: Captured
    sizes: Sizes
    run: Run
    reason: str
    key: tuple[Any, ...] = ()  # of the signature that it was made for
    mends: bool = False  # made for sizes that break a demand of an earlier one
    specs: tuple[Any, ...] = ((), {})  # the arguments, by position and by name, of the capture

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

    def __call__(self, leaves: tuple[Any, ...], call: tuple[Any, ...]) -> Any:
        """Run the program on the tensors of a call, and make the changes that the call makes."""
        captured = self.captured
        if captured.live:
            leaves = (*leaves, *read_state(captured.live))
        targets = [_found(effect.target, call) for effect in captured.effects]
        made = {id(structure): _found(target, call) for structure, target in captured.given}
        try:
            outputs = self.run(leaves)
        except Exception as error:
            number, values = getattr(error, "stator_noted", (None, ()))
            if number is not None:
                do_effects(captured.noted[number], values, call, captured.classes)
            raise_own_class(error, captured.errors)
            raise
        for effect, target in zip(captured.effects, targets, strict=True):
            _do(effect, target, outputs, captured.classes, made)
        structure = self.program.output_structure
        return unflatten(structure, outputs, classes=captured.classes, made=made)

    @functools.cached_property
    def pick(self) -> Callable[[tuple[Any, ...]], Any] | None:
        """Gives the result of a program that only hands an argument back; None for any other."""
        structure, body = self.program.output_structure, self.program.body
        if body.ops or self.captured.effects or not isinstance(structure, Leaf):
            return None
        output = body.outputs[structure.position]
        if output not in self.program.inputs:
            return None
        return operator.itemgetter(self.program.inputs.index(output))


def concrete_program(
    captured: Captured,
    specs: Any,
    reason: str,
    key: tuple[Any, ...],
    *,
    mends: bool = False,
    strategy: BuildStrategy | None = None,
) -> ConcreteProgram:
    """What was captured, made ready to run as `strategy` says; hooks are for the plain form."""
    program = optimize(captured.program)
    sizes = tuple(spec.shape for spec in _tensor_specs(specs))
    if strategy is None or captured.hooked:
        run: Run = prepare(program).bind(captured.tensors, captured.hooked)
    else:
        plan, execution = Plan(program, captured.tensors, strategy), ExecutionStrategy()
        run = functools.partial(plan.run, stored=captured.tensors, execution=execution)
    return ConcreteProgram(program, captured, sizes, run, reason, key, mends, specs)


def observed_program(
    concrete: ConcreteProgram, captured: Captured, watcher: Watcher
) -> ConcreteProgram:
    """`concrete` as `captured` again, as it is and not optimized, with `watcher` at its runs."""
    program = captured.program
    runner = observed_run(program, captured.scenes, watcher)
    run = runner.bind(captured.tensors, captured.hooked)
    return replace(concrete, program=program, captured=captured, run=stoppable(run))


def observed_run(program: Program, scenes: Scenes | None, watcher: Watcher) -> Runner:
    """A runner that keeps every value until its block ends, and tells `watcher`."""
    return prepare(program, release=False, observer=watcher.observe(program, scenes))


def stoppable(run: Any) -> Any:
    """`run`, which raises what an observer has stopped it with."""

    @functools.wraps(run)
    def called(*args: Any) -> Any:
        try:
            return run(*args)
        except Stopped as stopped:
            raise stopped.error from None

    return called


def _tensor_specs(tree: Any) -> list[TensorSpec]:
    if isinstance(tree, TensorSpec):
        return [tree]
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, list | tuple):
        return [spec for item in tree for spec in _tensor_specs(item)]
    return []


def raise_own_class(error: Exception, known: dict[str, type]) -> None:
    """Raise `error` as the class that the user wrote, if it stands for one."""
    names = getattr(error, "stator_classes", ())
    if names and names[0] in known:
        cls: Any = known[names[0]]
        own = cls.__new__(cls)
        own.args = error.args
        vars(own).update(error.stator_fields)  # type: ignore[attr-defined]
        own.__notes__ = getattr(error, "__notes__", [])
        raise own.with_traceback(error.__traceback__) from None


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


def _found(target: Any, call: tuple[Any, ...]) -> Any:
    """An object that a call changes or gives back."""
    return target.find(call) if isinstance(target, Argument | Held) else target


def _do(
    effect: Effect, target: Any, outputs: Any, classes: dict[str, type], made: dict[int, Any]
) -> None:
    """Make the change that the captured run made."""
    state = unflatten(effect.state, outputs, classes=classes, made=made)
    if isinstance(target, types.CellType):
        target.cell_contents = state["cell"]
    elif isinstance(target, contextvars.ContextVar):
        target.set(state["value"])
    elif isinstance(target, list | collections.deque):
        target.clear()
        target.extend(state)
    else:
        contents = target if isinstance(target, dict) else vars(target)
        for key in effect.deleted:
            contents.pop(key, None)
        contents.update(state)
