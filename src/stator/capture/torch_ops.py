"""The name of an op of torch, and the ops that cannot be recorded."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import torch

from stator.errors import UnsupportedCall
from stator.torch_private import ops

IN_PLACE = (r"([\w.\[\]]+)\.data\s*=\s*(.+)", r"\1.copy_(\2)")
_SET_DATA = ("assigning `.data` cannot be recorded", "write in place: `x.copy_(...)`")
REFUSED_OPS = {
    "aten::set_data": _SET_DATA,
    # what torch asks first where Python assigns `.data`; the assignment itself is no op
    "aten::_has_compatible_shallow_copy_type": _SET_DATA,
    "aten::resize_": ("`resize_` cannot be recorded", "make a new tensor"),
    "aten::set_.source_Tensor": ("`set_` cannot be recorded", "make a new tensor"),
    "aten::set_": ("`set_` cannot be recorded", "make a new tensor"),
}
CONVERSIONS = frozenset(
    "aten::" + name
    for name in ("to.dtype", "to.dtype_layout", "to.device", "to.other", "type_as", "real")
)
RESHAPED: Mapping[str, str | None] = MappingProxyType(
    {  # ops that give a tensor another shape in place, and those that give it as a view
        "aten::unsqueeze_": "aten::unsqueeze",
        "aten::t_": "aten::t",
        "aten::transpose_": "aten::transpose.int",
        "aten::swapaxes_": "aten::swapaxes",
        "aten::swapdims_": "aten::swapdims",
        "aten::resize_as_": None,  # new memory
    }
)


def refusal_of(name: str) -> UnsupportedCall | None:
    """The error for an op that cannot be recorded; None for others."""
    if name not in REFUSED_OPS:
        return None
    problem, fix = REFUSED_OPS[name]
    edit = IN_PLACE if "`.data`" in problem else None
    return UnsupportedCall(problem, fix=fix, edit=edit)


def is_conversion(name: str, given: tuple[tuple[Any, ...], dict[str, Any]]) -> bool:
    """Do dtypes and devices alone, which every run has, decide whether it gives back its input?

    With a memory format, the strides of a run do.
    """
    values = (*given[0], *given[1].values())
    return name in CONVERSIONS and not any(isinstance(v, torch.memory_format) for v in values)


def op_name(func: Any) -> str:
    """`aten::add.Tensor`; the default overload has no suffix."""
    name: str = ops.schema(func).name
    overload = ops.schema(func).overload_name
    return f"{name}.{overload}" if overload else name
