"""Program -> plain JSON data; `decoding` is the way back, `docs/format.md` the description.

What JSON has no form for is an object with one key, which names the kind: `{"float": 0.5}`,
`{"float": "inf"}`, `{"value": "x"}`, `{"dtype": "float32"}`. So 1 and 1.0 differ for every reader.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from stator.english import with_article
from stator.errors import FormatError
from stator.location import Location, file_name
from stator.program import structure as shape
from stator.program.ir import Arg, Block, Literal, Op, StoredTensor, Value
from stator.program.program import Program
from stator.program.regions import without_regions
from stator.program.sizes import AnySize, Dim, SizeArg, SizeExpr, Symbol
from stator.program.types import (
    ListType,
    NumberType,
    ObjectType,
    OptionalType,
    TensorType,
    TextType,
    Type,
)

Json = Any  # None, bool, int, float, str, lists and dicts of these
MAX_NESTING = 100  # blocks in blocks; also lists in lists, structures in structures
LITERALS = ("dtype", "device", "layout", "memory_format")  # classes of torch
INT_LIMIT = 2**63
COLUMNS: dict[shape.ListName, str] = {
    "list": "columns", "tuple": "tuple_columns", "dict": "dict_columns",
}  # fmt: skip


class PlaceNames:
    """The names that places use, each stored once, in the order they are met.

    They are whole paths for another part of this process, and without folders in a file, which
    says nothing of the machine that wrote it.
    """

    def __init__(self, *, whole_paths: bool) -> None:
        self.whole_paths = whole_paths
        self.names: dict[str, int] = {}

    def index(self, path: str) -> int:
        """The position of the file in the table."""
        name = path if self.whole_paths else file_name(path)
        return self.names.setdefault(name, len(self.names))


def encode_program(
    program: Program, *, whole_paths: bool = False, with_regions: bool = False
) -> Json:
    """`program` as JSON data; FormatError names what the format cannot hold."""
    program = program if with_regions else without_regions(program)
    files = PlaceNames(whole_paths=whole_paths)
    functions = {name: encode_block(block, files) for name, block in program.functions.items()}
    uses = [{"name": use.name, "count": use.count} for use in program.state]
    return {
        "name": program.name,
        "inputs": [encode_input(value, program) for value in program.inputs],
        "stored": [encode_stored(stored) for stored in program.stored],
        "functions": functions,
        "body": encode_block(program.body, files),
        "input_structure": encode_structure(program.input_structure),
        "output_structure": encode_structure(program.output_structure),
        "files": list(files.names),
        **({"state": uses} if uses else {}),
    }


def encode_stored(stored: StoredTensor) -> Json:
    """A tensor stored beside the program."""
    return {"value": encode_value(stored.value), "name": stored.name, "kind": stored.kind}


def encode_value(value: Value) -> Json:
    """The definition of a value; a use of it is only its name."""
    return {"name": value.name, "type": encode_type(value.type)}


def encode_input(value: Value, program: Program) -> Json:
    """The definition of an input, and what the capture assumed of it."""
    facts = program.input_facts.get(value)
    if facts is None:
        return encode_value(value)
    layout = list(facts.layout) if isinstance(facts.layout, tuple) else facts.layout
    distinct = facts.distinct or None
    assumed = {"requires_grad": facts.requires_grad, "layout": layout, "distinct": distinct}
    return {**encode_value(value), **{k: fact for k, fact in assumed.items() if fact is not None}}


def encode_block(
    block: Block, files: PlaceNames, depth: int = 0, place: Location | None = None
) -> Json:
    """A block and all blocks inside it; `place` is that of the op which it is a block of."""
    check_nesting(depth, place)
    return {
        "inputs": [encode_value(value) for value in block.inputs],
        "ops": [encode_op(op, files, depth) for op in block.ops],
        "outputs": [encode_arg(arg) for arg in block.outputs],
    }


def encode_op(op: Op, files: PlaceNames, depth: int) -> Json:
    """An op; what is empty is left out."""
    encoded = {
        "name": op.name,
        "args": [encode_arg(arg) for arg in op.args],
        "attributes": {name: encode_arg(arg) for name, arg in op.attributes.items()},
        "results": [encode_value(value) for value in op.results],
        "blocks": [encode_block(block, files, depth + 1, op.place) for block in op.blocks],
        "place": encode_place(op.place, files) if op.place else None,
    }
    return {key: part for key, part in encoded.items() if part}


def encode_place(place: Location, files: PlaceNames) -> Json:
    """`[file, line, column, function]`."""
    return [files.index(place.file), place.line, place.column, place.function]


def encode_arg(arg: Arg, depth: int = 0) -> Json:
    """What an op is given."""
    check_nesting(depth)
    if isinstance(arg, Value):
        return {"value": arg.name}
    if isinstance(arg, tuple):
        return [encode_arg(item, depth + 1) for item in arg]
    return {arg.kind: arg.text} if isinstance(arg, Literal) else encode_constant(arg)


def encode_constant(constant: bool | int | float | complex | str | None) -> Json:
    """A Python constant."""
    if isinstance(constant, float):
        return {"float": encode_float(constant)}
    if isinstance(constant, complex):
        return {"complex": [encode_float(constant.real), encode_float(constant.imag)]}
    if isinstance(constant, int) and not -INT_LIMIT <= constant < INT_LIMIT:
        raise FormatError(f"the integer {constant} has more than 64 bits and cannot be saved",
                          fix="use a smaller integer, or a float")  # fmt: skip
    return constant


def _fixed(value: Any) -> Json:
    """A constant of a structure: Python's, or a dtype, a device and the like of torch."""
    cls = type(value)
    if cls.__module__ == "torch" and cls.__name__ in LITERALS:
        return {cls.__name__: str(value).removeprefix("torch.")}
    return encode_constant(_plain(value))


def _plain(value: Any) -> bool | int | float | complex | str | None:
    """`value`, which a file must be able to hold."""
    if value is None or isinstance(value, bool | int | float | complex | str):
        return value
    raise _not_in_a_file(type(value).__name__)


def _not_in_a_file(name: str) -> FormatError:
    return FormatError(
        f"an input or a result of the program is {with_article(name)}, which a file cannot hold",
        fix="return tensors, numbers, strings, and lists, tuples or dicts of these",
    )


def encode_float(number: float) -> Json:
    """A number as JSON has it, or the text `inf`, `-inf` or `nan`."""
    return number if math.isfinite(number) else str(number)


def encode_type(kind: Type) -> Json:
    """A type: an object whose one key says which."""
    if isinstance(kind, TensorType):
        shape = [encode_size(size) for size in kind.shape]
        return {"tensor": {"dtype": kind.dtype, "shape": shape, "device": kind.device}}
    if isinstance(kind, NumberType):
        tag = kind.tag
        if tag is None:
            return {"number": kind.kind}
        return {"tag": {"union": tag.union, "count": tag.count}}
    if isinstance(kind, OptionalType) and kind.present is not None:
        part = {"union": kind.present.union, "alternatives": list(kind.present.alternatives)}
        return {"part": {"type": encode_type(kind.element), **part}}
    if isinstance(kind, TextType):
        return {"text": None}
    if isinstance(kind, ObjectType):
        return {"object": None}  # in the JSON that a backend of this process gets, never in a file
    return {"list" if isinstance(kind, ListType) else "optional": encode_type(kind.element)}


def encode_size(size: Dim) -> Json:
    """A number, the name of a symbol, an expression, or null where nothing is known."""
    return None if isinstance(size, AnySize) or _depth(size) > MAX_NESTING else _size(size)


def _size(size: SizeArg) -> Json:
    if isinstance(size, Symbol):
        return size.name
    if isinstance(size, SizeExpr):
        return {size.op: [_size(arg) for arg in size.args]}
    return encode_constant(size)


def _depth(size: SizeArg) -> int:
    return 1 + max(map(_depth, size.args)) if isinstance(size, SizeExpr) else 0


def encode_structure(structure: shape.Structure, depth: int = 0) -> Json:
    """A structure: an object whose one key says which."""
    check_nesting(depth)
    return STRUCTURES[type(structure)](structure, depth + 1)


def _items(items: tuple[shape.Structure, ...], depth: int) -> Json:
    return [encode_structure(item, depth) for item in items]


def _record(record: shape.Record, depth: int) -> Json:
    """An object of a class that is no record is saved as one: a file makes no other objects."""
    items = _items(record.items, depth)
    kind = "namedtuple" if record.kind == "object" else record.kind
    return {kind: {"type": record.type_name, "fields": list(record.fields), "items": items}}


def _mapping(mapping: shape.Mapping, depth: int) -> Json:
    keys = [encode_constant(key) for key in mapping.keys]
    return {"dict": {"keys": keys, "items": _items(mapping.items, depth)}}


def _variant(variant: shape.Choice, depth: int) -> Json:
    alternatives = _items(variant.alternatives, depth)
    return {"variant": {"tag": variant.tag, "alternatives": alternatives}}


def _conversion(made: shape.Conversion, depth: int) -> Json:
    """A dict of another class is saved as a dict, a Parameter as a tensor; there are no sets."""
    (inner,) = made.items
    if made.name == "ndarray" or not (_is_dict(inner) or isinstance(inner, shape.Leaf)):
        raise _not_in_a_file(made.name)
    return encode_structure(inner, depth)


def _is_dict(structure: shape.Structure) -> bool:
    if isinstance(structure, shape.Choice):
        return all(map(_is_dict, structure.alternatives))
    return isinstance(structure, shape.Mapping) or (
        isinstance(structure, shape.RuntimeList) and structure.kind == "dict"
    )


STRUCTURES: Mapping[type, Callable[[Any, int], Json]] = MappingProxyType(
    {
        shape.Leaf: lambda leaf, _: {"leaf": leaf.position},
        shape.ConstantValue: lambda fixed, _: {"fixed": _fixed(fixed.value)},
        shape.Sequence: lambda items, depth: {items.kind: _items(items.items, depth)},
        shape.Mapping: _mapping,
        shape.Record: _record,
        shape.Choice: _variant,
        shape.RuntimeList: lambda columns, depth: {
            COLUMNS[columns.kind]: encode_structure(columns.item, depth)
        },
        shape.Conversion: _conversion,
    }
)


def check_nesting(depth: int, place: Location | None = None) -> None:
    """FormatError beyond the depth that every reader must be able to follow."""
    if depth > MAX_NESTING:
        raise FormatError(f"the program is nested more than {MAX_NESTING} deep", at=place,
                          fix="nest fewer branches and loops")  # fmt: skip


def encode_plain(item: object, depth: int = 0) -> Json:
    """A constant, or lists and dicts of constants, such as a model's metadata."""
    check_nesting(depth)
    if isinstance(item, list | tuple):
        return [encode_plain(part, depth + 1) for part in item]
    if isinstance(item, dict) and all(isinstance(key, str) for key in item):
        return {"dict": {key: encode_plain(part, depth + 1) for key, part in item.items()}}
    if item is None or isinstance(item, bool | int | float | complex | str):
        return encode_constant(item)
    raise FormatError(
        f"{with_article(type(item).__name__)} cannot be saved as metadata",
        fix="give numbers, strings, None, lists, and dicts with strings as keys",
    )
