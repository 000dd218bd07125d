"""Plain JSON data -> Program: the way back from `encoding`; a fault is named by its place.

Nothing in the data is trusted: names of values are those defined before, and names of torch are
what the reader's vocabulary allows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

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
from stator.export.old_ops import OLD_OPS, translated
from stator.export.size_text import parse_size
from stator.export.vocabulary import Vocabulary
from stator.location import Location
from stator.program import structure as shape
from stator.program.ir import Arg, Block, InputFacts, LiteralKind, Op, StateUse, StoredTensor, Value
from stator.program.layout import INNER, map_layout
from stator.program.program import Program
from stator.program.sizes import OPS, AnySize, Dim, SizeArg, SizeExpr, SizeOp, Symbol
from stator.program.structure import positions_in
from stator.program.types import (
    ListType,
    NumberType,
    OptionalType,
    Presence,
    Tag,
    TensorType,
    TextType,
    Type,
)

NEW_NAMES = 10**9  # the first number for a value that a file does not have
SizeReader = Callable[[Json, str], Dim]


@dataclass(frozen=True)
class Dialect:
    """How a file is read: the names of torch that it may use, and how its version writes sizes."""

    names: Vocabulary
    size: SizeReader


def decode_program(data: Json, at: str, dialect: Dialect) -> Program:
    """The program that `data` describes; Damage names the first fault."""
    files = texts(field(data, "files", list, at), f"{at}.files")
    if any("/" in name or "\\" in name for name in files):
        raise Damage(f"{at}.files", "must hold names of files, not paths")
    return ProgramReader(files, dialect).program(data, at)


class ProgramReader:
    """Reads one program; `values` are those defined so far, by name."""

    def __init__(self, files: tuple[str, ...], dialect: Dialect) -> None:
        self.files, self.dialect = files, dialect
        self.values: dict[str, Value] = {}

    def program(self, data: Json, at: str) -> Program:
        """The program; its parts are read in the order in which they define values."""
        given = field(data, "inputs", list, at)
        inputs = self.definitions(given, f"{at}.inputs")
        facts = {
            value: decode_facts(item, f"{at}.inputs[{index}]")
            for index, (value, item) in enumerate(zip(inputs, given, strict=True))
            if "requires_grad" in item
        }
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
            decode_structure(field(data, key, dict, at), f"{at}.{key}", self.dialect.names)
            for key in ("input_structure", "output_structure")
        )
        name = field(data, "name", str, at)
        uses = tuple(
            _state_use(item, f"{at}.state[{index}]")
            for index, item in enumerate(optional(data, "state", list, at))
        )
        return Program(name, inputs, stored, body, before, shared(after), functions, facts, uses)

    def definitions(self, items: list[Json], at: str) -> tuple[Value, ...]:
        """New values, each with a name of its own."""
        return tuple(self.definition(item, f"{at}[{i}]") for i, item in enumerate(items))

    def definition(self, data: Json, at: str) -> Value:
        """A new value."""
        name, kind = field(data, "name", str, at), field(data, "type", dict, at)
        if name in self.values:
            raise Damage(at, f"defines %{name} once more")
        self.values[name] = Value(name, decode_type(kind, f"{at}.type", self.dialect))
        return self.values[name]

    def stored(self, data: Json, at: str) -> StoredTensor:
        """A tensor beside the program."""
        kinds = ("parameter", "buffer", "constant")
        kind = one_of(field(data, "kind", str, at), kinds, f"{at}.kind")
        value = self.definition(field(data, "value", dict, at), f"{at}.value")
        return StoredTensor(value, field(data, "name", str, at), kind)  # type: ignore[arg-type] # checked

    def block(self, data: Json, at: str, depth: int = 0) -> Block:
        """A block and those inside it."""
        check_depth(depth, at)
        inputs = self.definitions(field(data, "inputs", list, at), f"{at}.inputs")
        ops = [
            op
            for index, item in enumerate(field(data, "ops", list, at))
            for op in self.ops(item, f"{at}.ops[{index}]", depth)
        ]
        return Block(inputs, ops, self.args(field(data, "outputs", list, at), f"{at}.outputs"))

    def ops(self, data: Json, at: str, depth: int) -> list[Op]:
        """An op; or those that took its place since the file was written."""
        name = field(data, "name", str, at)
        if name in OLD_OPS:
            ops = translated(self.op(data, name, at, depth), at, self.new_value)
        else:
            ops = [self.op(data, self.dialect.names.known_op(name, at), at, depth)]
        for op in ops:
            self.dialect.names.check_operands(op, at)
        return ops

    def new_value(self, kind: Type) -> Value:
        """A value that the file does not have."""
        name = str(NEW_NAMES + len(self.values))
        if name in self.values:
            raise Damage(f"%{name}", "is a name that a file cannot have")
        self.values[name] = Value(name, kind)
        return self.values[name]

    def op(self, data: Json, name: str, at: str, depth: int) -> Op:
        """The op `name`; its results do not exist yet where its blocks are read."""
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
        return Op(name, args, attributes, results, blocks, place)

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
                text = checked(part, str, at)
                return self.dialect.names.literal(cast("LiteralKind", kind), text, at)
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


def _state_use(data: Json, at: str) -> StateUse:
    return StateUse(field(data, "name", str, at), field(data, "count", int, at))


def decode_facts(data: Json, at: str) -> InputFacts:
    """What a capture assumed of an input."""
    requires_grad, layout = field(data, "requires_grad", bool, at), data.get("layout")
    distinct = checked(data.get("distinct", False), bool, f"{at}.distinct")
    if isinstance(layout, list):
        strides = tuple(checked(item, int, f"{at}.layout") for item in layout)
        return InputFacts(requires_grad, strides, distinct)
    if layout not in (None, "contiguous"):
        raise Damage(f"{at}.layout", "must be contiguous, or strides")
    return InputFacts(requires_grad, layout, distinct)


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


def decode_type(data: Json, at: str, dialect: Dialect, depth: int = 0) -> Type:
    """A type."""
    check_depth(depth, at)
    kind, part = one_key(data, at)
    if kind == "tensor":
        return decode_tensor_type(part, at, dialect)
    if kind == "number":
        names = ("bool", "int", "float", "complex")
        return NumberType(one_of(checked(part, str, at), names, at))  # type: ignore[arg-type] # checked
    if kind == "text":
        return TextType()
    if kind == "tag":
        return NumberType("int", _tag(part, at))
    if kind == "part":
        return _part(part, at, dialect, depth)
    element = ListType if one_of(kind, ("list", "optional"), at) == "list" else OptionalType
    return element(decode_type(part, at, dialect, depth + 1))


def _tag(data: Json, at: str) -> Tag:
    if (count := field(data, "count", int, at)) < 1:
        raise Damage(f"{at}.count", "must be 1 or more")
    return Tag(field(data, "union", str, at), count)


def _part(data: Json, at: str, dialect: Dialect, depth: int) -> OptionalType:
    found = field(data, "alternatives", list, at)
    alternatives = tuple(checked(one, int, f"{at}.alternatives") for one in found)
    element = decode_type(field(data, "type", dict, at), at, dialect, depth + 1)
    return OptionalType(element, Presence(field(data, "union", str, at), alternatives))


def decode_tensor_type(data: Json, at: str, dialect: Dialect) -> TensorType:
    """A tensor's dtype, sizes and device."""
    dtype = dialect.names.literal("dtype", field(data, "dtype", str, at), at).text
    device = dialect.names.literal("device", field(data, "device", str, at), at).text
    return TensorType(dtype, decode_shape(data, at, dialect.size), device)


def decode_shape(data: Json, at: str, size: SizeReader) -> tuple[Dim, ...]:
    """The sizes of a tensor."""
    sizes = field(data, "shape", list, at)
    return tuple(size(item, f"{at}.shape[{index}]") for index, item in enumerate(sizes))


def decode_size(data: Json, at: str) -> Dim:
    """A number, the name of a symbol, an expression of these, or null for some size."""
    if data is None:
        return AnySize()
    if isinstance(data, dict):
        return _size_expression(data, at, 0)
    size = _size_argument(data, at, 0)
    if isinstance(size, float) or (isinstance(size, int) and size < 0):
        raise Damage(at, "is not a valid size")
    return size


def _size_expression(data: Json, at: str, depth: int) -> SizeExpr:
    check_depth(depth, at)
    key, part = one_key(data, at)
    op = cast("SizeOp", one_of(key, OPS, at))
    args = tuple(_size_argument(item, at, depth + 1) for item in checked(part, list, at))
    if len(args) != (OPS[op][0] or max(2, len(args))):
        raise Damage(at, f"gives {op} {len(args)} arguments")
    return SizeExpr(op, args)


def _size_argument(data: Json, at: str, depth: int) -> SizeArg:
    if isinstance(data, str):
        if not data.isidentifier():
            raise Damage(at, f"names a size {data!r}, which is not a valid name")
        return Symbol(data)
    if type(data) is int and -INT_LIMIT <= data < INT_LIMIT:
        return data
    if isinstance(data, dict) and data.keys() == {"float"}:
        return field(data, "float", float, at)
    if isinstance(data, dict):
        return _size_expression(data, at, depth)
    raise Damage(at, "is not a valid size")


def decode_size_text(data: Json, at: str) -> Dim:
    """A size as versions 1 and 2 of the format have it: a number, or the text of an expression."""
    return parse_size(data) if isinstance(data, str) else decode_size(checked(data, int, at), at)


def decode_structure(data: Json, at: str, names: Vocabulary, depth: int = 0) -> shape.Structure:
    """A structure."""
    check_depth(depth, at)
    kind, part = one_key(data, at)
    return STRUCTURES[one_of(kind, STRUCTURES, at)](kind, part, f"{at}.{kind}", names, depth + 1)


def shared(structure: shape.Structure) -> shape.Structure:
    """`structure`, in which containers with the same leaves are one: they are the same object.

    Two lists that hold the same tensor have a leaf each.
    """
    known: dict[shape.Structure, shape.Structure] = {}

    def one(part: shape.Structure) -> shape.Structure:
        is_container = isinstance(part, INNER) and not isinstance(part, shape.Choice)
        return (
            known.setdefault(part, part)
            if is_container and next(positions_in(part), None) is not None
            else part
        )

    return map_layout(one, structure)


def _items(data: Json, at: str, names: Vocabulary, depth: int) -> tuple[shape.Structure, ...]:
    items = checked(data, list, at)
    return tuple(decode_structure(item, f"{at}[{i}]", names, depth) for i, item in enumerate(items))


def _leaf(_: str, data: Json, at: str, __: Vocabulary, ___: int) -> shape.Structure:
    return shape.Leaf(checked(data, int, at))


def _fixed(_: str, data: Json, at: str, names: Vocabulary, __: int) -> shape.Structure:
    if isinstance(data, dict) and len(data) == 1 and (kind := next(iter(data))) in LITERALS:
        literal = names.literal(cast("LiteralKind", kind), checked(data[kind], str, at), at)
        return shape.ConstantValue(names.constant(literal))
    return shape.ConstantValue(decode_constant(data, at))


def _sequence(kind: str, data: Json, at: str, names: Vocabulary, depth: int) -> shape.Structure:
    return shape.Sequence("list" if kind == "list" else "tuple", _items(data, at, names, depth))


def _mapping(_: str, data: Json, at: str, names: Vocabulary, depth: int) -> shape.Structure:
    keys = tuple(decode_constant(key, at) for key in field(data, "keys", list, at))
    items = _items(field(data, "items", list, at), at, names, depth)
    if not len(keys) == len(set(keys)) == len(items) or complex in map(type, keys):
        raise Damage(at, "must have one key for each item")
    return shape.Mapping(cast("tuple[bool | int | float | str | None, ...]", keys), items)


def _record(kind: str, data: Json, at: str, names: Vocabulary, depth: int) -> shape.Structure:
    name, fields = field(data, "type", str, at), texts(field(data, "fields", list, at), at)
    items = _items(field(data, "items", list, at), at, names, depth)
    if not len(fields) == len(set(fields)) == len(items):
        raise Damage(at, "must have one field for each item")
    return shape.Record("namedtuple" if kind == "namedtuple" else "dataclass", name, fields, items)


def _variant(_: str, data: Json, at: str, names: Vocabulary, depth: int) -> shape.Structure:
    alternatives = _items(field(data, "alternatives", list, at), at, names, depth)
    return shape.Choice(field(data, "tag", int, at), alternatives)


def _columns(kind: str, data: Json, at: str, names: Vocabulary, depth: int) -> shape.Structure:
    kinds = {name: one for one, name in COLUMNS.items()}
    return shape.RuntimeList(decode_structure(data, at, names, depth), kinds[kind])


STRUCTURES: Mapping[str, Callable[[str, Json, str, Vocabulary, int], shape.Structure]] = (
    MappingProxyType(
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
)
