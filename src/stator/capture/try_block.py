"""capture_try: the body and the handlers of a `try` are recorded, and what they leave is joined.

A handler starts where the body has raised, and only a run knows where that is. So the body is
recorded twice: the first time shows what its names, and the objects it changes, hold wherever it
may raise; the second time it keeps (`stator::keep`) what they hold there, and a handler is given
what was kept last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from stator.capture.blocks import BlockRecord, put_state, record_block, with_equal_keys, with_keys
from stator.capture.branches import join_sides
from stator.capture.flatten import flatten, instantiate, new_leaves
from stator.capture.loops import Variables
from stator.capture.raised_parts import class_names
from stator.capture.recorder import Recorder
from stator.capture.scope import Attempt
from stator.errors import UnsupportedCall
from stator.program.ir import Arg, Block, Value, ops_in
from stator.program.types import NumberType, TextType
from stator.values.contents import same_state, state_of
from stator.values.describe import describe, describe_state, generalise
from stator.values.kinds import Fresh, Kind, same_value
from stator.values.merge import merge
from stator.values.symbolic import CapturedText, CaughtError, Diverged, Undefined
from stator.values.union import Union

Handler = tuple[tuple[str, ...], Callable[[CaughtError], Any]]  # what it catches, and its code


@dataclass(frozen=True)
class KeptState:
    """What the body keeps: names (None: as before the `try`), and objects that it changes."""

    recorder: Recorder
    names: tuple[Kind | None, ...]
    objects: tuple[tuple[Any, Kind], ...]

    def leaves(self, values: tuple[Any, ...]) -> tuple[Arg, ...]:
        """What is to be kept now, if the names hold `values`."""
        named = [(v, kind) for v, kind in zip(values, self.names, strict=True) if kind]
        held = [(with_keys(state_of(obj), kind), kind) for obj, kind in self.objects]
        return tuple(
            leaf for value, kind in (*named, *held) for leaf in flatten(self.recorder, value, kind)
        )

    def new_leaves(self) -> list[Value]:
        """The inputs of a handler that represent what was kept."""
        kinds = [*(kind for kind in self.names if kind), *(kind for _, kind in self.objects)]
        return [leaf for kind in kinds for leaf in new_leaves(self.recorder, kind)]

    def restore(self, leaves: Sequence[Value], before: tuple[object, ...], write: Any) -> None:
        """Give names and objects what was kept."""
        given = iter(leaves)
        write(tuple(
            instantiate(self.recorder, kind, given) if kind else value
            for kind, value in zip(self.names, before, strict=True)
        ))  # fmt: skip
        for obj, kind in self.objects:
            put_state(self.recorder, obj, instantiate(self.recorder, kind, given))


def capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], object],
    handlers: Sequence[Handler],
) -> Any:
    """Record a `try`; gives whether the body went through, and leaves the names joined."""
    with recorder.joining(variables.names):
        return _capture_try(recorder, variables, attempt, body, handlers)


def _capture_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], object],
    handlers: Sequence[Handler],
) -> Any:
    """Once more, keeping the parts of what is raised, where a handler asks for them."""
    mark, before, read = recorder.mark(), variables.read(), attempt.read
    while True:
        try:
            return _record_try(recorder, variables, attempt, body, handlers)
        except ArgumentsNeeded as needed:
            if needed.attempt is not attempt:
                raise
            attempt.asked += needed.names
            attempt.tracks_whole |= needed.whole
        recorder.rewind(mark)
        variables.write(before)
        attempt.tracks_arguments = True
        attempt.read = lambda: (*read(), attempt.arguments)


class ArgumentsNeeded(BaseException):
    """A handler asks for parts of what it has caught: the body has to keep them.

    These are the arguments, and the attributes `names`; or the `whole` exception.
    """

    def __init__(self, attempt: Attempt, *names: str, whole: bool = False) -> None:
        self.attempt, self.names, self.whole = attempt, names, whole


def _record_try(
    recorder: Recorder,
    variables: Variables,
    attempt: Attempt,
    body: Callable[[], object],
    handlers: Sequence[Handler],
) -> Any:
    before = variables.read()

    def run_body() -> tuple[object, ...]:
        attempt.scope = recorder.scope
        variables.write(before)
        body()
        return (True, *variables.read())

    recorder.tries += 1
    number = recorder.tries
    attempt.keep = None
    mark = recorder.mark()
    tried = _record_body(recorder, attempt, run_body)
    _refuse_overflow(tried.scope.block, handlers)
    known = (*before, None) if attempt.tracks_arguments else before
    kept = _kept(recorder, known, attempt)
    if any(kept.names) or kept.objects:
        recorder.rewind(mark)
        attempt.keep = lambda: _keep(recorder, kept, attempt, number)
        tried = _record_body(recorder, attempt, run_body)
    caught = [
        _Handler(recorder, variables, known, kept, code, attempt).record() for _, code in handlers
    ]
    variables.write(before)

    def emit(blocks: list[Block], results: list[Value]) -> None:
        attributes: dict[str, Arg] = {
            "catches": tuple(names for names, _ in handlers),
            "asks": tuple(tuple(handler.asked) for handler in caught),
            "number": number,
        }
        start = kept.leaves(known)
        recorder.emit("stator::try", start, results, attributes=attributes, blocks=blocks)

    sides = [tried, *(handler.recorded for handler in caught)]
    went_through, *values = join_sides(recorder, sides, emit)
    variables.write(tuple(values))
    return went_through


def _refuse_overflow(body: Block, handlers: Sequence[Handler]) -> None:
    """A run that overflows the stack does not say how far it came, as eager code does."""
    catches = any(RecursionError.__name__ in names for names, _ in handlers)
    if catches and any(op.name == "stator::call" for op in ops_in(body)):
        raise UnsupportedCall(
            "a RecursionError of a function of data-dependent depth is caught: its changes until "
            "then would be lost",
            fix="count the depth, and stop at a limit of your own",
        )  # fmt: skip


def _keep(recorder: Recorder, kept: KeptState, attempt: Attempt, number: int) -> None:
    recorder.emit("stator::keep", kept.leaves(attempt.read()), attributes={"number": number})


class _Handler:
    """One handler, while it is recorded: `%class, %text, *kept, *answers` are its inputs."""

    def __init__(
        self,
        recorder: Recorder,
        variables: Variables,
        before: tuple[Any, ...],
        kept: KeptState,
        code: Callable[[CaughtError], Any],
        attempt: Attempt,
    ) -> None:
        self.recorder, self.variables, self.code = recorder, variables, code
        self.attempt = attempt
        self.before, self.kept = before, kept
        self.asked: list[tuple[str, ...]] = []
        self.inputs: list[Value] = []
        self.arguments: Any = None
        self.recorded: Any = None

    def record(self) -> _Handler:
        """Record the handler into a block of its own."""
        caught = self.recorder.exceptions.caught
        before = len(caught)
        try:
            self.recorded = record_block(self.recorder, self._run)
        finally:
            del caught[before:]  # not before a raise of the handler is recorded
        self.recorded.scope.block.inputs = tuple(self.inputs)
        return self

    def _run(self) -> tuple[Any, ...]:
        name, text = (self.recorder.new_value(TextType()) for _ in range(2))
        leaves = self.kept.new_leaves()
        self.inputs = [name, text, *leaves]
        self.scope = self.recorder.scope
        self.scope.block.inputs = tuple(self.inputs)
        self.kept.restore(leaves, self.before, self._write)
        error = CaughtError(
            CapturedText(name), CapturedText(text), self._ask, self._give, self._attribute,
            self._exception,
        )  # fmt: skip
        if self.attempt.tracks_whole:
            error.know(self._exception())
        self.recorder.exceptions.caught.append(error)
        self.code(error)
        values = self.variables.read()
        if not self.attempt.tracks_whole and self._is_kept(error, values):
            raise ArgumentsNeeded(self.attempt, whole=True)
        return (False, *values)

    def _is_kept(self, error: CaughtError, values: tuple[Any, ...]) -> bool:
        """Does a name, or an object that the handler has changed, hold `error` after it?"""
        found = list(values)
        for obj, _ in self.recorder.journal.noted():
            state = state_of(obj)
            found += state.values() if isinstance(state, dict) else [state]
        return any(item is error for one in found for item in (one, *_known_items(one)))

    def _exception(self) -> Any:
        """The exception itself, as one of those that the body may raise."""
        if not self.attempt.tracks_whole:
            self._check_inside()
            raise ArgumentsNeeded(self.attempt, whole=True)
        return self._each(self.arguments, self._raised)

    def _raised(self, kept: tuple[Any] | None) -> Any:
        """What was raised: a handler runs only where something was."""
        if kept is None:
            self.recorder.emit_unreached()
            raise Diverged
        return kept[0]

    def _write(self, values: tuple[Any, ...]) -> None:
        """Give the names, and the caught exception, what was kept."""
        if self.attempt.tracks_arguments:
            *values, self.arguments = values  # type: ignore[assignment]
        self.variables.write(tuple(values))

    def _give(self, text: CapturedText) -> Any:
        """The arguments of the error: what an op says by itself is its text."""
        self._check_inside()
        if self.attempt.tracks_whole:
            return self._each(self._exception(), lambda error: error.args)
        if not self.attempt.tracks_arguments:
            raise ArgumentsNeeded(self.attempt)
        return self._part(lambda parts: (text,) if parts is None else parts[0])

    def _attribute(self, name: str, must_be_there: bool) -> Any:
        """An attribute of the error; one that an op raises by itself has none."""
        self._check_inside()
        if self.attempt.tracks_whole:
            return self._each(
                self._exception(), lambda error: getattr(error, name, Undefined(name))
            )
        if not self.attempt.tracks_arguments or name not in self.attempt.asked:
            raise ArgumentsNeeded(self.attempt, name)
        at = self.attempt.asked.index(name) + 1

        def found(value: Any) -> Any:
            if isinstance(value, Undefined):
                raise AttributeError(f"the exception has no attribute '{name}'")
            return value

        def attribute(parts: Any) -> Any:
            value = Undefined(name) if parts is None else parts[at]
            return self._each(value, found) if must_be_there else value

        return self._part(attribute)

    def _part(self, part: Callable[[Any], Any]) -> Any:
        return self._each(self.arguments, part)

    def _each(self, value: Any, part: Callable[[Any], Any]) -> Any:
        return self.recorder.apply_all(value, part) if isinstance(value, Union) else part(value)

    def _check_inside(self) -> None:
        if self.scope not in self.recorder.scope.chain():
            raise UnsupportedCall("the class of a caught exception is tested after its handler",
                                  fix="test it inside the handler")  # fmt: skip

    def _ask(self, names: tuple[str, ...]) -> Any:
        """Is the error of one of these classes? The answer is an input of the handler."""
        self._check_inside()
        value = self.recorder.new_value(NumberType("bool"))
        self.inputs.append(value)
        self.asked.append(names)
        number = self.recorder.number("bool", value)
        self.scope.symbols.update(dict.fromkeys(number.node.expr.free_symbols, (value, None)))
        self.scope.numbers[number.node.expr] = value
        return number


def _known_items(value: object) -> Iterable[object]:
    """The items of a tuple or a list that Python knows."""
    if isinstance(value, list):
        return list.__iter__(value)
    return value if isinstance(value, tuple) else ()


def _record_body(recorder: Recorder, attempt: Attempt, code: Callable[[], object]) -> BlockRecord:
    attempt.is_recorded, attempt.seen = True, []
    attempt.root = recorder.scope.root
    attempt.journal = recorder.journal
    recorder.attempts.append(attempt)
    try:
        return record_block(recorder, code)
    finally:
        recorder.attempts.pop()


def _kept(recorder: Recorder, before: tuple[object, ...], attempt: Attempt) -> KeptState:
    """The kinds that cover what names and objects hold wherever the body may raise."""
    assert attempt.scope is not None
    fresh = recorder.provenance.created_since(attempt.scope)
    names = tuple(
        _name_kind(old, [seen.names[k] for seen in attempt.seen], fresh)
        for k, old in enumerate(before)
    )
    changed = {key: one[0] for seen in attempt.seen for key, one in seen.objects.items()}
    objects = []
    for key, obj in changed.items():
        old = state_of(obj)
        found = [seen.objects[key][1:] for seen in attempt.seen if key in seen.objects]
        if not all(same_state(old, state) for state, _ in found):
            kinds = [generalise(describe_state(old, fresh)), *(kind for _, kind in found)]
            objects.append((obj, functools.reduce(merge, with_equal_keys(kinds))))
    return KeptState(recorder, names, tuple(objects))


def _name_kind(old: object, seen: Sequence[tuple[object, Kind]], fresh: Fresh) -> Kind | None:
    """None where the name always holds what it held before."""
    if all(same_value(old, value) for value, _ in seen):
        return None
    kinds = (kind for _, kind in seen)
    return functools.reduce(merge, kinds, generalise(describe(old, fresh)))


def error_names(classes: Any) -> tuple[str, ...]:
    """The names that a program knows the classes of an `except` by."""
    if classes is None:
        return ("Exception",)
    if isinstance(classes, tuple):
        return tuple(name for cls in classes for name in error_names(cls))
    builtin, written = class_names(classes)
    return written[:1] or (builtin,)
