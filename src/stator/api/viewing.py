"""make_viewable(): what `stator.debug.view` is to know of static functions and loaded models."""

from __future__ import annotations

import inspect

import torch

from stator.api.static_function import StaticFunction
from stator.api.translated import TranslatedLayer
from stator.debug.view.subject import subject_of
from stator.debug.view.weights import weights_of
from stator.english import with_article
from stator.errors import InputError, SpecMismatch
from stator.page.subject import PageProgram, PageSubject, subject_of_methods
from stator.program.registry import argument_names


def make_viewable() -> None:
    """Add the kinds of this package to those that can be viewed."""
    subject_of.register(StaticFunction, _static_subject)
    subject_of.register(TranslatedLayer, _loaded_subject)
    subject_of.register(torch.nn.Module, _module_subject)


def _static_subject(source: StaticFunction) -> PageSubject:
    captured = source.concrete_programs
    if not captured:
        raise SpecMismatch(
            f"{source.__name__} has not been captured yet: there is no program to view",
            fix="call it once, or use `stator.explain` with arguments for it",
        )
    numbered = len(captured) > 1
    shown = tuple(
        PageProgram(f"{number}. because {one.reason}" if numbered else source.__name__, one.program)
        for number, one in enumerate(captured, 1)
    )
    return PageSubject(
        source.__qualname__,
        shown,
        tuple(weights_of(_tensors_of(getattr(source.dygraph_function, "__self__", None)))),
        argument_names,
        report=source.explain().to_dict(),
        start=len(shown) - 1,
        entry=_entry_of(source),
    )


def _entry_of(source: StaticFunction) -> tuple[str, int] | None:
    """Where the function that was converted begins."""
    code = getattr(inspect.unwrap(source.dygraph_function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else None


def _tensors_of(owner: object) -> dict[str, torch.Tensor]:
    """The tensors of the module that a method is bound to, by all their names."""
    if not isinstance(owner, torch.nn.Module):
        return {}
    return {
        **dict(owner.named_parameters(remove_duplicate=False)),
        **dict(owner.named_buffers(remove_duplicate=False)),
    }


def _module_subject(source: torch.nn.Module) -> PageSubject:
    if not isinstance(source.forward, StaticFunction):
        raise InputError(
            f"{with_article(type(source).__name__)} is not static: there is no program to view",
            fix="call `stator.to_static(model)`, and the model once",
        )
    return _static_subject(source.forward)


def _loaded_subject(source: TranslatedLayer) -> PageSubject:
    names = {buffer: name for name, buffer in source._stator_constants.items()}
    own = (
        *source.named_parameters(remove_duplicate=False),
        *source.named_buffers(remove_duplicate=False),
    )
    tensors = {names.get(name, name): tensor for name, tensor in own}
    return subject_of_methods(
        "loaded model", source._stator_methods, source._stator_programs,
        weights_of(tensors), source._stator_sources, argument_names,
    )  # fmt: skip
