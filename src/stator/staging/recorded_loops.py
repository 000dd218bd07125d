"""Branches and loops that are recorded: for the names that a statement assigns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from stator.capture.branches import capture_if
from stator.capture.conditions import Condition, known
from stator.capture.loops import capture_while
from stator.capture.numbers import both
from stator.containers.iteration import Indexed
from stator.errors import DataDependent
from stator.program.ir import ops_in
from stator.staging.truth import truth
from stator.state.session import Session
from stator.values.annotations import Code, Names, Read, Staged, Write

MANY_ITERATIONS = 100  # of a loop that runs as Python: is it one that only an error ends?
# of one that may be endless: it records something in each iteration, or nothing
MOST_RECORDED, MOST_ITERATIONS = 1_000, 10_000
NO_STEPS: Mapping[str, int] = MappingProxyType({})


def capture_sides(
    session: Session,
    condition: object,
    body: Code,
    orelse: Code,
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """Record both sides; each starts from the names as they are now."""
    before = read()

    def side(code: Code) -> Callable[[], tuple[object, ...]]:
        def run() -> tuple[Staged, ...]:
            write(before)
            code()
            return read()

        return run

    try:
        after = capture_if(session.recorder, condition, side(body), side(orelse), names=names)
    except BaseException:
        write(before)
        raise
    write(after)


class LoopVariables:
    """The names that a loop carries, and the number of the iteration for loops that count."""

    def __init__(
        self,
        names: Names,
        read: Read,
        write: Write,
        *,
        counts: bool,
        steps: Mapping[str, int] = NO_STEPS,
    ) -> None:
        self.names = (*names, "iteration") if counts else names
        self.steps = {**steps, "iteration": 1} if counts else steps
        self.iteration: Any = 0
        self._read, self._write, self._counts = read, write, counts

    def read(self) -> tuple[Staged, ...]:
        """The values that the names, and the iteration where it counts, have now."""
        return (*self._read(), self.iteration) if self._counts else self._read()

    def write(self, values: tuple[object, ...]) -> None:
        """Give the names, and the iteration where it counts, these values."""
        if self._counts:
            *names, self.iteration = values
            values = tuple(names)
        self._write(values)


def for_recorded(
    session: Session,
    items: Indexed,
    start: int,
    body: Callable[[object], object],
    goes_on: Code,
    read: Read,
    write: Write,
    names: Names,
) -> Staged:
    """A loop of the program that counts its iterations; gives the count, `start` included."""
    recorder = session.recorder
    session.decisions.add("for", "recorded", "the number of iterations is data-dependent")
    variables = LoopVariables(names, read, write, counts=True)
    variables.iteration = start

    def again() -> Condition:
        more = known(recorder, items.more(variables.iteration))
        if more is False:
            return False
        rest = truth(session, goes_on())
        return both(more, rest)

    def one_iteration() -> Condition:
        body(items.item(variables.iteration))
        variables.iteration = variables.iteration + 1
        return again()

    condition = again()
    if isinstance(condition, bool):
        if condition:
            one_iteration_first(session, one_iteration, variables)
        return variables.iteration
    capture_while(recorder, variables, condition, one_iteration)
    return variables.iteration


def one_iteration_first(session: Session, one_iteration: Code, variables: LoopVariables) -> None:
    """The first iteration is certain: it runs before the loop that is recorded."""
    condition = one_iteration()
    while isinstance(condition, bool):
        if not condition:
            return
        condition = one_iteration()
    capture_while(session.recorder, variables, condition, one_iteration)


def ends_by_raising(session: Session, iterations: int) -> bool:
    """Whether most iterations so far may raise, which only a run knows: it may be what ends it."""
    if iterations in (MOST_RECORDED, MOST_ITERATIONS):
        refuse_endless(session, iterations)
    if iterations != MANY_ITERATIONS:
        return False
    ops = ops_in(session.recorder.scope.block)
    return 2 * sum(op.name == "stator::raise" for op in ops) > iterations


def refuse_endless(session: Session, iterations: int) -> None:
    """Eager code may not come here, so a loop that Python runs need not end."""
    block = session.recorder.scope.block
    is_unsure = session.recorder.depth or any(op.name == "stator::raise" for op in ops_in(block))
    if is_unsure and (iterations == MOST_ITERATIONS or len(block.ops) >= iterations):
        raise DataDependent(
            f"this loop has not ended after {iterations} iterations, and whether it runs at "
            "all depends on the data",
            fix="end the loop by a count or by a condition on tensors",
        )  # fmt: skip
