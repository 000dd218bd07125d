"""Descriptions: what an op gives, remembered by what its arguments are like.

To learn what an op gives, torch runs it on tensors without data. That takes most of the time of a
capture, and most ops of a program have been described before: with arguments of the same dtypes,
sizes and strides. Only ops whose results follow from those are remembered: they give one new
tensor, write nothing, and no autocast is involved.

Where a size is symbolic, the description is for one capture, and only if torch needed nothing but
its own knowledge of sizes: no check that holds in one block alone, no new size.

Where gradients are taken, a remembered result is connected to the tensors that torch had connected
it to: `used_tensors` follows the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from stator.capture.any_recorder import AnyRecorder
from stator.capture.fake_rules import FAKE_RULES
from stator.capture.torch_ops import op_name
from stator.torch_private import ops
from stator.torch_private.dispatch import forward_ad_level
from stator.torch_private.fake import (
    FakeTensor,
    connected,
    is_alias,
    new_fake_tensor,
)
from stator.torch_private.ops import OpOverload
from stator.torch_private.trees import tree_leaves

KEPT = 20_000  # descriptions
STEPS = 64  # of torch's graph, for one op
STORED = (torch.Tensor, torch.nn.Parameter)
PLAIN = (int, float, bool, str, type(None), torch.dtype, torch.device, torch.memory_format)
# what these give does not depend on which number they are given, only on its type
ANY_NUMBER = frozenset(("add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt", "ge"))
# they write to arguments, which their schemas do not say
WRITING = frozenset(("batch_norm", "instance_norm"))


@dataclass(frozen=True)
class Description:
    """What one tensor is like; sizes and strides may be symbolic."""

    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    dtype: torch.dtype
    device: torch.device
    requires_grad: bool

    def make(self, recorder: AnyRecorder, given: object) -> torch.Tensor:
        """A tensor like this that is made of `given`."""
        fields = (self.shape, self.strides, self.dtype, self.device)
        make = functools.partial(new_fake_tensor, recorder.fake, *fields)
        return connected(make, _sources(recorder, given)) if self.requires_grad else make()


class _Indescribable(Exception):  # it is no error
    """An argument says more than a description can."""


_known: dict[object, Description] = {}  # of calls whose sizes are all known


def described(
    recorder: AnyRecorder, op: Any, given: tuple[Any, dict[str, Any]], run: Callable[[], Any]
) -> Any:
    """What `op` gives for `given`: a tensor as an earlier call gave, or what `run` gives."""
    key = _call_key(op, *given)
    if key is None:
        return _as_in_grad_mode(run(), given)
    sizes = recorder.sizes
    memory = sizes.descriptions if _is_symbolic(given) else _known
    known = memory.get(key)
    if known is not None:
        return known.make(recorder, given)
    before = sizes.consulted
    result = _as_in_grad_mode(run(), given)
    if memory is _known or sizes.consulted == before:
        _remember(recorder, memory, key, given, result)
    return result


def _is_symbolic(given: object) -> bool:
    return any(
        isinstance(leaf, torch.SymInt)
        or (isinstance(leaf, torch.Tensor) and leaf._has_symbolic_sizes_strides)
        for leaf in tree_leaves(given)
    )


def _sources(recorder: AnyRecorder, given: object) -> list[torch.Tensor]:
    """The tensors among `given` that a gradient flows to."""
    tensors = (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor))
    return [recorder.as_fake(tensor) for tensor in tensors if tensor.requires_grad]


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


def _remember(
    recorder: AnyRecorder,
    memory: dict[object, Description],
    key: object,
    given: Any,
    result: object,
) -> None:
    """A call with this `key` gives tensors like `result`."""
    if not isinstance(result, FakeTensor) or any(result is arg for arg in given[0]):
        return
    try:
        _tensor_key(result)
    except _Indescribable:
        return
    if result.storage_offset() or _shares_memory(recorder, result, given):
        return
    if result.requires_grad and not _is_made_of(result, _sources(recorder, given)):
        return
    if len(memory) >= KEPT:
        memory.clear()
    memory[key] = Description(
        tuple(result.shape), result.stride(), result.dtype, result.fake_device, result.requires_grad
    )


def _shares_memory(recorder: AnyRecorder, result: torch.Tensor, given: object) -> bool:
    """Is `result` a view of what is given? The schema of `unflatten`, say, does not tell."""
    tensors = (leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor))
    return any(is_alias(result, recorder.as_fake(tensor)) for tensor in tensors)


def _is_made_of(result: torch.Tensor, sources: list[torch.Tensor]) -> bool:
    """Does the graph of `result` lead to each of `sources`, and in a few steps?"""
    ends = [source.grad_fn for source in sources]
    waiting, seen = [result.grad_fn], list[Any]()
    while waiting and len(seen) < STEPS:
        node: Any = waiting.pop()
        if node is None or any(node is one for one in seen):
            continue
        seen.append(node)
        if any(node is end for end in ends):
            continue
        waiting += [following for following, _ in node.next_functions]
    leaves = [node.variable for node in seen if hasattr(node, "variable")]
    return all(
        any(
            one is (source if source.grad_fn is None else source.grad_fn)
            for one in (*seen, *leaves)
        )
        for source in sources
    )


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
    if cls is torch.SymInt:
        return (cls, value.node.expr)  # type: ignore[attr-defined]
    if cls is list or cls is tuple:
        return (cls, *(_key(item) for item in value))  # type: ignore[attr-defined]
    raise _Indescribable


def _tensor_key(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What `tensor`, which may be a stored one, is like."""
    if type(tensor) is FakeTensor:
        if tensor.constant is not None:
            raise _Indescribable
        device = tensor.fake_device
    elif type(tensor) in STORED:
        device = tensor.device
    else:
        raise _Indescribable
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_inference():
        raise _Indescribable
    if tensor.is_neg() or tensor.is_conj():
        raise _Indescribable
    shape, strides = tuple(map(_size_key, tensor.shape)), tuple(map(_size_key, tensor.stride()))
    takes_gradient = tensor.requires_grad and torch.is_grad_enabled()
    return shape, strides, tensor.dtype, device, takes_gradient


def _size_key(size: Any) -> object:
    return size if type(size) is int else size.node.expr
