"""drawn_inputs(): inputs of a program, of several sizes and scales."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from stator.program.ir import Value
from stator.program.program import Program
from stator.program.sizes import evaluate
from stator.program.types import ListType, NumberType, TensorType, TextType, Type
from stator.program.typing_rules import present as present_part
from stator.program.unions import presence_of, tag_of

DRAWS = 10
SIZES = (4, 1, 3, 2, 5, 0)


def drawn_inputs(program: Program, typical: Sequence[int] = SIZES) -> Iterator[list[Any]]:
    """Inputs of several sizes and scales; the same ones in every process."""
    for number in range(DRAWS):
        draw = random.Random(number)
        sizes = _Sizes(typical, number)
        tags: dict[str, int] = {}  # by the name of the union
        yield [_leaf(value, draw, sizes, tags, number) for value in program.inputs]


class _Sizes(dict[str, int]):
    """The dynamic sizes of one draw, by name."""

    def __init__(self, typical: Sequence[int], number: int) -> None:
        super().__init__()
        self.typical, self.number = typical, number

    def __missing__(self, name: str) -> int:
        """In the first draws all are the same, in others each is another one."""
        number, count, index = self.number, len(self.typical), len(self)
        if number >= count:
            number = (number + (1, 5, 2, 3)[number % 4] * index) % count
        return self.setdefault(name, self.typical[number])


def _leaf(
    value: Value, draw: random.Random, sizes: _Sizes, tags: dict[str, int], number: int
) -> Any:
    """An input; a part of a union is there where the tag before it says so."""
    tag, present = tag_of(value.type), presence_of(value.type)
    if present is not None and tags.get(present.union) not in present.alternatives:
        return None
    if tag is None:
        return _drawn(present_part(value.type), draw, sizes, number)
    return tags.setdefault(tag.union, draw.randrange(tag.count))


def _drawn(kind: Type, draw: random.Random, sizes: _Sizes, number: int) -> Any:
    if isinstance(kind, TensorType):
        return _tensor(kind, draw, sizes, number)
    if isinstance(kind, NumberType):
        return {"int": draw.randint(0, 4), "bool": draw.random() < 0.5}.get(
            kind.kind, draw.uniform(-2, 2)
        )
    if isinstance(kind, ListType):
        return [_drawn(kind.element, draw, sizes, number) for _ in range(draw.randint(0, 3))]
    if isinstance(kind, TextType):
        return draw.choice(("", "a", "text"))
    return None


def _tensor(kind: TensorType, draw: random.Random, sizes: _Sizes, number: int) -> torch.Tensor:
    shape = []
    for size in kind.shape:
        name = str(size)
        found = size if isinstance(size, int) else evaluate(size, sizes)
        shape.append(max(0, sizes[name] if found is None else found))
    return _contents(kind, shape, draw, number)


def _contents(kind: TensorType, shape: list[int], draw: random.Random, number: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(draw.randrange(2**31))
    dtype = getattr(torch, kind.dtype)
    if dtype is torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if not dtype.is_floating_point:
        return torch.randint(
            0, (4, 2, 7, 3, 5, 6)[number % 6], shape, generator=generator, dtype=dtype
        )
    scale, shift = ((1, 0), (4, 3), (4, -3), (0.1, 0), (20, 0), (1, 1))[number % 6]
    return (torch.randn(shape, generator=generator) * scale + shift).to(dtype)
