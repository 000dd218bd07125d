"""StaticFunction: a function that is captured when it is called, and runs as a program."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import inspect
import threading
import types
import warnings
from dataclasses import dataclass
from typing import Any

import torch

from stator.api.signature import Signature, Sizes, fit, signature_of, specs_from, specs_of
from stator.api.switches import is_enabled
from stator.capture.inputs import TensorSpec
from stator.errors import CaptureError, ConversionError, SpecMismatch
from stator.execute.interpreter import Runner, prepare
from stator.execute.structure import unflatten
from stator.optimize.pipeline import optimize
from stator.program.program import Program
from stator.rewrite.convert import convert
from stator.staging.operators import Staging
from stator.staging.session import Session
from stator.staging.trace import Captured, Effect, trace

CAPTURE_LIMIT = 32


@dataclass(frozen=True)
class ConcreteProgram:
    """One capture: the program, for which calls it holds, and why it was made."""

    program: Program
    captured: Captured
    sizes: Sizes
    runner: Runner
    reason: str

    def holds_for(self, sizes: Sizes) -> bool:
        """Do these sizes fit?"""
        return all(
            mine is None or mine == given
            for shape, other in zip(self.sizes, sizes, strict=True)
            for mine, given in zip(shape, other, strict=True)
        )

    def __call__(self, leaves: tuple[Any, ...], call: tuple[Any, ...]) -> Any:
        """Run the program on the tensors of a call, and make the changes that the call makes."""
        try:
            outputs = self.runner(leaves, self.captured.tensors)
        except Exception as error:
            raise_own_class(error, self.captured.errors)
            raise
        for effect in self.captured.effects:
            _do(effect, outputs, call, self.captured.classes)
        return unflatten(self.program.output_structure, outputs, classes=self.captured.classes)


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


class StaticFunction:
    """What `to_static` gives: call it like the function it was made from."""

    __name__: str  # these two are the function's
    __qualname__: str
    __stator_original__: Any = None  # set on each instance; see staging.marks

    def __init__(self, function: Any, input_spec: Any = None, *, full_graph: bool = True) -> None:
        functools.update_wrapper(self, function)
        if not hasattr(function, "__name__"):  # a partial, a callable object
            self.__name__ = self.__qualname__ = type(function).__name__
        self.__stator_original__ = function
        self._function = function
        self._input_spec = input_spec
        self._full_graph = full_graph
        self._programs: dict[tuple[Any, ...], list[ConcreteProgram]] = {}
        self._order: list[ConcreteProgram] = []
        self._lock = threading.RLock()
        self._eager: dict[tuple[Any, ...], Exception] = {}  # calls that could not be captured
        self._bound_name: str | None = None

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
                full_graph=self._full_graph,
            )  # fmt: skip
            object.__setattr__(instance, key, bound)
        return bound

    def __deepcopy__(self, memo: dict[int, Any]) -> StaticFunction:
        """The static form of a copy of the function: a method goes with its copied object."""
        function = copy.deepcopy(self._function, memo)
        return StaticFunction(function, self._input_spec, full_graph=self._full_graph)

    def __reduce__(self) -> Any:
        return _restored, (self._function, self._input_spec, self._full_graph)

    # ---- calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives, computed by a program that holds for these arguments."""
        if not is_enabled() or torch.compiler.is_compiling():
            return self._function(*args, **kwargs)
        signature = signature_of(args, kwargs)
        concrete = self._find(signature) or self._capture_or_refuse(args, kwargs, signature)
        if concrete is None:
            return self._function(*args, **kwargs)
        return concrete(signature.leaves, (args, kwargs))

    def _find(self, signature: Signature) -> ConcreteProgram | None:
        for concrete in self._programs.get(signature.key, ()):
            if concrete.holds_for(signature.sizes) and concrete.captured.guards.changed() is None:
                return concrete
        return None

    def _capture(self, args: Any, kwargs: Any, signature: Signature) -> ConcreteProgram:
        with self._lock:
            found = self._find(signature)
            if found is not None:
                return found
            earlier = self._programs.setdefault(signature.key, [])
            sizes, reason = _sizes_for(signature, earlier)
            specs = self._specs(args, kwargs, sizes)
            captured = trace(
                self._function, *specs, name=self.__name__, owner=_owner_of(self._function)
            )
            concrete = _concrete(captured, specs, reason)
            earlier.insert(0, concrete)
            self._order.append(concrete)
            if len(self._order) == CAPTURE_LIMIT:
                self._warn(reason)
            return concrete

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
            self._eager[signature.key] = error
            warnings.warn(
                f"{self.__name__} runs eagerly, as full_graph=False allows: {error}", stacklevel=3
            )
            return None

    def _warn(self, reason: str) -> None:
        warnings.warn(
            f"{self.__name__} has been captured {CAPTURE_LIMIT} times; the last time because "
            f"{reason}. Pass what changes as a tensor, or give an input_spec.",
            stacklevel=5,
        )

    def _specs(self, args: Any, kwargs: Any, sizes: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments as specs: the user's where they gave one."""
        left = list(sizes)
        names = _parameter_names(self._function)
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
    def code(self) -> str:
        """The Python that the rewrite made."""
        function = getattr(self._function, "__func__", self._function)
        if isinstance(function, torch.nn.Module):
            function = type(function).forward
        return convert(function, Staging(Session())).code

    @property
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
        return StaticFunction(self._function, input_spec, full_graph=self._full_graph)

    def capture(self, input_spec: Any) -> Captured:
        """A capture for `input_spec`, kept nowhere."""
        specs = tuple(specs_from(spec) for spec in input_spec)
        named = _with_names(specs, _parameter_names(self._function))
        return trace(self._function, named, {}, name=self.__name__, owner=_owner_of(self._function))

    def rollback(self) -> Any:
        """Undo `to_static`: the function as it was written, also on the module it came from."""
        owner = getattr(self._function, "__self__", None)
        if isinstance(owner, torch.nn.Module) and vars(owner).get("forward") is self:
            del owner.__dict__["forward"]
        return self._function

    def __repr__(self) -> str:
        return f"<StaticFunction {self.__qualname__}, {len(self._order)} captured>"


def _restored(function: Any, input_spec: Any, full_graph: bool) -> StaticFunction:
    """A static function from its pickled parts; it captures again."""
    return StaticFunction(function, input_spec, full_graph=full_graph)


def _concrete(captured: Captured, specs: Any, reason: str) -> ConcreteProgram:
    program = optimize(captured.program)
    sizes = tuple(spec.shape for spec in _tensor_specs(specs))
    return ConcreteProgram(program, captured, sizes, prepare(program), reason)


def _tensor_specs(tree: Any) -> list[TensorSpec]:
    if isinstance(tree, TensorSpec):
        return [tree]
    if isinstance(tree, dict):
        tree = tuple(tree.values())
    if isinstance(tree, list | tuple):
        return [spec for item in tree for spec in _tensor_specs(item)]
    return []


def _all_sizes(tree: Any) -> list[tuple[int | None, ...]]:
    return list(signature_of((tree,), {}).sizes)


def _sizes_for(signature: Signature, earlier: list[ConcreteProgram]) -> tuple[Any, str]:
    """A size that differs from an earlier capture's becomes dynamic."""
    if not earlier:
        return signature.sizes, "it was called with arguments of a new kind"
    sizes = [
        tuple(
            size if all(e.sizes[k][d] == size for e in earlier) else None
            for d, size in enumerate(shape)
        )
        for k, shape in enumerate(signature.sizes)
    ]
    changed = earlier[0].captured.guards.changed()
    if changed is not None and earlier[0].holds_for(signature.sizes):
        return earlier[0].sizes, f"{changed} has changed"
    return tuple(sizes), "sizes have changed"


def _owner_of(function: Any) -> torch.nn.Module | None:
    owner = getattr(function, "__self__", function)
    return owner if isinstance(owner, torch.nn.Module) else None


def _parameter_names(function: Any) -> list[str]:
    target = function.forward if isinstance(function, torch.nn.Module) else function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(target).parameters.values() if p.kind in kinds]


def _with_names(specs: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
    """Tensors of the spec without a name are called after their parameter."""
    named = []
    for k, spec in enumerate(specs):
        if isinstance(spec, TensorSpec) and spec.name is None and k < len(names):
            spec = dataclasses.replace(spec, name=names[k])
        named.append(spec)
    return tuple(named)


def _do(effect: Effect, outputs: Any, call: tuple[Any, ...], classes: dict[str, type]) -> None:
    """Make the change that the captured run made."""
    target = effect.target
    if effect.is_argument:
        target = functools.reduce(lambda tree, key: tree[key], effect.target, call)
    state = unflatten(effect.state, outputs, classes=classes)
    if isinstance(target, types.CellType):
        target.cell_contents = state["cell"]
    elif isinstance(target, list | collections.deque):
        target.clear()
        target.extend(state)
    else:
        contents = target if isinstance(target, dict) else vars(target)
        for key in effect.deleted:
            contents.pop(key, None)
        contents.update(state)
