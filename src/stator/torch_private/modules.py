"""Tables and hooks of nn.Module."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.nn.modules import module as torch_module
from torch.nn.utils import parametrize
from torch.utils.hooks import BackwardHook

HOOK_TABLES = (
    "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks",
)  # fmt: skip
Hooks = Mapping[int, Any]
apply_of_module = torch.nn.Module._apply  # what `to`, `float` and `cpu` call


class Tables(NamedTuple):
    """The dicts in which a module keeps what it has; they are the module's own, not copies."""

    parameters: dict[str, torch.nn.Parameter | None]
    buffers: dict[str, torch.Tensor | None]
    modules: dict[str, torch.nn.Module | None]


def tables(module: torch.nn.Module) -> Tables:
    """Where `module` keeps its parameters, buffers and submodules, in the order of lookup.

    Before `Module.__init__` has run, it has none of them.
    """
    if "_modules" not in vars(module) and not hasattr(module, "_modules"):
        return Tables({}, {}, {})
    return Tables(module._parameters, module._buffers, module._modules)


def tables_up_to(module: torch.nn.Module, name: str) -> list[dict[Any, Any]]:
    """The tables that are searched for `name`, up to the one that has it."""
    found: list[dict[Any, Any]] = []
    for table in tables(module):
        found.append(table)
        if name in table:
            break
    return found


def hook_tables(module: torch.nn.Module) -> tuple[dict[int, Any], ...]:
    """The hooks of `module`."""
    return tuple(getattr(module, name) for name in HOOK_TABLES)


def global_hook_tables() -> tuple[dict[int, Any], ...]:
    """The hooks that all modules have."""
    return tuple(getattr(torch_module, f"_global{name}") for name in HOOK_TABLES)


def forward_hooks(module: torch.nn.Module) -> list[tuple[Any, bool]]:
    """The hooks to run after `forward`, in order; and whether each one takes keywords."""
    hooks = (*torch_module._global_forward_hooks.items(), *module._forward_hooks.items())
    return [(hook, key in module._forward_hooks_with_kwargs) for key, hook in hooks]


def forward_pre_hooks(module: torch.nn.Module) -> list[tuple[Any, bool]]:
    """The hooks to run before `forward`, in order; and whether each one takes keywords."""
    hooks = (*torch_module._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items())
    return [(hook, key in module._forward_pre_hooks_with_kwargs) for key, hook in hooks]


def backward_hooks(module: torch.nn.Module) -> tuple[list[Any], list[Any], list[Any]]:
    """The full backward hooks of `module`, those of the deprecated kind, and the pre-hooks."""
    full, deprecated = module._get_backward_hooks()
    return full, deprecated, module._get_backward_pre_hooks()


def new_backward_hook(module: torch.nn.Module) -> BackwardHook:
    """What torch puts around a module that has full backward hooks."""
    full, _, before = backward_hooks(module)
    return BackwardHook(module, full, before)


@contextmanager
def no_parametrization_cache() -> Iterator[None]:
    """Inside, `parametrize.cached()` caches nothing."""
    caching = parametrize._cache_enabled
    parametrize._cache_enabled = 0
    try:
        yield
    finally:
        parametrize._cache_enabled = caching
