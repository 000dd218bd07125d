"""program_changes(): how one program differs from another in meaning, op by op.

The ops of two blocks are aligned in order; then what the aligned ones are given is compared. Names
of values and of sizes make no difference, nor do lines. Order does, and so does every constant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as OneOf

from stator.location import Location
from stator.program.ir import Arg, Block, Op, StoredTensor, Value
from stator.program.printer import print_call
from stator.program.program import Program
from stator.program.signatures import input_text, output_text
from stator.program.sizes import Dim, Symbol, substitute, symbols_in
from stator.program.types import ListType, OptionalType, TensorType, Type, with_unions

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """One difference: an op that is there on one side only, or something of one that is on both."""

    kind: OneOf["added", "removed", "changed"]
    where: str  # the blocks around it: `while at model.py:13`
    before: str  # the op, or what it was about; empty if it was added
    after: str
    before_place: str
    after_place: str
    details: tuple[str, ...] = ()  # of a change: what exactly


@dataclass
class ProgramChanges:
    """All changes from one program to the other, and how many ops are only on other lines."""

    changes: list[Change] = field(default_factory=list)
    moved: int = 0


def program_changes(before: Program, after: Program) -> ProgramChanges:
    """How `after` differs from `before`; no changes mean that they compute the same."""
    return _Comparison(before, after).run()


class _Comparison:
    def __init__(self, before: Program, after: Program) -> None:
        self.before, self.after = before, after
        self.found = ProgramChanges()
        self.same: dict[Value, Value] = {}  # of the one program -> of the other
        self.symbols: dict[str, str] = {}
        self.origin: dict[Value, str] = {}
        self.stored = {one.value: one for p in (before, after) for one in p.stored}

    def run(self) -> ProgramChanges:
        before, after = self.before, self.after
        self._name_origins(before)
        self._name_origins(after)
        self._match_stored()
        self._match_values(before.inputs, after.inputs, "", "input")
        for what, text in (("input", input_text), ("output", output_text)):
            mine, other = (getattr(p, f"{what}_structure") for p in (before, after))
            if repr(mine) != repr(other):  # `1 == True`, and a nan is not itself
                details = (f"{text(before)} -> {text(after)}",)
                self._change("", f"the structure of the {what}s", details=details)
        for name in dict.fromkeys((*before.functions, *after.functions)):
            self._function(name)
        self._block(before.body, after.body, "")
        return self.found

    def _function(self, name: str) -> None:
        mine, other = self.before.functions.get(name), self.after.functions.get(name)
        if mine is not None and other is not None:
            self._match_values(mine.inputs, other.inputs, f"function {name}", "input")
            self._block(mine, other, f"function {name}")
        elif mine is not None:
            self._add(Change("removed", "", f"function {name}", "", "", ""))
        else:
            self._add(Change("added", "", "", f"function {name}", "", ""))

    # ---- what is there before any op

    def _match_stored(self) -> None:
        others = {one.name: one for one in self.after.stored}
        for mine in self.before.stored:
            other = others.pop(mine.name, None)
            if other is None:
                self._add(Change("removed", "", _stored_text(mine), "", "", ""))
                continue
            self.same[mine.value] = other.value
            if mine.kind != other.kind or not self._is_same_type(mine.value.type, other.value.type):
                self._change("", _stored_text(mine), _stored_text(other))
        for other in others.values():
            self._add(Change("added", "", "", _stored_text(other), "", ""))

    def _match_values(
        self, before: Sequence[Value], after: Sequence[Value], where: str, what: str
    ) -> None:
        """Pair the inputs of a program or a block, by position."""
        for mine, other in zip(before, after, strict=False):
            self.same[mine] = other
            named = what == "input" and not where and mine.name != other.name
            if named or not self._is_same_type(mine.type, other.type):
                self._change(where, f"{what} {_typed(mine)}", f"{what} {_typed(other)}")
        for mine in before[len(after) :]:
            self._add(Change("removed", where, f"{what} {_typed(mine)}", "", "", ""))
        for other in after[len(before) :]:
            self._add(Change("added", where, "", f"{what} {_typed(other)}", "", ""))

    # ---- blocks

    def _block(self, before: Block, after: Block, where: str) -> None:
        for mine, other in self._aligned(before.ops, after.ops):
            if mine is not None and other is not None:
                self._pair(mine, other, where)
            elif mine is not None:
                self._add(Change("removed", where, print_call(mine), "", _short(mine.place), ""))
            elif other is not None:
                self._add(Change("added", where, "", print_call(other), "", _short(other.place)))
        details = tuple(self._arguments("result", before.outputs, after.outputs))
        if details:
            self._change(where, "what it gives", details=details)

    def _aligned(
        self, before: Sequence[Op], after: Sequence[Op]
    ) -> Iterator[tuple[Op | None, Op | None]]:
        """The ops in pairs: by all that is fixed of them, then by name, then by place alone."""
        for mine, other, equal in self._spans(before, after, self._key):
            inner = [(mine, other, True)] if equal else self._spans(mine, other, _name_key)
            for some, others, alike in inner:
                if alike or _can_stand_for(some, others):
                    yield from zip(some, others, strict=True)
                else:
                    yield from ((op, None) for op in some)
                    yield from ((None, op) for op in others)

    def _spans(
        self, before: Sequence[Op], after: Sequence[Op], key_of: Any
    ) -> Iterator[tuple[Sequence[Op], Sequence[Op], bool]]:
        """Runs of ops with equal keys, and the runs between them."""
        keys, others = [key_of(op) for op in before], [key_of(op) for op in after]
        start = _common(keys, others)
        end = _common(keys[start:][::-1], others[start:][::-1])
        if start:
            yield before[:start], after[:start], True
        stop, other_stop = len(keys) - end, len(others) - end
        matcher = difflib.SequenceMatcher(
            None, keys[start:stop], others[start:other_stop], autojunk=False
        )
        for tag, a, b, c, d in matcher.get_opcodes():
            yield before[start + a : start + b], after[start + c : start + d], tag == "equal"
        if end:
            yield before[stop:], after[other_stop:], True

    def _key(self, op: Op) -> Key:
        """All that is fixed of an op: its name, constants, and the stored tensors it is given."""
        attributes = tuple((name, self._fixed(arg)) for name, arg in op.attributes.items())
        return (op.name, self._fixed(op.args), attributes, len(op.results), len(op.blocks))

    def _fixed(self, arg: Arg) -> Any:
        if isinstance(arg, Value):
            return ("stored", self.stored[arg].name) if arg in self.stored else "value"
        if isinstance(arg, tuple):
            return tuple(self._fixed(one) for one in arg)
        return (type(arg).__name__, repr(arg))

    # ---- one op, on both sides

    def _pair(self, mine: Op, other: Op, where: str) -> None:
        details = [
            *([f"{mine.name} -> {other.name}"] if mine.name != other.name else []),
            *self._arguments("argument", mine.args, other.args),
            *self._attributes(mine.attributes, other.attributes),
        ]
        inner = [f"{_block_name(op)} at {_short(op.place)}" for op in (mine, other)]
        path = f"{where} > {inner[0]}" if where else inner[0]
        if len(mine.blocks) != len(other.blocks):
            details.append(f"number of blocks: {len(mine.blocks)} -> {len(other.blocks)}")
        for index, (block, matched) in enumerate(zip(mine.blocks, other.blocks, strict=False)):
            side = _side(mine, index)
            self._match_values(block.inputs, matched.inputs, path + side, "carried")
            self._block(block, matched, path + side)
        if len(mine.results) != len(other.results):
            details.append(f"number of results: {len(mine.results)} -> {len(other.results)}")
        for result, matched_result in zip(mine.results, other.results, strict=False):
            self.same[result] = matched_result
            if not self._is_same_type(result.type, matched_result.type):
                details.append(f"result: {result.type} -> {matched_result.type}")
        if details:
            self._change(where, print_call(mine), print_call(other), mine, other, tuple(details))
        elif _line(mine) != _line(other):
            self.found.moved += 1

    def _attributes(self, before: dict[str, Arg], after: dict[str, Arg]) -> Iterator[str]:
        for name in dict.fromkeys((*before, *after)):
            if name not in before or name not in after:
                yield f"{name}: only {'before' if name in before else 'after'}"
            elif not self._is_same(before[name], after[name]):
                yield f"{name}: {self._text(before[name])} -> {self._text(after[name])}"

    def _arguments(self, what: str, before: Sequence[Arg], after: Sequence[Arg]) -> Iterator[str]:
        for index, (mine, other) in enumerate(zip(before, after, strict=False), 1):
            if not self._is_same(mine, other):
                yield f"{what} {index}: {self._text(mine)} -> {self._text(other)}"
        if len(before) != len(after):
            yield f"number of {what}s: {len(before)} -> {len(after)}"

    def _is_same(self, mine: Arg, other: Arg) -> bool:
        if isinstance(mine, Value) and isinstance(other, Value):
            return self.same.get(mine) is other
        if isinstance(mine, tuple) and isinstance(other, tuple):
            return len(mine) == len(other) and all(map(self._is_same, mine, other))
        return type(mine) is type(other) and repr(mine) == repr(other)

    def _is_same_type(self, mine: Type, other: Type) -> bool:
        """Equal but for the names of sizes, where each has one name on the other side."""
        if isinstance(mine, OptionalType) and isinstance(other, OptionalType):
            presences = [one.present and one.present.alternatives for one in (mine, other)]
            return presences[0] == presences[1] and self._is_same_type(mine.element, other.element)
        if isinstance(mine, ListType) and isinstance(other, ListType):
            return self._is_same_type(mine.element, other.element)
        if not (isinstance(mine, TensorType) and isinstance(other, TensorType)):
            return with_unions(mine, _no_name) == with_unions(other, _no_name)
        return (
            (mine.dtype, mine.device) == (other.dtype, other.device)
            and len(mine.shape) == len(other.shape)
            and all(map(self._is_same_size, mine.shape, other.shape))
        )

    def _is_same_size(self, mine: Dim, other: Dim) -> bool:
        if isinstance(mine, int) or isinstance(other, int):
            return mine == other
        names, others = tuple(symbols_in(mine)), tuple(symbols_in(other))
        if substitute(mine, _nameless) != substitute(other, _nameless):
            return False
        for name, matched in zip(names, others, strict=True):
            if self.symbols.get(name, matched) != matched:
                return False
            if name not in self.symbols and matched in self.symbols.values():
                return False
            self.symbols[name] = matched
        return True

    # ---- words

    def _name_origins(self, program: Program) -> None:
        for value in program.inputs:
            self.origin[value] = f"input {value.name}"
        for stored in program.stored:
            self.origin[stored.value] = stored.name
        for block in program.blocks:
            self._name_results(block)

    def _name_results(self, block: Block) -> None:
        for op in block.ops:
            place = f" at {_short(op.place)}" if op.place else ""
            for inner in op.blocks:
                for value in inner.inputs:
                    self.origin[value] = f"%{value.name} carried by {op.name}{place}"
                self._name_results(inner)
            for value in op.results:
                self.origin[value] = f"%{value.name} of {op.name}{place}"

    def _text(self, arg: Arg) -> str:
        if isinstance(arg, Value):
            return self.origin.get(arg, f"%{arg.name}")
        if isinstance(arg, tuple):
            return f"[{', '.join(map(self._text, arg))}]"
        return getattr(arg, "text", None) or repr(arg)

    def _change(
        self,
        where: str,
        before: str,
        after: str = "",
        mine: Op | None = None,
        other: Op | None = None,
        details: tuple[str, ...] = (),
    ) -> None:
        places = [_short(op.place) if op is not None else "" for op in (mine, other)]
        after = after or before
        self._add(Change("changed", where, before, after, places[0], places[1], details))

    def _add(self, change: Change) -> None:
        self.found.changes.append(change)


def _nameless(_: str) -> Symbol:
    return Symbol("")


def _no_name(_: str) -> str:
    return ""


def _common(keys: Sequence[Key], others: Sequence[Key]) -> int:
    """How many keys are equal from the start on."""
    count = 0
    for mine, other in zip(keys, others, strict=False):
        if mine != other:
            break
        count += 1
    return count


def _name_key(op: Op) -> Key:
    return (op.name, len(op.blocks))


def _can_stand_for(some: Sequence[Op], others: Sequence[Op]) -> bool:
    """As many ops with as many results: each has taken the place of another."""
    shapes = [[(len(op.results), len(op.blocks)) for op in ops] for ops in (some, others)]
    return shapes[0] == shapes[1]


def _block_name(op: Op) -> str:
    return op.name.removeprefix("stator::")


def _side(op: Op, index: int) -> str:
    return ("", " (else)")[index] if op.name == "stator::if" else (f" ({index})" if index else "")


def _stored_text(stored: StoredTensor) -> str:
    return f"{stored.kind} {stored.name}: {stored.value.type}"


def _typed(value: Value) -> str:
    return f"{value.name}: {value.type}"


def _line(op: Op) -> int | None:
    return op.place.line if op.place is not None else None


def _short(place: Location | None) -> str:
    return place.short if place is not None else ""
