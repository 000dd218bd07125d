"""Machines: generators whose items are taken one by one, and what `for` and `yield from` take."""

from __future__ import annotations

import dis
import inspect
import types
from typing import Any

import torch

from stator.capture.branches import capture_if
from stator.containers import machine_definitions as definitions
from stator.containers.generators import StagedGenerator, machine_site
from stator.containers.iteration import CapturedRange
from stator.containers.iterators import StagedIterator
from stator.containers.machine_definitions import Machine
from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.library.converted_functions import ConvertedFunctions
from stator.library.iterator_calls import opened
from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.staged import StagedList
from stator.values.union import Union, over_unions

SEQUENCES = (list, tuple, str, torch.Tensor, StagedList)
CLOSING = frozenset(
    {"PUSH_EXC_INFO", "GET_YIELD_FROM_ITER"}
)  # what `try`, `with`, `yield from` have


class Machines:
    """The generators of one capture."""

    def __init__(self, session: Session, functions: ConvertedFunctions) -> None:
        self.session, self.functions = session, functions

    def generator(self, function: types.FunctionType, args: Args, kwargs: Keywords) -> Staged:
        """What a call of the generator function `function` gives."""
        is_known = self.session.pooled.group_of(machine_site(function)) is not None
        if is_known or self.functions.is_machine(function):
            return self._new(function, args, kwargs)
        new = self.functions.staged(function)
        return StagedGenerator(
            self.session, function, lambda consumer: new(consumer, *args, **kwargs),
            acts_when_closed=self.functions.acts_when_closed(function),
        )  # fmt: skip

    def expression(
        self, consumed: types.FunctionType, resumed: types.FunctionType | None, values: Staged
    ) -> Staged:
        """A generator expression: the function as `yields` and as `machines` have rewritten it."""
        values = opened(self.session, values)
        consumed.__name__ = "<genexpr>"
        if resumed is None or self.session.pooled.group_of(machine_site(consumed)) is None:
            return StagedGenerator(
                self.session, consumed, lambda consumer: consumed(consumer, values),
                has_machine=resumed is not None,
            )  # fmt: skip
        machine = Machine.__new__(Machine)
        machine.v_iter__, machine.resumed, machine.ends_quietly = values, resumed, True
        return self._started(machine, consumed)

    def _new(self, function: types.FunctionType, args: Args, kwargs: Keywords) -> Machine:
        """`function(*args, **kwargs)`, a call of a generator function."""
        self.functions.machine(function)  # refuses what cannot be one
        machine = Machine.__new__(Machine)
        given = inspect.signature(function).bind(*args, **kwargs)
        given.apply_defaults()
        for name, value in given.arguments.items():
            setattr(machine, f"v_{name}", value)
        opcodes = {instruction.opname for instruction in dis.get_instructions(function)}
        machine.ends_quietly = not opcodes & CLOSING
        return self._started(machine, function)

    def _started(self, machine: Machine, function: types.FunctionType) -> Machine:
        machine.state, machine.starts, machine.function = 0, True, function
        self.session.provenance.add_created(machine)
        if not machine.ends_quietly and self.functions.acts_when_closed(function):
            self.session.closing_generators.append((machine, current_place()))
        return machine

    def refuse_open(self) -> None:
        """Refuse, at the end of the capture, what Python closes when it frees it."""
        for machine, place in self.session.closing_generators:
            if machine.starts is not True and not (
                type(machine.state) is int and machine.state == definitions.OVER
            ):
                raise UnsupportedCall(
                    f"the generator `{machine.function.__name__}` may be left at a `yield` inside "
                    "a `try` or `with`, whose code runs when Python frees the generator",
                    at=place,
                    fix="create it in the `for` statement that uses it, or call its `close()`",
                )  # fmt: skip

    def step(self, machine: Machine, how: int, sent: Staged) -> Staged:
        """Go on to the next `yield`: (is it over, the item, the result)."""
        try:
            resumed = vars(machine).get("resumed") or self.functions.machine(machine.function)
            return resumed(machine, how, sent)
        except StopIteration as error:
            raise RuntimeError("generator raised StopIteration") from error

    def delegate(self, value: Staged) -> Staged:
        """What `for` or `yield from` takes the items of `value` from."""
        value = self.session.staged(value)
        if isinstance(value, Union):
            return self.session.recorder.apply(value, self.delegate)
        if isinstance(value, StagedGenerator):
            raise value.one_by_one()
        method = user_method(value, "__iter__")
        if method is not None:
            return self.session.interpreter.call_method(method, value)
        if isinstance(value, range | CapturedRange):
            steps = definitions.RangeParts(value.start, value.stop, value.step)
            self.session.provenance.add_created(steps)
            return steps
        if isinstance(value, SEQUENCES):
            return value
        return self.session.interpreter.call(list if isinstance(value, dict) else iter, value)

    @over_unions("source")
    def tried(self, source: Staged, count: Staged) -> Staged:
        """(Is there none, what `item` needs, None) after `count` items of what `for` goes through.

        The item itself is read where there is one, so that its type does not count None in.
        """
        if isinstance(source, definitions.RangeParts):
            return self.session.interpreter.run(definitions.is_beyond, source, count), None, None
        if isinstance(source, SEQUENCES):
            length = self.session.interpreter.call(len, source)
            return self.session.interpreter.compare(count, ">=", length), None, None
        return self.advanced(source, count)

    @over_unions("source")
    def item(self, source: Staged, count: Staged, value: Staged) -> Staged:
        """The item that `tried` has found."""
        if isinstance(source, definitions.RangeParts):
            return self.session.interpreter.run(definitions.step_at, source, count)
        if isinstance(source, SEQUENCES):
            return self.session.interpreter.getitem(source, count)
        return value

    @over_unions("source")
    def advanced(self, source: Staged, count: Staged) -> Staged:
        """(Is there none, the item, None) after `count` items."""
        run = self.session.interpreter.run
        if isinstance(source, Machine):
            return self.step(source, 0, None)
        if isinstance(source, definitions.RangeParts):
            return run(definitions.stepped, source, count)
        if isinstance(source, SEQUENCES):
            return run(definitions.item_at, source, count)
        if isinstance(source, StagedIterator):
            return self._taken(source)
        return run(definitions.item_after, source)

    def _taken(self, source: StagedIterator) -> Staged:
        more = source.more()
        if isinstance(more, bool):
            return (False, source.take(), None) if more else (True, None, None)
        over = (True, None, None)
        recorder = self.session.recorder
        return capture_if(recorder, more, lambda: (False, source.take(), None), lambda: over)

    @over_unions("source")
    def delegated(self, source: Staged, count: Staged, how: int, sent: Staged) -> Staged:
        """The same for `yield from`, which passes on what is sent or raised."""
        if isinstance(source, Machine):
            return self.session.interpreter.run(definitions.passed_on, source, how, sent)
        if how:
            raise sent
        if sent is not None:
            raise UnsupportedCall(
                "`send` to a generator that delegates to another iterable with `yield from`",
                fix="send None: call `next`",
            )
        return self.advanced(source, count)

    def bound(self, machine: Machine, name: str, value: Staged) -> Staged:
        """`(name := value)` of a variable of the generator's."""
        self.session.interpreter.set(machine, name, value)
        return value

    def call(self, what: str, *args: Any) -> Staged:
        """`stator__.machine(what, *args)`."""
        return getattr(self, what)(*args)
