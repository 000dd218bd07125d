"""Examples: what the user gives as inputs; their leaves, and copies of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from stator.api.example import Example
from stator.english import with_article
from stator.errors import SpecMismatch
from stator.values.containers import Path
from stator_verify.trees import map_tree


def examples_of(inputs: Any) -> tuple[Example, ...]:
    """The examples that a user means: a tuple is one call's arguments, a list has many calls.

    >>> examples_of([(1, 2), {"x": 3}])
    (Example(1, 2), Example(x=3))
    """
    many = inputs if isinstance(inputs, list) else [inputs]
    if not many:
        raise SpecMismatch("there are no inputs to verify with", fix="give one example at least")
    return tuple(map(_example, many))


def _example(given: Any) -> Example:
    if isinstance(given, Example):
        return given
    if isinstance(given, dict):
        _check_names(given)
        return Example(**given)
    if type(given) is tuple:
        return Example(*given)
    if isinstance(given, torch.Tensor):
        return Example(given)
    raise SpecMismatch(
        f"{with_article(type(given).__name__)} is not a set of arguments",
        fix="give a tuple of arguments, a dict of named ones, or stator.Example(...)",
    )


def _check_names(given: dict[Any, Any]) -> None:
    for name in given:
        if not isinstance(name, str):
            raise SpecMismatch(
                f"{name!r} is not the name of an argument",
                fix="give positional arguments as a tuple, or use stator.Example(...)",
            )


# ---- leaves


@dataclass(frozen=True)
class ExampleLeaf:
    """A value among the arguments that is no container, and where it is."""

    path: Path
    value: Any


def leaves_of(example: Example) -> tuple[ExampleLeaf, ...]:
    """Every leaf, in order."""
    found: list[ExampleLeaf] = []

    def keep(value: Any, path: Path) -> Any:
        found.append(ExampleLeaf(path, value))
        return value

    map_example(keep, example)
    return tuple(found)


def replaced(example: Example, changes: dict[Path, Any]) -> Example:
    """`example` with other values at some of its leaves."""
    return map_example(lambda value, path: changes.get(path, value), example)


def map_example(function: Callable[[Any, Path], Any], example: Example) -> Example:
    """`example` with every leaf replaced by what `function` gives for it and its path."""
    args = [map_tree(function, arg, (k,)) for k, arg in enumerate(example.args)]
    kwargs = {name: map_tree(function, arg, (name,)) for name, arg in example.kwargs.items()}
    return Example(*args, **kwargs)


def words(path: Path, names: list[str]) -> str:
    """A leaf as the user would write it: `x`, `state[0]`, `options['scale']`."""
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        first = names[first] if first < len(names) else f"arg{first}"
    return str(first) + "".join(f"[{key!r}]" for key in rest)


def fingerprint(example: Example) -> tuple[object, ...]:
    """Equal for examples that are equal to the bit."""
    return tuple((leaf.path, *_print(leaf.value)) for leaf in leaves_of(example))


def _print(value: Any) -> tuple[object, ...]:
    if not isinstance(value, torch.Tensor):
        return (type(value), repr(value))
    if value.layout != torch.strided or value.is_quantized:
        return (id(value),)
    data = value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return (value.dtype, tuple(value.shape), value.stride(), value.requires_grad, hash(data))


# ---- copies


class Copier:
    """Copies tensors; those that share memory share it in the copies, too."""

    def __init__(self, *, learns: bool = False) -> None:
        self.learns = learns  # every float leaf requires grad
        self._made: dict[int, torch.Tensor] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}

    def example(self, example: Example) -> Example:
        """A copy of the arguments; objects other than containers and tensors are not copied."""
        return map_example(lambda value, _: self.leaf(value), example)

    def leaf(self, value: Any) -> Any:
        """A copy of a tensor; anything else as it is."""
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._made:
            self._made[id(value)] = self._tensor(value)
        return self._made[id(value)]

    def _tensor(self, value: torch.Tensor) -> torch.Tensor:
        learns = value.requires_grad or (self.learns and is_real(value))
        data = self._data(value.detach())
        if type(value) is torch.nn.Parameter:
            return torch.nn.Parameter(data, requires_grad=value.requires_grad)
        return data.requires_grad_(learns) if learns else data

    def _data(self, value: torch.Tensor) -> torch.Tensor:
        if type(value) is not torch.Tensor or value.layout != torch.strided or value.is_conj():
            return value.clone()
        storage = value.untyped_storage()
        place = storage.data_ptr()
        if place not in self._storages or place == 0:
            self._storages[place] = storage.clone()
        made = torch.empty(0, dtype=value.dtype, device=value.device)
        kept = self._storages[place]
        return made.set_(kept, value.storage_offset(), value.shape, value.stride())


def is_real(value: torch.Tensor) -> bool:
    """Can it have a gradient?"""
    return value.is_floating_point() or value.is_complex()
