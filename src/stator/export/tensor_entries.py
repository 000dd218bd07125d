"""The table of tensors as a reader finds it: what each name is, and what the weights hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from stator.export.checking import Damage, check_depth, field, one_of
from stator.export.decoding import decode_shape, decode_size
from stator.export.encoding import Json
from stator.export.tensor_header import Span
from stator.export.vocabulary import Vocabulary
from stator.program.program import Program
from stator.program.types import TensorType

KINDS = ("parameter", "buffer", "constant", "state")
TensorKind = Literal["parameter", "buffer", "constant", "state"]
COMPLEX: Mapping[str, str] = MappingProxyType(  # by the dtype of the real view
    {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
)


@dataclass(frozen=True)
class Entry:
    """What a model says of a tensor, beside its data."""

    kind: TensorKind
    requires_grad: bool
    persistent: bool  # part of the module's state_dict


@dataclass(frozen=True)
class TensorNames:
    """The tensors of a model by name: what each is, and the key of its data in the weights."""

    types: Mapping[str, TensorType]
    keys: Mapping[str, str]  # names of one tensor have one key
    sizes: Mapping[str, int]  # in bytes

    def first_names(self) -> dict[str, str]:
        """For each name the first of all names of its tensor."""
        first: dict[str, str] = {}
        return {name: first.setdefault(key, name) for name, key in self.keys.items()}


def decode_entry(data: Json, at: str) -> Entry:
    """What the table says of one tensor."""
    kind = one_of(field(data, "kind", str, at), KINDS, f"{at}.kind")
    flags = (field(data, name, bool, at) for name in ("requires_grad", "persistent"))
    return Entry(kind, *flags)  # type: ignore[arg-type] # checked


def decode_names(table: Json, spans: Mapping[str, Span], names: Vocabulary) -> TensorNames:
    """The tensors by name; Damage unless the weights hold just these, as the table has them."""
    found: dict[str, TensorType] = {}
    types, keys = {}, {}
    for name, item in table.items():
        at = f"tensors.{name}"
        check_depth(name.count("."), at[:200])
        key, dtype = field(item, "key", str, at), field(item, "dtype", str, at)
        if key not in spans:
            raise Damage(at, f"names the key {key!r}, which the weights lack")
        keys[name] = key
        types[name] = found.setdefault(key, _stored_type(spans[key], dtype))
        _check_type(types[name], item, at, names)
    if unused := sorted(spans.keys() - found.keys()):
        raise Damage("tensors", f"has no entry for the key {unused[0]!r} of the weights")
    sizes = {name: spans[key].stop - spans[key].start for name, key in keys.items()}
    return TensorNames(types, keys, sizes)


def _stored_type(span: Span, dtype: str) -> TensorType:
    """What the weights hold; a complex tensor is stored as its real view."""
    paired = span.shape[-1:] == (2,) and span.dtype in COMPLEX
    if dtype.startswith("complex") and paired:
        return TensorType(COMPLEX[span.dtype], span.shape[:-1])
    return TensorType(span.dtype, span.shape)


def _check_type(found: TensorType, item: Json, at: str, names: Vocabulary) -> None:
    dtype = names.literal("dtype", field(item, "dtype", str, at), at).text
    declared = TensorType(dtype, decode_shape(item, at, decode_size))
    if declared != found:
        raise Damage(at, f"is {declared}, and in the weights {found}")
    if field(item, "requires_grad", bool, at) and not dtype.startswith(
        ("float", "bfloat", "complex")
    ):
        raise Damage(at, f"is {declared}, which cannot require gradients")


def check_stored(programs: Mapping[str, Program], types: Mapping[str, TensorType]) -> None:
    """Damage if a program needs a tensor that is not there, or that is of another type."""
    for program_name, program in programs.items():
        for stored in program.stored:
            at = f"programs.{program_name}.stored"
            if stored.name not in types:
                raise Damage(at, f"needs the {stored.kind} `{stored.name}`, which is not there")
            kind = stored.value.type
            if not isinstance(kind, TensorType) or not _fits(types[stored.name], kind):
                raise Damage(at, f"takes `{stored.name}` for {kind}")


def _fits(found: TensorType, kind: TensorType) -> bool:
    return (
        found.dtype == kind.dtype
        and len(found.shape) == len(kind.shape)
        and all(
            not isinstance(size, int) or size == own
            for size, own in zip(kind.shape, found.shape, strict=True)
        )
    )
