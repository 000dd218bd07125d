"""to_static: the decorator, and the call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import torch

from stator.api.static_function import StaticFunction
from stator.english import with_article
from stator.errors import ConversionError
from stator.execute.selection import check_backend
from stator.frames import user_facing
from stator.static.strategy import BuildStrategy

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
ModuleType = TypeVar("ModuleType", bound=torch.nn.Module)
# A module and its class can be called too, hence the overlaps: the first overload that fits counts.


class ToStatic(Protocol):
    """The decorator that `to_static` returns if it is called without a function."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: type[ModuleType], /
    ) -> type[ModuleType]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, function: ModuleType, /
    ) -> ModuleType: ...
    @overload
    def __call__(
        self, function: Callable[Parameters, Result], /
    ) -> StaticFunction[Parameters, Result]: ...


@overload
def to_static(
    function: None = None,
    input_spec: Any = None,
    build_strategy: BuildStrategy | None = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> ToStatic: ...
@overload
def to_static(  # type: ignore[overload-overlap]
    function: type[ModuleType],
    input_spec: Any = None,
    build_strategy: BuildStrategy | None = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> type[ModuleType]: ...
@overload
def to_static(  # type: ignore[overload-overlap]
    function: ModuleType,
    input_spec: Any = None,
    build_strategy: BuildStrategy | None = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> ModuleType: ...
@overload
def to_static(
    function: Callable[Parameters, Result],
    input_spec: Any = None,
    build_strategy: BuildStrategy | None = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> StaticFunction[Parameters, Result]: ...


@user_facing
def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: BuildStrategy | None = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> Any:
    """Make a function, a method or an nn.Module static. A module's `forward` is replaced in place.

    `input_spec` describes the arguments: an InputSpec or a constant for each, in a list or in a
    dict by parameter name. Without it, the sizes of the first call are fixed, and a size that
    changes later becomes dynamic. Code that cannot be captured raises an error; with
    `full_graph=False` the call runs eagerly instead, after one warning. `build_strategy` is a
    `stator.static.BuildStrategy` that selects optimizations. `backend` selects what runs the
    programs; it defaults to the environment variable `STATOR_BACKEND`, then to "native" if that is
    built, then to "interpreter". Without `function`, the result is a decorator.

    >>> import torch
    >>> @to_static
    ... def clip(x):
    ...     return x * 0 if x.sum() > 10 else x
    >>> clip(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if function is None:
        return functools.partial(
            to_static, input_spec=input_spec, build_strategy=build_strategy, backend=backend,
            full_graph=full_graph,
        )  # fmt: skip
    check_backend(backend)
    if build_strategy is not None and not isinstance(build_strategy, BuildStrategy):
        raise ConversionError(
            f"build_strategy is {with_article(type(build_strategy).__name__)}",
            fix="give a `stator.static.BuildStrategy`",
        )
    options: dict[str, Any] = {
        "full_graph": full_graph, "build_strategy": build_strategy, "backend": backend
    }  # fmt: skip
    if isinstance(function, StaticFunction):
        if build_strategy is not None or backend is not None:
            spec = function._input_spec if input_spec is None else input_spec
            return StaticFunction(function.dygraph_function, spec, **options)
        return function.specify(input_spec) if input_spec is not None else function
    if isinstance(function, torch.nn.Module):
        forward = function.forward
        if isinstance(forward, StaticFunction):
            forward = forward.dygraph_function
        function.forward = StaticFunction(forward, input_spec, **options, is_own=True)
        return function
    if isinstance(function, type) and issubclass(function, torch.nn.Module):
        function.forward = StaticFunction(function.forward, input_spec, **options)
        function.forward.__set_name__(function, "forward")
        return function
    if not callable(function):
        raise ConversionError(
            f"{with_article(type(function).__name__)} cannot be made static",
            fix="give the input spec by its name: to_static(input_spec=...)"
            if isinstance(function, list | tuple | dict)
            else "pass a function, a method or an nn.Module",
        )
    return StaticFunction(function, input_spec, **options)
