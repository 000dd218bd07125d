"""requests_of(): which methods of a model are to be saved, and for which arguments."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from stator.api.captures import Request
from stator.api.input_spec import InputSpec
from stator.api.signature import ARGUMENTS
from stator.api.static_function import StaticFunction
from stator.capture.inputs import SPEC_TYPES, ScalarSpec
from stator.english import with_article
from stator.errors import SpecMismatch, nearest
from stator.values.attributes import class_entry

EXAMPLE = "pass input_spec=[InputSpec([None, 3], 'float32'), ...]"


def requests_of(
    model: Any,
    input_spec: Sequence[Any] | Mapping[str, Any] | None,
    methods: Mapping[str, Sequence[Any] | Mapping[str, Any] | None] | None,
    output_spec: Any,
) -> list[Request]:
    """A request for each method, in the order they are found or given."""
    _check_model(model)
    if methods is None:
        found = _found(model, input_spec)
        outputs = {"forward": output_spec}
    else:
        if input_spec is not None:
            raise SpecMismatch(
                "save takes input_spec or methods, not both",
                fix="give each method its spec: methods={'forward': [...]}",
            )
        found = {name: (_method(model, name), spec) for name, spec in methods.items()}
        outputs = _by_method(output_spec, found)
    return [
        Request(name, static, *_specs(static, spec), outputs.get(name))
        for name, (static, spec) in found.items()
    ]


def _check_model(model: Any) -> None:
    """SpecMismatch for what a call of `save` names by mistake: a class, a path, a state_dict."""
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise SpecMismatch(f"{model.__name__} is a class, not a module",
                           fix=f"save an instance of it: stator.save({model.__name__}(...), ...)"
                           )  # fmt: skip
    if not callable(model):
        raise SpecMismatch(
            f"{with_article(type(model).__name__)} cannot be saved",
            fix="give the model first, then the path: stator.save(model, path, ...)"
            if isinstance(model, str | os.PathLike)
            else "pass the module itself, not its state_dict"
            if isinstance(model, Mapping)
            else "pass a function, a method or an nn.Module",
        )


def example_calls(
    input_spec: Sequence[Any] | Mapping[str, Any] | None,
    methods: Mapping[str, Sequence[Any] | Mapping[str, Any] | None] | None,
) -> dict[str, Sequence[Any]]:
    """The arguments of each method whose spec is a list of tensors and constants."""
    given = methods if methods is not None else {"forward": input_spec}
    listed = {name: spec for name, spec in given.items() if isinstance(spec, Sequence)}
    return {name: spec for name, spec in listed.items() if _is_example(spec)}


def _is_example(spec: Sequence[Any]) -> bool:
    leaves = [*ARGUMENTS.leaves(tuple(spec))]
    is_spec = any(isinstance(leaf, InputSpec | ScalarSpec) for leaf in leaves)
    return not is_spec and any(isinstance(leaf, torch.Tensor) for leaf in leaves)


def _found(
    model: Any, input_spec: Sequence[Any] | Mapping[str, Any] | None
) -> dict[str, tuple[StaticFunction, Any]]:
    """`forward`, and every static method that has a spec."""
    if not isinstance(model, torch.nn.Module):
        return {"forward": (_static(model), input_spec)}
    others = {
        name: (static, static.input_spec)
        for name in _static_names(model)
        if (static := getattr(model, name)).input_spec is not None
    }
    forward = _static(model.forward)
    if others and input_spec is None and forward.input_spec is None and not _calls(forward):
        return others  # a model that is used by its other methods alone
    return {"forward": (forward, input_spec), **others}


def _static_names(model: torch.nn.Module) -> list[str]:
    """The names of static methods: of the class, first, then of the instance."""
    of_class = [n for cls in reversed(type(model).__mro__) for n in vars(cls)]
    names = dict.fromkeys([*of_class, *vars(model)])
    return [
        name
        for name in names
        if name != "forward"
        and not name.startswith("__stator_")  # bound methods that are kept for their captures
        and isinstance(_plain_attribute(model, name), StaticFunction)
    ]


def _plain_attribute(model: torch.nn.Module, name: str) -> Any:
    """What is under a name, without running a property."""
    if name in vars(model):
        return vars(model)[name]
    return class_entry(type(model), name)


def _static(function: Any) -> StaticFunction:
    return function if isinstance(function, StaticFunction) else StaticFunction(function)


def _method(model: Any, name: str) -> StaticFunction:
    if not isinstance(model, torch.nn.Module):
        raise SpecMismatch(f"{with_article(type(model).__name__)} has no methods to save",
                           fix="pass a module, or leave methods out")  # fmt: skip
    if name != "forward" and hasattr(torch.nn.Module, name):
        raise SpecMismatch(f"every module has a method {name!r}, which the loaded model could not "
                           "tell from a saved one", fix="give the method another name")  # fmt: skip
    found = getattr(model, name, None)
    if not callable(found) or isinstance(found, torch.nn.Module):
        raise SpecMismatch(f"{with_article(type(model).__name__)} has no method {name!r} to save",
                           fix="name its own methods",
                           edit=nearest(name, vars(type(model))))  # fmt: skip
    return _static(found)


def _by_method(output_spec: Any, found: Mapping[str, Any]) -> dict[str, Any]:
    if output_spec is None:
        return {}
    if not isinstance(output_spec, Mapping):
        raise SpecMismatch("with methods, output_spec is a dict of lists, one for each method",
                           fix="write output_spec={'forward': [...]}")  # fmt: skip
    for name in output_spec:
        if name not in found:
            raise SpecMismatch(f"output_spec names the method {name!r}, which is not saved",
                               fix=f"name one of {', '.join(found)}")  # fmt: skip
    return dict(output_spec)


def _specs(static: StaticFunction, spec: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments to capture with: those given, those of `to_static`, or those of a call."""
    wanted = spec if spec is not None else static.input_spec
    if wanted is not None:
        return static.specs_for(wanted)
    calls = _calls(static)
    if not calls:
        raise SpecMismatch(
            f"`save` needs an input_spec: `{static.__name__}` has none, and has not been called",
            fix=EXAMPLE,
        )
    if len(calls) > 1:
        listed = "".join(f"\n    {text}" for text in calls)
        raise SpecMismatch(
            f"`save` needs an input_spec: `{static.__name__}` has none, and was captured for "
            f"{len(calls)} types of calls:{listed}",
            fix="pass input_spec=[...] for one of them",
        )
    return next(iter(calls.values()))


def _calls(static: StaticFunction) -> dict[str, tuple[tuple[Any, ...], dict[str, Any]]]:
    """The captured calls, each under its text; of those with one text, the last."""
    programs = [one for one in static.concrete_programs if not one.takes_lists]
    return {_call_text(*program.specs): program.specs for program in programs}


def _call_text(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    named = [f"{name}={_spec_text(spec)}" for name, spec in kwargs.items()]
    return f"({', '.join([*map(_spec_text, args), *named])})"


def _spec_text(spec: Any) -> str:
    if isinstance(spec, SPEC_TYPES):
        return str(spec)
    if isinstance(spec, list | tuple):
        return f"[{', '.join(map(_spec_text, spec))}]"
    if isinstance(spec, dict):
        return f"{{{', '.join(f'{key!r}: {_spec_text(item)}' for key, item in spec.items())}}}"
    return repr(spec)
