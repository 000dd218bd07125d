"""verify(): a function and its programs next to eager code; the backends that it can check."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from stator.api.captures import Request, capture_all
from stator.api.concrete import ConcreteProgram, host_callbacks
from stator.api.example import Example
from stator.api.program_cache import ProgramCache
from stator.api.saving import load, write_capture
from stator.api.signature import Signature, signature_of
from stator.api.source_function import call_problem, parameter_names
from stator.api.static_function import StaticFunction
from stator.api.translated import TranslatedLayer, prepared_by
from stator.api.verification import Verification
from stator.debug.eager import eager
from stator.english import with_article
from stator.errors import CaptureError, ConversionError, SpecMismatch, StatorError, UnknownOption
from stator.execute.backend import Run, RunOptions, values_of
from stator.execute.interpreter import INTERPRETER
from stator.execute.observing import ExchangedObserver, Observer
from stator.program.program import Program
from stator_verify.comparison import Tolerance
from stator_verify.examples import examples_of, leaves_of
from stator_verify.outcome import Runnable
from stator_verify.snippet import call_name
from stator_verify.subject import Backend, Subject
from stator_verify.trees import is_users_object
from stator_verify.verifier import Options, Verifier

REFUSALS = 2  # a model that could not be saved so often is not saved for other sizes either


def verify(
    function: Any,
    inputs: Any,
    *,
    backends: Sequence[str],
    gradients: bool,
    rtol: float | None,
    atol: float | None,
    seed: int,
    budget: int,
    extremes: bool,
) -> Verification:
    """See `stator.verify`."""
    unknown = [name for name in backends if name not in BACKENDS]
    if unknown:
        raise UnknownOption(
            f"there is no backend {unknown[0]!r} to verify",
            fix=f"use some of {', '.join(BACKENDS)}",
        )
    examples = examples_of(inputs)
    options = Options(gradients, Tolerance(rtol, atol), seed, budget, extremes)
    with _verified(function) as one, tempfile.TemporaryDirectory() as folder:
        _check_calls(one.static, examples)
        made = {name: BACKENDS[name](one, Path(folder)) for name in backends}
        return Verifier(one.subject(examples, made), examples, options).verify()


def _check_calls(static: StaticFunction, examples: Sequence[Example]) -> None:
    """SpecMismatch for an example that the function cannot be called with at all."""
    for number, one in enumerate(examples, 1):
        problem = call_problem(static.dygraph_function, static.__name__, one.args, one.kwargs)
        if problem is not None:
            raise SpecMismatch(
                f"example {number} does not fit {problem}",
                fix="give the arguments of one call as a tuple, and several calls as a list",
            )


# ---- what is verified


class VerifiedPrograms(ProgramCache):
    """The programs of a static function, the earliest first: what was given is verified."""

    def __init__(self, programs: tuple[ConcreteProgram, ...]) -> None:
        super().__init__(programs)
        self._found: dict[tuple[Any, Any], ConcreteProgram] = {}  # by signature

    def find(
        self, signature: Signature, *, after_violation: bool = False
    ) -> ConcreteProgram | None:
        """The earliest program that holds."""
        known = self.alike(signature.key)
        fallbacks = tuple(one for one in known if one.is_size_fallback and after_violation)
        for one in (*fallbacks, *reversed(known)):
            if one.holds_for(signature.sizes) and one.captured.guards.hold():
                self._found[signature.key, signature.sizes] = one
                return one
        return None

    def last_found(self, signature: Signature) -> ConcreteProgram | None:
        """The program that served the last call like this, if it still holds."""
        found = self._found.get((signature.key, signature.sizes))
        return found if found is not None and found.captured.guards.hold() else None


class ObservedRuns(ExchangedObserver):
    """Runs of programs that `observer` receives."""

    def __init__(self) -> None:
        self.served: Program | None = None  # of the last run
        self._runs: dict[int, Run] = {}

    def program(self, concrete: ConcreteProgram) -> ConcreteProgram:
        """`concrete`, observed."""
        self.served = concrete.program
        return dataclasses.replace(concrete, run=self.run_of(concrete))

    def run_of(self, concrete: ConcreteProgram) -> Run:
        """The program's run, observed."""
        key = id(concrete.program)
        if key not in self._runs:
            captured = concrete.captured
            options = RunOptions(observer=self, host=host_callbacks(captured))
            self._runs[key] = INTERPRETER.prepare(concrete.program, options).bind(captured.tensors)
        return self._runs[key]


@dataclasses.dataclass(frozen=True)
class VerificationTarget:
    """A function or a module that is being verified, and its static form."""

    call: Callable[..., Any]
    static: StaticFunction
    cache: VerifiedPrograms
    owner: torch.nn.Module | None
    root: Any
    runs: ObservedRuns = dataclasses.field(default_factory=ObservedRuns)

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
            Runnable("eager", self._run_eager), self.program(), backends,
            self.programs, lambda: self.runs.served, self.probe, self.may_change,
        )  # fmt: skip

    def _run_eager(self, *args: Any, **kwargs: Any) -> Any:
        with eager():
            return self.call(*args, **kwargs)

    def program(self) -> Runnable:
        """The captured program in the interpreter."""
        return Runnable("program", self.call, observed=self.observed)

    @contextlib.contextmanager
    def observed(self, observer: Observer) -> Iterator[None]:
        """Inside, `observer` receives the ops of every run."""
        self.runs.observer, self.runs.served = observer, None
        try:
            with self.static.running(self.runs):
                yield
        finally:
            self.runs.observer = None

    def concrete_for(self, example: Example) -> ConcreteProgram | None:
        """The program that serves a call, if there is one."""
        signature = signature_of(example.args, example.kwargs)
        return self.cache.last_found(signature) or self.cache.find(signature)

    def captured_for(self, example: Example) -> ConcreteProgram:
        """The program that serves a call; CaptureError where none can be captured."""
        found = self.concrete_for(example)
        if found is not None:
            return found
        try:
            with warnings.catch_warnings(action="ignore"):  # many captures are the point
                return self.static.concrete_program(*example.args, **example.kwargs)
        except StatorError:
            raise
        except Exception as error:
            raise CaptureError(
                f"capturing this call raises {error!r}",
                fix="give inputs with which eager code raises nothing",
            ) from error

    def programs(self) -> list[Program]:
        """All programs so far."""
        return [one.program for one in self.static.concrete_programs]

    def probe(self, example: Example, learning: Example, observer: Observer) -> None:
        """Run the program of `example` on the tensors of `learning`."""
        concrete = self.concrete_for(example)
        if concrete is None:
            return
        leaves = signature_of(learning.args, learning.kwargs).leaves
        with self.observed(observer), torch.enable_grad():
            run = self.runs.run_of(concrete)
            values_of(run(concrete.inputs_of(leaves)))

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
def _verified(function: Any) -> Iterator[VerificationTarget]:
    """`function` with a static form that can be observed; afterwards it is what it was."""
    if isinstance(function, torch.nn.Module):
        static, cache = _static_form(function.forward)
        before = vars(function).get("forward")
        vars(function)["forward"] = static
        try:
            yield VerificationTarget(function, static, cache, function, function)
        finally:
            if before is None:
                del vars(function)["forward"]
            else:
                vars(function)["forward"] = before
        return
    if not callable(function):
        raise ConversionError(
            f"{with_article(type(function).__name__)} cannot be verified",
            fix="pass a function, a method or an nn.Module",
        )
    static, cache = _static_form(function)
    original = static.dygraph_function
    owner = getattr(original, "__self__", None)
    module = owner if isinstance(owner, torch.nn.Module) else None
    root = owner if isinstance(original, types.MethodType) else original
    yield VerificationTarget(static, static, cache, module, root)


def _static_form(function: Any) -> tuple[StaticFunction, VerifiedPrograms]:
    """A static function with the captures of `function`; what it captures stays its own."""
    static = function if isinstance(function, StaticFunction) else StaticFunction(function)
    cache = VerifiedPrograms(static.concrete_programs)
    return static.with_cache(cache), cache


# ---- the backends: add one here


def _program_backend(one: VerificationTarget, _: Path) -> Backend:
    """The captured program in the interpreter."""
    return lambda _: one.program()


def _saved_backend(one: VerificationTarget, folder: Path) -> Backend:
    """The program saved, loaded, and run in the interpreter."""
    loaded: dict[int, TranslatedLayer] = {}
    kept: list[ConcreteProgram] = []  # so that an id stays its own
    refused: list[StatorError] = []

    def target(example: Example) -> Runnable:
        concrete = one.captured_for(example)
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
        layer.reset_state()
        watch = functools.partial(_observed_layer, layer)
        return Runnable("saved", layer, live=False, module=layer, observed=watch)

    return target


def _observed_layer(
    layer: TranslatedLayer, observer: Observer
) -> contextlib.AbstractContextManager[None]:
    """Inside, `observer` receives every op that `layer` runs."""
    options = RunOptions(observer=observer)
    return prepared_by(layer, lambda program: INTERPRETER.prepare(program, options))


def _saved(one: VerificationTarget, concrete: ConcreteProgram, path: Path) -> TranslatedLayer:
    args, kwargs = concrete.specs
    request = Request("forward", one.static, args, kwargs, None)
    write_capture(path, capture_all([request], one.owner), one.owner, {})
    # NOTE: a copy, since tensors that are mapped from one file are views of one: what a run makes
    # of such a buffer (a part of its graph) could not be undone before the next
    return copy.deepcopy(load(path))


BACKENDS: Mapping[str, Callable[[VerificationTarget, Path], Backend]] = MappingProxyType(
    {"program": _program_backend, "saved": _saved_backend}
)
