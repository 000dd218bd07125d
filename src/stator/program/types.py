"""Types of values: what a reader of a program may rely on before it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

NumberKind = Literal["bool", "int", "float", "complex"]

SHORT_DTYPES = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8",
    "bool": "b8", "complex64": "c64", "complex128": "c128",
}  # fmt: skip


@dataclass(frozen=True)
class TensorType:
    """A tensor; a size is a number, or the name of a symbol that is known only when it runs."""

    dtype: str
    shape: tuple[int | str, ...]
    device: str = "cpu"

    def __str__(self) -> str:
        sizes = ", ".join(str(size) for size in self.shape)
        where = "" if self.device == "cpu" else f"@{self.device}"
        return f"{SHORT_DTYPES.get(self.dtype, self.dtype)}[{sizes}]{where}"


@dataclass(frozen=True)
class NumberType:
    """A Python number."""

    kind: NumberKind

    def __str__(self) -> str:
        return self.kind


@dataclass(frozen=True)
class ListType:
    """A list whose length is known only when the program runs."""

    element: Type

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True)
class OptionalType:
    """A value of `element`, or absent."""

    element: Type

    def __str__(self) -> str:
        return f"{self.element}?"


@dataclass(frozen=True)
class TextType:
    """A string made when the program runs."""

    def __str__(self) -> str:
        return "text"


Type = TensorType | NumberType | ListType | OptionalType | TextType
