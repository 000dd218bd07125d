"""call_leaves(): the arguments of a call by the user's signature, as a saved program takes them.

def forward(self, feats, mask=None, *, scale=2.0)       saved for forward(InputSpec(...))

model(feats=x)  model(x, None)  model(x, scale=2.0)     all run the program on x
model(x, scale=3.0)                                     SpecMismatch: `scale` was saved as 2.0
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from stator.errors import SpecMismatch
from stator.execute.arguments import call_structure, describe, flatten_inputs
from stator.export.signatures import UNSAVED_DEFAULT
from stator.program.program import Program
from stator.program.signatures import output_text, structure_text
from stator.program.structure import (
    Choice,
    ConstantValue,
    Leaf,
    Record,
    Structure,
    positions_in,
)
from stator.program.structure import Mapping as Mapping_
from stator.program.structure import Sequence as Sequence_

Call = tuple[Sequence[Any], Mapping[str, Any]]


def describe_method(name: str, program: Program, signature: inspect.Signature | None) -> str:
    """`forward(feats: f32[s0, 4], steps=3) -> (f32[s0, 4], int)`; `steps` is fixed."""
    positional, keywords = call_structure(program.input_structure)
    names = _parameter_names(signature, len(positional))
    named = [*zip(names, positional, strict=True), *zip(keywords.keys, keywords.items, strict=True)]
    inputs = ", ".join(_describe_input(program, key, item) for key, item in named)
    return f"{name}({inputs}) -> {output_text(program)}"


def _describe_input(program: Program, name: object, structure: Structure) -> str:
    if isinstance(structure, ConstantValue):
        return f"{name}={structure.value!r}"
    if name is None:
        name = program.call_inputs[next(iter(positions_in(structure)))].name
    return f"{name}: {structure_text(structure, program.call_inputs)}"


def inputs_by_parameter(program: Program, signature: inspect.Signature | None) -> dict[str, str]:
    """The names of the program's inputs, by the parameters that they are given by."""
    return {  # of an input that may be None, the tag comes first
        name: program.call_inputs[max(positions_in(item))].name
        for name, item in _arguments(program, signature)
        if isinstance(item, Leaf | Choice)
    }


def arguments_in_words(
    involved: Mapping[str, str], program: Program, signature: inspect.Signature | None
) -> dict[str, str]:
    """What an error says of a call's arguments: each by its parameter, and by its spec's name."""
    names = spec_names(program, signature)
    return {
        names.get(own, own): kind
        for own, kind in involved.items()
        if not own.endswith(".tag")  # whether an input that may be None is there
    }


def spec_names(program: Program, signature: inspect.Signature | None) -> dict[str, str]:
    """What an error calls the inputs of a program, by their names in it: `x`, `batch[0].mask`."""
    parts = {
        program.call_inputs[position].name: path
        for name, item in _arguments(program, signature)
        for position, path in _paths(item, name)
    }
    own_names = {own: name for name, own in inputs_by_parameter(program, signature).items()}
    return {own: _with_spec_name(name, own) for own, name in (own_names | parts).items()}


def _arguments(
    program: Program, signature: inspect.Signature | None
) -> Iterator[tuple[str, Structure]]:
    """The arguments whose parameters are known."""
    positional, keywords = call_structure(program.input_structure)
    names = _parameter_names(signature, len(positional))
    for name, item in (
        *zip(names, positional, strict=True),
        *zip(keywords.keys, keywords.items, strict=True),
    ):
        if name is not None:
            yield str(name), item


def _paths(structure: Structure, path: str) -> Iterator[tuple[int, str]]:
    """The positions of the leaves of an argument, each with its place in it."""
    if isinstance(structure, Leaf):
        yield structure.position, path
    elif isinstance(structure, Sequence_):
        for index, item in enumerate(structure.items):
            yield from _paths(item, f"{path}[{index}]")
    elif isinstance(structure, Mapping_):
        for key, item in zip(structure.keys, structure.items, strict=True):
            yield from _paths(item, f"{path}[{key!r}]")
    elif isinstance(structure, Record):
        for field, item in zip(structure.fields, structure.items, strict=True):
            yield from _paths(item, f"{path}.{field}")


def _with_spec_name(path: str, own: str) -> str:
    """The place of an argument, with the name of its spec unless the capture has made that up."""
    is_made_up = own == re.sub(r"\W+", "_", path).rstrip("_") or re.fullmatch(r"arg(_\w+)?", own)
    return path if is_made_up else f"{path} (`{own}` in its spec)"


def call_leaves(
    program: Program, signature: inspect.Signature | None, method: str, call: Call
) -> tuple[Any, ...]:
    """What `program` takes in a call of the method that it was saved for."""
    if signature is not None:
        call = arrange_call(signature, program.input_structure, method, call)
    return flatten_inputs(
        program.input_structure, *call,
        types=[value.type for value in program.call_inputs],
        facts=[program.input_facts.get(value) for value in program.call_inputs],
        names=_positional_names(signature, program),
    )  # fmt: skip


def _positional_names(signature: inspect.Signature | None, program: Program) -> list[str]:
    """The names of the parameters, each with the name that its spec has if that is another one."""
    items = call_structure(program.input_structure)[0]
    names: list[str] = []
    for name, item in zip(_parameter_names(signature, len(items)), items, strict=True):
        if name is None:
            break
        own = program.call_inputs[item.position].name if isinstance(item, Leaf) else name
        is_named = name.isidentifier()  # an item of `*args` has a made-up name
        names.append(_with_spec_name(name, own) if is_named else name)
    return names


def _parameter_names(signature: inspect.Signature | None, count: int) -> list[str | None]:
    """The parameters that take the first `count` arguments; None where it is not known."""
    names: list[str | None] = []
    for one in signature.parameters.values() if signature is not None else ():
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            names += [f"{one.name}[{k}]" for k in range(count - len(names))]
        elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            names.append(one.name)
    return [*names, *[None] * count][:count]


def arrange_call(
    signature: inspect.Signature, structure: Structure, method: str, call: Call
) -> Call:
    """`call` with the arguments where the call that was captured had them.

    TypeError, as Python has it, for a call that does not fit the signature.
    """
    args, kwargs = call
    positional, keywords = call_structure(structure)
    if len(args) == len(positional) and kwargs.keys() == set(keywords.keys):
        return call
    names = tuple(map(str, keywords.keys))
    captured = _by_name(signature, range(len(positional)), dict(zip(names, names, strict=True)))
    _check_keywords(signature, method, kwargs)
    try:
        given = _by_name(signature, args, kwargs)
    except TypeError as error:
        raise TypeError(f"{method}{signature}: {error}") from None
    for path, value in given.items():
        if path not in captured:
            _check_default(signature, path, value)
    found = {slot: _value(signature, path, given) for path, slot in captured.items()}
    return [found[k] for k in range(len(positional))], {name: found[name] for name in names}


def _check_keywords(signature: inspect.Signature, method: str, kwargs: Mapping[str, Any]) -> None:
    """TypeError for a keyword that is no parameter: `bind` would name the parameter it lacks."""
    kinds = {one.kind for one in signature.parameters.values()}
    for name in kwargs:
        if name not in signature.parameters and inspect.Parameter.VAR_KEYWORD not in kinds:
            raise TypeError(f"{method}{signature}: got an unexpected keyword argument '{name}'")


Path = tuple[str, int | str | None]  # a parameter; the item of `*args` or the key of `**kwargs`


def _by_name(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[Path, Any]:
    """What a call gives, by parameter."""
    found: dict[Path, Any] = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found |= {(name, index): item for index, item in enumerate(value)}
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found |= {(name, key): item for key, item in value.items()}
        else:
            found[name, None] = value
    return found


def _value(signature: inspect.Signature, path: Path, given: Mapping[Path, Any]) -> Any:
    """What the call gives for a parameter that the program takes: an argument, or the default."""
    if path in given:
        return given[path]
    default = signature.parameters[path[0]].default
    if path[1] is not None or default in (inspect.Parameter.empty, UNSAVED_DEFAULT):
        raise SpecMismatch(f"{_words(path)} is missing, and the model was saved with it")
    return default


def _check_default(signature: inspect.Signature, path: Path, value: object) -> None:
    """An argument that the program does not take may be given if it is what was captured."""
    default = signature.parameters[path[0]].default
    if path[1] is None and type(value) is type(default) and value == default:
        return
    fixed = "" if path[1] is not None else f", which has `{path[0]}={default!r}`"
    raise SpecMismatch(
        f"{_words(path)} is not an input of the saved program{fixed}; the call passes "
        f"{describe(value)}",
        fix="leave it out, or save the model with an InputSpec or a value for it",
    )


def _words(path: Path) -> str:
    name, part = path
    return f"`{name}`" if part is None else f"`{name}[{part!r}]`"
