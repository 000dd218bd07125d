"""StaticFunction: a function that is captured when it is called, and runs as a program."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, Protocol, overload

import torch
from typing_extensions import ParamSpec, TypeVar  # with defaults, which Python 3.13 has

from stator.api.concrete import ConcreteProgram
from stator.api.entries import MISS, EntryTable
from stator.api.open_lists import OpenLists
from stator.api.program_cache import PROGRAMS_KEPT, ProgramCache
from stator.api.signature import Signature, signature_of
from stator.api.source_function import SourceFunction, Specs
from stator.api.specializer import Specializer
from stator.api.static_pickling import reduced
from stator.api.stepped_programs import SteppedPrograms
from stator.debug.code import Code
from stator.debug.eager import Switch
from stator.debug.explain import capture_report, fact_at
from stator.debug.report import Report
from stator.debug.stepping.targets import Watcher
from stator.errors import CaptureError, ConversionError, SizeCheckFailed, SpecMismatch
from stator.execute.backend import region_states
from stator.frames import hide_library_frames, is_library_file, user_facing
from stator.location import Location
from stator.locks import ForkSafeLock
from stator.logs import LOGGER
from stator.notebook import preformatted, unfolding
from stator.program.program import Program
from stator.rewrite.convert import convert
from stator.staging.operators import Staging
from stator.staging.trace import CaptureResult, trace
from stator.state.builtin_names import refuse_replaced
from stator.state.guards import Guards
from stator.state.holding import WeakMethod, names_for_method, own_method
from stator.state.session import Session
from stator.static.strategy import BuildStrategy

CAPTURE_LIMIT = 32


Parameters = ParamSpec("Parameters", default=...)
OtherParameters = ParamSpec("OtherParameters")
Result = TypeVar("Result", default=Any)
Owner = TypeVar("Owner")


@dataclass(frozen=True)
class Fallback:
    """A call that runs eagerly as a whole: what could not be captured, and where it is."""

    function: str
    place: Location | None
    reason: str


_BUILTINS = Guards(())  # that the builtins are Python's


class Observation(Protocol):
    """Replaces the programs of one function while its runs are observed."""

    def program(self, concrete: ConcreteProgram) -> ConcreteProgram:
        """What runs in place of `concrete`."""


class StaticFunction(Generic[Parameters, Result]):
    """A static function, as `to_static` returns it: call it like the original function."""

    # NOTE: why one that replaces a method of an object (`is_own`) does not keep the object alive:
    # see `state.holding`. A decorated method does, as a bound method of Python does.

    __slots__ = ("__dict__", "__weakref__", "_kept")  # several may share one `__dict__`
    __name__: str  # these two are the function's
    __qualname__: str
    _kept: object  # the object of a method that was asked for

    def __init__(
        self,
        function: Any,
        input_spec: Any = None,
        *,
        full_graph: bool = True,
        build_strategy: BuildStrategy | None = None,
        backend: str | None = None,
        is_own: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        del self.__dict__["__wrapped__"]  # it would keep the function
        if not hasattr(function, "__name__"):  # a partial, a callable object
            self.__name__ = self.__qualname__ = type(function).__name__
        self._held = own_method(function) if is_own else lambda: function
        self._input_spec = input_spec
        self._full_graph, self._build_strategy, self._backend = full_graph, build_strategy, backend
        self._bound_name: str | None = None
        self._source = SourceFunction(self._held, self.__name__)
        self._cache = ProgramCache()
        self._specializer = Specializer(
            self._source, input_spec, self._cache, strategy=build_strategy, backend=backend
        )
        self._open_lists = OpenLists(self._cache) if input_spec is None else None
        self._entries = EntryTable()
        self._captures = 0
        self._eager: dict[tuple[Any, ...], Fallback] = {}  # calls that could not be captured
        self._lock = ForkSafeLock()
        self._observation: Observation | None = None

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # by which Python finds the signature
            return self._function
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def _function(self) -> Any:
        return self._held()

    @property
    def __stator_original__(self) -> Any:  # see library.markers
        return self._function

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "full_graph": self._full_graph, "build_strategy": self._build_strategy,
            "backend": self._backend,
        }  # fmt: skip

    # ---- as a method

    def __set_name__(self, owner: type, name: str) -> None:
        self._bound_name = f"{owner.__qualname__}_{name}"

    @overload
    def __get__(self, instance: None, owner: type) -> StaticFunction[Parameters, Result]: ...

    @overload
    def __get__(
        self: StaticFunction[Concatenate[Owner, OtherParameters], Result],
        instance: Owner,
        owner: type | None = None,
    ) -> StaticFunction[OtherParameters, Result]: ...

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Each instance has a static method of its own."""
        if instance is None:
            return self
        key = f"__stator_{self._bound_name or self.__name__}__"
        bound = names_for_method(instance, self.__name__).get(key)
        if bound is None or not bound._is_method_of(instance, self._function):
            bound = StaticFunction(
                types.MethodType(self._function, instance), self._input_spec,
                **self._options, is_own=True,
            )  # fmt: skip
            object.__setattr__(instance, key, bound)
        return bound._keeping(instance)

    def _is_method_of(self, instance: object, function: object) -> bool:
        held = self._held
        if isinstance(held, WeakMethod):
            return held.function is function and held.is_of(instance)
        method = held()
        return method.__func__ is function and method.__self__ is instance

    def _keeping(self, instance: object) -> StaticFunction[Parameters, Result]:
        """The same static function, which keeps `instance` alive."""
        made = StaticFunction.__new__(StaticFunction)
        made.__dict__ = self.__dict__
        made._kept = instance
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        """The static form of a copy of the function: a method goes with its copied object."""
        function = self._function
        is_own = id(getattr(function, "__self__", None)) in memo  # the object is being copied
        copied = copy.deepcopy(function, memo)
        return StaticFunction(copied, self._input_spec, **self._options, is_own=is_own)

    def __reduce__(self) -> Any:
        """By its name where it has one; the captures are left out."""
        return reduced(self, StaticFunction, self._function, self._input_spec, self._options)

    # ---- calls

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        """The result of the function, computed by a program that is valid for these arguments."""
        if torch.compiler.is_compiling() or not Switch.on:
            return self._source.current()(*args, **kwargs)
        try:
            result = self._entries.call(*args, **kwargs)
            if result is MISS:
                if not _BUILTINS.hold():
                    if not self._full_graph:
                        return self._source.current()(*args, **kwargs)
                    refuse_replaced()
                result = self._entries.call_by_form(args, kwargs)
            if result is not MISS:
                return result
            return self._call_by_signature(args, kwargs, signature_of(args, kwargs))
        except SizeCheckFailed as error:
            if self._input_spec is not None or not error.before_running:
                hide_library_frames(error)
                self._check_spec(args, kwargs)
                raise
            violated = error
        except Exception as error:
            hide_library_frames(error)
            raise
        try:
            return self._call_with_specialized_sizes(args, kwargs, violated)
        except Exception as error:
            hide_library_frames(error)
            raise

    def _check_spec(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """SpecMismatch where a call gives two sizes for one name of the input_spec."""
        sizes = signature_of(args, kwargs).sizes
        try:
            self._source.specs_of_call(args, kwargs, sizes, self._input_spec)
        except SpecMismatch as error:
            hide_library_frames(error)
            raise error from None

    def _call_with_specialized_sizes(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], violated: SizeCheckFailed
    ) -> Any:
        """A call that violates a size check, with sizes that no user has called dynamic."""
        signature = signature_of(args, kwargs)
        for exact in (False, True):
            try:
                if not self._has_size_fallback(signature, exact=exact):
                    self._capture(args, kwargs, signature, violated, exact=exact)
                return self._call_by_signature(args, kwargs, signature, after_violation=True)
            except SizeCheckFailed as error:
                if exact or not error.before_running:
                    raise
        raise AssertionError("the second round returns or raises")

    def _has_size_fallback(self, signature: Signature, *, exact: bool) -> bool:
        """Is there a program for sizes like these already?"""
        found = self._cache.find(signature, after_violation=True)
        if found is None or not found.is_size_fallback:
            return False
        return not exact or found.sizes == signature.sizes

    def _call_by_signature(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Signature,
        *,
        after_violation: bool = False,
    ) -> Any:
        concrete = self._cache.find(signature, after_violation=after_violation)
        if concrete is None and self._open_lists is not None and not after_violation:
            opened = self._open_lists.match(args, kwargs, self._capture_for_lists)
            if opened is not None:
                return self._observed_form(opened[0])(opened[1], (args, kwargs))
        concrete = concrete or self._capture_or_refuse(args, kwargs, signature)
        if concrete is None:
            return self._source.current()(*args, **kwargs)
        if self._observation is None:
            self._entries.add(concrete, signature.leaves, args, kwargs)
        return self._observed_form(concrete)(signature.leaves, (args, kwargs))

    def _observed_form(self, concrete: ConcreteProgram) -> ConcreteProgram:
        return concrete if self._observation is None else self._observation.program(concrete)

    @contextlib.contextmanager
    def observed(self, watcher: Watcher) -> Iterator[None]:
        """Inside, `watcher` sees the programs run, captured again with the user's names."""
        with self.running(SteppedPrograms(self._source, watcher)):
            yield

    @contextlib.contextmanager
    def running(self, observation: Observation) -> Iterator[None]:
        """Inside, calls run the programs that `observation` gives."""
        before = (self._observation, self._entries)
        self._observation, self._entries = observation, EntryTable()
        try:
            yield
        finally:
            self._observation, self._entries = before

    def _capture(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        signature: Signature,
        violated: SizeCheckFailed | None = None,
        *,
        exact: bool = False,
    ) -> ConcreteProgram:
        """A program for this call; for sizes of its own if they have `violated` a check."""
        with self._lock:
            if violated is None:
                found = self._cache.find(signature)
                if found is not None:  # another thread has captured it meanwhile
                    return found
                made = self._specializer.program_for(args, kwargs, signature)
            else:
                made = self._specializer.size_fallback(
                    args, kwargs, signature, violated, exact=exact
                )
            self._keep(made)
            return made

    def _capture_for_lists(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> ConcreteProgram | None:
        """A program for lists of any length, if there can be one."""
        with self._lock:
            made = self._cache.find(signature)
            if made is None:
                made = self._specializer.program_for_lists(args, kwargs, signature)
                if made is not None:
                    self._keep(made)
            return made

    def _keep(self, made: ConcreteProgram) -> None:
        """Keep a new program, and drop those that it makes superfluous or that are not used."""
        self._cache.add(made)
        self._captures += 1
        self._cache.drop((*self._specializer.superseded(made), *self._cache.unused()))
        self._entries.clear()
        LOGGER.info("%s was captured because %s", self.__qualname__, made.reason)
        if self._captures == CAPTURE_LIMIT:
            self._warn(made.reason)

    def _capture_or_refuse(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> ConcreteProgram | None:
        """A new capture; None, after a warning, where the call is to run eagerly instead."""
        if self._full_graph:
            return self._capture(args, kwargs, signature)
        if signature.key in self._eager:
            return None
        if self._captures >= PROGRAMS_KEPT:
            problem = f"it has been captured {PROGRAMS_KEPT} times"
            self._run_eagerly(signature, Fallback(self.__name__, None, problem), problem)
            return None
        try:
            return self._capture(args, kwargs, signature)
        except (ConversionError, CaptureError) as error:
            fallback = Fallback(self.__name__, error.at, error.problem)
            self._run_eagerly(signature, fallback, str(error))
            return None

    def _run_eagerly(self, signature: Signature, fallback: Fallback, why: str) -> None:
        """Calls like this one run eagerly from now on; each cause is reported once."""
        if fallback not in self._eager.values():
            warn_caller(f"{self.__name__} runs eagerly, as full_graph=False allows: {why}")
        self._eager[signature.key] = fallback
        LOGGER.info("%s runs eagerly: %s", self.__qualname__, fallback.reason)

    def _warn(self, reason: str) -> None:
        warn_caller(
            f"{self.__name__} has been captured {CAPTURE_LIMIT} times; the last time because "
            f"{reason}. Pass what changes as a tensor, or give an input_spec. At most "
            f"{PROGRAMS_KEPT} programs are kept."
        )

    # ---- looking inside

    @property
    @user_facing
    def code(self) -> Code:
        """The rewritten Python code."""
        return Code(convert(self._source.python(), Session(Staging).interpreter).code)

    @property
    @user_facing
    def program(self) -> Program:
        """The program of the last capture."""
        latest = self._cache.latest
        if latest is None:
            raise SpecMismatch(
                f"{self.__name__} has not been captured yet",
                fix="call it once, or use `stator.save` with an input_spec",
            )
        return latest.program

    @property
    def concrete_programs(self) -> tuple[ConcreteProgram, ...]:
        """All captures so far, in order."""
        return self._cache.all()

    def concrete_program(self, *args: Any, **kwargs: Any) -> ConcreteProgram:
        """The program for a call with these arguments, captured if necessary; it is not run."""
        signature = signature_of(args, kwargs)
        return self._cache.find(signature) or self._capture(args, kwargs, signature)

    @property
    def cache(self) -> ProgramCache:
        """Where its programs are found."""
        return self._cache

    def with_cache(self, cache: ProgramCache) -> StaticFunction:
        """The same function, which finds its programs in `cache` and adds new ones to it."""
        other = StaticFunction(self._function, self._input_spec, **self._options)
        other._cache, other._specializer = cache, self._specializer.with_cache(cache)
        other._open_lists = None  # a program for each call, as `concrete_program` gives
        return other

    @user_facing
    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """Report how each source line was converted, as `stator.explain` does.

        With arguments, the function is captured for them if necessary; the program is not run.
        """
        if not args and not kwargs:
            return self._report(self._cache.all())
        try:
            return self._report([self.concrete_program(*args, **kwargs)])
        except (ConversionError, CaptureError) as error:
            return dataclasses.replace(self._report([]), refused=str(error))

    def _report(self, programs: Sequence[ConcreteProgram]) -> Report:
        captures = (
            capture_report(
                one.captured, one.program, one.reason, one.selection, region_states(one.run)
            )
            for one in programs
        )
        fallbacks = (fact_at(one.reason, one.place) for one in self.fallbacks)
        return Report(self.__qualname__, tuple(captures), tuple(fallbacks))

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """The reasons why calls ran eagerly under `full_graph=False`, each once."""
        return tuple(dict.fromkeys(self._eager.values()))

    @property
    def dygraph_function(self) -> Any:
        """The function as it was written."""
        return self._function

    @property
    def input_spec(self) -> Any:
        """The spec given to `to_static` or `specify`."""
        return self._input_spec

    def specify(self, input_spec: Any) -> StaticFunction:
        """The same function with another spec; existing captures are dropped."""
        return StaticFunction(self._function, input_spec, **self._options)

    @user_facing
    def capture(self, input_spec: Any) -> CaptureResult:
        """A capture for `input_spec`, kept nowhere."""
        source = self._source
        args, kwargs = source.specs_for(input_spec)
        return trace(source.function, args, kwargs, name=source.name, owner=source.owner)

    def specs_for(self, input_spec: Any) -> Specs:
        """What `input_spec` says of the arguments; tensors are where the module's own are."""
        return self._source.specs_for(input_spec)

    def rollback(self) -> Any:
        """Undo `to_static`: the function as it was written, also on the module it came from."""
        owner = getattr(self._function, "__self__", None)
        if isinstance(owner, torch.nn.Module) and vars(owner).get("forward") is self:
            del owner.__dict__["forward"]
        return self._function

    def __repr__(self) -> str:
        return f"<StaticFunction {self.__qualname__}, {len(self._cache)} captured>"

    def _repr_html_(self) -> str:
        programs = [unfolding(repr(one), str(one.program)) for one in self.concrete_programs]
        return preformatted(repr(self)) + "".join(programs)


def warn_caller(message: str) -> None:
    """A warning at the innermost line that is neither Stator's nor torch's."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_library_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)
