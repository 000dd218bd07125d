"""Signatures: what of a call's arguments a program was captured for.

A call has leaves: its tensors, numbers and strings. What may vary of a leaf is apart from the key:
the sizes of a tensor, the value of a number or a string. Both are fixed until they change.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

import numpy
import torch

from stator.api.input_spec import InputSpec
from stator.capture.inputs import FIELDS, SPEC_TYPES, ListSpec, ScalarKind, ScalarSpec, TensorSpec
from stator.english import with_article
from stator.errors import InputError, SpecMismatch
from stator.execute.arguments import describe
from stator.program.numbers import fits
from stator.torch_private.checks import count_function_modes
from stator.values.containers import GIVEN_DICT, LIST, TUPLE, Containers
from stator.values.kinds import NumberKind, TensorKind

AUTOCAST_DEVICES = ("cpu", "cuda", "xpu", "mps")
MODES = (
    "grad mode", "inference mode", *(f"autocast on {device}" for device in AUTOCAST_DEVICES),
    "the autocast cache", "the default dtype", "the default device", "the determinism flag",
)  # fmt: skip
TENSOR_FACTS = ("dtype", "device", "rank", "requires_grad", "class", "layout")
Size = int | str | None  # None is any; a float is here by its text
Sizes = tuple[tuple[Size, ...], ...]
NamedSizes = dict[str, tuple[int, str]]  # by name: the size, and where it was first
SCALARS: dict[type, ScalarKind] = {int: "int", float: "float", str: "str"}  # which may vary
ARGUMENTS = Containers(TUPLE, LIST, GIVEN_DICT)
SPECS = Containers(FIELDS, TUPLE, LIST, GIVEN_DICT)  # of `save`, also in the fields of a dataclass


@dataclass(frozen=True)
class GivenList:
    """A list of a call, as one leaf: a program takes it whatever its length."""

    items: tuple[Any, ...]
    kind: TensorKind | NumberKind  # of each item; a size that differs among them is None

    @property
    def sizes(self) -> tuple[Any, ...]:
        """What may vary of the items."""
        return self.kind.sizes if isinstance(self.kind, TensorKind) else ()

    @property
    def key(self) -> tuple[Any, ...]:
        """What may not."""
        kind = self.kind
        if isinstance(kind, NumberKind):
            return ("list of any length", kind.name)
        return ("list of any length", kind.dtype, kind.device, len(kind.sizes), kind.requires_grad)

    def spec(self, sizes: tuple[Any, ...]) -> ListSpec:
        """What a capture takes it for, with items of these sizes."""
        kind = self.kind
        return ListSpec(replace(kind, sizes=sizes) if isinstance(kind, TensorKind) else kind)


@dataclass(frozen=True)
class Signature:
    """A call's arguments: `key` is all of them but the leaves and what may vary of those."""

    key: tuple[Any, ...]
    sizes: Sizes  # of each leaf: those of a tensor; the value of a number or string, as one
    leaves: tuple[Any, ...]  # the tensors, numbers and strings, in order


def signature_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Signature:
    """The signature of one call, under the modes in force."""
    leaves: list[Any] = []
    seen: dict[int, int] = {}
    key = (_key(args, leaves, seen), _key(kwargs, leaves, seen), modes_key())
    return Signature(key, tuple(map(_sizes_of, leaves)), tuple(leaves))


def _sizes_of(leaf: Any) -> tuple[Size, ...]:
    if isinstance(leaf, GivenList):
        return leaf.sizes
    if isinstance(leaf, torch.Tensor):
        return tuple(leaf.shape)
    return (repr(leaf) if isinstance(leaf, float) else leaf,)  # 0.0 is not -0.0


def may_vary(value: object) -> bool:
    """Is it a number or a string that can be an input of a program?"""
    return type(value) in SCALARS and (type(value) is not int or fits(value))


def modes_key() -> tuple[Any, ...]:
    """The modes that change what ops mean; MODES names them."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        *[
            torch.is_autocast_enabled(device) and torch.get_autocast_dtype(device)
            for device in AUTOCAST_DEVICES
        ],
        torch.is_autocast_cache_enabled(),
        torch.get_default_dtype(),
        torch.get_default_device() if count_function_modes() else None,
        torch.get_deterministic_debug_mode(),
    )


def _key(value: Any, leaves: list[Any], seen: dict[int, int]) -> Any:
    """The key of one argument; `seen` numbers the tensors, lists and dicts so far, by their id."""
    if isinstance(value, torch.Tensor | list | dict):
        if id(value) in seen:
            return ("again", seen[id(value)], _new_key(value, leaves, seen))
        seen[id(value)] = len(seen)
    return _new_key(value, leaves, seen)


def _has_plain_ops(cls: type[torch.Tensor]) -> bool:
    """Does torch compute with tensors of `cls` as with any other, and give plain ones?"""
    is_plain = cls.__torch_function__ is torch.nn.Parameter.__torch_function__
    return is_plain or cls.__module__.partition(".")[0] in ("torch", "torchvision")


def _new_key(value: Any, leaves: list[Any], seen: dict[int, int]) -> Any:
    if isinstance(value, torch.Tensor):
        leaves.append(value)
        if value.layout is not torch.strided:
            raise InputError(f"an argument is a tensor of the layout {value.layout}",
                             fix="pass a dense tensor: `x.to_dense()`")  # fmt: skip
        if type(value) is not torch.Tensor and not _has_plain_ops(type(value)):
            raise InputError(
                f"an argument is {with_article(type(value).__name__)}, a subclass of torch.Tensor: "
                "the ops of a program give plain tensors",
                fix="pass a plain tensor: `x.as_subclass(torch.Tensor)`",
            )
        layout = "contiguous" if value.is_contiguous() else value.stride()
        return ("tensor", value.dtype, value.device, value.dim(), value.requires_grad,
                type(value), layout)  # fmt: skip
    if may_vary(value):
        leaves.append(value)
        return (type(value),)
    if isinstance(value, GivenList):
        leaves.append(value)
        return value.key
    if isinstance(value, list | tuple):
        return (type(value), *[_key(item, leaves, seen) for item in value])
    if isinstance(value, dict):
        return (type(value), *[(key, _key(item, leaves, seen)) for key, item in value.items()])
    if value is None or isinstance(value, bool | int | float | complex | str):
        return (type(value), repr(value) if isinstance(value, float | complex) else value)
    if isinstance(value, set | frozenset):
        return (type(value), *((type(item), item) for item in value))  # their order may count
    if isinstance(value, numpy.ndarray):
        return ("array", Identity(value), value.shape, str(value.dtype), value.tobytes())
    return ("object", Identity(value))


class Identity:
    """Compares by identity, and keeps its object alive so that the identity stays its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def specs_of(value: Any, sizes: list[tuple[Any, ...]], seen: dict[int, Any] | None = None) -> Any:
    """`value` with its leaves replaced by specs, their sizes taken from `sizes` in order.

    A number or a string whose size is not None stays as it is. A list or a dict that is there twice
    has one spec; `seen` has those so far, by their id.
    """
    seen = {} if seen is None else seen
    if may_vary(value):
        return ScalarSpec(SCALARS[type(value)]) if sizes.pop(0) == (None,) else value
    if isinstance(value, torch.Tensor):
        return TensorSpec(
            sizes.pop(0), value.dtype, value.device, value.requires_grad,
            strides=None if value.is_contiguous() else value.stride(),
            is_parameter=isinstance(value, torch.nn.Parameter), attributes=tuple(vars(value)),
            identity=id(value),
        )  # fmt: skip
    if isinstance(value, GivenList):
        return value.spec(sizes.pop(0))
    entry = ARGUMENTS.of(value)
    if entry is None:
        return value
    made = entry.like(value, [specs_of(item, sizes, seen) for item in entry.parts(value).items])
    return seen.setdefault(id(value), made) if isinstance(value, list | dict) else made


def specs_from(value: Any, device: torch.device | None = None) -> Any:
    """An input spec as the capture reads it: InputSpecs and tensors become TensorSpecs.

    An InputSpec names no device: its tensors are on `device`, or else on torch's default.
    """

    def spec(leaf: object) -> object:
        if isinstance(leaf, torch.Tensor):
            return InputSpec.from_tensor(leaf).tensor_spec(leaf.device)
        return leaf.tensor_spec(device) if isinstance(leaf, InputSpec) else leaf

    return SPECS.map(spec, value)


def sizes_in(specs: object) -> Sizes:
    """What specs say of the leaves of the calls that they are for."""
    return tuple(
        leaf.shape if isinstance(leaf, TensorSpec)
        else _item_sizes(leaf) if isinstance(leaf, ListSpec)
        else (None,) if isinstance(leaf, ScalarSpec)
        else _sizes_of(leaf)
        for leaf in ARGUMENTS.leaves(specs)
        if isinstance(leaf, SPEC_TYPES) or may_vary(leaf)
    )  # fmt: skip


def _item_sizes(spec: ListSpec) -> tuple[Any, ...]:
    return spec.item.sizes if isinstance(spec.item, TensorKind) else ()


def inputs_in(specs: object) -> tuple[int, ...]:
    """Which of the leaves of a call are inputs of the program: all but fixed numbers."""
    leaves = [
        leaf for leaf in ARGUMENTS.leaves(specs) if isinstance(leaf, SPEC_TYPES) or may_vary(leaf)
    ]
    return tuple(k for k, leaf in enumerate(leaves) if isinstance(leaf, SPEC_TYPES))


def fit(spec: Any, value: Any, path: str, named: NamedSizes, seen: dict[int, Any]) -> Any:
    """`spec` with what only the value can say (device, layout, requires_grad).

    SpecMismatch where they differ. `named` has the sizes of the call so far that have a name. A
    list or a dict that is there twice has one spec; `seen` has those so far, by their id.
    """
    made = _fit(spec, value, path, named, seen)
    return seen.setdefault(id(value), made) if isinstance(value, list | dict) else made


def _fit(spec: Any, value: Any, path: str, named: NamedSizes, seen: dict[int, Any]) -> Any:
    if isinstance(spec, TensorSpec):
        return _fit_tensor(spec, value, path, named)
    if isinstance(spec, ScalarSpec):
        return _fit_scalar(spec, value, path)
    if isinstance(spec, list | tuple) and isinstance(value, list | tuple):
        if len(spec) != len(value):
            raise SpecMismatch(f"{path} has {len(value)} items, its spec has {len(spec)}",
                               fix="call it with what the spec says")  # fmt: skip
        items = [
            fit(s, v, f"{path}[{k}]", named, seen)
            for k, (s, v) in enumerate(zip(spec, value, strict=True))
        ]
        return ARGUMENTS.like(spec, items)
    if isinstance(spec, dict) and isinstance(value, dict):
        if list(spec) != list(value):
            raise SpecMismatch(f"{path} has the keys {list(value)}, its spec has {list(spec)}",
                               fix="call it with what the spec says")  # fmt: skip
        return {key: fit(spec[key], value[key], f"{path}[{key!r}]", named, seen) for key in spec}
    if dataclasses.is_dataclass(spec) and not isinstance(spec, type) and spec is not value:
        raise SpecMismatch(
            f"{path} is a dataclass in the input_spec, which only `save` can take",
            fix="give the spec to `stator.save`, or pass its fields one by one",
        )
    if spec is not value and spec != value:
        raise SpecMismatch(
            f"{path} is {value!r}, its spec says {spec!r}",
            fix="call it with what the spec says, or leave it out of the spec",
        )
    return value


def _fit_tensor(spec: TensorSpec, value: Any, path: str, named: NamedSizes) -> TensorSpec:
    if not isinstance(value, torch.Tensor):
        raise SpecMismatch(f"{path} is {with_article(type(value).__name__)}, its spec says {spec}",
                           fix="pass a tensor")  # fmt: skip
    fits = len(spec.shape) == value.dim() and all(
        s is None or s == v for s, v in zip(spec.shape, value.shape, strict=True)
    )
    if spec.dtype != value.dtype or not fits:
        got = TensorSpec(tuple(value.shape), value.dtype, value.device, False)
        raise SpecMismatch(f"{path} is {got}, its spec says {spec}",
                           fix="pass a tensor that fits, or change the spec")  # fmt: skip
    for dimension, size in enumerate(value.shape):
        _check_name(spec.size_name(dimension), size, f"{path}.shape[{dimension}]", named)
    strides = None if value.is_contiguous() else value.stride()
    return replace(
        spec, device=value.device, requires_grad=value.requires_grad, strides=strides,
        identity=id(value),
    )  # fmt: skip


def _check_name(name: str | None, size: int, path: str, named: NamedSizes) -> None:
    if name is None:
        return
    known, first = named.setdefault(name, (size, path))
    if size != known:
        raise SpecMismatch(
            f"{path} is {size}, and {first} is {known}: the spec calls both `{name}`",
            fix="pass tensors whose sizes agree, or give the sizes different names",
        )


def _fit_scalar(spec: ScalarSpec, value: Any, path: str) -> Any:
    """None and a flag are fixed in a program: there is one for each value."""
    if value is None and spec.optional:
        return None
    if type(value).__name__ != spec.kind:
        raise SpecMismatch(f"{path} is {describe(value)}, its spec says {spec}",
                           fix=f"pass a Python {spec}, or change the spec")  # fmt: skip
    if spec.kind == "int" and not fits(value):
        raise SpecMismatch(f"{path} is {value}, which does not fit in 64 bits",
                           fix="pass a smaller number, or leave it out of the spec")  # fmt: skip
    return value if spec.kind == "bool" else replace(spec, optional=False)
