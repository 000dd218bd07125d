"""Read results: what a read of the outside gave, and whether what it gives now is the same."""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stator.frames import is_library_file
from stator.torch_private.modules import hook_tables

SCALARS = (bool, int, float, complex, str, bytes, type(None))
FUNCTION_PARTS = operator.attrgetter("__code__", "__defaults__", "__kwdefaults__")
TENSOR_FACTS = operator.attrgetter("__class__", "dtype", "device", "requires_grad", "layout")
BOUND = (types.MethodType, types.BuiltinMethodType)  # another object at each access
# whose attributes are not in their `__dict__`, or are others there
COMPUTED = (type, types.ModuleType, torch.nn.Module, torch.Tensor)
ANY = object()  # in place of what the program reads again on every run
Heard = dict[tuple[Any, ...], tuple[str, Any]]  # key -> what it is in words, and what it gave


@dataclass(frozen=True)
class Contents:
    """What a container holds: the very objects, in order."""

    items: tuple[Any, ...]


@dataclass(frozen=True)
class AnyTensor:
    """In the place of a tensor that a read gave: any with these facts will do."""

    facts: Contents

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes that it must have."""
        return tuple(self.facts.items[-2])


def contents(obj: Any) -> Contents:
    """The items of a list, the keys and values of a dict, the members of a set, in their order."""
    if isinstance(obj, Mapping):
        return Contents((*obj, *obj.values()))
    return Contents(tuple(obj))


def values_in(tables: Sequence[Mapping[Any, Any]]) -> Contents:
    """The values of several dicts."""
    return Contents(tuple(value for table in tables for value in table.values()))


def hooks_of(module: object) -> Contents:
    """The hooks that `module` has."""
    if not isinstance(module, torch.nn.Module):  # it is gone
        return Contents((module,))
    return values_in(hook_tables(module))


def function_parts(function: types.FunctionType) -> Contents:
    """What of a function may be replaced in place, as a reload does."""
    return Contents(FUNCTION_PARTS(function))


def attribute_now(obj: Any, name: str, default: object) -> Any:
    """`obj.name`, or `default`; what `obj` itself no longer has, user code does not compute."""
    if isinstance(obj, types.ModuleType) and name not in vars(obj):
        own = vars(obj).get("__getattr__")
        if isinstance(own, types.FunctionType) and not is_library_file(own.__code__.co_filename):
            return default
    if isinstance(obj, COMPUTED):
        return getattr(obj, name, default)
    own = getattr(obj, "__dict__", None)
    if type(own) is dict and name in own:
        return own[name]
    found = inspect.getattr_static(type(obj), name, None)
    computes = (type(found), "__get__") if found is not None else (type(obj), "__getattr__")
    is_python = isinstance(inspect.getattr_static(*computes, None), types.FunctionType)
    return default if is_python else getattr(obj, name, default)


def item_of(obj: Any, key: Any, default: object) -> Any:
    """What `obj` has under `key`, or `default`."""
    try:
        return obj[key]
    except (KeyError, IndexError, TypeError):
        return default


def picked(own: dict[str, Any], pick: Callable[[dict[str, Any]], Any]) -> Contents:
    """What `pick` takes out of `own`; nothing if one is gone."""
    try:
        return Contents(pick(own))
    except KeyError:
        return Contents(())


def unchanged(now: Any, expected: Any) -> bool:
    """Would the capture have been the same with `now`?"""
    if now is expected or expected is ANY:
        return True
    if isinstance(expected, Contents):
        new, old = now.items, expected.items
        same = len(new) == len(old) and all(map(operator.is_, new, old))  # most often, and fast
        return same or (len(new) == len(old) and all(map(unchanged, new, old)))
    if isinstance(expected, AnyTensor):
        return isinstance(now, torch.Tensor) and tensor_facts(now) == expected.facts
    if isinstance(expected, float | complex):
        return type(now) is type(expected) and repr(now) == repr(expected)  # 0.0 is not -0.0
    if isinstance(expected, SCALARS):
        return type(now) is type(expected) and bool(now == expected)
    if isinstance(expected, torch.device):
        return bool(now == expected)
    if type(expected) is tuple:
        return type(now) is tuple and unchanged(Contents(now), Contents(expected))
    return isinstance(expected, BOUND) and bool(now == expected)


def tensor_facts(tensor: torch.Tensor) -> Contents:
    """What a capture knows of a stored tensor."""
    return Contents((*TENSOR_FACTS(tensor), tuple(tensor.shape), _strides(tensor)))


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    return tensor.stride() if tensor.layout is torch.strided else ()
