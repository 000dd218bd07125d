"""SourceFunction: what the user gave to `to_static`, as it is now."""

from __future__ import annotations

import dataclasses
import inspect
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from stator.api.signature import fit, signature_of, specs_from, specs_of
from stator.capture.inputs import TensorSpec
from stator.errors import SourceUnavailable, SpecMismatch

Specs = tuple[tuple[Any, ...], dict[str, Any]]  # the arguments, by position and by name


class SourceFunction:
    """A function, method, module or other callable; and the specs of calls to it."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function, self.name = function, name
        self._follows_class = is_found_on_class(function)

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
            f"{self.name} is a {type(function).__name__}, which has no Python source",
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
            return _with_names(specs_of(args, left), names), specs_of(kwargs, left)
        wanted = tuple(specs_from(spec) for spec in input_spec)
        if len(wanted) > len(args):
            raise SpecMismatch(
                f"{self.name} is called with {len(args)} positional arguments, "
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

    def specs_for(self, input_spec: Sequence[Any]) -> tuple[Any, ...]:
        """What `input_spec` says of the arguments; tensors are where the module's own are."""
        owner = self.owner
        tensors = () if owner is None else (*owner.parameters(), *owner.buffers())
        device = tensors[0].device if tensors else None
        specs = tuple(specs_from(spec, device) for spec in input_spec)
        return _with_names(specs, self.parameter_names())


def is_found_on_class(function: object) -> bool:
    """Is it a method that the class of its object has under its name?"""
    if not isinstance(function, types.MethodType):
        return False
    found = inspect.getattr_static(type(function.__self__), function.__name__, None)
    return found is function.__func__


def parameter_names(function: Any) -> list[str]:
    """The names of what can be given to `function` by position."""
    target = function.forward if isinstance(function, torch.nn.Module) else function
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(target).parameters.values()
    except ValueError:  # a function in C that has no signature
        return []
    return [p.name for p in parameters if p.kind in kinds]


def _all_sizes(tree: Any) -> list[tuple[int | None, ...]]:
    return list(signature_of((tree,), {}).sizes)


def _with_names(specs: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
    """Tensors of the spec without a name are called after their parameter."""
    named = []
    for k, spec in enumerate(specs):
        if isinstance(spec, TensorSpec) and spec.name is None and k < len(names):
            spec = dataclasses.replace(spec, name=names[k])
        named.append(spec)
    return tuple(named)
