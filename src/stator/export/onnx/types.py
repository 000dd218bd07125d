"""Types of a program as types of ONNX."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

import onnx_ir as ir

from stator.errors import ExportError
from stator.location import Location
from stator.program.sizes import AnySize, Dim, Symbol
from stator.program.types import ListType, NumberType, OptionalType, TensorType, TextType, Type
from stator.program.typing_rules import present

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


def is_stacked(kind: Type, fixed: Collection[Symbol]) -> bool:
    """Whether a list is one tensor: its items are numbers, or tensors of one shape.

    `fixed` has the sizes that are the same in the whole run: those of inputs.
    """
    kind = present(kind)
    item = present(kind.element) if isinstance(kind, ListType) else None
    if isinstance(item, TensorType):
        return all(isinstance(size, int) or size in fixed for size in item.shape)
    return isinstance(item, NumberType)


def onnx_type(
    kind: Type, at: Location | None = None, fixed: Collection[Symbol] = ()
) -> ir.TypeProtocol:
    """The type of a value; ExportError for one that ONNX does not have.

    A list is a tensor with one more dimension if its items have one shape, else a sequence. So a
    list of lists is a sequence if the inner ones are tensors.
    """
    kind = present(kind)
    if not isinstance(kind, ListType):
        return ir.TensorType(element_type(kind, at))
    item = present(kind.element)
    if isinstance(item, ListType):
        if not is_stacked(item, fixed):
            raise ExportError(
                "ONNX has no lists of lists whose items have several shapes", at=at,
                fix="keep one list, and the lengths of its parts",
            )  # fmt: skip
        item = item.element
    found = ir.TensorType(element_type(item, at))
    return found if is_stacked(kind, fixed) else ir.SequenceType(found)


def onnx_shape(kind: Type, fixed: Collection[Symbol] = ()) -> ir.Shape | None:
    """The shape of a tensor, with the names of its dynamic sizes; of a number, none at all.

    A tensor that may be absent has no names: ONNX Runtime takes sizes of one name to be equal, and
    what replaces it has other sizes.
    """
    is_named = not isinstance(kind, OptionalType)
    kind = present(kind)
    if isinstance(kind, ListType):
        item = onnx_shape(kind.element, fixed)
        return ir.Shape([None, *(item or ())]) if is_stacked(kind, fixed) else None
    if isinstance(kind, TensorType):
        sizes = (_dim(size) for size in kind.shape)
        return ir.Shape([size if is_named or isinstance(size, int) else None for size in sizes])
    return ir.Shape([])


def _dim(size: Dim) -> int | str | None:
    if isinstance(size, int):
        return size
    return None if isinstance(size, AnySize) else str(size)
