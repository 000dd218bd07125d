"""MemoryMap: what each tensor of a program holds, while in-place ops are turned into plain ones.

A *root* is a piece of memory: an input, a stored tensor, or what an op has newly made. Each tensor
that shares memory is a root and the view ops that lead from it to the tensor. The root has a
current value, and each write gives it another one; a view that is used after a write is made again
from it.

What comes out of a branch or a loop may be one of several roots. It counts as a root of its own,
*linked* to those: once one of the linked roots is written, the others can no longer be used.
A list is a root too, linked to its items, and what it holds cannot be written.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stator.errors import ExportError
from stator.location import Location
from stator.optimize.views import INVERSES, OpMaker, ViewStep
from stator.program.ir import Op, Value
from stator.program.types import ListType, Type
from stator.program.typing_rules import present


@dataclass(eq=False)
class Root:
    """A piece of memory; two are the same only if they are one object."""

    kind: Type
    depth: int  # of the block that it belongs to
    linked: list[Root] = field(default_factory=list)

    def link(self, other: Root) -> None:
        """From now on a write to one makes the other unusable."""
        if other is not self and other not in self.linked:
            self.linked.append(other)
            other.linked.append(self)

    def whole(self) -> list[Root]:
        """This root, and the others that may be its memory, by one link or several."""
        found, waiting = [self], [self]
        while waiting:
            more = [other for other in waiting.pop().linked if other not in found]
            found += more
            waiting += more
        return found

    def shared(self) -> list[Root]:
        """The other roots that may be this memory."""
        return self.whole()[1:]

    def is_in_list(self) -> bool:
        """Whether a list may hold this memory."""
        return any(isinstance(present(other.kind), ListType) for other in self.shared())


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor is: a root, and the views that lead to it; `certain` unless it may be a copy.

    A tensor that may be a copy can be used until its root is written, for `version` says what the
    root held when it was made.
    """

    root: Root
    path: tuple[ViewStep, ...] = ()
    certain: bool = True
    version: int = 0


@dataclass
class MemoryContents:
    """What the roots hold at one point of a block."""

    current: dict[Root, Value] = field(default_factory=dict)
    version: dict[Root, int] = field(default_factory=dict)
    stale: dict[Root, Location | None] = field(default_factory=dict)  # a linked one was written
    views: dict[Value, tuple[int, Value]] = field(default_factory=dict)  # made, at which version

    def copy(self) -> MemoryContents:
        """The same, to be changed by an inner block."""
        return MemoryContents(
            dict(self.current), dict(self.version), dict(self.stale), dict(self.views)
        )


class MemoryMap:
    """Places of the tensors that are written somewhere, and what is there now."""

    def __init__(self) -> None:
        self.places: dict[Value, TensorPlace] = {}
        self.contents = MemoryContents()

    def add_root(self, value: Value, now: Value, depth: int) -> Root:
        """`value` is memory of its own, and `now` is what it holds."""
        root = Root(value.type, depth)
        self.places[value] = TensorPlace(root)
        self.contents.current[root], self.contents.version[root] = now, 0
        return root

    def read(self, value: Value, make: OpMaker, at: Location | None) -> Value:
        """What `value` holds now."""
        place, contents = self.places[value], self.contents
        root = place.root
        if root in contents.stale:
            _refuse(value, contents.stale[root], at)
        version = contents.version[root]
        made, found = contents.views.get(value, (-1, value))
        if made == version:
            return found
        if not place.certain:
            if place.version != version:
                _refuse(value, None, at)
            return found
        return self._remember(value, self._applied(place, make)[-1])

    def _remember(self, value: Value, found: Value) -> Value:
        version = self.contents.version[self.places[value].root]
        self.contents.views[value] = (version, found)
        return found

    def note(self, value: Value, place: TensorPlace, now: Value) -> None:
        """`value` is at `place`, and holds `now`."""
        self.places[value] = place
        self._remember(value, now)

    def _applied(self, place: TensorPlace, make: OpMaker) -> list[Value]:
        """The root's value, and what each view of the path gives."""
        values = [self.contents.current[place.root]]
        for step in place.path:
            name, args = step.op.name, (values[-1], *step.op.args[1:])
            values.append(make.view(step, name, args))
        return values

    def write(self, value: Value, new: Value, make: OpMaker, op: Op) -> None:
        """`value` holds `new` from now on, and so does the root where it is."""
        place = self.places[value]
        if not place.certain or any(step.op.name not in INVERSES for step in place.path):
            raise ExportError(
                f"{op.name} writes to memory that other tensors may share",
                at=op.place, fix="write to a `.clone()`, or to the tensor itself",
            )  # fmt: skip
        if place.root in self.contents.stale:
            _refuse(value, self.contents.stale[place.root], op.place)
        before = self._applied(TensorPlace(place.root, place.path[:-1]), make) if place.path else []
        content = new
        for step, source in zip(reversed(place.path), reversed(before), strict=True):
            try:
                content = INVERSES[step.op.name](step, source, content, make)
            except LookupError:
                raise ExportError(
                    f"{op.name} writes through {step.op.name} at a data-dependent place",
                    at=op.place,
                ) from None
        self.set(place.root, content, op.place)
        self._remember(value, new)

    def set(self, root: Root, content: Value, at: Location | None) -> None:
        """The memory `root` holds `content` from now on."""
        self.contents.current[root] = content
        self.contents.version[root] += 1
        for other in root.shared():
            self.contents.stale.setdefault(other, at)


def _refuse(value: Value, written: Location | None, at: Location | None) -> None:
    where = f" at {written}" if written is not None else ""
    raise ExportError(
        f"%{value.name} is used after memory that it may share was written{where}",
        at=at, fix="use a `.clone()`",
    )  # fmt: skip
