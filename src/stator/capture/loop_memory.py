"""LoopMemory: the kinds that a loop settled at, for when its body is recorded once more.

A loop records its body until the kinds that it carries no longer change, and with the body each
loop inside. If every one of these began from nothing, nested loops would be recorded 2 ** depth
times. An inner loop begins where it settled in the round before: kinds only get wider from round to
round, so it would get there anyway. If it does not settle there at once, it begins from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import sympy

from stator.capture.provenance import Provenance
from stator.location import Location
from stator.values.contents import state_of
from stator.values.describe import describe_state
from stator.values.kinds import (
    SCALARS,
    ContainerKind,
    Exact,
    Kind,
    ListKind,
    TensorKind,
    UnionKind,
    is_map,
)
from stator.values.merge import as_pairs, merge, merge_maps, widen_growing
from stator.values.staged import tick

Sees = Callable[[sympy.Basic], bool]  # can this be computed in the current block?


@dataclass
class Carried:
    """What a loop carries: names, then objects. `entry` has what they are before it."""

    entry: list[object]
    kinds: list[Kind]
    objects: list[object] = field(default_factory=list)


@dataclass(frozen=True)
class Settled:
    """The kinds that a loop began with and those it settled at."""

    begun: list[Kind]
    kinds: list[Kind]
    objects: list[object | int]  # a number: the object that the name at this position is


@dataclass
class LoopMemory:
    """One loop, or the program: the loops inside, in the order in which a round meets them."""

    started: int = field(default_factory=tick)
    settled: Settled | None = None
    inner: dict[tuple[Location | None, int], LoopMemory] = field(default_factory=dict)
    seen: dict[Location | None, int] = field(default_factory=dict)  # in this round
    may_guess: bool = True  # has no attempt failed that began with what is likely to be carried?

    def begin_round(self) -> None:
        """The body is recorded from its start."""
        self.seen.clear()

    def loop_at(self, place: Location | None) -> LoopMemory:
        """The next loop at `place`."""
        number = self.seen[place] = self.seen.get(place, 0) + 1
        return self.inner.setdefault((place, number), LoopMemory())

    def remember(
        self, provenance: Provenance, begun: list[Kind], carried: Carried, outer: int
    ) -> None:
        """The loop, inside one that started at `outer`, has settled."""
        count, objects = len(begun), list[object | int]()
        for obj in carried.objects:
            at = next((k for k in range(count) if carried.entry[k] is obj), None)
            if at is None and provenance.created_at(obj) >= outer:
                self.settled = None  # the next round will have another object
                return
            objects.append(obj if at is None else at)
        self.settled = Settled(begun, carried.kinds, objects)

    def start(self, sees: Sees, names: list[object], kinds: list[Kind]) -> Carried | None:
        """What the loop carried last; None if nothing of it can be used again."""
        last = self.settled
        if last is None or len(last.begun) != len(kinds):
            return None
        objects = [names[one] if isinstance(one, int) else one for one in last.objects]
        states = [state_of(obj) for obj in objects]
        own = [*kinds, *map(describe_state, states)]
        before: list[Kind | None] = [*last.begun, *[None] * len(objects)]
        started: list[Kind] = []
        for mine, begun, settled in zip(own, before, last.kinds, strict=True):
            if begun is not None and begun == settled:
                started.append(mine)
            elif not _is_lasting(sees, settled):
                return None
            else:
                started.append(_covering(mine, settled))
        return Carried([*names, *states], started, objects)


def _covering(kind: Kind, settled: Kind) -> Kind:
    if is_map(kind) and is_map(settled):
        kind, settled = merge_maps((kind, settled))
    elif is_map(kind) or is_map(settled):
        kind, settled = as_pairs(kind), as_pairs(settled)
    return widen_growing(merge(kind, settled))


def _is_lasting(sees: Sees, kind: Kind) -> bool:
    """Does `kind` speak of nothing that only the round before had?"""
    return all(_is_lasting_leaf(sees, leaf) for leaf in _leaves(kind))


def _is_lasting_leaf(sees: Sees, leaf: Kind) -> bool:
    if isinstance(leaf, Exact):
        return isinstance(leaf.value, SCALARS)
    if isinstance(leaf, TensorKind):
        sizes = [size for size in leaf.sizes if isinstance(size, sympy.Basic)]
        return all(sees(size) for size in sizes)
    return True


def _leaves(kind: Kind) -> Iterator[Kind]:
    if isinstance(kind, ContainerKind):
        for item in kind.items:
            yield from _leaves(item)
    elif isinstance(kind, ListKind):
        yield from _leaves(kind.item)
    elif isinstance(kind, UnionKind):
        for alternative in kind.alternatives:
            yield from _leaves(alternative)
    else:
        yield kind
