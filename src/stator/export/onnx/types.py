"""Types of a program as types of ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import onnx_ir as ir

from stator.errors import ExportError
from stator.location import Location
from stator.program.sizes import AnySize, Dim
from stator.program.types import (
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    TextType,
    Type,
)

D = ir.DataType
DTYPES: Mapping[str, ir.DataType] = MappingProxyType(
    {
        "float16": D.FLOAT16, "bfloat16": D.BFLOAT16, "float32": D.FLOAT, "float64": D.DOUBLE,
        "int8": D.INT8, "int16": D.INT16, "int32": D.INT32, "int64": D.INT64,
        "uint8": D.UINT8, "uint16": D.UINT16, "uint32": D.UINT32, "uint64": D.UINT64,
        "bool": D.BOOL,
    }
)  # fmt: skip
NUMBERS: Mapping[str, ir.DataType] = MappingProxyType(
    {"int": D.INT64, "float": D.DOUBLE, "bool": D.BOOL}
)


def element_type(kind: Type, at: Location | None) -> ir.DataType:
    """The element type of a tensor, number or string."""
    kind = present(kind)
    if isinstance(kind, TensorType) and kind.dtype in DTYPES:
        return DTYPES[kind.dtype]
    if isinstance(kind, NumberType) and kind.kind in NUMBERS:
        return NUMBERS[kind.kind]
    if isinstance(kind, TextType):
        return D.STRING
    raise ExportError(f"ONNX Runtime has no type for {kind}", at=at)


def onnx_type(kind: Type, at: Location | None = None) -> ir.TypeProtocol:
    """The type of a value; ExportError for one that ONNX does not have."""
    kind = present(kind)
    if isinstance(kind, ListType):
        if isinstance(present(kind.element), ListType):
            raise ExportError("ONNX has no lists of lists", at=at,
                              fix="keep one list, and the lengths of its parts")  # fmt: skip
        return ir.SequenceType(ir.TensorType(element_type(kind.element, at)))
    return ir.TensorType(element_type(kind, at))


def onnx_shape(kind: Type) -> ir.Shape | None:
    """The shape of a tensor, with the names of its dynamic sizes; of a number, none at all.

    A tensor that may be absent has no names: ONNX Runtime takes sizes of one name to be equal, and
    what replaces it has other sizes.
    """
    is_named = not isinstance(kind, OptionalType)
    kind = present(kind)
    if isinstance(kind, TensorType):
        sizes = (_dim(size) for size in kind.shape)
        return ir.Shape([size if is_named or isinstance(size, int) else None for size in sizes])
    return None if isinstance(kind, ListType) else ir.Shape([])


def _dim(size: Dim) -> int | str | None:
    if isinstance(size, int):
        return size
    return None if isinstance(size, AnySize) else str(size)


def present(kind: Type) -> Type:
    """The type of a value that is there: absent ones are replaced by a value that is never read."""
    return kind.element if isinstance(kind, OptionalType) else kind
