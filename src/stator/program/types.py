"""Types of values: what a reader of a program may rely on before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from stator.program.sizes import Dim

NumberKind = Literal["bool", "int", "float", "complex"]

SHORT_DTYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "bool": "b8", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


@dataclass(frozen=True)
class TensorType:
    """A tensor: its dtype, its sizes and where it is."""

    dtype: str
    shape: tuple[Dim, ...]
    device: str = "cpu"

    def __str__(self) -> str:
        sizes = ", ".join(str(size) for size in self.shape)
        where = "" if self.device == "cpu" else f"@{self.device}"
        return f"{SHORT_DTYPES.get(self.dtype, self.dtype)}[{sizes}]{where}"


@dataclass(frozen=True)
class Tag:
    """Which of `count` alternatives the union of that name is; `program/unions.py` has the rules.

    The name counts within one list of values only: the results of an op, the inputs of a block.
    """

    union: str
    count: int

    def __str__(self) -> str:
        return f"tag({self.count}, {self.union})"


@dataclass(frozen=True)
class Presence:
    """The alternatives of a union for which an optional is there."""

    union: str
    alternatives: tuple[int, ...]

    def __str__(self) -> str:
        return f"({self.union}={'|'.join(map(str, self.alternatives))})"


@dataclass(frozen=True)
class NumberType:
    """A Python number; an int can be the tag of a union."""

    kind: NumberKind
    tag: Tag | None = None

    def __str__(self) -> str:
        return self.kind if self.tag is None else str(self.tag)


@dataclass(frozen=True)
class ListType:
    """A list whose length is known only when the program runs."""

    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True)
class OptionalType:
    """A value of `element`, or absent; as a part of a union, there for some alternatives."""

    element: Type
    present: Presence | None = None

    def __str__(self) -> str:
        return f"{self.element}?{self.present or ''}"


@dataclass(frozen=True)
class TextType:
    """A string made when the program runs."""

    def __str__(self) -> str:
        return "text"


@dataclass(frozen=True)
class ObjectType:
    """An object of the Python process that runs the program; only host ops may use it."""

    def __str__(self) -> str:
        return "object"


Type = TensorType | NumberType | ListType | OptionalType | TextType | ObjectType


def with_sizes(kind: Type, change: Callable[[Dim], Dim]) -> Type:
    """`kind` with `change(size)` for each size in it, from left to right."""
    if isinstance(kind, TensorType):
        return replace(kind, shape=tuple(change(size) for size in kind.shape))
    if isinstance(kind, ListType | OptionalType):
        return replace(kind, element=with_sizes(kind.element, change))
    return kind


def with_unions(kind: Type, rename: Callable[[str], str]) -> Type:
    """`kind` with other names for the unions in it."""
    if isinstance(kind, NumberType) and kind.tag is not None:
        return replace(kind, tag=replace(kind.tag, union=rename(kind.tag.union)))
    if isinstance(kind, OptionalType):
        present = kind.present
        if present is not None:
            present = replace(present, union=rename(present.union))
        return OptionalType(with_unions(kind.element, rename), present)
    return ListType(with_unions(kind.element, rename)) if isinstance(kind, ListType) else kind
