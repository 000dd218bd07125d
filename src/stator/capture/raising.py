"""record_raise(): an exception of the user's becomes a raise of the program.

The op has the builtin class, the arguments, and the attributes that are numbers, strings or
tensors. What else an exception consists of (containers, a cause, what was being handled) is a
*form*: a structure that stays in this process, whose leaves are further operands.

    raise Wrong([n]) from other
    ->  stator::raise('ValueError', '[n]', 0, %n, names=['m.Wrong'], fields=['form__', 'leaf_0__'])
"""

from __future__ import annotations

import contextlib
from typing import Any

from stator.capture.errors.boundary import refuse_bug
from stator.capture.errors.capture_artifacts import is_capture_artifact, users_text
from stator.capture.raised_parts import (
    class_names,
    exception_arg,
    is_plain_value,
    is_recordable,
    plain_parts,
)
from stator.capture.recorder import Recorder
from stator.capture.results import Results
from stator.errors import CaptureError, StatorError
from stator.frames import current_place, place_of
from stator.program.ir import Arg
from stator.program.raise_fields import FORM, LEAF, TEXT
from stator.program.structure import Structure
from stator.values.exceptions import NOTES, ExceptionParts, builtin_base, copy_of, members_of
from stator.values.symbolic import Diverged
from stator.values.union import Symbolic, Union


def record_raise(recorder: Recorder, error: Exception) -> None:
    """The program raises what `error` says."""
    place = place_of(error) or current_place()
    refuse_artifact(error)
    if any(isinstance(arg, Union) for arg in error.args):
        _raise_each_alternative(recorder, error)
        return
    parts = recorder.exceptions.parts_of(error)
    text = _text(recorder, error)
    said = error.args if text is None else (text,)
    args = tuple(exception_arg(recorder, arg) for arg in said)
    builtin, written = class_names(type(error))
    attributes: dict[str, Arg] = {}
    if written:
        recorder.exceptions.classes[written[0]] = type(error)
        attributes["names"] = written
    fields = {
        name: exception_arg(recorder, value)
        for name, value in parts.fields.items()
        if is_plain_value(value)
    }
    is_callers = recorder.provenance.is_external(error)  # then it is this very one
    if text is not None or is_callers or not _is_plain(error, parts):
        fields |= _form(recorder, error) | plain_parts(recorder, error)
    if text is not None and issubclass(type(error), KeyError):  # which quotes what it is given
        fields[TEXT] = args[0]
    if fields:
        attributes["fields"] = tuple(fields)
    recorder.exceptions.arguments, recorder.exceptions.raised = parts.args, error
    recorder.emit(
        "stator::raise", (builtin, *args, *fields.values()), attributes=attributes, place=place
    )
    recorder.exceptions.arguments = recorder.exceptions.raised = None


def _text(recorder: Recorder, error: Exception) -> Any:
    """`str(error)` where it is not what the builtin class makes of the arguments; else None.

    A handler of the program is given it, so what the user's `__str__` says counts there.
    """
    written: object = builtin_base(type(error)).__str__
    is_caught = any(one.is_recorded for one in recorder.attempts)
    if type(error).__str__ is not written:
        return recorder.exceptions.text_of(error) if is_caught else None
    if all(map(is_recordable, error.args)):
        return None
    try:
        return recorder.exceptions.text_of(error)
    except StatorError:
        if is_caught:
            raise
        return None


def _form(recorder: Recorder, error: Exception) -> dict[str, Arg]:
    """The further fields of a raise: the number of the form of `error`, and its leaves."""
    structure, results = structure_of_error(recorder, error)
    forms = recorder.exceptions.forms
    forms.append(structure)
    recorder.exceptions.records |= results.classes
    leaves = {f"{LEAF}{k}__": leaf for k, leaf in enumerate(results.leaves)}
    return {FORM: len(forms) - 1, **leaves}


def structure_of_error(recorder: Recorder, error: BaseException) -> tuple[Structure, Results]:
    """The structure of an exception that leaves the program, and the results with its leaves."""
    results = Results(recorder, recorder.provenance.is_external, recorder.exceptions.original)
    return results.structure_of(error), results


def _is_plain(error: Exception, parts: ExceptionParts) -> bool:
    """Are the class, the arguments and simple fields all that there is of it?"""
    if parts.suppresses or NOTES in vars(error) or (parts.cause, parts.context) != (None, None):
        return False
    values = (*parts.args, *parts.fields.values())
    if not all(map(is_plain_value, values)):
        return False
    if not parts.members:
        return True
    made = _made_members(error)
    return (
        type(error) is builtin_base(type(error))
        and parts.members.keys() == made.keys()
        and all(
            value is made[name] or _equal(value, made[name])
            for name, value in parts.members.items()
        )
    )


def _equal(one: object, other: object) -> bool:
    """Are they equal, as far as Python knows?"""
    return not isinstance(one, Symbolic) and not isinstance(other, Symbolic) and one == other


def _made_members(error: Exception) -> dict[str, object]:
    """What the class of `error` keeps of its arguments by itself."""
    try:
        return members_of(type(error)(*error.args))
    except TypeError:  # it needs more than its arguments
        return {}


def refuse_artifact(error: Exception) -> None:
    """Raise the refusal for an error that exists only because values are symbolic, or by a bug."""
    refuse_bug(error)
    if is_capture_artifact(error):
        raise untraceable(error) from error


def untraceable(error: Exception) -> CaptureError:
    """The refusal for an error that is not the user's own."""
    return CaptureError(
        f"this cannot be traced: {type(error).__name__}: {users_text(str(error))}",
        at=place_of(error) or current_place(),
        fix="leave this code out with `stator.not_to_static`, or write it with other ops",
    )


def _raise_each_alternative(recorder: Recorder, error: Exception) -> None:
    """An argument of `error` is one of several values: a raise for each."""
    at = next(k for k, arg in enumerate(error.args) if isinstance(arg, Union))

    def raise_one(value: object) -> None:
        new = copy_of(error)
        recorder.exceptions.replaced.append(error)
        new.args = (*error.args[:at], value, *error.args[at + 1 :])
        for name, member in members_of(error).items():
            if member is error.args[at]:  # `StopIteration.value`
                setattr(new, name, value)
        record_raise(recorder, new)
        raise Diverged

    with contextlib.suppress(Diverged):
        recorder.apply_all(error.args[at], raise_one)
