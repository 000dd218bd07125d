"""Methods of tensors and functions of torch whose results Python reads: numbers, lists, arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import torch

from stator.capture.conditions import choose, refuse_if
from stator.capture.conversions import item, number_kind
from stator.capture.dereference import dereferenced
from stator.capture.flatten import list_of
from stator.capture.known_tensors import known_tensor
from stator.capture.numbers import both, either
from stator.containers import lists
from stator.errors import UnsupportedCall
from stator.library.gradients import detach_in_place, gradients_inside, register_hook, requires_grad
from stator.library.numpy_calls import array_of, tensor_of
from stator.library.random_state import random_state, seed, set_random_state
from stator.program.ir import Literal
from stator.program.types import ListType, NumberType
from stator.state.session import Session
from stator.values.annotations import Args, Staged
from stator.values.arrays import CapturedArray
from stator.values.kinds import Kind, ListKind, NumberKind, TensorKind, column_types
from stator.values.staged import Columns, StagedList
from stator.values.symbolic import CapturedComplex, Number, kind_of_number
from stator.values.union import Union, distribute, first_union, over_unions


def tensor_item(session: Session, tensor: torch.Tensor) -> Staged:
    """`tensor.item()`."""
    return item(session.recorder, tensor)


def tolist(session: Session, tensor: torch.Tensor) -> Staged:
    """`tensor.tolist()`: numbers, in lists of known length, or in one list of the program."""
    recorder = session.recorder
    if tensor.dim() == 0:
        return item(recorder, tensor)
    if isinstance(tensor.shape[0], int):
        known = known_tensor(recorder, tensor)
        if known is not None:
            with recorder.real():
                return _staged_rows(known.tolist())
        return StagedList(tolist(session, tensor[k]) for k in range(tensor.shape[0]))
    kind: Kind = NumberKind(number_kind(tensor.dtype))
    for _ in range(tensor.dim() - 1):
        kind = ListKind(kind)
    (column,) = column_types(kind)
    value = recorder.new_value(ListType(column))
    recorder.emit("stator::tensor_list", (recorder.arg(tensor),), [value])
    return list_of(Columns(kind, (value,)))


def _staged_rows(items: Any) -> Staged:
    """Numbers in lists, as lists of converted code."""
    return StagedList(map(_staged_rows, items)) if isinstance(items, list) else items


def unbind(session: Session, tensor: torch.Tensor, dim: int = 0) -> Staged:
    """`tensor.unbind(dim)`: a list of the program where only a run knows how many there are."""
    if isinstance(tensor.shape[dim], int):
        return tensor.unbind(dim)
    shape = list(tensor.shape)
    del shape[dim]
    return _list_op(session, "aten::unbind.int", tensor, (dim,), shape)


def split(session: Session, tensor: torch.Tensor, split_size: object, dim: int = 0) -> Staged:
    """`torch.split`: a list of the program where only a run knows how many parts there are."""
    if isinstance(split_size, list | tuple) or isinstance(tensor.shape[dim], int):
        return tensor.split(split_size, dim)
    shape: list[object] = list(tensor.shape)
    shape[dim] = None
    return _list_op(session, "aten::split.Tensor", tensor, (split_size, dim), shape)


def chunk(session: Session, tensor: torch.Tensor, chunks: int, dim: int = 0) -> Staged:
    """`torch.chunk`: how many parts there are depends on the size."""
    if isinstance(tensor.shape[dim], int):
        return tensor.chunk(chunks, dim)
    shape: list[object] = list(tensor.shape)
    shape[dim] = None
    return _list_op(session, "aten::chunk", tensor, (chunks, dim), shape)


def _list_op(
    session: Session, name: str, tensor: torch.Tensor, args: Args, shape: list[Staged]
) -> Staged:
    recorder = session.recorder
    sizes = tuple(s.node.expr if isinstance(s, torch.SymInt) else s for s in shape)
    kind = TensorKind(tensor.dtype, tensor.device, sizes, tensor.requires_grad)
    element = lists.column_type(kind)
    value = recorder.new_value(ListType(element))
    program_args = tuple(recorder.arg(arg) for arg in (tensor, *args))
    recorder.emit(name, program_args, [value])
    return list_of(Columns(kind, (value,), tuple))


@over_unions("tensor")
def squeeze(session: Session, tensor: torch.Tensor, dim: Staged = None) -> Staged:
    """`tensor.squeeze(dim)`: where only a run knows whether a size is 1, either rank comes out."""
    rank = tensor.dim()
    dims = range(rank) if dim is None else (dim,) if isinstance(dim, int) else dim
    chosen = sorted({one % rank for one in dims} if rank else ())
    for one in reversed(chosen):
        if isinstance(tensor, Union) or isinstance(tensor.shape[one], torch.SymInt):
            return _squeeze_open(session, tensor, one, [k for k in chosen if k < one])
        tensor = tensor.squeeze(one)
    return tensor


def _squeeze_open(session: Session, tensor: torch.Tensor, dim: int, rest: list[int]) -> Staged:
    """A size that may be 1; then the dimensions before it."""
    either = choose(
        session.recorder, tensor.shape[dim] == 1, lambda: tensor.select(dim, 0), lambda: tensor
    )
    return squeeze(session, either, tuple(rest)) if rest else either


def is_contiguous(
    session: Session, tensor: torch.Tensor, *args: Staged, **kwargs: Staged
) -> Staged:
    """`tensor.is_contiguous()`: where its layout is not known, of the strides of the run."""
    if not session.recorder.knows_layout(tensor):
        if not args and not kwargs:
            return _is_contiguous_in_run(session, tensor)
        raise UnsupportedCall(
            "whether a tensor is contiguous depends on data-dependent sizes",
            fix="call `.contiguous()`, which copies only where it must",
        )
    return tensor.is_contiguous(*args, **kwargs)


@over_unions("tensor")
def contiguous(session: Session, tensor: torch.Tensor, *args: Staged, **kwargs: Staged) -> Staged:
    """`tensor.contiguous()`: torch dispatches no op for what is contiguous in the capture."""
    if not session.recorder.layouts_vary:
        return tensor.contiguous(*args, **kwargs)
    named = {"memory_format": args[0]} if args else kwargs
    return torch.ops.aten.contiguous.default(tensor, **named)


def _is_contiguous_in_run(session: Session, tensor: torch.Tensor) -> Staged:
    """Each size is 1, or its stride is the product of the sizes after it; or there is nothing."""
    result: Staged = True
    expected: Staged = 1
    for dim in reversed(range(tensor.dim())):
        size = tensor.shape[dim]
        result = both(result, either(size == 1, stride(session, tensor, dim) == expected))
        expected = expected * size
    return either(result, expected == 0)


def stride(session: Session, tensor: torch.Tensor, dim: int | None = None) -> Staged:
    """`tensor.stride()`: where its layout is not known, that of the run."""
    recorder = session.recorder
    if recorder.knows_layout(tensor):
        return tensor.stride() if dim is None else tensor.stride(dim)
    if dim is None:
        return tuple(stride(session, tensor, one) for one in range(tensor.dim()))
    args = (recorder.tensor_arg(tensor), dim)
    return recorder.number("int", recorder.emit_number("aten::sym_stride.int", args, "int"))


def storage_offset(session: Session, tensor: torch.Tensor) -> Staged:
    """`tensor.storage_offset()`: that of the run, which may be given a part of another tensor."""
    recorder = session.recorder
    args = (recorder.tensor_arg(tensor),)
    return recorder.number("int", recorder.emit_number("aten::sym_storage_offset", args, "int"))


def _truth_op(name: str) -> Callable[..., object]:
    """A function of torch that gives a Python bool: it is a captured one."""

    def call(session: Session, *args: object, **kwargs: object) -> Staged:
        recorder = session.recorder
        if first_union((args, kwargs)) is not None:
            return distribute(lambda *a, **k: call(session, *a, **k), args, kwargs)
        value = recorder.new_value(NumberType("bool"))
        attributes = {key: recorder.arg(item) for key, item in kwargs.items()}
        recorder.emit(name, tuple(map(recorder.arg, args)), [value], attributes=attributes)
        return recorder.number("bool", value)

    return call


def new_like(
    session: Session, tensor: torch.Tensor, data: Staged, *args: Staged, **kwargs: Staged
) -> torch.Tensor:
    """`tensor.new_tensor(data)`: with its dtype, on its device."""
    if first_union(data) is None and not (lists.is_captured(data) or _has_number(data)):
        return tensor.new_tensor(data, *args, **kwargs)
    given = {name: value for name, value in kwargs.items() if value is not None}
    like = {"dtype": tensor.dtype, "device": tensor.device}
    return new_tensor(session, data, *args, **{**like, **given})


TENSOR_METHODS: dict[str, Callable[..., Any]] = {
    "register_hook": register_hook, "requires_grad_": requires_grad, "detach_": detach_in_place,
    "new_tensor": new_like, "item": tensor_item, "tolist": tolist, "numpy": array_of,
    "unbind": unbind, "split": split, "chunk": chunk,
    "squeeze": squeeze,
    "is_contiguous": is_contiguous, "stride": stride, "storage_offset": storage_offset,
    "contiguous": contiguous,
    "equal": _truth_op("aten::equal"),
    "allclose": _truth_op("aten::allclose"),
    "is_nonzero": _truth_op("aten::is_nonzero"),
}  # fmt: skip


def new_tensor(session: Session, data: Staged, *args: Staged, **kwargs: Staged) -> torch.Tensor:
    """`torch.tensor(data)`, also of captured numbers."""
    if isinstance(data, CapturedArray):
        return _stacked(session, data.tensor, kwargs.get("dtype") or data.tensor.dtype, None)
    if first_union(data) is not None:
        return distribute(lambda d: new_tensor(session, d, *args, **kwargs), (data,), {})
    if lists.is_captured(data):
        return _tensor_of_list(session, data, *args, **kwargs)
    if not _has_number(data):
        return torch.tensor(data, *args, **kwargs)
    dtype = kwargs.get("dtype") or _default_dtype(data)
    made = _stacked(session, data, dtype, kwargs.get("device"))
    return made.requires_grad_() if kwargs.get("requires_grad") else made


@over_unions("data")
def as_tensor(session: Session, data: Staged, *args: Staged, **kwargs: Staged) -> torch.Tensor:
    """`torch.as_tensor(data)`."""
    if isinstance(data, CapturedArray):
        data = data.tensor
    if isinstance(data, torch.Tensor):  # the tensor itself: no copy, and with its gradient
        return _converted(data, *args, **kwargs)
    if lists.is_captured(data) or _has_number(data):
        return new_tensor(session, data, *args, **kwargs)
    return torch.as_tensor(data, *args, **kwargs)


def _converted(
    tensor: torch.Tensor, dtype: torch.dtype | None = None, device: Staged = None
) -> torch.Tensor:
    """`tensor` with this dtype on this device; itself where it has them."""
    where = tensor.device if device is None else torch.device(device)
    if where == tensor.device and dtype in (None, tensor.dtype):
        return tensor
    return tensor.to(device=where, dtype=dtype or tensor.dtype)


def _tensor_of_list(session: Session, items: StagedList, **kwargs: Staged) -> Staged:
    """`torch.tensor` of a list of the program; an empty one has torch's default dtype."""
    columns = items.columns
    assert columns is not None
    items = list_of(dereferenced(session.recorder, columns))
    assert items.columns is not None
    rank, found = 1, items.columns.item
    while isinstance(found, ListKind):
        rank, found = rank + 1, found.item
    inferred = _dtype_of(found)
    if inferred is None:
        raise UnsupportedCall("`torch.tensor` of a list of items that are not numbers",
                              fix="use a list of numbers, or `torch.stack` of tensors")  # fmt: skip
    dtype, default = kwargs.get("dtype"), torch.get_default_dtype()
    sizes = [session.recorder.fresh_size() for _ in range(rank)]

    def made(shape: list[Staged], of: torch.dtype) -> torch.Tensor:
        tensor = _list_tensor(session, items, shape, of, kwargs.get("device"))
        return tensor.requires_grad_() if kwargs.get("requires_grad") else tensor

    first = items
    for _ in range(rank - 1):  # torch gives an empty one fewer dimensions
        refuse_if(
            session.recorder,
            lists.list_length(session.recorder, first) == 0,
            "this needs a list of lists that is not empty",
        )
        first = lists.list_get(session.recorder, first, 0)
    if dtype is not None or inferred == default:
        return made(sizes, dtype or inferred)
    length = lists.list_length(session.recorder, first)
    empty = [*sizes[:-1], 0]
    return choose(
        session.recorder, length == 0, lambda: made(empty, default), lambda: made(sizes, inferred)
    )


def _list_tensor(
    session: Session, items: StagedList, sizes: list[object], dtype: torch.dtype, device: Staged
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


def _has_number(data: object) -> bool:
    if lists.is_captured(data):
        raise UnsupportedCall("`torch.tensor` of a list that holds a list of data-dependent length",
                              fix="use `torch.stack` of tensors")  # fmt: skip
    if isinstance(data, list | tuple):
        return any(_has_number(part) for part in data)
    return isinstance(data, Number | torch.Tensor)


def _default_dtype(data: object) -> torch.dtype:
    kinds = set(_kinds(data))
    if "float" in kinds:
        return torch.get_default_dtype()
    return torch.int64 if "int" in kinds else torch.bool


def _kinds(data: object) -> list[str]:
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


def _stacked(session: Session, data: object, dtype: torch.dtype, device: object) -> torch.Tensor:
    if isinstance(data, list | tuple):
        return torch.stack([_stacked(session, part, dtype, device) for part in data])
    if isinstance(data, torch.Tensor):
        return data.detach().clone().to(dtype)
    if not isinstance(data, Number | CapturedComplex | int | float | complex | numpy.generic):
        return torch.tensor([data])  # an error: it is no number
    return scalar_tensor(session, data, dtype, device)


def scalar_tensor(
    session: Session, number: object, dtype: torch.dtype, device: Staged
) -> torch.Tensor:
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
    **{getattr(torch.Tensor, name): handler for name, handler in TENSOR_METHODS.items()},
    torch.autograd.grad: gradients_inside,
    torch.tensor: new_tensor,
    torch.as_tensor: as_tensor,
    torch.unbind: unbind,
    torch.split: split,
    torch.chunk: chunk,
    torch.from_numpy: tensor_of,
    torch.squeeze: squeeze,
    torch.manual_seed: seed,
    torch.random.manual_seed: seed,  # another object, once Dynamo is imported
    torch.get_rng_state: random_state,
    torch.set_rng_state: set_random_state,
    torch.equal: _truth_op("aten::equal"),
    torch.allclose: _truth_op("aten::allclose"),
    torch.is_nonzero: _truth_op("aten::is_nonzero"),
}

_GRADIENT = (
    "`backward()` cannot be captured",
    "call it outside, on the result, or use `torch.autograd.grad` here",
)
_TRANSFORM = ("a transform of `torch.func` inside a program is not supported", "call it outside")
_RANDOM_STATE = (
    "the state of the random generator is read or set inside a program",
    "do it outside, before or after the call",
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
    torch.autograd.graph.saved_tensors_hooks: (
        "`saved_tensors_hooks` inside a program would be lost",
        "put it around the call of the static function",
    ),
    torch.initial_seed: _RANDOM_STATE,
    torch.seed: _RANDOM_STATE,
}
