"""Plain JSON data -> Program: the way back from `encoding`; a fault is named by its place.

Nothing in the data is trusted: names of ops are only compared with what is registered, names of
dtypes with torch's own, names of values with those defined before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

import torch

from stator.export.allowed_ops import known_op
from stator.export.checking import (
    Damage,
    check_depth,
    checked,
    field,
    one_key,
    one_of,
    optional,
    texts,
)
from stator.export.encoding import COLUMNS, INT_LIMIT, LITERALS, Json
from stator.export.op_calls import check_call, check_try
from stator.location import Location
from stator.program import structure as shape
from stator.program.ir import Arg, Block, Literal, Op, Stored, Value
from stator.program.ops import OF_THIS_PROCESS, STATOR_OPS
from stator.program.program import Program
from stator.program.registry import constant_of
from stator.program.types import (
    ListType,
    NumberType,
    OptionalType,
    TensorType,
    TextType,
    Type,
)


def decode_program(data: Json, at: str) -> Program:
    """The program that `data` describes; Damage names the first fault."""
    files = texts(field(data, "files", list, at), f"{at}.files")
    if any("/" in name or "\\" in name for name in files):
        raise Damage(f"{at}.files", "must hold names of files, not paths")
    return ProgramReader(files).program(data, at)


class ProgramReader:
    """Reads one program; `values` are those defined so far, by name."""

    def __init__(self, files: tuple[str, ...]) -> None:
        self.files = files
        self.values: dict[str, Value] = {}

    def program(self, data: Json, at: str) -> Program:
        """The program; its parts are read in the order in which they define values."""
        inputs = self.definitions(field(data, "inputs", list, at), f"{at}.inputs")
        stored = tuple(
            self.stored(item, f"{at}.stored[{index}]")
            for index, item in enumerate(field(data, "stored", list, at))
        )
        functions = {
            name: self.block(block, f"{at}.functions.{name}")
            for name, block in field(data, "functions", dict, at).items()
        }
        body = self.block(field(data, "body", dict, at), f"{at}.body")
        before, after = (
            decode_structure(field(data, key, dict, at), f"{at}.{key}")
            for key in ("input_structure", "output_structure")
        )
        return Program(field(data, "name", str, at), inputs, stored, body, before, after, functions)

    def definitions(self, items: list[Json], at: str) -> tuple[Value, ...]:
        """New values, each with a name of its own."""
        return tuple(self.definition(item, f"{at}[{i}]") for i, item in enumerate(items))

    def definition(self, data: Json, at: str) -> Value:
        """A new value."""
        name, kind = field(data, "name", str, at), field(data, "type", dict, at)
        if name in self.values:
            raise Damage(at, f"defines %{name} once more")
        self.values[name] = Value(name, decode_type(kind, f"{at}.type"))
        return self.values[name]

    def stored(self, data: Json, at: str) -> Stored:
        """A tensor beside the program."""
        kinds = ("parameter", "buffer", "constant")
        kind = one_of(field(data, "kind", str, at), kinds, f"{at}.kind")
        value = self.definition(field(data, "value", dict, at), f"{at}.value")
        return Stored(value, field(data, "name", str, at), kind)  # type: ignore[arg-type] # checked

    def block(self, data: Json, at: str, depth: int = 0) -> Block:
        """A block and those inside it."""
        check_depth(depth, at)
        inputs = self.definitions(field(data, "inputs", list, at), f"{at}.inputs")
        ops = [
            self.op(item, f"{at}.ops[{index}]", depth)
            for index, item in enumerate(field(data, "ops", list, at))
        ]
        return Block(inputs, ops, self.args(field(data, "outputs", list, at), f"{at}.outputs"))

    def op(self, data: Json, at: str, depth: int) -> Op:
        """An op; its results do not exist yet where its blocks are read."""
        name = known_op(field(data, "name", str, at), at)
        args = self.args(optional(data, "args", list, at), f"{at}.args")
        attributes = {
            key: self.arg(item, f"{at}.attributes.{key}")
            for key, item in optional(data, "attributes", dict, at).items()
        }
        blocks = tuple(
            self.block(item, f"{at}.blocks[{index}]", depth + 1)
            for index, item in enumerate(optional(data, "blocks", list, at))
        )
        results = self.definitions(optional(data, "results", list, at), f"{at}.results")
        place = self.place(data["place"], f"{at}.place") if "place" in data else None
        op = Op(name, args, attributes, results, blocks, place)
        if name in OF_THIS_PROCESS:
            raise Damage(at, f"names {name}, which is for the process that captured it alone")
        if name == "stator::try":
            check_try(op, at)
        elif name not in STATOR_OPS:
            check_call(op, at)
        return op

    def args(self, items: list[Json], at: str) -> tuple[Arg, ...]:
        """What an op is given, or what a block yields."""
        return tuple(self.arg(item, at) for item in items)

    def arg(self, data: Json, at: str, depth: int = 0) -> Arg:
        """A value, a constant, or a list of these."""
        if isinstance(data, list):
            check_depth(depth, at)
            return tuple(self.arg(item, at, depth + 1) for item in data)
        if isinstance(data, dict):
            kind, part = one_key(data, at)
            if kind == "value":
                return self.use(checked(part, str, at), at)
            if kind in LITERALS:
                return decode_literal(kind, checked(part, str, at), at)
        return decode_constant(data, at)

    def use(self, name: str, at: str) -> Value:
        """The value of that name."""
        if name not in self.values:
            raise Damage(at, f"uses %{name}, which is not defined")
        return self.values[name]

    def place(self, data: Json, at: str) -> Location:
        """`[file, line, column, function]`."""
        match data:
            case [int(index), int(line), int(column), str(function)]:
                if 0 <= index < len(self.files):
                    return Location(self.files[index], line, column, function)
        raise Damage(at, "must be [file, line, column, function]")


def decode_literal(kind: str, text: str, at: str) -> Literal:
    """A dtype, device, layout or memory format of torch."""
    if kind == "device":
        decode_device(text, at)
    elif type(vars(torch).get(text)) is not LITERALS[kind]:
        raise Damage(at, f"names {text!r}, which is no {kind} of torch")
    return Literal(kind, text)  # type: ignore[arg-type] # checked


def decode_device(text: str, at: str) -> str:
    """A device, by its name; it need not be there."""
    try:
        torch.device(text)
    except RuntimeError:
        raise Damage(at, f"names {text!r}, which is no device of torch") from None
    return text


def decode_constant(data: Json, at: str) -> bool | int | float | complex | str | None:
    """A Python constant."""
    if data is None or isinstance(data, bool | str):
        return data
    if isinstance(data, int) and -INT_LIMIT <= data < INT_LIMIT:
        return data
    match data:
        case {"float": number, **rest} if not rest:
            return decode_float(number, at)
        case {"complex": [real, imaginary], **rest} if not rest:
            return complex(decode_float(real, at), decode_float(imaginary, at))
    raise Damage(at, "is no constant")


def decode_plain(data: Json, at: str, depth: int = 0) -> object:
    """A constant, or lists and dicts of constants."""
    check_depth(depth, at)
    if isinstance(data, list):
        return [decode_plain(item, at, depth + 1) for item in data]
    if isinstance(data, dict) and data.keys() == {"dict"}:
        items = field(data, "dict", dict, at).items()
        return {key: decode_plain(item, f"{at}.{key}", depth + 1) for key, item in items}
    return decode_constant(data, at)


def decode_float(data: Json, at: str) -> float:
    """A number as JSON has it, or `inf`, `-inf`, `nan`."""
    if isinstance(data, str):
        return float(one_of(data, ("inf", "-inf", "nan"), at))
    return checked(data, float, at)


def decode_type(data: Json, at: str, depth: int = 0) -> Type:
    """A type."""
    check_depth(depth, at)
    kind, part = one_key(data, at)
    if kind == "tensor":
        return decode_tensor_type(part, at)
    if kind == "number":
        names = ("bool", "int", "float", "complex")
        return NumberType(one_of(checked(part, str, at), names, at))  # type: ignore[arg-type] # checked
    if kind == "text":
        return TextType()
    element = ListType if one_of(kind, ("list", "optional"), at) == "list" else OptionalType
    return element(decode_type(part, at, depth + 1))


def decode_tensor_type(data: Json, at: str) -> TensorType:
    """A tensor's dtype, sizes and device."""
    dtype = decode_literal("dtype", field(data, "dtype", str, at), at).text
    device = decode_device(field(data, "device", str, at), at)
    return TensorType(dtype, decode_shape(data, at), device)


def decode_shape(data: Json, at: str) -> tuple[int | str, ...]:
    """Sizes, and names of sizes that only a run knows."""
    return tuple(_size(size, at) for size in field(data, "shape", list, at))


def _size(data: Json, at: str) -> int | str:
    if isinstance(data, str) or (type(data) is int and 0 <= data < INT_LIMIT):
        return data
    raise Damage(f"{at}.shape", "must hold sizes and names of sizes")


def decode_structure(data: Json, at: str, depth: int = 0) -> shape.Structure:
    """A structure."""
    check_depth(depth, at)
    kind, part = one_key(data, at)
    return STRUCTURES[one_of(kind, STRUCTURES, at)](kind, part, f"{at}.{kind}", depth + 1)


def _items(data: Json, at: str, depth: int) -> tuple[shape.Structure, ...]:
    items = checked(data, list, at)
    return tuple(decode_structure(item, f"{at}[{i}]", depth) for i, item in enumerate(items))


def _leaf(_: str, data: Json, at: str, __: int) -> shape.Structure:
    return shape.Leaf(checked(data, int, at))


def _fixed(_: str, data: Json, at: str, __: int) -> shape.Structure:
    if isinstance(data, dict) and len(data) == 1 and (kind := next(iter(data))) in LITERALS:
        return shape.Fixed(constant_of(decode_literal(kind, checked(data[kind], str, at), at)))
    return shape.Fixed(decode_constant(data, at))


def _sequence(kind: str, data: Json, at: str, depth: int) -> shape.Structure:
    return shape.Sequence("list" if kind == "list" else "tuple", _items(data, at, depth))


def _mapping(_: str, data: Json, at: str, depth: int) -> shape.Structure:
    keys = tuple(decode_constant(key, at) for key in field(data, "keys", list, at))
    items = _items(field(data, "items", list, at), at, depth)
    if not len(keys) == len(set(keys)) == len(items) or complex in map(type, keys):
        raise Damage(at, "must have one key for each item")
    return shape.Mapping(cast("tuple[bool | int | float | str | None, ...]", keys), items)


def _record(kind: str, data: Json, at: str, depth: int) -> shape.Structure:
    name, fields = field(data, "type", str, at), texts(field(data, "fields", list, at), at)
    items = _items(field(data, "items", list, at), at, depth)
    if not len(fields) == len(set(fields)) == len(items):
        raise Damage(at, "must have one field for each item")
    return shape.Record("namedtuple" if kind == "namedtuple" else "dataclass", name, fields, items)


def _variant(_: str, data: Json, at: str, depth: int) -> shape.Structure:
    alternatives = _items(field(data, "alternatives", list, at), at, depth)
    return shape.Variant(field(data, "tag", int, at), alternatives)


def _columns(kind: str, data: Json, at: str, depth: int) -> shape.Structure:
    kinds = {name: one for one, name in COLUMNS.items()}
    return shape.Columns(decode_structure(data, at, depth), kinds[kind])


STRUCTURES: Mapping[str, Callable[[str, Json, str, int], shape.Structure]] = MappingProxyType(
    {
        "leaf": _leaf,
        "fixed": _fixed,
        "list": _sequence,
        "tuple": _sequence,
        "dict": _mapping,
        "namedtuple": _record,
        "dataclass": _record,
        "variant": _variant,
        **dict.fromkeys(COLUMNS.values(), _columns),
    }
)
