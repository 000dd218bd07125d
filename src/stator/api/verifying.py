"""verify(): a function and its programs next to eager code; the backends that it can check."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import tempfile
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from stator.api.captures import Request, capture_all
from stator.api.concrete import ConcreteProgram
from stator.api.saving import load, write_capture
from stator.api.signature import Signature, signature_of
from stator.api.static_function import StaticFunction, parameter_names
from stator.api.translated import TranslatedLayer, watch_runs
from stator.debug.eager import eager
from stator.debug.verification.comparison import Tolerance
from stator.debug.verification.examples import Example, examples_of, leaves_of
from stator.debug.verification.outcome import Target
from stator.debug.verification.report import Verification
from stator.debug.verification.snippet import call_name
from stator.debug.verification.subject import Backend, Subject
from stator.debug.verification.trees import is_users_object
from stator.debug.verification.verifier import Options, Verifier
from stator.errors import CaptureError, ConversionError, StatorError, UnknownOption
from stator.execute.interpreter import prepare
from stator.execute.observing import Observer
from stator.frames import user_facing
from stator.program.program import Program
from stator.staging.trace import read_state

BUDGET = 200
REFUSALS = 2  # a model that could not be saved so often is not saved for other sizes either


@user_facing
def verify(
    function: Any,
    inputs: Any,
    *,
    backends: Sequence[str] = ("program", "saved"),
    gradients: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    budget: int = BUDGET,
    extremes: bool = True,
) -> Verification:
    """Whether each of `backends` does what eager code does, on `inputs` and on others like them.

    `function` is a function, a method or a module, static or not; it is left as it was. `inputs` is
    a tuple of arguments, a dict of named ones, an `Example`, or a list of these. Inputs are changed
    and searched for until every branch has gone both ways and every loop has made 0, 1 and many
    trips, or `budget` inputs were run. Values must be equal to the bit, or as `rtol` and `atol`
    allow; `extremes` are infinities and NaN. What comes out depends on `seed` alone.
    """
    unknown = [name for name in backends if name not in BACKENDS]
    if unknown:
        raise UnknownOption(
            f"there is no backend {unknown[0]!r} to verify",
            fix=f"use some of {', '.join(BACKENDS)}",
        )
    examples = examples_of(inputs)
    options = Options(gradients, Tolerance(rtol, atol), seed, budget, extremes)
    with _verified(function) as one, tempfile.TemporaryDirectory() as folder:
        made = {name: BACKENDS[name](one, Path(folder)) for name in backends}
        return Verifier(one.subject(examples, made), examples, options).verify()


# ---- what is verified


class Watched(StaticFunction):
    """A static function with the captures of another, whose runs can be observed.

    What it captures on its own stays its own.
    """

    def __init__(self, static: StaticFunction) -> None:
        super().__init__(static.dygraph_function, static.input_spec, full_graph=static._full_graph)
        self._programs = dict(static._programs)
        self._order = list(static._order)
        self._fixed = static._fixed
        self.observer: Observer | None = None
        self.served: Program | None = None  # the last run that was observed
        self._runs: dict[int, Callable[..., Any]] = {}
        self._served: dict[tuple[Any, Any], ConcreteProgram] = {}  # by signature
        self._mending = False  # a demand was broken: programs made for that come first

    def begin(self, *given: Any) -> None:
        """Tell whoever observes."""
        if self.observer is not None:
            self.observer.begin(*given)

    def enter(self, *given: Any) -> None:
        """Tell whoever observes."""
        if self.observer is not None:
            self.observer.enter(*given)

    def leave(self, *given: Any) -> None:
        """Tell whoever observes."""
        if self.observer is not None:
            self.observer.leave(*given)

    def end(self, *given: Any) -> None:
        """Tell whoever observes."""
        if self.observer is not None:
            self.observer.end(*given)

    def fail(self, *given: Any) -> None:
        """Tell whoever observes."""
        if self.observer is not None:
            self.observer.fail(*given)

    @contextlib.contextmanager
    def seen_by(self, observer: Observer) -> Iterator[None]:
        """Inside, `observer` is told of the ops of every run."""
        entries = self._entries  # the short way would not be seen
        self.observer, self._entries, self.served = observer, (), None
        try:
            yield
        finally:
            self.observer, self._entries = None, entries

    def concrete_for(self, example: Example) -> ConcreteProgram | None:
        """The program that serves a call, if there is one."""
        signature = signature_of(example.args, example.kwargs)
        served = self._served.get((signature.key, signature.sizes))
        if served is not None and served.captured.guards.hold():
            return served
        return self._earliest(signature)

    def concrete_made_for(self, example: Example) -> ConcreteProgram:
        """The program that serves a call; CaptureError where none can be made."""
        found = self.concrete_for(example)
        if found is not None:
            return found
        signature = signature_of(example.args, example.kwargs)
        try:
            return super()._capture(example.args, example.kwargs, signature)
        except StatorError:
            raise
        except Exception as error:
            raise CaptureError(
                f"capturing this call raises {error!r}",
                fix="give inputs with which eager code raises nothing",
            ) from error

    def run_of(self, concrete: ConcreteProgram) -> Callable[..., Any]:
        """The program's run, observed."""
        key = id(concrete.program)
        if key not in self._runs:
            runner = prepare(concrete.program, observer=self)
            self._runs[key] = runner.bind(concrete.captured.tensors)
        return self._runs[key]

    def _seen(self, concrete: ConcreteProgram, signature: Signature) -> ConcreteProgram:
        self._served[signature.key, signature.sizes] = concrete
        if self.observer is None:
            return concrete
        self.served = concrete.program
        return dataclasses.replace(concrete, run=self.run_of(concrete))

    def _find(self, signature: Signature) -> ConcreteProgram | None:
        found = self._earliest(signature)
        return None if found is None else self._seen(found, signature)

    def _earliest(self, signature: Signature) -> ConcreteProgram | None:
        """The earliest program that holds: what was given is verified, not what came after it."""
        known = self._programs.get(signature.key, ())
        mended = tuple(one for one in known if one.mends) if self._mending else ()
        for one in (*mended, *reversed(known)):
            if one.holds_for(signature.sizes) and one.captured.guards.hold():
                return one
        return None

    def _call_with_own_sizes(self, *given: Any) -> Any:
        self._mending = True
        try:
            return super()._call_with_own_sizes(*given)
        finally:
            self._mending = False

    def _capture(
        self, args: Any, kwargs: Any, signature: Signature, *rest: Any, **options: Any
    ) -> ConcreteProgram:
        made = super()._capture(args, kwargs, signature, *rest, **options)
        return self._seen(made, signature)

    def _add_entry(self, *given: Any) -> None:
        if self.observer is None:
            super()._add_entry(*given)

    def _warn(self, reason: str) -> None:
        """Many captures are the point of it."""


@dataclasses.dataclass(frozen=True)
class Verified:
    """A function or a module that is being verified, and its static form."""

    call: Callable[..., Any]
    static: Watched
    owner: torch.nn.Module | None
    root: Any

    def subject(self, examples: Sequence[Example], backends: Mapping[str, Backend]) -> Subject:
        """How each form of it is run."""
        names = parameter_names(self.static.dygraph_function)
        label, called = self.static.__qualname__, call_name(self.static.__qualname__)
        if self.call is self.root:
            label, called = type(self.root).__name__, "model"
        elif isinstance(self.static.dygraph_function, types.MethodType):
            called = f"{'obj' if self.owner is None else 'model'}.{called}"
        return Subject(
            label, called, names, {"": self.root, **_objects(examples)},
            Target("eager", self._run_eager), self.program(), backends,
            self.programs, lambda: self.static.served, self.probe, self.may_change,
        )  # fmt: skip

    def _run_eager(self, *args: Any, **kwargs: Any) -> Any:
        with eager():
            return self.call(*args, **kwargs)

    def program(self) -> Target:
        """The captured program in the interpreter."""
        return Target("program", self.call, observed=self.static.seen_by)

    def programs(self) -> list[Program]:
        """All programs so far."""
        return [one.program for one in self.static.concrete_programs]

    def probe(self, example: Example, learning: Example, observer: Observer) -> None:
        """Run the program of `example` on the tensors of `learning`."""
        concrete = self.static.concrete_for(example)
        if concrete is None:
            return
        leaves = signature_of(learning.args, learning.kwargs).leaves
        with self.static.seen_by(observer), torch.enable_grad():
            self.static.run_of(concrete)((*leaves, *read_state(concrete.captured.live)))

    def may_change(self, path: tuple[Any, ...], dim: int) -> bool:
        """May this size be another? Any may that no input_spec fixes."""
        spec: Any = self.static.input_spec
        if spec is None:
            return True
        for key in path:
            if not isinstance(spec, list | tuple | dict) or (
                isinstance(key, int) and key >= len(spec)
            ):
                return False
            spec = spec[key] if not isinstance(spec, dict) else spec.get(key)
        shape = getattr(spec, "shape", None)
        return shape is not None and dim < len(shape) and shape[dim] is None


def _objects(examples: Sequence[Example]) -> dict[str, Any]:
    """What the examples hold that is not copied for each run."""
    return {
        f"argument {leaf.path[0]}": leaf.value
        for example in examples
        for leaf in leaves_of(example)
        if isinstance(leaf.value, torch.nn.Module) or is_users_object(leaf.value)
    }


@contextlib.contextmanager
def _verified(function: Any) -> Iterator[Verified]:
    """`function` with a static form that can be observed; afterwards it is what it was."""
    if isinstance(function, torch.nn.Module):
        forward = function.forward
        static = Watched(
            forward if isinstance(forward, StaticFunction) else StaticFunction(forward)
        )
        before = vars(function).get("forward")
        vars(function)["forward"] = static
        try:
            yield Verified(function, static, function, function)
        finally:
            if before is None:
                del vars(function)["forward"]
            else:
                vars(function)["forward"] = before
        return
    if not callable(function):
        raise ConversionError(
            f"a {type(function).__name__} cannot be verified",
            fix="pass a function, a method or an nn.Module",
        )
    static = Watched(function if isinstance(function, StaticFunction) else StaticFunction(function))
    original = static.dygraph_function
    owner = getattr(original, "__self__", None)
    module = owner if isinstance(owner, torch.nn.Module) else None
    root = owner if isinstance(original, types.MethodType) else original
    yield Verified(static, static, module, root)


# ---- the backends: add one here


def _program_backend(one: Verified, _: Path) -> Backend:
    """The captured program in the interpreter."""
    return lambda _: one.program()


def _saved_backend(one: Verified, folder: Path) -> Backend:
    """The program saved, loaded, and run in the interpreter."""
    loaded: dict[int, TranslatedLayer] = {}
    kept: list[ConcreteProgram] = []  # so that an id stays its own
    refused: list[StatorError] = []

    def target(example: Example) -> Target:
        concrete = one.static.concrete_made_for(example)
        if id(concrete) not in loaded:
            if len(refused) >= REFUSALS:
                raise refused[-1]
            kept.append(concrete)
            try:
                loaded[id(concrete)] = _saved(one, concrete, folder / f"model{len(kept)}")
            except StatorError as error:
                refused.append(error)
                raise
        layer = loaded[id(concrete)]
        if one.owner is not None:
            layer.train(one.owner.training)
        watch = functools.partial(watch_runs, layer)
        return Target("saved", layer, live=False, module=layer, observed=watch)

    return target


def _saved(one: Verified, concrete: ConcreteProgram, path: Path) -> TranslatedLayer:
    args, kwargs = concrete.specs
    request = Request("forward", one.static, args, kwargs, None)
    write_capture(path, capture_all([request], one.owner), one.owner, {})
    # NOTE: a copy, since tensors that are mapped from one file are views of one: what a run makes
    # of such a buffer (a part of its graph) could not be undone before the next
    return copy.deepcopy(load(path))


BACKENDS: Mapping[str, Callable[[Verified, Path], Backend]] = MappingProxyType(
    {"program": _program_backend, "saved": _saved_backend}
)
