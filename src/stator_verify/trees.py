"""Trees of containers: built again with other leaves, or laid out flat to be compared."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch

from stator.frames import is_library_file
from stator.values.containers import DICT, LIST, TUPLE, Containers, Path

ARGUMENTS = Containers(TUPLE, LIST, DICT)


def map_tree(function: Callable[[Any, Path], Any], tree: Any, path: Path = ()) -> Any:
    """`tree`, built again, with every leaf replaced."""
    return ARGUMENTS.map_paths(function, tree, path)


@dataclass(frozen=True)
class Item:
    """One place of a tree: a container's kind and keys, a tensor as it was then, or a value."""

    path: str
    value: Any


@dataclass(frozen=True)
class Container:
    """The class of a container, and its keys in order."""

    kind: str
    keys: tuple[Any, ...]


@dataclass(frozen=True)
class TreeSnapshot:
    """A tensor as it was at one moment."""

    data: torch.Tensor
    requires_grad: bool
    memory: int  # where its storage begins


@dataclass(frozen=True)
class FlatTree:
    """A tree that was laid out before, as it was then."""

    items: list[Item]


def flat(tree: Any, path: str = "") -> list[Item]:
    """`tree` laid out: every container and every leaf, in order, tensors copied."""
    return list(_flat(tree, path, set()))


def _flat(tree: Any, path: str, around: set[int]) -> Iterator[Item]:
    if isinstance(tree, torch.Tensor):
        yield Item(path, kept(tree))
        return
    if isinstance(tree, FlatTree):
        for item in tree.items:
            yield Item(path + item.path, item.value)
        return
    parts = parts_of(tree)
    if parts is None or id(tree) in around:
        yield Item(path, tree if parts is None else Container("the same again", ()))
        return
    yield Item(path, Container(kind_of(tree), tuple(key for key, _ in parts)))
    for key, item in parts:
        yield from _flat(item, f"{path}[{key!r}]", around | {id(tree)})


def kept(tensor: torch.Tensor) -> TreeSnapshot:
    """`tensor` as it is now."""
    strided = tensor.layout == torch.strided
    memory = tensor.untyped_storage().data_ptr() if strided and tensor.numel() else 0
    return TreeSnapshot(tensor.detach().clone(), tensor.requires_grad, memory)


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a container by key, in order; None of anything else."""
    parts = ARGUMENTS.parts(value)
    if parts is not None:
        return list(zip(*parts, strict=True))
    if isinstance(value, type | torch.nn.Module):
        return None
    if dataclasses.is_dataclass(value):
        return [
            (field.name, getattr(value, field.name, None)) for field in dataclasses.fields(value)
        ]
    return list(vars(value).items()) if is_users_object(value) else None


def is_users_object(value: Any) -> bool:
    """Is it an object with attributes, of a class that is no library's?"""
    if isinstance(value, SimpleNamespace):
        return True
    return hasattr(value, "__dict__") and is_users_class(type(value))


def is_users_class(cls: type) -> bool:
    """Is it defined in a file that is no library's?"""
    if cls.__module__ == "builtins":
        return False
    return not is_library_file(file_of(cls))


def file_of(cls: type) -> str:
    """The file of the module that it says it is from; of none, if there is none."""
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or "<unknown>"


def kind_of(value: Any) -> str:
    """The name of its class."""
    return type(value).__qualname__


def tensors_in(tree: Any) -> Iterator[torch.Tensor]:
    """The tensors of a tree, in order."""
    yield from _tensors_in(tree, frozenset())


def _tensors_in(tree: Any, around: frozenset[int]) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif id(tree) not in around and not isinstance(tree, FlatTree):
        for _, item in parts_of(tree) or ():
            yield from _tensors_in(item, around | {id(tree)})
