"""Calls of nn.Module: hooks run through staging; a tree of torch's own modules runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from stator.capture.places import current_place, is_library_file
from stator.errors import UnsupportedCall
from stator.staging.session import Session

Call = Callable[..., Any]


def is_library_module(session: Session, module: torch.nn.Module) -> bool:
    """Is every module of this tree torch's own, without hooks?"""
    known = session.library_modules.get(id(module))
    if known is None:
        answer = _is_library_class(module) and not _hooks(module)
        answer = answer and all(is_library_module(session, m) for m in module.children())
        known = session.library_modules[id(module)] = (module, answer)
    return known[1]


def _is_library_class(module: torch.nn.Module) -> bool:
    forward = module.forward
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    return (
        type(module).__module__.startswith("torch.")
        and code is not None
        and is_library_file(code.co_filename)
        and "forward" not in vars(module)
    )


def _hooks(module: torch.nn.Module) -> bool:
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )


def call_module(
    session: Session, call: Call, module: torch.nn.Module, args: Any, kwargs: Any
) -> Any:
    """`module(*args, **kwargs)`."""
    guards = session.guards
    guards.read_attribute(module, "training", module.training)
    guards.watch(module, ("hooks",), lambda: _hook_count(module), _hook_count(module), "hooks")
    if module._backward_hooks or module._backward_pre_hooks or torch_module._global_backward_hooks:
        raise UnsupportedCall(
            f"{type(module).__name__} has backward hooks, which a program does not keep",
            at=current_place(), fix="remove them, or hook the parameters with `register_hook`",
        )  # fmt: skip
    if is_library_module(session, module) and not _has_global_hooks():
        _watch_training(session, module)
        return call.library(module, args, kwargs)  # type: ignore[attr-defined]
    args, kwargs = _run_pre_hooks(call, module, args, kwargs)
    result = call(module.forward, *args, **kwargs)
    return _run_hooks(call, module, args, kwargs, result)


def _hook_count(module: torch.nn.Module) -> int:
    return len(module._forward_hooks) + len(module._forward_pre_hooks)


def _has_global_hooks() -> bool:
    return bool(torch_module._global_forward_hooks or torch_module._global_forward_pre_hooks)


def _watch_training(session: Session, module: torch.nn.Module) -> None:
    """A library module reads its own flags unseen: watch those of the whole tree."""
    for part in module.modules():
        session.guards.own(part)
        for table in (part._parameters, part._buffers, part._modules):
            session.guards.own(table)
            session.guards.read_contents(table)
        for name, value in vars(part).items():
            if isinstance(value, bool | int | float | str | tuple | type(None)):
                session.guards.read_attribute(part, name, value)


def _run_pre_hooks(call: Call, module: torch.nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    hooks = (*torch_module._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items())
    for key, hook in hooks:
        if key in module._forward_pre_hooks_with_kwargs:
            result = call(hook, module, args, kwargs)
            if result is not None:
                args, kwargs = result
        else:
            result = call(hook, module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


def _run_hooks(call: Call, module: torch.nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
    hooks = (*torch_module._global_forward_hooks.items(), *module._forward_hooks.items())
    for key, hook in hooks:
        if key in module._forward_hooks_with_kwargs:
            changed = call(hook, module, args, kwargs, result)
        else:
            changed = call(hook, module, args, result)
        if changed is not None:
            result = changed
    return result
