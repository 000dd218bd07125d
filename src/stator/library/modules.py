"""Calls of nn.Module: hooks run through staging; a tree of torch's own modules runs as it is."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

import torch
from torch.nn.parallel import DistributedDataParallel

from stator.capture.conditions import choose
from stator.containers.lists import is_tuple
from stator.containers.maybe_keys import refuse_partial
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.frames import is_library_file
from stator.library import torch_definitions
from stator.library.gradients import hook_module
from stator.state.session import Session
from stator.torch_private.modules import (
    backward_hooks,
    forward_hooks,
    forward_pre_hooks,
    global_hook_tables,
    hook_tables,
    tables,
)
from stator.values.annotations import Args, Keywords, Staged
from stator.values.contents import same_state, state_of
from stator.values.staged import StagedList

# Torch's other modules look for what they have by name, so what is added elsewhere is not seen.
GOES_THROUGH_ALL = (
    torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict,
    torch.nn.ParameterList, torch.nn.ParameterDict,
)  # fmt: skip


ENUMERATIONS = (
    "parameters", "named_parameters", "buffers", "named_buffers", "children", "named_children",
    "modules", "named_modules",
)  # fmt: skip


def enumerates(module: torch.nn.Module, function: object) -> bool:
    """Is `function` torch's own `parameters`, `modules` or the like, also inside `module`?"""
    return any(function is getattr(torch.nn.Module, name) for name in ENUMERATIONS) and all(
        getattr(type(part), name) is getattr(torch.nn.Module, name)
        for part in module.modules()
        for name in ENUMERATIONS
    )


def members(session: Session, method: Staged, args: Args, kwargs: Keywords) -> Staged:
    """`module.parameters()` and the like: an iterator over what the tables of the tree hold."""
    for part in method.__self__.modules():
        session.add_module(part)
        for table in tables(part):
            if not session.is_local(part):
                session.provenance.add_external(table)
            session.reads.read_contents(table)
    return session.interpreter.call(iter, StagedList(method(*args, **kwargs)))


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
    return any(hook_tables(module))


def call_module(session: Session, module: torch.nn.Module, args: Args, kwargs: Keywords) -> Staged:
    """`module(*args, **kwargs)`."""
    reads = session.reads
    session.add_module(module)
    reads.read_attribute(module, "training", module.training)
    reads.read_hooks(module)
    reads.read_global_hooks()
    if isinstance(module, DistributedDataParallel) or _is_sharded(module):
        raise UnsupportedCall(
            f"{type(module).__name__} inside a program: what it exchanges with other processes "
            "cannot be captured",
            fix="convert the module inside it, and wrap or shard the result",
        )  # fmt: skip
    if is_library_module(session, module) and not _has_global_hooks():
        varying = next((one.training for one in module.modules() if _varies(one.training)), None)
        if varying is not None:
            return _in_either_mode(session, module, varying, args, kwargs)
        watch_tree(session, module)
        return session.interpreter.call_library(module, args, kwargs)
    reads.read_attribute(module, "forward", module.forward)
    args, kwargs = _run_pre_hooks(session, module, args, kwargs)
    hooked = _has_backward_hooks(module)
    if hooked:
        args = hook_module(session, module, args, comes_out=False)
    result = session.interpreter.call(module.forward, *args, **kwargs)
    result = _run_hooks(session, module, args, kwargs, result)
    if not hooked:
        return result
    made = hook_module(session, module, result if is_tuple(result) else (result,), comes_out=True)
    return made if is_tuple(result) else made[0]


def _varies(training: object) -> bool:
    """Has a branch called `train()` or `eval()`, so that only a run knows the mode?"""
    return isinstance(training, torch.SymBool)


def _in_either_mode(
    session: Session, module: torch.nn.Module, training: Staged, args: Args, kwargs: Keywords
) -> Staged:
    """`module(*args, **kwargs)`, whose parts train where the number `training` is true."""
    parts = [part for part in module.modules() if part.training is training]

    def call(mode: Staged) -> Staged:
        _set_modes(parts, mode)
        try:
            return call_module(session, module, args, kwargs)
        finally:
            _set_modes(parts, training)

    return choose(session.recorder, training, lambda: call(True), lambda: call(False))


def _set_modes(parts: Iterable[torch.nn.Module], mode: Staged) -> None:
    for part in parts:
        vars(part)["training"] = mode


def _has_backward_hooks(module: torch.nn.Module) -> bool:
    """Has it any, of the kind that sees whole modules? The old kind sees one op, whichever."""
    full, deprecated, before = backward_hooks(module)
    if deprecated:
        raise UnsupportedCall(f"{type(module).__name__} has backward hooks of the deprecated kind",
                              fix="use `register_full_backward_hook`")  # fmt: skip
    return bool(full or before)


def _is_sharded(module: torch.nn.Module) -> bool:
    """Has `fully_shard` made it gather its parameters? By name: the import costs a second."""
    return any(cls.__name__ == "FSDPModule" for cls in type(module).__mro__)


def _has_global_hooks() -> bool:
    return any(global_hook_tables())


def has_tables(module: torch.nn.Module) -> bool:
    """Has `Module.__init__` run? Else there is nothing in it."""
    return hasattr(module, "_modules")


def watch_tree(session: Session, module: torch.nn.Module) -> None:
    """Library code reads what a module has unseen: watch all of it, in the whole tree."""
    reads = session.reads
    reads.read_global_hooks()
    for part in module.modules():
        session.add_module(part)
        reads.read_hooks(part)
        reads.read_attribute(part, "forward", part.forward)
        for table in tables(part):
            if table or isinstance(part, GOES_THROUGH_ALL):
                session.provenance.add_external(table)
                reads.read_contents(table)
        reads.read_all_attributes(part)


@contextlib.contextmanager
def tree_watch(session: Session, given: Iterable[object]) -> Iterator[None]:
    """Library code runs inside: what it changes of the modules in `given` is part of the program.

    `train()` sets an attribute of each module of a tree, `append` changes a table of one. What it
    reads is watched: see `watch_tree`.
    """
    everything = [one for one in given if isinstance(one, torch.nn.Module)]
    modules = [one for one in everything if has_tables(one)]
    bare = [one for one in everything if not has_tables(one)]
    parts = {id(part): part for module in modules for part in module.modules()}
    refuse_partial(table for part in parts.values() for table in (vars(part), *tables(part)))
    for module in modules:
        watch_tree(session, module)
    kept = [
        (part, obj, state_of(obj))
        for part in parts.values()
        for obj in (part, *tables(part), *hook_tables(part))
    ]
    yield
    for part, obj, before in kept:
        if not same_state(before, state_of(obj)):
            if any(obj is table for table in hook_tables(part)):
                _refuse_hook(session, part)
            if obj is not part and session.provenance.is_external(part):
                session.provenance.add_external(obj)
            session.note_change(obj, before)
    for module in filter(has_tables, bare):  # `Module.__init__` has just run
        for table in (*tables(module), *hook_tables(module)):
            session.provenance.add_created(table)


def _refuse_hook(session: Session, module: torch.nn.Module) -> None:
    """What calls a module in a run looks for hooks in the capture."""
    is_fresh = session.provenance.created_since(session.recorder.scope)
    if session.recorder.depth and not is_fresh(module):
        raise UnsupportedCall(
            f"a hook of {with_article(type(module).__name__)} is added or removed inside a branch "
            "or a loop of the program",
            fix="add it before, and test the condition in the hook",
        )  # fmt: skip


def _run_pre_hooks(
    session: Session, module: torch.nn.Module, args: Args, kwargs: Keywords
) -> tuple[Args, Keywords]:
    run = session.interpreter.run
    for hook, takes_keywords in forward_pre_hooks(module):
        if takes_keywords:
            given = (hook, module, args, kwargs)
            args, kwargs = run(torch_definitions.arguments_after_hook, *given)
        else:
            args = run(torch_definitions.positional_after_hook, hook, module, args)
    return args, kwargs


def _run_hooks(
    session: Session, module: torch.nn.Module, args: object, kwargs: object, result: object
) -> Staged:
    for hook, takes_keywords in forward_hooks(module):
        named = (kwargs,) if takes_keywords else ()
        given = (hook, module, args, *named, result)
        result = session.interpreter.run(torch_definitions.result_after_hook, *given)
    return result
