"""BlockWriter: the block that is being written, and the values that it can see.

Blocks form a stack of scopes; an op in an inner block names a value of an outer one directly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence

import sympy
import torch

from stator.capture.errors.boundary import internal
from stator.capture.listeners import Listener
from stator.capture.literals import hashable
from stator.capture.modes import Modes
from stator.capture.scope import Mark, Scope
from stator.capture.sizes import Sizes
from stator.errors import UnsupportedCall, UntrackedTensor
from stator.frames import recorded_place
from stator.location import Location
from stator.program.ir import Arg, Block, Op, Value
from stator.program.opset.queries import may_raise
from stator.program.types import NumberKind, NumberType, Type, with_unions

TURNING_ON = (torch.enable_grad, torch.set_grad_enabled)  # the latter perhaps; it is read then


class BlockWriter:
    """Appends ops to `scope`, the current block."""

    sees_managers = True  # are the `with` statements of the code converted?

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        # does the program itself, and not only its caller?
        self.turns_on_gradients = not (self.sees_managers and torch.is_grad_enabled())
        self.scope = Scope(None, self.modes())
        self.program_start = self.scope.start  # older than anything that the capture creates
        self.listeners: list[Listener] = []
        self._count = self._unions = 0

    @property
    def depth(self) -> int:
        """How many blocks are open around the current one; 0 at the top of the program."""
        return self.scope.depth

    def new_value(self, value_type: Type) -> Value:
        """A value of this type, with a name of its own."""
        self._count += 1
        return Value(str(self._count), value_type)

    def own_unions(self, types: Iterable[Type]) -> list[Type]:
        """`types`, whose unions get names that no other value has."""
        names: dict[str, str] = {}

        def rename(union: str) -> str:
            if union not in names:
                self._unions += 1
                names[union] = f"u{self._unions}"
            return names[union]

        return [with_unions(kind, rename) for kind in types]

    @internal
    def emit(
        self,
        name: str,
        args: Sequence[Arg],
        results: Sequence[Value] = (),
        *,
        attributes: dict[str, Arg] | None = None,
        blocks: Sequence[Block] = (),
        place: Location | None = None,
    ) -> Op:
        """Append an op to the current block."""
        op = Op(
            name, tuple(args), attributes or {}, tuple(results), tuple(blocks),
            place or recorded_place(),
        )  # fmt: skip
        self.follow_modes()
        raises = may_raise(op)
        for listener in self.listeners:
            listener.before(op, may_raise=raises)
        self.scope.block.ops.append(op)
        return op

    def emit_unreached(self) -> None:
        """Append the op that ends a block which no run enters; nothing has to be ready for it."""
        said = ("RuntimeError", "no run gets here")
        self.scope.block.ops.append(Op("stator::raise", said, {}, (), (), recorded_place()))

    @contextlib.contextmanager
    def joining(self, written: Sequence[str]) -> Iterator[None]:
        """A construct with several paths is recorded inside; see `Listener.joining`."""
        with contextlib.ExitStack() as stack:
            for listener in self.listeners:
                stack.enter_context(listener.joining(written))
            yield

    @contextlib.contextmanager
    def running(self, scope: Scope, *, is_function: bool, repeats: bool) -> Iterator[None]:
        """User code runs into the block of `scope` inside; see `Listener.running`."""
        with contextlib.ExitStack() as stack:
            for listener in self.listeners:
                stack.enter_context(
                    listener.running(scope, is_function=is_function, repeats=repeats)
                )
            yield

    def modes(self) -> Modes:
        """The modes in force now."""
        return Modes.current(turns_on=self.turns_on_gradients)

    @contextlib.contextmanager
    def under(self, manager: object) -> Iterator[None]:
        """Inside, a manager of torch has set grad mode, if it is one that does."""
        before = self.turns_on_gradients
        self.turns_on_gradients |= isinstance(manager, TURNING_ON)
        try:
            yield
        finally:
            self.turns_on_gradients = before

    def follow_modes(self) -> None:
        """Grad mode, inference mode and autocast are part of the program: say where they change."""
        now = self.modes()
        if now != self.scope.modes:
            for name, args, attributes in now.changes_from(self.scope.modes):
                self.scope.block.ops.append(Op(name, args, attributes, (), (), recorded_place()))
            self.scope.modes = now

    @contextlib.contextmanager
    def open(self) -> Iterator[Scope]:
        """A new inner block; ops are recorded there until the `with` ends."""
        with self.inside(Scope(self.scope, self.modes())) as scope:
            yield scope
            self._leave_modes(scope)

    @contextlib.contextmanager
    def open_function(self) -> Iterator[Scope]:
        """The body of a function of the program; `closures` passes it what it sees outside."""
        with self.inside(Scope(self.scope, self.modes(), is_function=True)) as scope:
            yield scope
            self._leave_modes(scope)

    def mark(self) -> Mark:
        """Where the current block is, to come back to with `rewind`."""
        scope = self.scope
        return Mark(
            scope, len(scope.block.ops), len(scope.numbers), len(scope.symbols), scope.modes,
            scope.assumed,
        )  # fmt: skip

    @internal
    def rewind(self, mark: Mark) -> None:
        """Drop everything recorded since `mark`."""
        scope = mark.scope
        del scope.block.ops[mark.ops :]
        for table, count in ((scope.numbers, mark.numbers), (scope.symbols, mark.symbols)):
            for key in list(table)[count:]:
                del table[key]
        scope.modes, scope.assumed = mark.modes, mark.assumed

    @contextlib.contextmanager
    def inside(self, scope: Scope) -> Iterator[Scope]:
        """Record into `scope` (again)."""
        before, self.scope = self.scope, scope
        self.sizes.facts.append(set())
        try:
            yield scope
        finally:
            self.scope = before
            self.sizes.facts.pop()

    def _leave_modes(self, scope: Scope) -> None:
        if self.modes() != scope.entry_modes:
            raise UnsupportedCall(
                "grad mode, inference mode or autocast is changed in one branch or iteration "
                "and not changed back",
                fix="use `with torch.no_grad():` or `with torch.autocast(...):`",
            )
        self.follow_modes()

    # ---- what a block can see

    def emit_number(self, name: str, args: Sequence[Arg], kind: NumberKind) -> Value:
        """The result of a number op; equal ops in sight are recorded once."""
        key = (name, tuple(hashable(arg) for arg in args))
        for scope in self.scope.chain():
            if key in scope.numbers:
                return scope.numbers[key]
        value = self.new_value(NumberType(kind))
        self.emit(name, args, [value])
        self.scope.numbers[key] = value
        return value

    def sees_value(self, value: Value) -> bool:
        """Is `value` an input or a result of this block or one around it?"""
        return any(value in scope.defined() for scope in self.scope.chain())

    def sees_symbol(self, symbol: sympy.Symbol) -> bool:
        """Is `symbol` defined in this block or one around it?"""
        return any(symbol in scope.symbols for scope in self.scope.chain())

    def sees(self, expression: sympy.Basic) -> bool:
        """Can `expression` be computed in this block?"""
        return all(self.sees_symbol(symbol) for symbol in expression.free_symbols)

    def symbol_arg(self, symbol: sympy.Symbol) -> Arg:
        """The program's form of a bare symbol: a number, or a size read from its tensor."""
        for scope in self.scope.chain():
            if symbol in scope.symbols:
                value, dimension = scope.symbols[symbol]
                if dimension is None:
                    return value
                return self.emit_number("aten::sym_size.int", (value, dimension), "int")
        raise UntrackedTensor(
            "a size or a number was made in a block that has ended",
            fix="return it from the branch or the loop that makes it",
        )
