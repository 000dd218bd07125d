"""Methods of tensors and functions of torch whose results Python reads: numbers, lists, arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stator.capture.arrays import CapturedArray
from stator.capture.carry import list_of
from stator.capture.kinds import Kind, ListKind, NumberKind, TensorKind, column_types
from stator.capture.numbers import Number, kind_of_number
from stator.capture.places import current_place
from stator.capture.values import Columns, StagedList, Variant, distribute, first_variant
from stator.errors import UnsupportedCall
from stator.program.ir import Literal
from stator.program.types import ListType, NumberType
from stator.staging import lists
from stator.staging.gradients import gradients_inside, register_hook, requires_grad
from stator.staging.numpy_calls import array_of, tensor_of
from stator.staging.session import Session
from stator.staging.truth import item, number_kind


def tensor_item(session: Session, tensor: torch.Tensor) -> Any:
    """`tensor.item()`."""
    return item(session.recorder, tensor)


def tolist(session: Session, tensor: torch.Tensor) -> Any:
    """`tensor.tolist()`: numbers, in lists of known length, or in one list of the program."""
    if tensor.dim() == 0:
        return item(session.recorder, tensor)
    if isinstance(tensor.shape[0], int):
        return StagedList(tolist(session, tensor[k]) for k in range(tensor.shape[0]))
    recorder = session.recorder
    kind: Kind = NumberKind(number_kind(tensor.dtype))
    for _ in range(tensor.dim() - 1):
        kind = ListKind(kind)
    (column,) = column_types(kind)
    value = recorder.new_value(ListType(column))
    recorder.emit("stator::tensor_list", (recorder.arg(tensor),), [value])
    return list_of(Columns(kind, (value,)))


def unbind(session: Session, tensor: torch.Tensor, dim: int = 0) -> Any:
    """`tensor.unbind(dim)`: a list of the program where only a run knows how many there are."""
    if isinstance(tensor.shape[dim], int):
        return tensor.unbind(dim)
    shape = list(tensor.shape)
    del shape[dim]
    return _list_op(session, "aten::unbind.int", tensor, (dim,), shape)


def split(session: Session, tensor: torch.Tensor, split_size: Any, dim: int = 0) -> Any:
    """`torch.split`: a list of the program where only a run knows how many parts there are."""
    if isinstance(split_size, list | tuple) or isinstance(tensor.shape[dim], int):
        return tensor.split(split_size, dim)
    shape: list[Any] = list(tensor.shape)
    shape[dim] = None
    return _list_op(session, "aten::split.Tensor", tensor, (split_size, dim), shape)


def chunk(session: Session, tensor: torch.Tensor, chunks: int, dim: int = 0) -> Any:
    """`torch.chunk`: how many parts there are depends on the size."""
    if isinstance(tensor.shape[dim], int):
        return tensor.chunk(chunks, dim)
    shape: list[Any] = list(tensor.shape)
    shape[dim] = None
    return _list_op(session, "aten::chunk", tensor, (chunks, dim), shape)


def _list_op(session: Session, name: str, tensor: torch.Tensor, args: Any, shape: list[Any]) -> Any:
    recorder = session.recorder
    sizes = tuple(s.node.expr if isinstance(s, torch.SymInt) else s for s in shape)
    kind = TensorKind(tensor.dtype, tensor.device, sizes, tensor.requires_grad)
    element = lists.column_type(kind)
    value = recorder.new_value(ListType(element))
    program_args = tuple(recorder.arg(arg) for arg in (tensor, *args))
    recorder.emit(name, program_args, [value])
    return list_of(Columns(kind, (value,), tuple))


def squeeze(session: Session, tensor: torch.Tensor, dim: Any = None) -> Any:
    """`tensor.squeeze(dim)`: where only a run knows whether a size is 1, either rank comes out."""
    if isinstance(tensor, Variant):
        return session.recorder.apply(tensor, lambda one: squeeze(session, one, dim))
    rank = tensor.dim()
    dims = range(rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    chosen = sorted({one % rank for one in dims} if rank else ())
    for one in reversed(chosen):
        if isinstance(tensor, Variant) or isinstance(tensor.shape[one], torch.SymInt):
            return _squeeze_open(session, tensor, one, [k for k in chosen if k < one])
        tensor = tensor.squeeze(one)
    return tensor


def _squeeze_open(session: Session, tensor: torch.Tensor, dim: int, rest: list[int]) -> Any:
    """A size that may be 1; then the dimensions before it."""
    either = session.choose(tensor.shape[dim] == 1, lambda: tensor.select(dim, 0), lambda: tensor)
    return squeeze(session, either, tuple(rest)) if rest else either


def is_contiguous(_session: Session, tensor: torch.Tensor, *args: Any, **kwargs: Any) -> bool:
    """`tensor.is_contiguous()`, where its sizes are known."""
    if any(isinstance(size, torch.SymInt) for size in tensor.shape):
        raise UnsupportedCall(
            "whether a tensor is contiguous depends on sizes that only a run knows",
            at=current_place(), fix="call `.contiguous()`, which copies only where it must",
        )  # fmt: skip
    return tensor.is_contiguous(*args, **kwargs)


def _truth_op(name: str) -> Callable[..., Any]:
    """A function of torch that gives a Python bool: it is a captured one."""

    def call(session: Session, *args: Any, **kwargs: Any) -> Any:
        recorder = session.recorder
        if first_variant((args, kwargs)) is not None:
            return distribute(lambda *a, **k: call(session, *a, **k), args, kwargs)
        value = recorder.new_value(NumberType("bool"))
        attributes = {key: recorder.arg(item) for key, item in kwargs.items()}
        recorder.emit(name, tuple(map(recorder.arg, args)), [value], attributes=attributes)
        return recorder.number("bool", value)

    return call


TENSOR_METHODS: dict[str, Callable[..., Any]] = {
    "register_hook": register_hook, "requires_grad_": requires_grad,
    "item": tensor_item, "tolist": tolist, "numpy": array_of,
    "unbind": unbind, "split": split, "chunk": chunk,
    "squeeze": squeeze,
    "is_contiguous": is_contiguous,
    "equal": _truth_op("aten::equal"),
    "allclose": _truth_op("aten::allclose"),
    "is_nonzero": _truth_op("aten::is_nonzero"),
}  # fmt: skip


def new_tensor(session: Session, data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """`torch.tensor(data)`, also of captured numbers."""
    if isinstance(data, CapturedArray):
        return _stacked(session, data.tensor, kwargs.get("dtype") or data.tensor.dtype, None)
    if first_variant(data) is not None:
        return distribute(lambda d: new_tensor(session, d, *args, **kwargs), (data,), {})
    if lists.is_captured(data):
        return _tensor_of_list(session, data, *args, **kwargs)
    if not _has_number(data):
        return torch.tensor(data, *args, **kwargs)
    dtype = kwargs.get("dtype") or _default_dtype(data)
    made = _stacked(session, data, dtype, kwargs.get("device"))
    return made.requires_grad_() if kwargs.get("requires_grad") else made


def as_tensor(session: Session, data: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    """`torch.as_tensor(data)`."""
    if isinstance(data, CapturedArray):
        return torch.as_tensor(data.tensor, *args, **kwargs)
    if isinstance(data, Variant) or lists.is_captured(data) or _has_number(data):
        return new_tensor(session, data, *args, **kwargs)
    return torch.as_tensor(data, *args, **kwargs)


def _tensor_of_list(session: Session, items: StagedList, **kwargs: Any) -> Any:
    """`torch.tensor` of a list of the program; an empty one has torch's default dtype."""
    assert items.columns is not None
    rank, found = 1, items.columns.item
    while isinstance(found, ListKind):
        rank, found = rank + 1, found.item
    inferred = _dtype_of(found)
    if inferred is None:
        raise UnsupportedCall("`torch.tensor` of a list of items that are not numbers",
                              at=current_place(), fix="use `torch.stack` of tensors")  # fmt: skip
    dtype, default = kwargs.get("dtype"), torch.get_default_dtype()
    sizes = [session.recorder.fresh_size() for _ in range(rank)]

    def made(shape: list[Any], of: torch.dtype) -> torch.Tensor:
        tensor = _list_tensor(session, items, shape, of, kwargs.get("device"))
        return tensor.requires_grad_() if kwargs.get("requires_grad") else tensor

    if rank > 1:  # torch gives an empty one fewer dimensions
        session.refuse_if(
            lists.list_length(session.recorder, items) == 0,
            "this needs a list of lists that is not empty",
        )
    if dtype is not None or inferred == default or rank > 1:
        return made(sizes, dtype or inferred)
    length = lists.list_length(session.recorder, items)
    return session.choose(length == 0, lambda: made([0], default), lambda: made(sizes, inferred))


def _list_tensor(
    session: Session, items: StagedList, sizes: list[Any], dtype: torch.dtype, device: Any
) -> torch.Tensor:
    recorder = session.recorder
    assert items.columns is not None
    where = torch.device(device or torch.get_default_device())
    tensor = recorder.new_tensor(dtype, sizes, where, False)
    value = recorder.new_value(recorder.tensor_type(tensor))
    attributes = {"dtype": recorder.arg(dtype), "device": Literal("device", str(where))}
    recorder.emit("stator::list_tensor", items.columns.values, [value], attributes=attributes)
    recorder.bind(tensor, value)
    return tensor


def _dtype_of(kind: Kind) -> torch.dtype | None:
    """The dtype that torch gives to a tensor of such items; None where they are no numbers."""
    if isinstance(kind, NumberKind):
        found = {"bool": torch.bool, "int": torch.int64, "float": torch.get_default_dtype()}
        return found.get(kind.name)
    return kind.dtype if isinstance(kind, TensorKind) and not kind.sizes else None


def _has_number(data: Any) -> bool:
    if lists.is_captured(data):
        raise UnsupportedCall(
            "`torch.tensor` of a list that holds a list whose length only a run knows",
            at=current_place(), fix="use `torch.stack` of tensors",
        )  # fmt: skip
    if isinstance(data, list | tuple):
        return any(_has_number(part) for part in data)
    return isinstance(data, Number | torch.Tensor)


def _default_dtype(data: Any) -> torch.dtype:
    kinds = set(_kinds(data))
    if "float" in kinds:
        return torch.get_default_dtype()
    return torch.int64 if "int" in kinds else torch.bool


def _kinds(data: Any) -> list[str]:
    if isinstance(data, list | tuple):
        return [kind for part in data for kind in _kinds(part)]
    if isinstance(data, torch.Tensor):
        return [
            "float"
            if data.dtype.is_floating_point
            else "bool"
            if data.dtype == torch.bool
            else "int"
        ]
    return [kind_of_number(data)]


def _stacked(session: Session, data: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    if isinstance(data, list | tuple):
        return torch.stack([_stacked(session, part, dtype, device) for part in data])
    if isinstance(data, torch.Tensor):
        return data.detach().clone().to(dtype)
    return scalar_tensor(session, data, dtype, device)


def scalar_tensor(session: Session, number: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
    """A 0-d tensor of one number, captured or not."""
    recorder = session.recorder
    where = torch.device(device or torch.get_default_device())
    tensor = recorder.new_tensor(dtype, (), where, False)
    value = recorder.new_value(recorder.tensor_type(tensor))
    attributes = {"dtype": recorder.arg(dtype), "device": Literal("device", str(where))}
    recorder.emit("aten::scalar_tensor", (recorder.arg(number),), [value], attributes=attributes)
    recorder.bind(tensor, value)
    return tensor


TORCH_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.autograd.grad: gradients_inside,
    torch.tensor: new_tensor,
    torch.as_tensor: as_tensor,
    torch.unbind: unbind,
    torch.split: split,
    torch.chunk: chunk,
    torch.from_numpy: tensor_of,
    torch.squeeze: squeeze,
    torch.equal: _truth_op("aten::equal"),
    torch.allclose: _truth_op("aten::allclose"),
    torch.is_nonzero: _truth_op("aten::is_nonzero"),
}

_GRADIENT = ("gradients are not computed inside a program", "compute them outside, on its result")
_TRANSFORM = ("a function transform of `torch.func` inside a program", "call it outside")
_RANDOM_STATE = (
    "the state of the random generator is read or set inside a program", "do it around the call",
)  # fmt: skip
REFUSED_CALLS: dict[Any, tuple[str, str]] = {
    **dict.fromkeys(
        (
            torch.func.grad,
            torch.func.grad_and_value,
            torch.func.vjp,
            torch.func.jvp,
            torch.func.jacrev,
            torch.func.jacfwd,
            torch.func.hessian,
            torch.func.linearize,
        ),
        _TRANSFORM,
    ),
    torch.autograd.backward: _GRADIENT,
    "backward": _GRADIENT,
    "retain_grad": ("`retain_grad` of a captured tensor would be lost", "return the tensor"),
    "register_post_accumulate_grad_hook": ("a hook on a tensor would be lost", "set it outside"),
    "data_ptr": ("the address of a tensor is not part of a program", "leave it out"),
    "untyped_storage": ("raw storage cannot be captured", "use views"),
    torch.cond: ("`torch.cond` inside a program", "write a plain `if`"),
    torch.manual_seed: ("the random seed is set inside a program", "set it before the call"),
    torch.autograd.graph.saved_tensors_hooks: (
        "`saved_tensors_hooks` inside a program would be lost",
        "put it around the call of the static function",
    ),
    torch.get_rng_state: _RANDOM_STATE,
    torch.set_rng_state: _RANDOM_STATE,
    torch.random.fork_rng: _RANDOM_STATE,
    torch.initial_seed: _RANDOM_STATE,
}
