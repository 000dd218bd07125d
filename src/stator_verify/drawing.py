"""Drawing: inputs like an example. hypothesis draws edits of it, and the seed decides which.

NOTE: why edits are drawn, and not tensors. An edit is a few numbers, so that many can be drawn at
once, each once, and only the input that runs takes memory. What is found by the gradient of a
condition is not drawn, so that it cannot be shrunk by hypothesis either: `shrinking` does both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import hypothesis
import torch
from hypothesis import strategies
from hypothesis.strategies import SearchStrategy

from stator.api.example import Example
from stator.values.containers import Path
from stator_verify.examples import ExampleLeaf, leaves_of, replaced

SizeRule = Callable[[Path, int], bool]  # may this size of this leaf change?
LARGE = 100  # whole numbers may be sizes: larger ones could ask for all the memory there is
PLACES = 4  # elements of a tensor that are changed one by one


@dataclass(frozen=True)
class Candidate:
    """An input, and how it was made."""

    example: Example
    how: str
    keeps_kinds: bool = True  # False where sizes or Python values change: a new capture may follow
    in_turn: bool = False  # the arguments are examples, called one after the other
    counts: bool = True  # False where the path it takes says little: infinity + 1 is infinity + 2


@dataclass(frozen=True)
class Edit:
    """A change of one leaf: `place` is the element, or the dimension of a size; None for all."""

    path: Path
    name: str
    number: Any = 0
    place: int | None = None

    def __str__(self) -> str:
        number = "" if self.name in ("random", "reversed", "inverted") else f" {self.number:g}"
        return f"{self.name}{number}" + (" in one element" if self._is_single else "")

    @property
    def _is_single(self) -> bool:
        return self.place is not None and self.name != "size"

    def apply(self, value: Any) -> Any:
        """The leaf with this change."""
        if self.name == "number":
            return self.number
        if self.name == "size":
            return resized(value, self.place or 0, self.number)
        made = _learning(value, EDITS[self.name](value.detach(), self.number).to(value.dtype))
        if not self._is_single:
            return made
        whole = value.detach().clone().contiguous()
        whole.view(-1)[self.place] = made.detach().flatten()[self.place]
        return _learning(value, whole)


def _learning(before: torch.Tensor, made: torch.Tensor) -> torch.Tensor:
    return made.requires_grad_() if before.requires_grad else made


def _random(tensor: torch.Tensor, number: int) -> torch.Tensor:
    """Normally distributed, or whole numbers from 0 to the largest that is there."""
    generator = torch.Generator().manual_seed(number)
    if tensor.is_floating_point() or tensor.is_complex():
        made = torch.randn(tensor.shape, generator=generator) * (30 if number % 2 else 1)
    else:
        top = int(tensor.max()) + 1 if tensor.numel() else 1
        made = torch.randint(0, max(2, min(top, LARGE)), tensor.shape, generator=generator)
    return made.to(tensor.device)


EDITS: Mapping[str, Callable[[torch.Tensor, Any], torch.Tensor]] = MappingProxyType({
    "filled with": torch.full_like, "times": lambda tensor, number: tensor * number,
    "plus": lambda tensor, number: (tensor + number).clamp(-LARGE, LARGE),
    "absolute, times": lambda tensor, number: tensor.abs() * number,
    "reversed": lambda tensor, _: tensor.flip(0) if tensor.dim() else tensor,
    "inverted": lambda tensor, _: ~tensor, "random": _random,
})  # fmt: skip


def resized(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """`tensor` cut or repeated to `size` along `dim`."""
    data, now = tensor.detach(), tensor.shape[dim]
    if now == 0:
        shape = [size if d == dim else s for d, s in enumerate(tensor.shape)]
        made = torch.ones(shape, dtype=data.dtype, device=data.device)
    else:
        made = data.index_select(dim, torch.arange(size, device=data.device) % now)
    return _learning(tensor, made)


# ---- what can be drawn

Choice = SearchStrategy[tuple[Edit, ...]]
_one_of, _among, _whole = strategies.one_of, strategies.sampled_from, strategies.integers
RANDOM = {"random": _whole(0, 1000), "reversed": strategies.just(0)}
FLOATS: Mapping[str, SearchStrategy[Any]] = MappingProxyType({
    "filled with": _one_of(_among([0, 1]), strategies.floats(-LARGE, LARGE, width=32)),
    "times": _among([-1, 10, 0.1, 2, 0.5, 1000, 0.001]), "absolute, times": _among([1, -1]),
    "plus": _among([1, -1, 10, -10]), **RANDOM,
})  # fmt: skip
INTEGERS: Mapping[str, SearchStrategy[Any]] = MappingProxyType({
    "filled with": _one_of(_among([0, 1, 2]), _whole(-2, 20)), "times": strategies.just(-1),
    "plus": _among([1, -1, 10]), **RANDOM,
})  # fmt: skip
TRUTHS: Mapping[str, SearchStrategy[Any]] = MappingProxyType(
    {"inverted": strategies.just(0), "filled with": _whole(0, 1), **RANDOM}
)
NUMBERS: Mapping[type, Callable[[Any], SearchStrategy[Any]]] = MappingProxyType({
    bool: lambda now: strategies.just(not now),
    int: lambda now: _one_of(_whole(0, 3), _among([now + 1, now - 1])).filter(
        lambda n: n != now and abs(n) <= LARGE
    ),
    float: lambda now: _among([0.0, -now, now * 10, now / 10, 1.0]).filter(lambda n: n != now),
})  # fmt: skip
EXTREMES = (float("inf"), math.nan, 1e-38, float("-inf"))


def _values(leaf: ExampleLeaf, *, single: bool = False) -> SearchStrategy[Edit]:
    """Other values of a tensor; with `single`, of one element."""
    value: torch.Tensor = leaf.value
    places: SearchStrategy[int | None] = strategies.none()
    table = TRUTHS if value.dtype == torch.bool else FLOATS
    if not value.is_floating_point() and value.dtype != torch.bool:
        table = INTEGERS
    if value.is_complex():
        table = {"filled with": _among([0, 1]), **RANDOM}
    if single:
        places = _whole(0, min(value.numel(), PLACES) - 1)
        table = {name: numbers for name, numbers in table.items() if name not in RANDOM}
    return _one_of(*(
        strategies.builds(Edit, strategies.just(leaf.path), strategies.just(name), number, places)
        for name, number in table.items()
    ))  # fmt: skip


def _sizes(leaves: list[ExampleLeaf], may_change: SizeRule) -> Iterator[Choice]:
    """Another size of all tensors that have the same one at the same dimension."""
    groups: dict[tuple[int, int], list[ExampleLeaf]] = {}
    for leaf in leaves:
        for dim, size in enumerate(leaf.value.shape):
            if may_change(leaf.path, dim):
                groups.setdefault((dim, size), []).append(leaf)
    for (dim, size), group in groups.items():
        wanted = [to for to in (1, 0, 2, size + 1, 2 * size + 1) if to != size]

        def edits(to: int, group: list[ExampleLeaf] = group, dim: int = dim) -> tuple[Edit, ...]:
            return tuple(Edit(leaf.path, "size", to, dim) for leaf in group)

        yield _among(wanted).map(edits)


def _choices(
    example: Example, may_change: SizeRule, *, extremes: bool, single: bool
) -> Iterator[Choice]:
    leaves = leaves_of(example)
    tensors = [leaf for leaf in leaves if type(leaf.value) is torch.Tensor]
    full = [leaf for leaf in tensors if leaf.value.numel()]
    if tensors:
        yield strategies.tuples(*map(_values, tensors))
    sizes = [*_sizes(tensors, may_change)]
    if sizes:
        yield _one_of(*sizes)
    if len(tensors) > 1:
        yield _one_of(*map(_values, tensors)).map(lambda edit: (edit,))
    if single and full:
        yield _one_of(*(_values(leaf, single=True) for leaf in full)).map(lambda edit: (edit,))
    for leaf in leaves:
        if type(leaf.value) in NUMBERS:
            number = NUMBERS[type(leaf.value)](leaf.value)
            edit = strategies.builds(
                Edit, strategies.just(leaf.path), strategies.just("number"), number
            )
            yield edit.map(lambda edit: (edit,))
    floats = [leaf.path for leaf in tensors if leaf.value.is_floating_point()]
    if extremes and floats:
        yield _among(EXTREMES).map(lambda n: tuple(Edit(path, "filled with", n) for path in floats))


def drawn(
    example: Example,
    may_change: SizeRule,
    *,
    seed: int,
    count: int,
    extremes: bool = False,
    single: bool = False,
) -> Iterator[Candidate]:
    """At most `count` inputs like `example`; with `single` also changes of single elements."""
    choices = [*_choices(example, may_change, extremes=extremes, single=single)]
    if not choices:
        return
    evenly = _whole(0, len(choices) - 1).flatmap(choices.__getitem__)
    for edits in _draw(evenly, seed, count):
        leaves = {leaf.path: leaf.value for leaf in leaves_of(example)}
        made = replaced(example, {edit.path: edit.apply(leaves[edit.path]) for edit in edits})
        yield Candidate(
            made, ", ".join(dict.fromkeys(map(str, edits))),
            keeps_kinds=not any(edit.name in ("size", "number") for edit in edits),
            counts=not any(edit.number in EXTREMES for edit in edits),
        )  # fmt: skip


def _draw(choice: Choice, seed: int, count: int) -> list[tuple[Edit, ...]]:
    """What hypothesis draws with this seed, each once."""
    found: dict[str, tuple[Edit, ...]] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count, database=None, deadline=None, derandomize=False,
        phases=[hypothesis.Phase.generate], suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(choice)
    def keep(edits: tuple[Edit, ...]) -> None:
        found.setdefault(repr(edits), edits)

    keep()
    return list(found.values())
