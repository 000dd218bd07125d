"""SourceFunction: what the user gave to `to_static`, as it is now."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeGuard

import numpy
import torch

from stator.api.input_spec import InputSpec
from stator.api.signature import NamedSizes, fit, signature_of, specs_from, specs_of
from stator.capture.inputs import SPEC_TYPES, ScalarSpec
from stator.english import with_article
from stator.errors import SourceUnavailable, SpecMismatch, nearest

SCALARS: dict[type, Any] = {int: "int", float: "float", bool: "bool", str: "str"}
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
Specs = tuple[tuple[Any, ...], dict[str, Any]]  # the arguments, by position and by name


class SourceFunction:
    """A function, method, module or other callable; and the specs of calls to it."""

    def __init__(self, held: Callable[[], Callable[..., Any]], name: str) -> None:
        self._held, self.name = held, name
        self._follows_class = is_found_on_class(held())

    @property
    def function(self) -> Any:
        """What the user gave."""
        return self._held()

    def current(self) -> Callable[..., Any]:
        """The function as it is now: the class of a method's object may have been replaced."""
        function = self.function
        if not isinstance(function, types.MethodType) or not self._follows_class:
            return function
        if is_found_on_class(function):
            return function
        owner = function.__self__
        found = inspect.getattr_static(type(owner), function.__name__, None)
        return types.MethodType(found, owner) if callable(found) else function

    @property
    def owner(self) -> torch.nn.Module | None:
        """The module that it is, or is a method of."""
        owner = getattr(self.function, "__self__", self.function)
        return owner if isinstance(owner, torch.nn.Module) else None

    def python(self) -> types.FunctionType:
        """The Python function behind it."""
        function = getattr(self.function, "__func__", self.function)
        if isinstance(function, torch.nn.Module):
            function = type(function).forward
        if isinstance(function, types.FunctionType):
            return function
        raise SourceUnavailable(
            f"{self.name} is {with_article(type(function).__name__)}, which has no Python source",
            fix="nothing is rewritten here: `.program` shows what it became",
        )

    def parameter_names(self) -> list[str]:
        """The names of what can be given by position."""
        return parameter_names(self.function)

    def specs_of_call(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Sequence[Any], input_spec: Any
    ) -> Specs:
        """The arguments of a call as specs: the user's where they gave one, else with `sizes`."""
        left = list(sizes)
        names = self.parameter_names()
        if input_spec is None:
            seen: dict[int, Any] = {}
            return _with_names(specs_of(args, left, seen), names), specs_of(kwargs, left, seen)
        wanted = self._by_parameter(input_spec)
        named: NamedSizes = {}
        known: dict[int, Any] = {}
        positions = [_parameter(names, k) for k in range(len(args))]
        for name in wanted:
            if name not in positions and name not in kwargs:
                raise SpecMismatch(f"`{name}` of {self.name} is not given, and input_spec has it",
                                   fix="pass it, or leave it out of the spec")  # fmt: skip

        def spec_of(name: str, value: object) -> Any:
            if name in wanted:
                del left[: len(_all_sizes(value))]
                return fit(specs_from(wanted[name]), value, name, named, known)
            return specs_of((value,), _fixed_tensors((value,), left), known)[0]

        whole = tuple(spec_of(name, arg) for name, arg in zip(positions, args, strict=True))
        return _with_names(whole, names), {name: spec_of(name, kwargs[name]) for name in kwargs}

    def specs_for(self, input_spec: Sequence[Any] | Mapping[str, Any]) -> Specs:
        """What `input_spec` says of the arguments; tensors are where the module's own are.

        It is a list, by position, or a dict, by the names of parameters. A parameter that it leaves
        out, that has no default and is annotated as a number or a string, is an input of that kind.
        """
        owner = self.owner
        tensors = () if owner is None else (*owner.parameters(), *owner.buffers())
        device = tensors[0].device if tensors else None
        wanted = self._by_parameter(input_spec)
        specs = {name: specs_from(spec, device) for name, spec in wanted.items()}
        names = self.parameter_names()
        by_annotation = {k: v for k, v in self._annotated().items() if k not in specs}
        if isinstance(input_spec, Mapping):
            specs |= by_annotation
            first = tuple(itertools.takewhile(specs.__contains__, names))
            rest = {name: specs[name] for name in specs if name not in first}
            found = tuple(specs[name] for name in first), _named(rest)
        else:
            found = tuple(specs.values()), _named(by_annotation)
        self._check_call(*found)
        return _with_names(found[0], names), found[1]

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """SpecMismatch unless the function can be called with as many arguments, so named."""
        problem = call_problem(self.function, self.name, args, kwargs)
        if problem is not None:
            raise SpecMismatch(
                f"input_spec does not fit {problem}",
                fix="give an entry for each parameter, in order, or a dict by their names",
            )

    def _annotated(self) -> dict[str, ScalarSpec]:
        """The parameters without a default that are annotated as a number or a string."""
        function = self.function
        target = function.forward if isinstance(function, torch.nn.Module) else function
        try:
            parameters = inspect.signature(target, eval_str=True).parameters.values()
        except (ValueError, NameError):  # it has no signature, or names that are not there any more
            return {}
        annotated = {
            one.name: _scalar_spec(one.annotation, one.name)
            for one in parameters
            if one.default is one.empty and one.kind in BY_NAME
        }
        return {name: spec for name, spec in annotated.items() if spec is not None}

    def _by_parameter(self, input_spec: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
        """The specs by the names of parameters; those of `*args` by their number."""
        names = self.parameter_names()
        if not isinstance(input_spec, Mapping | list | tuple):
            raise SpecMismatch(
                f"input_spec is {with_article(type(input_spec).__name__)}, not a list or a dict",
                fix="put it in a list: input_spec=[...]"
                if isinstance(input_spec, InputSpec | ScalarSpec | torch.Tensor)
                else "give a list with an entry for each parameter, or a dict by their names",
            )
        if _is_shape(input_spec):
            raise SpecMismatch(f"input_spec is the shape {tuple(input_spec)}",
                               fix=f"write [InputSpec({[*input_spec]})]")  # fmt: skip
        if not isinstance(input_spec, Mapping):
            return {_parameter(names, k): _as_spec(spec) for k, spec in enumerate(input_spec)}
        parameters = inspect.signature(self.function).parameters
        if all(one.kind is not inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
            for name in input_spec:
                if name not in parameters:
                    raise SpecMismatch(f"{self.name} has no parameter `{name}`",
                                       fix=f"name one of {', '.join(parameters)}",
                                       edit=nearest(name, parameters))  # fmt: skip
        return {name: _as_spec(spec) for name, spec in input_spec.items()}


def _scalar_spec(annotation: object, name: str | None = None) -> ScalarSpec | None:
    """`int` is `InputSpec.int()`, `int | None` is `InputSpec.int(optional=True)`, and so on."""
    if isinstance(annotation, type):
        return ScalarSpec(SCALARS[annotation], name) if annotation in SCALARS else None
    if typing.get_origin(annotation) not in (types.UnionType, typing.Union):
        return None
    rest = [one for one in typing.get_args(annotation) if one is not types.NoneType]
    found = _scalar_spec(rest[0], name) if len(rest) == 1 else None
    return None if found is None else dataclasses.replace(found, optional=True)


def _as_spec(spec: object) -> object:
    """A class as the spec that it is short for; any other spec as it is.

    SpecMismatch for a shape, which would be a constant, and for an array.
    """
    if isinstance(spec, numpy.ndarray):
        raise SpecMismatch("an entry of input_spec is a numpy array",
                           fix="write InputSpec.from_numpy(array): calls pass tensors"
                           )  # fmt: skip
    if _is_shape(spec):
        raise SpecMismatch(f"an entry of input_spec is the shape {tuple(spec)}",
                           fix=f"write InputSpec({[*spec]})")  # fmt: skip
    return _scalar_spec(spec) or spec


def _is_shape(spec: object) -> TypeGuard[Sequence[int | None]]:
    """Is it written as sizes? None beside numbers can hardly be meant as constants."""
    return isinstance(spec, torch.Size) or (
        isinstance(spec, list | tuple)
        and any(size is None for size in spec)
        and any(isinstance(size, int) for size in spec)
        and all(size is None or isinstance(size, int) for size in spec)
    )


def is_found_on_class(function: object) -> bool:
    """Is it a method that the class of its object has under its name?"""
    if not isinstance(function, types.MethodType):
        return False
    found = inspect.getattr_static(type(function.__self__), function.__name__, None)
    return found is function.__func__


def call_problem(
    function: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> str | None:
    """`f(x, y): missing a required argument: 'y'`, if `function` cannot be called with these."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    try:
        signature = inspect.signature(target)
    except (ValueError, TypeError):  # of a callable that Python knows nothing about
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return f"{name}{signature}: {error}"
    return None


def parameter_names(function: Any) -> list[str]:
    """The names of what can be given to `function` by position."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # a function in C that has no signature
        return []
    return [p.name for p in parameters if p.kind in kinds]


def _all_sizes(tree: Any) -> list[tuple[Any, ...]]:
    return list(signature_of((tree,), {}).sizes)


def _parameter(names: list[str], position: int) -> str:
    return names[position] if position < len(names) else f"argument {position}"


def _named(specs: dict[str, Any]) -> dict[str, Any]:
    """Tensors of keyword arguments are called after their parameter, too."""
    return dict(zip(specs, _with_names(tuple(specs.values()), list(specs)), strict=True))


def _fixed_tensors(tree: Any, sizes: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """The next of `sizes`, for `tree`: beside an input_spec, only numbers and strings may vary."""
    signature = signature_of((tree,), {})
    taken = sizes[: len(signature.sizes)]
    del sizes[: len(signature.sizes)]
    pairs = zip(signature.leaves, signature.sizes, taken, strict=True)
    return [own if isinstance(leaf, torch.Tensor) else given for leaf, own, given in pairs]


def _with_names(specs: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
    """What of the spec has no name is called after its parameter."""
    named = []
    for k, spec in enumerate(specs):
        if isinstance(spec, SPEC_TYPES) and spec.name is None and k < len(names):
            spec = dataclasses.replace(spec, name=names[k])
        named.append(spec)
    return tuple(named)
