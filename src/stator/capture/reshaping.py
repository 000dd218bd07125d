"""Reshaping in place: `transpose_` and the like of a tensor that the current block has made."""

from __future__ import annotations

from typing import Any

import torch

from stator.capture.any_recorder import AnyRecorder
from stator.capture.torch_ops import RESHAPED
from stator.errors import UnsupportedCall
from stator.program.ir import Arg


def is_made_here(recorder: AnyRecorder, tensor: torch.Tensor) -> bool:
    """Is `tensor` the result of an op of the block that is being written?"""
    value = recorder.scope.tensors.get(tensor)
    return any(value is result for op in recorder.scope.block.ops for result in op.results)


def reshape_in_place(
    recorder: AnyRecorder,
    func: Any,
    name: str,
    given: tuple[Arg, ...],
    examples: tuple[tuple[Any, ...], dict[str, Any]],
) -> Any:
    """A new shape in place: from here on the tensor is another value, over the same memory.

    NOTE: the value that it was keeps its shape, by which sizes of the program are defined.
    """
    args, kwargs = examples
    view = RESHAPED[name]
    was_empty = any(size == 0 for size in args[0].shape if isinstance(size, int))
    if view is None and not was_empty:
        raise UnsupportedCall(f"`{name}` of a tensor that is not empty is not supported",
                              fix="create a new tensor of that shape")  # fmt: skip
    with recorder.quiet():
        result = func(*args, **kwargs)
    value = recorder.new_value(recorder.tensor_type(result))
    if view is None:
        sizes = recorder.arg(list(result.shape))
        recorder.emit("aten::new_empty", (given[0], sizes), [value])
    else:
        recorder.emit(view, given, [value])
    recorder.bind(args[0], value)
    return result
