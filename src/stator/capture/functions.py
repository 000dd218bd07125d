"""capture_function: a function that calls itself becomes a function of the program.

The kinds of its arguments and of its result are found as a loop finds its own: record the body with
what is known so far, widen by what comes out and by what it calls itself with, until nothing
changes. As long as no result is known, a call of itself has no value: only other paths give one.

Objects from outside that the body changes (a memo, a list of results, a variable of an enclosing
function) go in and out as well: each call passes their states and gets back what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stator.capture.blocks import (
    BlockRecord,
    changed_objects,
    outputs,
    put_state,
    record_block,
    refuse_aliases,
    with_keys,
)
from stator.capture.flatten import NOTHING, flatten, instantiate, new_leaves
from stator.capture.journal import Journal
from stator.capture.loops import widen_state
from stator.capture.recorder import Recorder
from stator.capture.scope import Scope
from stator.errors import LoopStateChanged, UnsupportedCall
from stator.program.ir import Arg, Op, Value, ops_in
from stator.program.layout import nodes
from stator.program.opset.queries import kind_of, may_raise
from stator.values.contents import state_of
from stator.values.describe import describe, describe_state, generalise, name_of
from stator.values.freezing import not_by_reference
from stator.values.kinds import BOTTOM, Exact, Fresh, Kind, UnionKind, never
from stator.values.merge import merge
from stator.values.sites import Shared
from stator.values.staged import StagedContainer, python_name
from stator.values.symbolic import Diverged

ROUNDS = 16


class WiderArguments(BaseException):
    """The function is called with arguments that its kinds do not cover yet: record it again."""


class CapturedFunction:
    """One function of the program, for arguments of one kind."""

    def __init__(self, recorder: Recorder, name: str, args: object) -> None:
        self.recorder, self.name = recorder, name
        self.label = name.rpartition("_")[0] or name  # without the number that makes it unique
        self.takes: Kind = generalise(describe(args))
        self.gives: Kind = BOTTOM
        self.objects: list[object] = []  # from outside, that it changes
        self.states: list[Kind] = []  # of these objects, before and after any call
        self.is_done = False
        self._body: tuple[Scope, Journal] | None = None  # while it is recorded
        self._is_caught = False  # is there a `try` around a call of it?
        self._overflow_is_caught = False  # is there one that catches too deep a recursion?
        self._first: tuple[Scope, Op] | None = None  # the call that it was captured for

    def covers(self, args: object) -> bool:
        """Do these arguments fit without widening?"""
        return merge(self.takes, describe(args)) == self.takes

    def is_seen(self) -> bool:
        """Does the current block see what the function may use of the block it was captured in?"""
        if self._first is None:
            return False
        scope, op = self._first
        return any(one is scope for one in self.recorder.scope.chain()) and any(
            one is op for one in scope.block.ops
        )

    def call(self, args: object) -> Any:
        """Record a call; while the function is being captured, new kinds of arguments widen it."""
        self._widen(args)
        if self.gives == BOTTOM:
            raise Diverged
        recorder = self.recorder
        self._is_caught |= bool(recorder.attempts)
        self._overflow_is_caught |= catches_overflow(recorder)
        given: list[Arg] = flatten(recorder, args, self.takes)
        for obj, kind in zip(self.objects, self.states, strict=True):
            given += flatten(recorder, with_keys(state_of(obj), kind), kind)
        kinds = [self.gives, *self.states]
        results = [leaf for kind in kinds for leaf in new_leaves(recorder, kind)]
        op = recorder.emit("stator::call", given, results, attributes={"function": self.name})
        if self.is_done:
            self._refuse_lost_changes()
            self._first = self._first or (recorder.scope, op)
        leaves = iter(results)
        value, *states = [instantiate(recorder, kind, leaves) for kind in kinds]
        for obj, state in zip(self.objects, states, strict=True):
            put_state(recorder, obj, state)
        return value

    def _widen(self, args: object) -> None:
        """Cover `args` and the states that objects have now."""
        found, fresh = self._changed_before_call()
        states = [
            widen_state(kind, state_of(obj), fresh)
            for obj, kind in zip(self.objects, self.states, strict=True)
        ]
        if self.covers(args) and states == self.states and not found:
            return
        self.takes, self.states = generalise(merge(self.takes, describe(args))), states
        _share_containers(self.takes)
        for obj, before in found:
            self.objects.append(obj)
            self.states.append(widen_state(describe_state(before), state_of(obj), fresh))
        raise WiderArguments

    def _changed_before_call(self) -> tuple[list[tuple[object, object]], Fresh]:
        """What the body has changed when it calls itself: it may change it back later."""
        if self._body is None:
            return [], never
        scope, journal = self._body
        fresh = self.recorder.provenance.created_since(scope)
        changed = self.recorder.journal.changed_so_far(since=journal)
        return [pair for pair in changed if not (fresh(pair[0]) or self._carries(pair[0]))], fresh

    def _carries(self, obj: object) -> bool:
        return any(obj is other for other in self.objects)

    def capture(self, body: Callable[[Any], Any]) -> None:
        """Record `body(args)` until the kinds settle."""
        for _ in range(ROUNDS):
            before = (self.takes, self.gives, self.states)
            try:
                self._record(body)
            except WiderArguments:
                continue
            if (self.takes, self.gives, self.states) == before and self.gives != BOTTOM:
                self.is_done, self._body = True, None
                return
            if self.gives == BOTTOM:
                break
        raise LoopStateChanged(
            f"`{self.label}` calls itself, and the types that it takes or returns never settle "
            f"(it returns {name_of(self.gives)})",
            fix="take and return the same dtype, rank and structure on every path",
        )  # fmt: skip

    def _record(self, body: Callable[[object], object]) -> None:
        recorder = self.recorder
        kinds = [self.takes, *self.states]
        inputs: list[Value] = [leaf for kind in kinds for leaf in new_leaves(recorder, kind)]

        def code() -> Any:
            self._body, leaves = (recorder.scope, recorder.journal), iter(inputs)
            args, *states = [instantiate(recorder, kind, leaves) for kind in kinds]
            for obj, state in zip(self.objects, states, strict=True):
                put_state(recorder, obj, state)
            return body(args)

        recorded = record_block(recorder, code, is_function=True)
        after = self._learn(recorded)
        block = recorded.scope.block
        block.inputs = tuple(inputs)
        if len(self.states) == len(kinds) - 1:  # else it is recorded again
            values = [recorded.value, *map(with_keys, after, self.states)]
            given = outputs(recorder, recorded.scope, values, [self.gives, *self.states])
            block.outputs = tuple(given)
        recorder.functions[self.name] = block

    def _learn(self, recorded: BlockRecord) -> list[Any]:
        """Widen by what the body has given and changed; gives the states that it left."""
        found = [obj for obj in changed_objects([recorded]) if not self._carries(obj)]
        self.objects += found
        states = self.states + [describe_state(state_of(obj)) for obj in found]
        after = [recorded.state_after(obj) for obj in self.objects]
        fresh = self.recorder.provenance.created_since(recorded.scope)
        refuse_aliases([recorded.value], fresh, after)
        pairs = zip(states, after, strict=True)
        self.states = [widen_state(kind, state, fresh) for kind, state in pairs]
        if recorded.value is not NOTHING:
            self.gives = generalise(merge(self.gives, describe(recorded.value, fresh)))
        return after

    def _refuse_lost_changes(self) -> None:
        """What a call has changed before it raises is not known outside of it."""
        recorder = self.recorder
        is_local = recorder.provenance.is_local
        is_seen = self._is_caught or not all(is_local(obj, recorder.scope) for obj in self.objects)
        if self.objects and self._overflow_is_caught:
            raise UnsupportedCall(
                f"`{self.label}` calls itself under a data-dependent condition and changes an "
                "object that is not its own: if the recursion is too deep, the error is caught "
                "and the changes are lost",
                fix="pass the value as an argument and return the new one",
            )  # fmt: skip
        if self.objects and is_seen and any(map(_may_end, self._ops())):
            raise UnsupportedCall(
                f"`{self.label}` calls itself under a data-dependent condition, changes an "
                "object that is not its own, and may raise",
                fix="pass the value as an argument and return the new one",
            )  # fmt: skip

    def _ops(self) -> Iterator[Op]:
        """The ops of the function, and of those that it calls."""
        waiting = [self.name]
        for name in waiting:
            for op in ops_in(self.recorder.functions[name]):
                yield op
                called = str(op.attributes["function"]) if kind_of(op) == "call" else name
                waiting += [called] if called not in waiting else []


def catches_overflow(recorder: Recorder) -> bool:
    """Is there a `try`, a `finally` or a `with` around this that sees too deep a recursion?"""
    return any(attempt.catches(RecursionError()) for attempt in recorder.attempts)


def _may_end(op: Op) -> bool:
    """May the call end with this op, other than by too deep a recursion?"""
    kind = kind_of(op)
    return kind in ("raise", "check") or (kind != "call" and may_raise(op))


def _share_containers(kind: Kind) -> None:
    """Each call is given a container of its own: they have to be known by reference."""
    for union in (one for one in nodes(kind) if isinstance(one, UnionKind)):
        exact = [one.value for one in union.alternatives if isinstance(one, Exact)]
        held = [one for one in exact if isinstance(one, StagedContainer) and one.sites]
        if len(held) > 1:
            sites = frozenset[Any]().union(*(one.sites for one in held))
            raise Shared(sites, not_by_reference(python_name(held[0])))
