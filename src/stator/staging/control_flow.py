"""if_stmt, while_stmt, for_stmt, if_expr: run now, or record?"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from stator.capture.branches import capture_if
from stator.capture.conditions import Condition, negated
from stator.capture.loops import capture_while
from stator.containers import definitions, machine_definitions
from stator.containers.generators import StagedGenerator, has_a_name
from stator.containers.iteration import indexed
from stator.containers.iterators import StagedIterator
from stator.containers.machine_definitions import Machine
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.english import with_article
from stator.errors import UnsupportedCall
from stator.library.outside_iterators import iterated
from stator.library.user_methods import user_method
from stator.staging.dict_loops import NextItem, taken, unchanged
from stator.staging.iterator_loops import Loop, for_iterator
from stator.staging.recorded_loops import (
    NO_STEPS,
    LoopVariables,
    capture_sides,
    ends_by_raising,
    for_recorded,
)
from stator.staging.truth import truth
from stator.state.session import Session
from stator.values.annotations import Code, Names, Read, Staged, Write
from stator.values.staged import Locals, StagedList, python_name
from stator.values.union import Union

MOST_LOOPS = 100  # over one of so many values; for more the capture would take minutes


def if_stmt(
    session: Session, test: object, body: Code, orelse: Code, read: Read, write: Write, names: Names
) -> None:
    """`if`: one side when the test is a Python value, both recorded when it is captured."""
    condition = truth(session, test)
    if isinstance(condition, bool):
        session.decisions.add("if", "python", f"the condition is {condition}, a Python value")
        (body if condition else orelse)()
        return
    session.decisions.add("if", "recorded", "the condition is captured")
    capture_sides(session, condition, body, orelse, read, write, names)


def if_expr(session: Session, test: object, body: Code, orelse: Code) -> Staged:
    """`body if test else orelse`."""
    condition = truth(session, test)
    if isinstance(condition, bool):
        session.decisions.add("if", "python", f"the condition is {condition}, a Python value")
        return body() if condition else orelse()
    session.decisions.add("if", "recorded", "the condition is captured")
    return capture_if(session.recorder, condition, body, orelse)


def test_if(session: Session, test: object, body: Code, orelse: Code) -> Condition:
    """The truth of `body if test else orelse`."""
    sides = (lambda: truth(session, body()), lambda: truth(session, orelse()))
    return truth(session, if_expr(session, test, *sides))


def while_stmt(
    session: Session,
    test: Code,
    body: Code,
    read: Read,
    write: Write,
    names: Names,
    steps: Mapping[str, int] = NO_STEPS,
) -> None:
    """`while`: Python as long as the test is a Python value; recorded from where it is not."""
    recorder = session.recorder
    condition = truth(session, test())
    if isinstance(condition, bool):
        session.decisions.add("while", "python", "the condition is a Python value: unrolled")
    iterations = 0
    while isinstance(condition, bool) and not ends_by_raising(session, iterations):
        if not condition:
            return
        body()
        iterations += 1
        condition = truth(session, test())
    session.decisions.add("while", "recorded", "the condition is captured")

    def one_iteration() -> Condition:
        body()
        return truth(session, test())

    variables = LoopVariables(names, read, write, counts=False, steps=steps)
    capture_while(recorder, variables, condition, one_iteration)


def for_stmt(
    session: Session,
    iterable: object,
    body: Callable[[Staged], Staged],
    test: Code | None,
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """`for`: unrolled over what Python can list; recorded over what only a run can count."""
    iterable = session.staged(iterable)
    if isinstance(iterable, Union):
        _for_each_alternative(session, iterable, body, test, read, write, names)
        return
    if is_partial(iterable):
        before = read()

        def loop(table: object) -> tuple[object, ...]:
            write(before)
            with unchanged(iterable):  # the loop goes through a copy
                for_stmt(session, table, body, test, read, write, names)
            return read()

        write(for_each_way(session, iterable, loop))
        return
    goes_on = test if test is not None else _always
    iterable = iterated(session, iterable)
    method = user_method(iterable, "__iter__")
    if method is not None:
        iterable = session.interpreter.call_method(method, iterable)
    if isinstance(iterable, Machine):
        iterable = session.interpreter.run(machine_definitions.items_of, iterable)
    elif user_method(iterable, "__next__") is not None:
        iterable = session.interpreter.call(definitions.drained, iterable)
    if isinstance(iterable, StagedGenerator):
        if test is not None and iterable.acts_when_closed and has_a_name(iterable):
            raise iterable.one_by_one()  # a loop that it ends would close it too soon
        session.decisions.add(
            "for", "converted", f"the generator {iterable.name} runs the loop's body"
        )
        frame = Locals(names, read, write)
        session.provenance.add_created(
            frame
        )  # a block around this loop has these names in its own state
        _for_each_yielded(session, iterable, body, goes_on, frame)
        return
    iterable = iterated(session, iterable)  # what its `__iter__` has given
    if isinstance(iterable, StagedIterator):
        for_iterator(session, iterable, Loop(body, goes_on, read, write, names))
        return
    items = indexed(session.recorder, iterable)
    if items is None:
        _for_python(session, iterable, body, goes_on, read, write, names)
    else:
        for_recorded(session, items, 0, body, goes_on, read, write, names)


def _for_each_yielded(
    session: Session,
    generator: StagedGenerator,
    body: Callable[[object], object],
    goes_on: Callable[[], object],
    frame: Locals,
) -> None:
    """A `for` over a generator: its body runs at each `yield`; what it assigns is state."""

    def consumer(item: object) -> Staged:
        session.note(frame)
        body(item)
        return negated(truth(session, goes_on()))

    generator.run(consumer)


def _always() -> bool:
    return True


def _for_each_alternative(
    session: Session,
    iterable: Union,
    body: Staged,
    test: Staged,
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """A loop over one of several things: one loop for each."""
    if len(iterable.alternatives) > MOST_LOOPS:
        raise UnsupportedCall(
            f"a loop over one of {len(iterable.alternatives)} values: it would be recorded for "
            "each of them",
            fix="keep numbers in lists or tensors, and compare those",
        )  # fmt: skip
    before = read()

    def loop(one: Staged) -> tuple[object, ...]:
        write(before)
        for_stmt(session, one, body, test, read, write, names)
        return read()

    write(session.recorder.apply(iterable, loop))


def _for_python(
    session: Session,
    iterable: object,
    body: Callable[[object], object],
    goes_on: Code,
    read: Read,
    write: Write,
    names: Names,
) -> None:
    """One by one; when the test becomes captured, a range is recorded, the rest guarded."""
    recorder = session.recorder
    session.decisions.add("for", "python", f"unrolled over {_in_words(iterable)}")
    for iteration, item in enumerate(taken(session, iterable)):
        condition = truth(session, goes_on())
        if condition is False:
            return
        if condition is not True and isinstance(iterable, range):
            rest = indexed(recorder, iterable[iteration:], recorded=True)
            assert rest is not None
            for_recorded(session, rest, 0, body, goes_on, read, write, names)
            return
        one = _iteration(session, body, item)
        if condition is not True:
            capture_sides(session, condition, one, _nothing, read, write, names)
            continue
        one()
        if isinstance(iterable, StagedList) and iterable.is_open:
            rest = indexed(recorder, iterable)
            assert rest is not None
            for_recorded(session, rest, iteration + 1, body, goes_on, read, write, names)
            return


def _in_words(iterable: Staged) -> str:
    kind = with_article(python_name(iterable))
    known = type(iterable) in (list, tuple, dict, str, StagedList)
    return f"{kind} of {len(iterable)}" if known else kind


def _iteration(session: Session, body: Callable[[object], object], item: object) -> Code:
    def run() -> None:
        if not isinstance(item, NextItem):
            body(session.seen_item(item))
            return
        for found in item.item():
            body(session.seen_item(found))

    return run


def _nothing() -> None:
    return None
