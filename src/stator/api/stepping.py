"""target_of(): how functions, modules and loaded models are stepped through."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from stator.api.concrete import observed_run
from stator.api.static_function import StaticFunction
from stator.api.translated import TranslatedLayer, prepared_by
from stator.debug.stepping.targets import Target, Targets, Watcher
from stator.english import with_article
from stator.errors import ConversionError


class _Layer:
    """A loaded model."""

    def __init__(self, layer: TranslatedLayer) -> None:
        self._layer = layer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._layer(*args, **kwargs)

    def observed(self, watcher: Watcher) -> contextlib.AbstractContextManager[None]:
        return prepared_by(self._layer, lambda program: observed_run(program, None, watcher))


class _Module:
    """A module; for the time that it is observed, its `forward` is static."""

    def __init__(self, module: torch.nn.Module) -> None:
        forward: Any = module.forward
        self._module = module
        self._forward = forward if isinstance(forward, StaticFunction) else StaticFunction(forward)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._module(*args, **kwargs)

    @contextlib.contextmanager
    def observed(self, watcher: Watcher) -> Iterator[None]:
        own = vars(self._module)
        before = own.get("forward")
        own["forward"] = self._forward
        try:
            with self._forward.observed(watcher):
                yield
        finally:
            if before is None:
                del own["forward"]
            else:
                own["forward"] = before


def target_of(function: Any) -> Target:
    """The target that `function` is."""
    if isinstance(function, TranslatedLayer):
        return _Layer(function)
    if isinstance(function, torch.nn.Module):
        return _Module(function)
    if isinstance(function, StaticFunction):
        return function
    if not callable(function):
        raise ConversionError(
            f"{with_article(type(function).__name__)} cannot be stepped through",
            fix="pass a function, a method, an nn.Module or a loaded model",
        )
    return StaticFunction(function)


def install_targets() -> None:
    """Let `stator.debug.step` know them."""
    Targets.of = staticmethod(target_of)
