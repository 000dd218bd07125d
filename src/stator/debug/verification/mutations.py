"""Mutations: other inputs, made from an example, in an order that depends on the seed alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from stator.debug.verification.examples import Example, Leaf, leaves_of, replaced
from stator.debug.verification.trees import Path

SizeRule = Callable[[Path, int], bool]  # may this size of this leaf change?
LARGE = 100  # whole numbers may be sizes: larger ones could ask for all the memory there is


@dataclass(frozen=True)
class Made:
    """An input, and how it was made."""

    example: Example
    how: str
    keeps_kinds: bool = True  # False where sizes or Python values change: a new capture may follow
    in_turn: bool = False  # the arguments are examples, called one after the other
    counts: bool = True  # False where a way that it goes says little: infinity plus 1 is plus 2


Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


def _filled(number: float) -> Change:
    return lambda tensor, _: torch.full_like(tensor, number)


def _scaled(factor: float) -> Change:
    return lambda tensor, _: (tensor * factor).to(tensor.dtype)


def _shifted(by: int) -> Change:
    return lambda tensor, _: (tensor + by).clamp(-LARGE, LARGE).to(tensor.dtype)


def _random(scale: float) -> Change:
    def change(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        made = torch.randn(tensor.shape, generator=generator) * scale
        return made.to(tensor.dtype).to(tensor.device)

    return change


def _drawn(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Whole numbers between 0 and the largest that is there."""
    top = int(tensor.max()) + 1 if tensor.numel() else 1
    made = torch.randint(0, max(2, min(top, LARGE)), tensor.shape, generator=generator)
    return made.to(tensor.dtype).to(tensor.device)


def _coins(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return (torch.rand(tensor.shape, generator=generator) < 0.5).to(tensor.device)


def _turned(tensor: torch.Tensor, _: torch.Generator) -> torch.Tensor:
    return tensor.flip(0) if tensor.dim() else tensor


FLOATS: Mapping[str, Change] = MappingProxyType({
    "zeros": _filled(0.0), "the sign turned": lambda tensor, _: -tensor,
    "10 times as much": _scaled(10.0), "a tenth": _scaled(0.1),
    "positive": lambda tensor, _: tensor.abs(), "negative": lambda tensor, _: -tensor.abs(),
    "random": _random(1.0), "ones": _filled(1.0), "rows turned round": _turned,
    "random, large": _random(30.0), "1000 times as much": _scaled(1000.0),
    "a thousandth": _scaled(0.001),
})  # fmt: skip
EXTREMES: Mapping[str, Change] = MappingProxyType({
    "infinity": _filled(float("inf")), "NaN": _filled(float("nan")),
    "very small": _filled(1e-38), "minus infinity": _filled(float("-inf")),
})  # fmt: skip
INTEGERS: Mapping[str, Change] = MappingProxyType({
    "zeros": _filled(0), "ones": _filled(1), "one more": _shifted(1), "one less": _shifted(-1),
    "drawn": _drawn, "twos": _filled(2), "rows turned round": _turned, "threes": _filled(3),
    "ten more": _shifted(10), "the sign turned": lambda tensor, _: -tensor,
    "minus one": _filled(-1),
})  # fmt: skip
TRUTHS: Mapping[str, Change] = MappingProxyType({
    "turned": lambda tensor, _: ~tensor, "all False": lambda tensor, _: torch.zeros_like(tensor),
    "all True": lambda tensor, _: torch.ones_like(tensor), "coins": _coins,
})  # fmt: skip


def changes_for(value: torch.Tensor) -> Mapping[str, Change]:
    """What can be done to a tensor of this dtype."""
    if value.dtype == torch.bool:
        return TRUTHS
    if value.is_floating_point():
        return FLOATS
    return INTEGERS if not value.is_complex() else {"zeros": FLOATS["zeros"]}


def mutations(
    example: Example, seed: int, may_change: SizeRule, *, extremes: bool
) -> Iterator[Made]:
    """Inputs like `example`, the most telling ones first."""
    kinds = [
        _together(example, seed), _sizes(example, may_change), _one_by_one(example, seed),
        _numbers(example),
    ]  # fmt: skip
    if extremes:
        kinds.append(_extremes(example, seed))
    for made in itertools.chain.from_iterable(itertools.zip_longest(*kinds)):
        if made is not None:
            yield made


def _tensors(example: Example) -> list[Leaf]:
    return [leaf for leaf in leaves_of(example) if _can_change(leaf.value)]


def _can_change(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return False
    return type(value) in (torch.Tensor, torch.nn.Parameter) and not value.is_quantized


def changed_tensor(value: torch.Tensor, change: Change, generator: torch.Generator) -> torch.Tensor:
    """`value` changed; it requires grad if it did."""
    made = change(value.detach(), generator)
    return made.requires_grad_() if value.requires_grad else made


def _together(example: Example, seed: int) -> Iterator[Made]:
    """The same change to every tensor that it suits."""
    leaves = _tensors(example)
    for name in dict.fromkeys([*FLOATS, *INTEGERS, *TRUTHS]):
        generator = torch.Generator().manual_seed(seed)
        changes = {
            leaf.path: changed_tensor(leaf.value, changes_for(leaf.value)[name], generator)
            for leaf in leaves
            if name in changes_for(leaf.value)
        }
        if changes:
            yield Made(replaced(example, changes), name)


def _one_by_one(example: Example, seed: int) -> Iterator[Made]:
    """A change to one tensor, the others as they are."""
    leaves = _tensors(example)
    if len(leaves) < 2:
        return
    generator = torch.Generator().manual_seed(seed + 1)
    for leaf in leaves:
        for name, change in itertools.islice(changes_for(leaf.value).items(), 6):
            made = changed_tensor(leaf.value, change, generator)
            yield Made(replaced(example, {leaf.path: made}), f"{name} in one tensor")


def _extremes(example: Example, seed: int) -> Iterator[Made]:
    leaves = [leaf for leaf in _tensors(example) if leaf.value.is_floating_point()]
    for name, change in EXTREMES.items():
        generator = torch.Generator().manual_seed(seed)
        changes = {leaf.path: changed_tensor(leaf.value, change, generator) for leaf in leaves}
        if changes:
            yield Made(replaced(example, changes), name, counts=False)


# ---- sizes


def _sizes(example: Example, may_change: SizeRule) -> Iterator[Made]:
    """Another size: of every tensor that has the same one at the same dimension, and of one."""
    leaves = _tensors(example)
    places = [
        (leaf, dim)
        for leaf in leaves
        for dim in range(leaf.value.dim())
        if may_change(leaf.path, dim)
    ]
    groups: dict[tuple[int, int], list[Leaf]] = {}
    for leaf, dim in places:
        groups.setdefault((dim, leaf.value.shape[dim]), []).append(leaf)
    for wanted in ("1", "0", "2", "one more"):
        for (dim, size), group in groups.items():
            to = size + 1 if wanted == "one more" else int(wanted)
            if to != size:
                changes = {leaf.path: resized(leaf.value, dim, to) for leaf in group}
                yield Made(replaced(example, changes), f"size {to}", keeps_kinds=False)


def resized(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """`tensor` cut or repeated to `size` along `dim`."""
    data, now = tensor.detach(), tensor.shape[dim]
    if now == 0:
        shape = [size if d == dim else s for d, s in enumerate(tensor.shape)]
        made = torch.ones(shape, dtype=data.dtype, device=data.device)
    else:
        made = data.index_select(dim, torch.arange(size, device=data.device) % now)
    return made.requires_grad_() if tensor.requires_grad else made


# ---- Python numbers


def _numbers(example: Example) -> Iterator[Made]:
    """Another Python number or truth value: each is a capture of its own."""
    for leaf in leaves_of(example):
        for number in _other_numbers(leaf.value):
            changed = replaced(example, {leaf.path: number})
            yield Made(changed, f"{number!r} for {leaf.value!r}", keeps_kinds=False)


def _other_numbers(value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if type(value) is int:
        wanted = (0, 1, 2, value + 1, value - 1)
        return tuple(n for n in dict.fromkeys(wanted) if n != value and abs(n) <= LARGE)
    if type(value) is float:
        wanted_floats = (0.0, -value, value * 10, value / 10, 1.0)
        return tuple(n for n in dict.fromkeys(wanted_floats) if n != value)
    return ()
