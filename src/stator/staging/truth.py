"""truth(): what a condition is, a Python bool or a symbolic one."""

from __future__ import annotations

import torch

from stator.capture.conditions import Condition, known
from stator.capture.conversions import check_one_element, read_number
from stator.capture.recorder import Recorder
from stator.capture.text_ops import text_length
from stator.containers.iteration import CapturedRange
from stator.containers.lists import list_length
from stator.containers.maybe_keys import for_each_way, is_partial
from stator.library.user_methods import user_method
from stator.state.session import Session
from stator.values.arrays import CapturedArray, KnownArray
from stator.values.staged import StagedList, is_table
from stator.values.symbolic import CapturedComplex, CapturedText
from stator.values.union import Union


def truth(session: Session, value: object) -> Condition:
    """`bool(value)`, symbolic where it is data-dependent."""
    recorder = session.recorder
    recorder.signals.check()
    if session.has_stand_in(value):
        value = session.stand_in(value)
    if isinstance(value, Union):
        return truth(session, recorder.apply(value, lambda one: truth(session, one)))
    if is_partial(value):
        return truth(session, for_each_way(session, value, lambda whole: len(whole) > 0))
    if isinstance(value, CapturedText):
        return truth(session, text_length(session.recorder, value))
    method = user_method(value, "__bool__")
    if method is not None:
        value = session.interpreter.call_method(method, value)
    elif not hasattr(type(value), "__bool__"):
        method = user_method(value, "__len__")
        if method is not None:
            value = session.interpreter.call_method(method, value)
    return builtin_truth(recorder, value)


def builtin_truth(recorder: Recorder, value: object) -> Condition:
    """The same, of a value whose `__bool__` is not a user's."""
    if isinstance(value, KnownArray) and value.memory.is_known and not recorder.depth:
        return bool(value.value)
    if isinstance(value, CapturedArray):
        value = value.tensor
    if isinstance(value, torch.Tensor):
        check_one_element(value, "Boolean value of Tensor with {} is ambiguous")
        answer: Condition = read_number(recorder, "aten::is_nonzero", value, "bool")
        return answer
    if isinstance(value, torch.SymBool):
        return known(recorder, value)
    if isinstance(value, torch.SymInt | torch.SymFloat):
        return known(recorder, value != 0)
    if isinstance(value, CapturedComplex):
        zero = recorder.emit_number("stator::ne", (value.value, 0), "bool")
        nonzero: Condition = recorder.number("bool", zero)
        return nonzero
    if (isinstance(value, StagedList) and value.is_open) or is_table(value):
        return known(recorder, list_length(recorder, value) != 0)
    if isinstance(value, CapturedRange):
        return known(recorder, value.length() > 0)
    return bool(value)
