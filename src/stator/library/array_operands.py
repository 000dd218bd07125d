"""Operators between a numpy array and a tensor: what numpy and torch make of them together.

A number of numpy's, which an item or a sum of an array is, counts as a Python number next to a
tensor. An array to the right of a tensor is computed with as numpy does, and gives a tensor; to the
left of one it is a TypeError, but for `/` and comparisons. In converted code, a number of numpy's
and an array without dimensions look the same. Where that makes a difference it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.state.session import Session
from stator.values.arrays import CapturedArray


def beside_tensor(session: Session, left: Any, right: Any) -> tuple[Any, Any]:
    """`left` and `right`, of which an array next to a tensor is a tensor or a number, too."""
    if isinstance(left, CapturedArray) and isinstance(right, torch.Tensor):
        return _operand(session, left, right, is_left=True), right
    if isinstance(right, CapturedArray) and isinstance(left, torch.Tensor):
        return left, _operand(session, right, left, is_left=False)
    return left, right


def _operand(session: Session, array: Any, tensor: torch.Tensor, *, is_left: bool) -> Any:
    held: torch.Tensor = array.tensor
    if held.dim():
        if is_left or held.dtype != tensor.dtype or tensor.requires_grad:
            raise _refused()
        return held
    with session.recorder.real():
        example = torch.empty([0] * tensor.dim(), dtype=tensor.dtype)
        number = torch.ones([], dtype=held.dtype).item()
        as_number = torch.result_type(example, number)
    if _promoted(tensor.dtype, held.dtype) != as_number:
        raise _refused()
    return session.interpreter.call(held.item)


def _promoted(one: torch.dtype, other: torch.dtype) -> torch.dtype | None:
    """The dtype that numpy gives two arrays."""
    try:
        names = [numpy.dtype(str(dtype).removeprefix("torch.")) for dtype in (one, other)]
    except TypeError:
        return None
    found: torch.dtype | None = getattr(torch, numpy.promote_types(*names).name, None)
    return found


def _refused() -> UnsupportedCall:
    return UnsupportedCall(
        "an operator combines a tensor with a numpy array of another dtype or on its left",
        fix="make the array a tensor: `torch.from_numpy(a)`; or a number: `float(a)`",
    )
