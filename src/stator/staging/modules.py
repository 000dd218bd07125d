"""Calls of nn.Module: hooks run through staging; a tree of torch's own modules runs as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.modules import module as torch_module
from torch.nn.parallel import DistributedDataParallel

from stator.capture.places import current_place, is_library_file
from stator.errors import UnsupportedCall
from stator.staging import definitions
from stator.staging.gradients import hook_module
from stator.staging.lists import is_tuple
from stator.staging.session import Session

Call = Callable[..., Any]
# Torch's other modules look for what they have by name, so what is added elsewhere is not seen.
GOES_THROUGH_ALL = (
    torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict,
    torch.nn.ParameterList, torch.nn.ParameterDict,
)  # fmt: skip


def is_library_module(session: Session, module: torch.nn.Module) -> bool:
    """Is every module of this tree torch's own, without hooks?"""
    known = session.library_modules.get(id(module))
    if known is None:
        answer = _is_library_class(module) and not _hooks(module)
        answer = answer and all(is_library_module(session, m) for m in module.children())
        known = session.library_modules[id(module)] = (module, answer)
    return known[1]


def may_call_user_code(module: torch.nn.Module) -> bool:
    """Is there, inside one of torch's own modules, a module of a user's, or one with hooks?"""
    return _has_global_hooks() or any(
        not type(part).__module__.startswith("torch.") or (part is not module and _hooks(part))
        for part in module.modules()
    )


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
    session.own_module(module)
    guards.read_attribute(module, "training", module.training)
    guards.read_hooks(module)
    guards.read_global_hooks()
    if isinstance(module, DistributedDataParallel) or _is_sharded(module):
        raise UnsupportedCall(
            f"{type(module).__name__} inside a program: what it exchanges with other processes "
            "cannot be captured",
            at=current_place(), fix="convert the module inside it, and wrap or shard the result",
        )  # fmt: skip
    if is_library_module(session, module) and not _has_global_hooks():
        watch_tree(session, module)
        return call.library(module, args, kwargs)  # type: ignore[attr-defined]
    guards.read_attribute(module, "forward", module.forward)
    args, kwargs = _run_pre_hooks(call, module, args, kwargs)
    hooked = _has_backward_hooks(module)
    if hooked:
        args = hook_module(session, module, args, comes_out=False)
    result = call(module.forward, *args, **kwargs)
    result = _run_hooks(call, module, args, kwargs, result)
    if not hooked:
        return result
    made = hook_module(session, module, result if is_tuple(result) else (result,), comes_out=True)
    return made if is_tuple(result) else made[0]


def _has_backward_hooks(module: torch.nn.Module) -> bool:
    """Has it any, of the kind that sees whole modules? The old kind sees one op, whichever."""
    full, old = module._get_backward_hooks()
    if old:
        raise UnsupportedCall(
            f"{type(module).__name__} has backward hooks of the deprecated kind",
            at=current_place(), fix="use `register_full_backward_hook`",
        )  # fmt: skip
    return bool(full or module._get_backward_pre_hooks())


def _is_sharded(module: torch.nn.Module) -> bool:
    """Has `fully_shard` made it gather its parameters? By name: the import costs a second."""
    return any(cls.__name__ == "FSDPModule" for cls in type(module).__mro__)


def _has_global_hooks() -> bool:
    return bool(
        torch_module._global_forward_hooks
        or torch_module._global_forward_pre_hooks
        or torch_module._global_backward_hooks
        or torch_module._global_backward_pre_hooks
    )


def watch_tree(session: Session, module: torch.nn.Module) -> None:
    """Library code reads what a module has unseen: watch all of it, in the whole tree."""
    guards = session.guards
    for part in module.modules():
        session.own_module(part)
        guards.read_hooks(part)
        guards.read_attribute(part, "forward", part.forward)
        for table in (part._parameters, part._buffers, part._modules):
            if table or isinstance(part, GOES_THROUGH_ALL):
                guards.own(table)
                guards.read_contents(table)
        guards.read_all_attributes(part)


def _run_pre_hooks(call: Call, module: torch.nn.Module, args: Any, kwargs: Any) -> tuple[Any, Any]:
    hooks = (*torch_module._global_forward_pre_hooks.items(), *module._forward_pre_hooks.items())
    run: Any = call.run  # type: ignore[attr-defined]
    for key, hook in hooks:
        if key in module._forward_pre_hooks_with_kwargs:
            given = (hook, module, args, kwargs)
            args, kwargs = run(definitions.arguments_after_hook, given, {})
        else:
            args = run(definitions.positional_after_hook, (hook, module, args), {})
    return args, kwargs


def _run_hooks(call: Call, module: torch.nn.Module, args: Any, kwargs: Any, result: Any) -> Any:
    hooks = (*torch_module._global_forward_hooks.items(), *module._forward_hooks.items())
    for key, hook in hooks:
        named = (kwargs,) if key in module._forward_hooks_with_kwargs else ()
        given = (hook, module, args, *named, result)
        result = call.run(definitions.result_after_hook, given, {})  # type: ignore[attr-defined]
    return result
