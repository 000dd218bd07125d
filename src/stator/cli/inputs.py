"""The inputs of a command as tensors and specs, bound to a function's parameters."""

from __future__ import annotations

import inspect
import itertools
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy
import safetensors
import safetensors.torch
import torch

from stator.api.input_spec import InputSpec
from stator.api.source_function import SCALARS
from stator.capture.inputs import ScalarKind, ScalarSpec
from stator.cli.failures import CommandFailure
from stator.cli.input_text import (
    ConstantText,
    FileText,
    InputText,
    TensorText,
    parse_input,
    parse_size,
)
from stator.cli.objects import CommandSubject, load_subject
from stator.cli.origin import Origin

UNNAMED_SIZE = 4  # of what is drawn where a size may be anything
INTEGERS = (0, 9)  # what is drawn for integers without a range


@dataclass(frozen=True)
class CommandInput:
    """One argument: what may come (`spec`), and a value that does."""

    name: str | None
    spec: Any
    value: Any


@dataclass(frozen=True)
class Arguments:
    """A call: its positional arguments, and those that can be given by name alone."""

    positional: tuple[CommandInput, ...]
    named: Mapping[str, CommandInput]

    @property
    def specs(self) -> list[Any] | dict[str, Any]:
        """The input_spec of the call: by position, or by name where a parameter has no position."""
        if not self.named:
            return [given.spec for given in self.positional]
        specs = {one.name: one.spec for one in self.positional if one.name is not None}
        if len(specs) < len(self.positional):
            raise CommandFailure(
                f"`{next(iter(self.named))}` is given by name, and arguments of `*` have no name",
                fix="wrap the function in one without `*`",
            )
        return specs | {name: given.spec for name, given in self.named.items()}

    @property
    def args(self) -> tuple[Any, ...]:
        """The values of the call, by position."""
        return tuple(given.value for given in self.positional)

    @property
    def kwargs(self) -> dict[str, Any]:
        """The values of the call, by name."""
        return {name: given.value for name, given in self.named.items()}

    def described(self) -> list[str]:
        """Each argument in a few words."""
        pairs = [*((one.name, one) for one in self.positional), *self.named.items()]
        return [f"{name}: {describe(one.value)}" for name, one in pairs]


class RandomInputs:
    """Random tensors from a seed; open sizes of one name are one size."""

    def __init__(self, seed: int, sizes: Sequence[str]) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._named: dict[str | None, int] = {None: UNNAMED_SIZE}
        self._named.update(map(parse_size, sizes))

    def tensor(self, text: TensorText) -> torch.Tensor:
        """A tensor as `text` says: of its values, or drawn."""
        shape = [self._size(size) for size in text.sizes]
        dtype: torch.dtype = getattr(torch, text.dtype)
        if text.value is not None:
            return tensor_of(text.value, dtype, shape, text)
        _check_range(text, dtype)
        if dtype == torch.bool:
            return torch.rand(shape, generator=self._generator) < 0.5
        if not (dtype.is_floating_point or dtype.is_complex):
            low, high = text.range or INTEGERS
            drawn = torch.randint(int(low), int(high) + 1, shape, generator=self._generator)
            return drawn.to(dtype)
        if dtype.is_complex:
            return torch.randn(shape, generator=self._generator, dtype=torch.complex128).to(dtype)
        if text.range is None:
            return torch.randn(shape, generator=self._generator).to(dtype)
        low, high = text.range
        return (torch.rand(shape, generator=self._generator) * (high - low) + low).to(dtype)

    def scalar(self, kind: ScalarKind) -> int | float | bool | str:
        """A number of this kind, drawn; or a string."""
        low, high = INTEGERS
        drawn = int(torch.randint(low, high + 1, (), generator=self._generator))
        values: dict[ScalarKind, int | float | bool | str] = {
            "int": drawn,
            "float": drawn / 2,
            "bool": drawn > high // 2,
            "str": f"text{drawn}",
        }
        return values[kind]

    def _size(self, size: int | str | None) -> int:
        if isinstance(size, int):
            return size
        if size not in self._named:  # each name another size, so that they are not mixed up
            free = (one for one in itertools.count(UNNAMED_SIZE) if one not in self._named.values())
            self._named[size] = next(free)
        return self._named[size]


def _check_range(text: TensorText, dtype: torch.dtype) -> None:
    """Nothing is drawn that the dtype would turn into something else."""
    if text.range is None or dtype.is_floating_point:
        return
    if dtype == torch.bool or dtype.is_complex:
        raise CommandFailure(f"--input: {text.dtype} takes no range", fix="leave the range out")
    limits = torch.iinfo(dtype)
    low, high = text.range
    if not (low.is_integer() and high.is_integer() and limits.min <= low <= high <= limits.max):
        raise CommandFailure(
            f"--input: {low:g}..{high:g} is not a range of {text.dtype}",
            fix=f"give two whole numbers from {limits.min} to {limits.max}",
        )


def read_inputs(
    texts: Sequence[str], seed: int = 0, sizes: Sequence[str] = ()
) -> list[CommandInput]:
    """What every `--input` gives, in order; a file may give several."""
    drawn = RandomInputs(seed, sizes)
    return [given for text in texts for given in _given(parse_input(text), drawn)]


def _given(text: InputText, drawn: RandomInputs) -> Iterator[CommandInput]:
    if isinstance(text, ConstantText):
        yield CommandInput(text.name, text.value, text.value)
    elif isinstance(text, TensorText):
        spec = InputSpec(text.sizes, text.dtype, text.name)
        yield CommandInput(text.name, spec, drawn.tensor(text))
    else:
        yield from _from_file(text)


def _from_file(text: FileText) -> Iterator[CommandInput]:
    for name, tensor in _read(text):
        yield CommandInput(name, InputSpec.from_tensor(tensor, name), tensor)


def _read(text: FileText) -> list[tuple[str | None, torch.Tensor]]:
    path = Path(text.path)
    if not path.is_file():
        raise CommandFailure(f"--input: there is no file {path}", fix="check the path")
    if path.suffix.lower() == ".safetensors":
        several = _load_safetensors(path)
    else:
        loaded = _load_numpy(path)
        if isinstance(loaded, numpy.ndarray):
            return [(text.name, _tensor(loaded, text))]
        several = {name: _tensor(array, text) for name, array in loaded.items()}
    if text.name is None:
        return list(several.items())
    if text.name in several:
        return [(text.name, several[text.name])]
    if len(several) == 1:
        return [(text.name, next(iter(several.values())))]
    raise CommandFailure(
        f"--input: {path} has no array `{text.name}`; it has {', '.join(several)}",
        fix=f"give `{path}` to use all of them by name",
    )


def _load_numpy(path: Path) -> Any:
    """An array, or a dict of them: the file itself says which."""
    try:
        with path.open("rb") as stream:
            loaded = numpy.load(stream, allow_pickle=False)
            if isinstance(loaded, numpy.ndarray):
                return loaded
            return {name: loaded[name] for name in loaded.files}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
        objects = "pickle" in str(error)  # numpy takes whatever it does not know for a pickle
        problem = "it is damaged, or holds Python objects" if objects else str(error)
        raise CommandFailure(
            f"--input: {path} cannot be read: {problem}",
            fix="write it with `numpy.save` or `numpy.savez`, from arrays of numbers",
        ) from error


def _load_safetensors(path: Path) -> dict[str, torch.Tensor]:
    try:
        return safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise CommandFailure(
            f"--input: {path} cannot be read: {error}", fix="write it with safetensors' `save_file`"
        ) from error


def _tensor(array: numpy.ndarray[Any, Any], text: FileText) -> torch.Tensor:
    try:
        return torch.from_numpy(numpy.ascontiguousarray(array).reshape(array.shape))
    except TypeError as error:
        raise CommandFailure(
            f"--input: {text.path} holds {array.dtype}, which no tensor can be", fix="write numbers"
        ) from error


def tensor_of(
    value: Any, dtype: torch.dtype, shape: Sequence[int] | None, text: Any
) -> torch.Tensor:
    """A tensor of the values of a literal; it must have this shape, if one is given."""
    try:
        made = torch.tensor(value, dtype=dtype)
        if not _keeps(torch.tensor(value), made):
            raise ValueError("this would change the values")
    except (TypeError, ValueError, RuntimeError) as error:
        raise CommandFailure(
            f"--input: {value!r} is not a tensor of {str(dtype).removeprefix('torch.')}",
            details=str(error),
            fix="give numbers, in lists of equal lengths",
        ) from error
    if shape is not None and isinstance(text, TensorText):
        fits = made.dim() == len(text.sizes) and all(
            not isinstance(size, int) or size == found
            for size, found in zip(text.sizes, made.shape, strict=True)
        )
        if not fits:
            raise CommandFailure(
                f"--input: the values have the sizes {list(made.shape)}, not {list(text.sizes)}",
                fix="make them agree",
            )
    return made


def _keeps(given: torch.Tensor, made: torch.Tensor) -> bool:
    """Is every number what it was given as? A float may lose digits; 1.5 is no integer."""
    if made.is_floating_point() or made.is_complex() or not given.numel():
        return True
    return not given.is_complex() and bool((made.double() == given.double()).all())


def load_call(target: str, origin: Origin) -> tuple[CommandSubject, Arguments]:
    """The object that `target` names, and the arguments that the options give it."""
    subject = load_subject(target, origin.init, origin.mode)
    return subject, arguments_for(subject, origin.inputs, origin.seed, origin.sizes)


def arguments_for(
    subject: CommandSubject, texts: Sequence[str], seed: int = 0, sizes: Sequence[str] = ()
) -> Arguments:
    """The call that the inputs make; without any, the one that the user's own spec describes."""
    given = read_inputs(texts, seed, sizes)
    if given or subject.own_spec is None:
        return _bind(subject, given)
    drawn, own = RandomInputs(seed, sizes), subject.own_spec
    if isinstance(own, Mapping):
        return _bind(subject, [replace(_of_own_spec(own[k], drawn), name=k) for k in own])
    return _bind(subject, [_of_own_spec(spec, drawn) for spec in own])


def _of_own_spec(spec: Any, drawn: RandomInputs) -> CommandInput:
    if isinstance(spec, type) and spec in SCALARS:
        spec = ScalarSpec(SCALARS[spec])
    if isinstance(spec, InputSpec):
        text = TensorText(spec.name, str(spec.dtype).removeprefix("torch."), spec.shape)
        return CommandInput(
            None, spec, drawn.tensor(text)
        )  # by position: it may be called otherwise
    if isinstance(spec, ScalarSpec):
        return CommandInput(None, spec, drawn.scalar(spec.kind))
    if isinstance(spec, torch.Tensor):
        return CommandInput(None, InputSpec.from_tensor(spec), spec)
    if isinstance(spec, list | tuple | dict):
        raise CommandFailure(
            "the object's own input_spec has tensors in a list or dict",
            fix="call it from Python: `stator.explain`, `stator.save`",
        )
    return CommandInput(None, spec, spec)


def _bind(subject: CommandSubject, given: Sequence[CommandInput]) -> Arguments:
    signature = _signature(subject.function)
    positional = [one for one in given if one.name is None]
    named = {one.name: one for one in given if one.name is not None}
    if signature is None:
        return Arguments((*positional, *named.values()), {})
    if len(named) + len(positional) < len(given):
        raise CommandFailure("two inputs have the same name", fix="give each argument once")
    try:
        bound = signature.bind(*positional, **named)
    except TypeError as error:
        raise CommandFailure(
            f"the inputs do not fit {subject.name}: {error}",
            details=f"{subject.name}{signature}",
            fix=_needed(signature),
        ) from error
    return _in_order(bound)


def _needed(signature: inspect.Signature) -> str:
    first = next(iter(signature.parameters), "x")
    return f'give --input "{first}:float32[None,784]" for each argument'


def _in_order(bound: inspect.BoundArguments) -> Arguments:
    """By position as far as that goes: what is left out before a given one has its default."""
    asked = {*bound.arguments}
    bound.apply_defaults()
    positional: list[CommandInput] = []
    last = 0
    named: dict[str, CommandInput] = {}
    for name, parameter in bound.signature.parameters.items():
        found = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional += found
            last = len(positional) if found else last
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= found
        elif parameter.kind is parameter.KEYWORD_ONLY:
            named |= {name: found} if name in asked else {}
        else:
            one = found if name in asked else CommandInput(None, found, found)
            positional.append(CommandInput(name, one.spec, one.value))
            last = len(positional) if name in asked else last
    return Arguments(tuple(positional[:last]), named)


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # a function in C that has none
        return None


def describe(value: Any) -> str:
    """`float32[2, 3]`, `3`, `'fast'`."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value)
