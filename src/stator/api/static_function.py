"""StaticFunction: a function that is captured when it is called, and runs as a program."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import inspect
import sys
import threading
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stator.api.concrete import (
    ConcreteProgram,
    concrete_program,
    do_effects,
    observed_program,
)
from stator.api.entries import MISS, Entry, entry_for
from stator.api.reasons import reason_for, sizes_reason
from stator.api.signature import Signature, Sizes, fit, signature_of, specs_from, specs_of
from stator.capture.inputs import TensorSpec
from stator.capture.places import is_library_file
from stator.debug.code import Code
from stator.debug.eager import Switch
from stator.debug.explain import capture_report, fact_at
from stator.debug.report import Report
from stator.debug.stepping.targets import Watcher
from stator.errors import (
    CaptureError,
    ConversionError,
    DemandViolated,
    SourceUnavailable,
    SpecMismatch,
)
from stator.frames import hide_library_frames, user_facing
from stator.location import Location
from stator.logs import LOGGER
from stator.program.program import Program
from stator.rewrite.convert import convert
from stator.staging.live_lists import makes_demands
from stator.staging.live_state import AnySlot, has_open_list, slot_for
from stator.staging.operators import Staging
from stator.staging.session import Session
from stator.staging.slots import Slot
from stator.staging.trace import Captured, trace
from stator.static.strategy import BuildStrategy

CAPTURE_LIMIT = 32
ENTRIES_KEPT = 4
ENTRY_LIMIT = 64  # calls whose kinds never settle gain nothing from entries


@dataclass(frozen=True)
class Fallback:
    """A call that runs eagerly as a whole: what could not be captured, and where it stands."""

    function: str
    place: Location | None
    reason: str


class StaticFunction:
    """What `to_static` gives: call it like the function it was made from."""

    __name__: str  # these two are the function's
    __qualname__: str
    __stator_original__: Any = None  # set on each instance; see staging.marks

    def __init__(
        self,
        function: Any,
        input_spec: Any = None,
        *,
        full_graph: bool = True,
        build_strategy: BuildStrategy | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial, a callable object
            self.__name__ = self.__qualname__ = type(function).__name__
        self.__stator_original__ = function
        self._function = function
        self._input_spec = input_spec
        self._full_graph = full_graph
        self._build_strategy = build_strategy
        self._programs: dict[tuple[Any, ...], tuple[ConcreteProgram, ...]] = {}
        self._order: list[ConcreteProgram] = []
        self._lock = threading.RLock()
        self._eager: dict[tuple[Any, ...], Fallback] = {}  # calls that could not be captured
        self._bound_name: str | None = None
        self._fixed: tuple[AnySlot, ...] = ()  # state that cannot be an input of the program
        self._entries: tuple[Entry, ...] = ()  # the latest first; replaced, never changed
        self._entries_made = 0
        self._watcher: Watcher | None = None  # who steps through its programs
        self._watched: dict[int, ConcreteProgram] = {}  # the programs as it sees them

    @property
    def _options(self) -> dict[str, Any]:
        return {"full_graph": self._full_graph, "build_strategy": self._build_strategy}

    # ---- as a method

    def __set_name__(self, owner: type, name: str) -> None:
        self._bound_name = f"{owner.__qualname__}_{name}"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Each instance has a static method of its own."""
        if instance is None:
            return self
        key = f"__stator_{self._bound_name or self.__name__}__"
        bound = vars(instance).get(key)
        if (
            bound is None
            or bound._function.__func__ is not self._function
            or bound._function.__self__ is not instance
        ):
            bound = StaticFunction(
                types.MethodType(self._function, instance), self._input_spec,
                **self._options,
            )  # fmt: skip
            object.__setattr__(instance, key, bound)
        return bound

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        """The static form of a copy of the function: a method goes with its copied object."""
        function = copy.deepcopy(self._function, memo)
        return StaticFunction(function, self._input_spec, **self._options)

    def __reduce__(self) -> Any:
        """By its name where it has one; the captures are left out."""
        options = (self._input_spec, self._options)
        if isinstance(self._function, types.MethodType):
            name, owner = self._function.__name__, self._function.__self__
            found = inspect.getattr_static(type(owner), name, None)
            if _original(found) is self._function.__func__:
                return _restored_method, (owner, name, *options)
        elif _named(self.__module__, self.__qualname__) is self:
            return self.__qualname__
        return _restored, (self._function, *options)

    # ---- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives, computed by a program that holds for these arguments."""
        if torch.compiler.is_compiling() or not Switch.on:
            return self._function(*args, **kwargs)
        try:
            for enter in self._entries:
                result = enter(args, kwargs)
                if result is not MISS:
                    return result
            return self._call_by_signature(args, kwargs, signature_of(args, kwargs))
        except DemandViolated as error:
            if self._input_spec is not None or not error.before_running:
                hide_library_frames(error)
                raise
            broken = error
        except Exception as error:
            hide_library_frames(error)
            raise
        try:
            return self._call_with_own_sizes(args, kwargs, broken)
        except Exception as error:
            hide_library_frames(error)
            raise

    def _call_with_own_sizes(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], broken: DemandViolated
    ) -> Any:
        """A call whose sizes no user has called open, and which break what open ones demand."""
        signature = signature_of(args, kwargs)
        for exact in (False, True):
            try:
                if not self._is_mended(signature, exact=exact):
                    self._capture(args, kwargs, signature, broken, exact=exact)
                return self._call_by_signature(args, kwargs, signature)
            except DemandViolated as error:
                if exact or not error.before_running:
                    raise
        raise AssertionError("the second round returns or raises")

    def _is_mended(self, signature: Signature, *, exact: bool) -> bool:
        """Is there a program for sizes like these already?"""
        found = self._find(signature)
        return found is not None and found.mends and (not exact or found.sizes == signature.sizes)

    def _call_by_signature(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], signature: Signature
    ) -> Any:
        concrete = self._find(signature) or self._capture_or_refuse(args, kwargs, signature)
        if concrete is None:
            return self._function(*args, **kwargs)
        if self._watcher is not None:
            concrete = self._as_watched(concrete, self._watcher)
        else:
            self._add_entry(concrete, args, kwargs)
        return concrete(signature.leaves, (args, kwargs))

    @contextlib.contextmanager
    def observed(self, watcher: Watcher) -> Iterator[None]:
        """Inside, `watcher` sees the programs run, captured anew with the user's names."""
        before = (self._watcher, self._entries, self._watched)
        self._watcher, self._entries, self._watched = watcher, (), {}
        try:
            yield
        finally:
            self._watcher, self._entries, self._watched = before

    def _as_watched(self, concrete: ConcreteProgram, watcher: Watcher) -> ConcreteProgram:
        if id(concrete) not in self._watched:
            args, kwargs = concrete.specs
            captured = trace(
                self._function, args, kwargs, name=self.__name__, owner=_owner_of(self._function),
                live=concrete.captured.live, watched=True,
            )  # fmt: skip
            self._watched[id(concrete)] = observed_program(concrete, captured, watcher)
        return self._watched[id(concrete)]

    def _add_entry(
        self, concrete: ConcreteProgram, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """The next call like this one takes the short way."""
        if self._entries_made < ENTRY_LIMIT:
            entry = entry_for(concrete, args, kwargs)
            if entry is not None:
                self._entries_made += 1
                self._entries = (entry, *self._entries[: ENTRIES_KEPT - 1])

    def _find(self, signature: Signature) -> ConcreteProgram | None:
        for concrete in self._programs.get(signature.key, ()):
            if concrete.holds_for(signature.sizes) and concrete.captured.guards.hold():
                return concrete
        return None

    def _capture(
        self,
        args: Any,
        kwargs: Any,
        signature: Signature,
        broken: DemandViolated | None = None,
        *,
        exact: bool = False,
    ) -> ConcreteProgram:
        """A program for this call; for sizes of its own if they have `broken` a demand."""
        with self._lock:
            found = self._find(signature) if broken is None else None
            if found is not None:
                return found
            earlier = self._programs.get(signature.key, ())
            sizes, reason = self._sizes_and_reason(signature, earlier)
            if broken is not None:
                alike = () if exact else tuple(one for one in earlier if one.mends)
                sizes, reason = _open_sizes(signature, alike), f"sizes differ: {broken.problem}"
            specs = self._specs(args, kwargs, sizes)
            concrete = concrete_program(
                self._traced(specs, earlier, (args, kwargs)),
                specs,
                reason,
                signature.key,
                mends=broken is not None,
                strategy=self._build_strategy,
            )
            self._programs[signature.key] = (concrete, *earlier)
            self._order.append(concrete)
            LOGGER.info("%s was captured because %s", self.__qualname__, reason)
            if len(self._order) == CAPTURE_LIMIT:
                self._warn(reason)
            return concrete

    def _sizes_and_reason(
        self, signature: Signature, earlier: tuple[ConcreteProgram, ...]
    ) -> tuple[Sizes, str]:
        """What sizes to capture for, and why it is done at all."""
        if not earlier:
            latest = self._order[-1] if self._order else None
            return signature.sizes, reason_for(signature, latest, parameter_names(self._function))
        changed = earlier[0].captured.guards.reason()
        if changed is not None and earlier[0].holds_for(signature.sizes):
            return earlier[0].sizes, changed
        return _open_sizes(signature, earlier), sizes_reason(signature, earlier[0])

    def _traced(
        self, specs: Any, earlier: tuple[ConcreteProgram, ...], call: tuple[Any, ...]
    ) -> Captured:
        """A capture; where it ends with the user's error, what was changed by then stays so."""
        try:
            return self._trace(specs, earlier)
        except Exception as error:
            effects, classes = getattr(error, "stator_effects", ((), {}))
            do_effects(effects, (), call, classes)
            raise

    def _trace(self, specs: Any, earlier: tuple[ConcreteProgram, ...]) -> Captured:
        """A capture; what an earlier program has changed is read anew by each run, if it can be."""
        live = self._live_slots(earlier)
        run = functools.partial(
            trace, self._function, *specs, name=self.__name__, owner=_owner_of(self._function)
        )
        if not live:
            return run()
        doubtful = tuple(slot for slot in live if not isinstance(slot, Slot))
        try:
            captured = run(live=live)
            if not (any(map(has_open_list, live)) and makes_demands(captured.program)):
                return captured
        except Exception:  # noqa: BLE001  # Python needs the very value somewhere; if it was
            if not doubtful:
                captured = run()  # something else, this raises it again
                self._fixed += live
                return captured
        self._fixed += doubtful
        return self._trace(specs, earlier)

    def _live_slots(self, earlier: tuple[ConcreteProgram, ...]) -> tuple[AnySlot, ...]:
        """The state that the last program read anew, and what it read and changed."""
        if not earlier:
            return ()
        last = earlier[0].captured
        slots: list[AnySlot] = []
        for wanted in (*last.live, *last.written):
            slot = slot_for(wanted, last.live)
            if slot is not None and not any(map(slot.is_same_place, (*slots, *self._fixed))):
                slots.append(slot)
        return tuple(slots)

    def _capture_or_refuse(
        self, args: Any, kwargs: Any, signature: Signature
    ) -> ConcreteProgram | None:
        """A new capture; None, after a warning, where the call is to run eagerly instead."""
        if self._full_graph:
            return self._capture(args, kwargs, signature)
        if signature.key in self._eager:
            return None
        try:
            return self._capture(args, kwargs, signature)
        except (ConversionError, CaptureError) as error:
            fallback = Fallback(self.__name__, error.at, error.problem)
            if fallback not in self._eager.values():
                warn_caller(f"{self.__name__} runs eagerly, as full_graph=False allows: {error}")
            self._eager[signature.key] = fallback
            LOGGER.info("%s runs eagerly: %s", self.__qualname__, error.problem)
            return None

    def _warn(self, reason: str) -> None:
        warn_caller(
            f"{self.__name__} has been captured {CAPTURE_LIMIT} times; the last time because "
            f"{reason}. Pass what changes as a tensor, or give an input_spec."
        )

    def _specs(self, args: Any, kwargs: Any, sizes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as specs: the user's where they gave one."""
        left = list(sizes)
        names = parameter_names(self._function)
        if self._input_spec is None:
            return _with_names(specs_of(args, left), names), specs_of(kwargs, left)
        wanted = tuple(specs_from(spec) for spec in self._input_spec)
        if len(wanted) > len(args):
            raise SpecMismatch(
                f"{self.__name__} is called with {len(args)} positional arguments, "
                f"its input_spec has {len(wanted)}",
                fix="pass every argument of the spec by position",
            )
        fitted = tuple(
            fit(spec, value, names[k] if k < len(names) else f"argument {k}")
            for k, (spec, value) in enumerate(zip(wanted, args, strict=False))
        )
        rest = args[len(wanted) :]
        whole = (*fitted, *specs_of(rest, _all_sizes(rest)))
        return _with_names(whole, names), specs_of(kwargs, _all_sizes(kwargs))

    # ---- looking inside

    @property
    @user_facing
    def code(self) -> Code:
        """The Python that the rewrite made."""
        function = getattr(self._function, "__func__", self._function)
        if isinstance(function, torch.nn.Module):
            function = type(function).forward
        if not isinstance(function, types.FunctionType):
            raise SourceUnavailable(
                f"{self.__name__} is a {type(function).__name__}, which has no Python source",
                fix="nothing is rewritten here: `.program` shows what it became",
            )
        return Code(convert(function, Staging(Session())).code)

    @property
    @user_facing
    def program(self) -> Program:
        """The program of the last capture."""
        if not self._order:
            raise SpecMismatch(
                f"{self.__name__} has not been captured yet",
                fix="call it once, or use `stator.save` with an input_spec",
            )
        return self._order[-1].program

    @property
    def concrete_programs(self) -> tuple[ConcreteProgram, ...]:
        """Everything captured so far, in order."""
        return tuple(self._order)

    @user_facing
    def explain(self, *args: Any, **kwargs: Any) -> Report:
        """What became of the function, by source line: of all captures, or of the one for a call.

        With arguments, a capture is made for them if there is none; the program is not run.
        """
        if not args and not kwargs:
            return self._report(self._order)
        signature = signature_of(args, kwargs)
        try:
            return self._report([self._find(signature) or self._capture(args, kwargs, signature)])
        except (ConversionError, CaptureError) as error:
            return dataclasses.replace(self._report([]), refused=str(error))

    def _report(self, programs: Sequence[ConcreteProgram]) -> Report:
        captures = (capture_report(one.captured, one.program, one.reason) for one in programs)
        fallbacks = (fact_at(one.reason, one.place) for one in self.fallbacks)
        return Report(self.__qualname__, tuple(captures), tuple(fallbacks))

    @property
    def fallbacks(self) -> tuple[Fallback, ...]:
        """Why calls run eagerly, where `full_graph=False` allows it: each cause once."""
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
        """The same function with another spec; what was captured is dropped."""
        return StaticFunction(self._function, input_spec, **self._options)

    @user_facing
    def capture(self, input_spec: Any) -> Captured:
        """A capture for `input_spec`, kept nowhere."""
        return trace(
            self._function,
            self.specs_for(input_spec),
            {},
            name=self.__name__,
            owner=_owner_of(self._function),
        )

    def specs_for(self, input_spec: Any) -> tuple[Any, ...]:
        """What `input_spec` says of the arguments; tensors are where the module's own are."""
        owner = _owner_of(self._function)
        tensors = () if owner is None else (*owner.parameters(), *owner.buffers())
        device = tensors[0].device if tensors else None
        specs = tuple(specs_from(spec, device) for spec in input_spec)
        return named_specs(self._function, specs)

    def rollback(self) -> Any:
        """Undo `to_static`: the function as it was written, also on the module it came from."""
        owner = getattr(self._function, "__self__", None)
        if isinstance(owner, torch.nn.Module) and vars(owner).get("forward") is self:
            del owner.__dict__["forward"]
        return self._function

    def __repr__(self) -> str:
        return f"<StaticFunction {self.__qualname__}, {len(self._order)} captured>"


def warn_caller(message: str) -> None:
    """A warning at the innermost line that is neither Stator's nor torch's."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_library_file(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _original(function: Any) -> Any:
    return function.dygraph_function if isinstance(function, StaticFunction) else function


def _named(module: str, qualname: str) -> Any:
    """What stands under that name in that module, which is there."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found


def _restored_method(
    owner: Any, name: str, input_spec: Any, options: dict[str, Any]
) -> StaticFunction:
    """A static method; `owner` may still be empty, so only its class is asked."""
    function = _original(inspect.getattr_static(type(owner), name))
    return StaticFunction(types.MethodType(function, owner), input_spec, **options)


def _restored(function: Any, input_spec: Any, options: dict[str, Any]) -> StaticFunction:
    """A static function from its pickled parts; it captures again."""
    return StaticFunction(function, input_spec, **options)


def _all_sizes(tree: Any) -> list[tuple[int | None, ...]]:
    return list(signature_of((tree,), {}).sizes)


def _open_sizes(signature: Signature, earlier: tuple[ConcreteProgram, ...]) -> Sizes:
    """A size that differs from an earlier capture's becomes dynamic."""
    return tuple(
        tuple(
            size if all(e.sizes[k][d] == size for e in earlier) else None
            for d, size in enumerate(shape)
        )
        for k, shape in enumerate(signature.sizes)
    )


def _owner_of(function: Any) -> torch.nn.Module | None:
    owner = getattr(function, "__self__", function)
    return owner if isinstance(owner, torch.nn.Module) else None


def parameter_names(function: Any) -> list[str]:
    """The names of what can be given by position."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # a function in C that does not tell
        return []
    return [p.name for p in parameters if p.kind in kinds]


def named_specs(function: Any, specs: tuple[Any, ...]) -> tuple[Any, ...]:
    """`specs`, each tensor of them with a name."""
    return _with_names(specs, parameter_names(function))


def _with_names(specs: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
    """Tensors of the spec without a name are called after their parameter."""
    named = []
    for k, spec in enumerate(specs):
        if isinstance(spec, TensorSpec) and spec.name is None and k < len(names):
            spec = dataclasses.replace(spec, name=names[k])
        named.append(spec)
    return tuple(named)
