"""Host calls: calls of Python that every run of a program makes, at their place and in order.

Logging, warnings, streams, clocks and Python's random numbers have effects, or results, that a
program cannot hold. The capture does not make such a call. It records a `host::call`, whose
operands are the values of the run that the call is given:

    log.info("loss %s", loss)    ->    host::call(%loss) number=0

`HostCall` number 0 has the function and the structure of its arguments. A program with host calls
needs the process that captured it; a saved model drops or refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch

from stator.capture.results import Results
from stator.english import with_article
from stator.errors import CaptureError, UnsupportedCall
from stator.frames import current_place
from stator.location import Location
from stator.program.program import Program
from stator.program.structure import ConstantValue, Structure
from stator.program.types import NumberType, ObjectType, TextType, Type
from stator.state.library_objects import UNCHANGING
from stator.state.present_contents import first_reached
from stator.state.session import Session
from stator.values.symbolic import CapturedText, HostObject

HOST_CALL = "host::call"
RESULT_TYPES: Mapping[type, Type] = {
    bool: NumberType("bool"), int: NumberType("int"), float: NumberType("float"),
    str: TextType(), object: ObjectType(),
}  # fmt: skip


@dataclass(frozen=True)
class HostCall:
    """One call: what is called, and how its arguments are put together from a run's values."""

    function: Callable[..., object]
    arguments: Structure  # of the pair (args, kwargs)
    result: type | None  # what it gives; None: nothing that the program uses
    name: str
    place: Location | None

    def outputs(self, value: object) -> tuple[object, ...]:
        """What the program gets of what the call gave."""
        if self.result is None:
            return ()
        if self.result is not object and type(value) is not self.result:
            raise TypeError(
                f"`{self.name}` gave {with_article(type(value).__name__)}, and it is to give a "
                f"{self.result.__name__}"
            )
        return (value,)


class HostArguments(Results):
    """Takes arguments of a host call apart; objects that cannot change are passed as they are."""

    def _container(self, value: object) -> Structure:
        if isinstance(value, UNCHANGING) and not isinstance(value, tuple):
            return ConstantValue(value)
        return super()._container(value)


def record_host_call(
    session: Session,
    function: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    *,
    name: str,
    result: type | None = None,
    like: torch.Tensor | None = None,
) -> Any:
    """Record `function(*args, **kwargs)` for each run; gives what the program knows of its result.

    `result` is the type of what it gives: a number, a string, a tensor of the dtype and sizes of
    `like`, `object` for an object that only other host calls may use, or None if it gives nothing.
    """
    recorder = session.recorder
    results = HostArguments(recorder, session.provenance.is_external, session.stand_ins.original)
    try:
        arguments = results.structure_of((tuple(args), dict(kwargs)))
    except CaptureError as error:
        raise UnsupportedCall(
            f"`{name}` receives a value that a program cannot pass to Python: {error.problem}",
            fix="pass tensors, numbers, strings and containers of these",
        ) from None
    _refuse_pending(session, (*args, *kwargs.values()), name)
    number = len(session.host_calls)
    session.host_calls.append(HostCall(function, arguments, result, name, current_place()))
    session.host_classes.update(results.classes)
    made = None
    if like is not None:
        made = recorder.new_tensor(like.dtype, tuple(like.shape), like.device, False)
        values = [recorder.new_value(recorder.tensor_type(made))]
    else:
        values = [] if result is None else [recorder.new_value(RESULT_TYPES[result])]
    recorder.emit(HOST_CALL, tuple(results.leaves), values, attributes={"number": number})
    if made is not None:
        recorder.bind(made, values[0])
    if result is None or made is not None:
        return made
    if result is str:
        return CapturedText(values[0])
    if result is object:
        return HostObject(values[0], name)
    return recorder.number(result.__name__, values[0])  # type: ignore[arg-type]


def _refuse_pending(session: Session, values: Sequence[object], name: str) -> None:
    """The effects on external objects come after a run: Python must not see one before that."""
    pending = session.journal.changed_so_far(only=session.provenance.is_external)
    changed = {id(one) for obj, _ in pending for one in (obj, session.stand_ins.original(obj))}
    if first_reached(values, changed) is not None:
        raise UnsupportedCall(
            f"`{name}` receives an object from outside that this call has changed",
            fix="pass what it needs of the object instead",
        )


def host_calls_in(program: Program) -> Iterator[int]:
    """The numbers of the host calls that `program` makes."""
    for op in program.ops():
        if op.name == HOST_CALL:
            yield cast(int, op.attributes["number"])


def needed_host_calls(program: Program) -> set[int]:
    """The numbers of those whose results something other than a host call uses."""
    used = program.used_values(lambda op: op.name != HOST_CALL)
    return {
        cast(int, op.attributes["number"])
        for op in program.ops()
        if op.name == HOST_CALL and used.intersection(op.results)
    }
