"""Descriptions: what an op gives, remembered by what its arguments are like.

To learn what an op gives, torch runs it on tensors without data. That takes most of the time of a
capture, and most ops of a program have been described before: with arguments of the same dtypes,
sizes and strides. Only ops whose results follow from those are remembered: they give new tensors,
write nothing, and no autocast, gradient or symbolic size is involved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.fake_rules import FAKE_RULES
from stator.capture.torch_ops import op_name
from stator.torch_private import ops
from stator.torch_private.dispatch import forward_ad_level
from stator.torch_private.fake import FakeTensor, FakeTensorMode, new_fake_tensor
from stator.torch_private.ops import OpOverload
from stator.torch_private.trees import tree_leaves

KEPT = 20_000  # descriptions
STORED = (torch.Tensor, torch.nn.Parameter)
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.memory_format)
# what these give does not depend on which number they are given, only on its type
ANY_NUMBER = frozenset(("add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt", "ge"))
# they write to arguments, which their schemas do not say
WRITING = frozenset(("batch_norm", "instance_norm"))


@dataclass(frozen=True)
class Description:
    """What one tensor is like."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def make(self, mode: FakeTensorMode) -> torch.Tensor:
        """A tensor like this."""
        return new_fake_tensor(mode, self.shape, self.strides, self.dtype, self.device)


class _Indescribable(Exception):  # it is no error
    """An argument says more than a description can."""


_known: dict[object, Description] = {}


def described(
    mode: FakeTensorMode, op: Any, given: tuple[Any, dict[str, Any]], run: Callable[[], Any]
) -> Any:
    """What `op` gives for `given`: a tensor as an earlier call gave, or what `run` gives."""
    key = _call_key(op, *given)
    if key is None:
        return _as_in_grad_mode(run(), given)
    known = _known.get(key)
    if known is not None:
        return known.make(mode)
    result = _as_in_grad_mode(run(), given)
    _remember(key, given[0], result)
    return result


def _as_in_grad_mode(result: Any, given: tuple[Any, dict[str, Any]]) -> Any:
    """`result`; a new tensor requires no gradient where none are taken.

    Torch's description of an op in Python, such as that of `pad`, may say that it does.
    """
    if torch.is_grad_enabled():
        return result
    for one in result if isinstance(result, list | tuple) else (result,):
        is_new = isinstance(one, torch.Tensor) and not one._is_view()
        if is_new and one.requires_grad and not any(one is arg for arg in tree_leaves(given)):
            one.requires_grad_(False)
    return result


def _call_key(op: OpOverload, args: Any, kwargs: dict[str, Any]) -> object | None:
    """What the result of the call follows from; None if it may follow from more."""
    if not _is_plain(op) or torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
        return None
    if torch.is_inference_mode_enabled() or forward_ad_level() >= 0:
        return None
    any_number = op.overloadpacket.__name__ in ANY_NUMBER
    try:
        given = tuple(_key(arg, any_number=any_number) for arg in args)
        named = tuple((name, _key(kwargs[name])) for name in sorted(kwargs))
    except _Indescribable:
        return None
    has_tensor = any(isinstance(arg, torch.Tensor) for arg in args)
    return (op, torch.get_default_dtype(), given, named) if has_tensor else None


def _remember(key: object, args: Any, result: object) -> None:
    """A call with this `key` gives tensors like `result`."""
    if not isinstance(result, FakeTensor) or any(result is arg for arg in args):
        return
    try:
        found = _tensor_key(result)
    except _Indescribable:
        return
    if result._is_view():  # `unflatten`, say, whose schema does not tell
        return
    if len(_known) >= KEPT:
        _known.clear()
    _known[key] = Description(*found)


@functools.cache
def _is_plain(op: OpOverload) -> bool:
    """Does `op` give one new tensor, write nothing, and need no rule of Stator's own?"""
    schema, name = ops.schema(op), op_name(op)
    if op.namespace != "aten" or name in FAKE_RULES or op.overloadpacket.__name__ in WRITING:
        return False
    if schema.is_mutable or any(argument.alias_info for argument in schema.arguments):
        return False
    returned = [str(one.type) for one in schema.returns]
    return returned == ["Tensor"] and schema.returns[0].alias_info is None and _is_static(op)


def _is_static(op: OpOverload) -> bool:
    """Does the shape that it gives follow from those that it is given?"""
    varying = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
    return not any(tag in op.tags for tag in varying)


def _key(value: object, *, any_number: bool = False) -> object:
    if isinstance(value, torch.Tensor):
        return _tensor_key(value)
    cls = type(value)
    if any_number and (cls is int or cls is float):
        return cls
    if cls in PLAIN:
        return (cls, value)
    if cls is list or cls is tuple:
        return (cls, *(_key(item) for item in value))  # type: ignore[attr-defined]
    raise _Indescribable


def _tensor_key(tensor: torch.Tensor) -> tuple[Any, ...]:
    """The fields of the description of `tensor`, which may be a stored one."""
    if type(tensor) is FakeTensor:
        if tensor.constant is not None:
            raise _Indescribable
        device = tensor.fake_device
    elif type(tensor) in STORED:
        device = tensor.device
    else:
        raise _Indescribable
    if tensor.requires_grad and torch.is_grad_enabled():
        raise _Indescribable
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_inference():
        raise _Indescribable
    if tensor.is_neg() or tensor.is_conj():
        raise _Indescribable
    shape, strides = tuple(tensor.shape), tensor.stride()
    if any(type(size) is not int for size in (*shape, *strides)):
        raise _Indescribable
    return shape, strides, tensor.dtype, device
