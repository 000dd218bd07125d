"""Machine: a generator whose items are taken one by one, by `next`, `send`, `throw` and `close`.

Its code goes on from one `yield` to the next (`rewrite/machines.py`); between them its variables
are attributes, which branches and loops follow as those of any object. All here is converted like
user code.
"""

from __future__ import annotations

from stator.errors import UnsupportedCall
from stator.values.annotations import Staged
from stator.values.symbolic import CannotLeave, Undefined

OVER = -1


def taken_by_a_library(name: str) -> UnsupportedCall:
    """The refusal of a generator whose items are taken by code that is not converted."""
    return UnsupportedCall(f"library code takes items from the generator `{name}` one by one",
                           fix="make a list of it first: `list(...)`")  # fmt: skip


class Machine(CannotLeave):
    """A generator; `state` is the `yield` at which it resumes, -1 once it is exhausted."""

    what = "generator"
    state: Staged
    starts: bool
    function: Staged  # the generator function
    resumed: Staged  # of a generator expression: the function that goes on
    v_iter__: Staged  # and what it goes through
    ends_quietly: bool  # has it no `try`, `with` or `yield from` that `close` would reach?

    def __getattr__(self, name: str) -> Staged:
        """The variables of the generator are attributes: one that is not there is not bound yet."""
        if not name.startswith("v_"):
            raise AttributeError(f"'generator' object has no attribute '{name}'")
        raise unbound(name)

    def __iter__(self) -> Staged:
        return self

    def __next__(self) -> Staged:
        is_over, item, result = step(self, 0, None)
        if is_over:
            raise stop(result)
        return item

    def send(self, value: Staged) -> Staged:
        """Go on; the `yield` gives `value`."""
        if self.starts and value is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        is_over, item, result = step(self, 0, value)
        if is_over:
            raise stop(result)
        return item

    def throw(self, error: Staged, value: Staged = None, _traceback: Staged = None) -> Staged:
        """Go on; the `yield` raises `error`."""
        if isinstance(error, type):
            error = value if isinstance(value, error) else error()
        if self.starts or self.state == OVER:
            self.starts, self.state = False, OVER
            raise error
        is_over, item, result = step(self, 1, error)
        if is_over:
            raise stop(result)
        return item

    def close(self) -> None:
        """End it; its `finally` clauses run."""
        if self.ends_quietly or self.starts or self.state == OVER:
            self.starts, self.state = False, OVER
            return
        goes_on = False
        try:
            is_over, _, _ = step(self, 1, GeneratorExit())
            goes_on = not is_over
        except GeneratorExit:
            goes_on = False
        if goes_on:
            raise RuntimeError("generator ignored GeneratorExit")


def unbound(name: str) -> UnboundLocalError:
    """What Python raises where a variable is read that is not bound; `name` is the attribute."""
    return Undefined(name.removeprefix("v_")).error()


def step(machine: Staged, how: int, sent: Staged) -> Staged:  # noqa: ARG001 (see `library.machines`)
    """(Is it over, the item, the result), after `sent` was sent (`how` is 0) or raised (1)."""
    raise taken_by_a_library(machine.function.__name__)  # no converted code comes here


def stop(value: Staged) -> Staged:
    """What says that a generator is over."""
    if value is None:
        return StopIteration()
    return StopIteration(value)


def items_of(machine: Staged) -> Staged:
    """The items of a generator: what a `for` loop goes through."""
    while True:
        is_over, item, _ = step(machine, 0, None)
        if is_over:
            break
        yield item
    machine.state = OVER  # known without a run


def next_or(machine: Staged, default: Staged) -> Staged:
    """`next(machine, default)`."""
    is_over, item, _ = step(machine, 0, None)
    if is_over:
        return default
    return item


def item_at(items: Staged, at: Staged) -> Staged:
    """(Is there none, the item, None) of a sequence."""
    if at < len(items):
        return False, items[at], None
    return True, None, None


class RangeParts:
    """What a range consists of, so that branches and loops can carry one."""

    def __init__(self, start: Staged, stop: Staged, step: Staged) -> None:
        self.start, self.stop, self.step = start, stop, step


def step_at(steps: Staged, at: Staged) -> Staged:
    """Item `at` of a range."""
    return steps.start + at * steps.step


def is_beyond(steps: Staged, at: Staged) -> Staged:
    """Has a range no item `at`?"""
    item = step_at(steps, at)
    return item >= steps.stop if steps.step > 0 else item <= steps.stop


def stepped(steps: Staged, at: Staged) -> Staged:
    """(Is there none, the item, None) of a range."""
    if is_beyond(steps, at):
        return True, None, None
    return False, step_at(steps, at), None


def item_after(iterator: Staged) -> Staged:
    """(Is there none, the item, None) of an iterator."""
    try:
        item = next(iterator)
    except StopIteration:
        return True, None, None
    return False, item, None


def thrown(machine: Staged, error: Staged) -> Staged:
    """`step` of a generator whose `yield` raises `error`."""
    if machine.starts or machine.state == OVER:
        machine.starts, machine.state = False, OVER
        raise error
    return step(machine, 1, error)


def passed_on(source: Staged, how: int, sent: Staged) -> Staged:
    """What `yield from source` does with what is sent or raised: see `step`."""
    if how:
        if isinstance(sent, GeneratorExit):
            source.close()
            raise sent
        return thrown(source, sent)
    return step(source, 0, sent)
