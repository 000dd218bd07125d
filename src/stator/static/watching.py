"""ForeignCodeMode: what Python does with a symbolic tensor besides calling ops."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from stator.capture.recorder import Recorder
from stator.containers.tensor_index import read_tensor, write_tensor
from stator.errors import DataDependent, StatorError, UnsupportedCall

Tensor = torch.Tensor
READS: Mapping[Any, str] = MappingProxyType(
    {
        Tensor.numpy: "`.numpy()`",
        Tensor.__array__: "a numpy array of a tensor",
        Tensor.data_ptr: "`.data_ptr()`",
        Tensor.untyped_storage: "the storage of a tensor",
    }
)
GRAPH: Mapping[Any, str] = MappingProxyType(
    {
        Tensor.grad.__get__: "`.grad` is read",  # type: ignore[union-attr]
        Tensor.data.__get__: "`.data` is read",  # type: ignore[attr-defined]
        Tensor.data.__set__: "`.data` is assigned",  # type: ignore[attr-defined]
        Tensor.backward: "gradients are taken",
        Tensor.register_hook: "a hook on a gradient is registered",
    }
)
# Where ops run that a program cannot have: (end of the file's name, function) -> what it is.
FOREIGN: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (
            "torch/autograd/function.py",
            "apply",
        ): "a custom `autograd.Function` has its own backward",
        ("torch/autograd/__init__.py", "grad"): "gradients are taken",
        ("torch/autograd/__init__.py", "backward"): "gradients are taken",
        ("torch/_functorch/apis.py", "wrapped"): "`torch.func` transforms the ops",
    }
)
FOREIGN_NAMES = frozenset(function for _, function in FOREIGN)
TEXTS: tuple[Callable[..., Any], ...] = (Tensor.__repr__, Tensor.__format__)


class Refusals:
    """What was refused: user code may catch an error, but not what it says of the program."""

    def __init__(self) -> None:
        self.first: StatorError | None = None

    def keep(self, error: StatorError) -> StatorError:
        """`error`, remembered if it is the first."""
        self.first = self.first or error
        return error

    def raise_first(self) -> None:
        """Raise what was refused, if anything was."""
        if self.first is not None:
            raise self.first


class ForeignCodeMode(TorchFunctionMode):
    """Refuses, with the line, what a program cannot do; `real_of` gives what a tensor prints as."""

    def __init__(
        self, recorder: Recorder, refusals: Refusals, real_of: Callable[[Any], Any] | None = None
    ) -> None:
        super().__init__()
        self.recorder, self.refusals, self.real_of = recorder, refusals, real_of

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """`func`, unless it asks for a value or for the graph."""
        kwargs = kwargs or {}
        if func in READS:
            raise self.refusals.keep(DataDependent(
                f"Python code needs {READS[func]}, which is known only at run time",
                fix="compute it with torch, or use `stator.to_static`",
            ))  # fmt: skip
        if func in GRAPH:
            raise self.refusals.keep(_not_recorded(GRAPH[func]))
        if func in TEXTS and self.real_of is not None:
            with self.recorder.real():
                return func(self.real_of(args[0]), *args[1:], **kwargs)
        if func is Tensor.__getitem__:
            return read_tensor(args[0], _with_numbers(args[1]))
        if func is Tensor.__setitem__:
            return write_tensor(args[0], _with_numbers(args[1]), args[2])
        return func(*args, **kwargs)


def _with_numbers(key: Any) -> Any:
    """`key` with a tensor that is a single index as a number: torch would ask for its value."""
    if isinstance(key, tuple):
        return tuple(map(_with_numbers, key))
    is_index = isinstance(key, Tensor) and key.dim() == 0
    if is_index and not (key.dtype.is_floating_point or key.dtype in (torch.bool, torch.uint8)):
        return key.item()
    return key


def _not_recorded(problem: str) -> UnsupportedCall:
    return UnsupportedCall(
        f"{problem} here, which cannot be recorded",
        fix="do it outside of the program, or write it with plain ops",
    )


def refuse_foreign_code() -> None:
    """Ops under a custom backward, or under `torch.func`, do not mean what they are."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name in FOREIGN_NAMES:
            for (file, function), problem in FOREIGN.items():
                if code.co_name == function and code.co_filename.endswith(file):
                    raise _not_recorded(problem)
        frame = frame.f_back
