"""A bug in the capture's own code is never taken for an exception of the user's."""

import operator

import pytest
import torch

import stator
from stator.capture.errors.boundary import internal
from stator.capture.journal import Journal
from stator.capture.recorder import Recorder
from stator.errors import ProgramError, UnsupportedCall
from stator.state.session import Session


@internal
def halved(number):
    if number < 0:
        raise UnsupportedCall("negative")
    return {0: 0, 2: 1}[number]


def test_a_result_and_a_refusal_pass():
    assert halved(2) == 1
    with pytest.raises(UnsupportedCall):
        halved(-1)


def test_anything_else_is_a_bug_and_says_so():
    with pytest.raises(ProgramError) as caught:
        halved(3)
    assert caught.value.problem == "halved raises KeyError: 3"
    assert isinstance(caught.value.__cause__, KeyError)


def emits_nothing(*_args, **_kwargs):
    raise KeyError("a bug")


def test_a_handler_of_user_code_does_not_catch_a_bug(monkeypatch):
    def guarded(x):
        try:
            y = x * 2
        except Exception:  # noqa: BLE001  # what users write
            y = x
        return y

    monkeypatch.setattr(Recorder, "emit", internal(emits_nothing))
    with pytest.raises(ProgramError, match="emits_nothing raises KeyError: 'a bug'"):
        stator.to_static(guarded)(torch.ones(2))


def test_a_branch_does_not_record_a_bug(monkeypatch):
    def branch(x):
        if x.sum() > 0:
            x = x * 2
        return x

    def fail(recorder, name, *args, **kwargs):
        if name == "aten::mul.Tensor":
            raise KeyError("a bug")
        return before(recorder, name, *args, **kwargs)

    before = Recorder.emit
    monkeypatch.setattr(Recorder, "emit", internal(fail))
    with pytest.raises(ProgramError, match="fail raises KeyError: 'a bug'"):
        stator.to_static(branch)(torch.ones(2))


class LateError(Exception):
    pass


def times_out(*_args, **_kwargs):
    raise LateError


def test_an_exception_of_another_thread_ends_the_capture_as_it_is(monkeypatch):
    def guarded(x):
        try:
            y = x * 2
        except Exception:  # noqa: BLE001  # what users write
            y = x
        return y

    static = stator.to_static(guarded)
    with monkeypatch.context() as patched:
        patched.setattr(Recorder, "emit", internal(times_out))
        with pytest.raises(LateError):
            static(torch.ones(2))
    assert torch.equal(static(torch.ones(2)), torch.full((2,), 2.0))


def careful(x):
    items = [x]
    try:
        items.append(x * 2)
    except Exception:  # noqa: BLE001  # what users write
        return x
    return items[-1]


def careful_branch(x):
    if x.sum() > 0:
        return careful(x)
    return x


@pytest.mark.parametrize("function", [careful, careful_branch])
@pytest.mark.parametrize(
    ("cls", "name", "value", "problem"),
    [
        (Session, "note", None, "'NoneType' object is not callable"),
        (Journal, "note", None, "'NoneType' object is not callable"),
        (Session, "note", property(operator.attrgetter("diary")), "has no attribute 'diary'"),
    ],
)
def test_a_handler_does_not_catch_a_bug_of_what_it_calls(
    function, cls, name, value, problem, monkeypatch
):
    monkeypatch.setattr(cls, name, value)
    with pytest.raises(
        ProgramError, match=r"the capture fails with an? .*Error of its own"
    ) as caught:
        stator.to_static(function)(torch.ones(2))
    assert problem in str(caught.value.__cause__)


def test_errors_of_user_code_are_caught():
    def guarded(x, obj):
        try:
            y = x + obj.missing
        except AttributeError as error:
            y = x if error.name == "missing" else x * 9
        try:
            y = y + getattr(obj, "or" + "der")
        except AttributeError:
            y = y + 1
        try:
            assert obj is None
        except AssertionError:
            y = y * 2
        return y

    assert stator.to_static(guarded)(torch.ones(2), object).tolist() == [4.0, 4.0]
