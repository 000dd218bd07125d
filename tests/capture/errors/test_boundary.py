"""A bug in the capture's own code is never taken for an exception of the user's."""

import pytest
import torch

import stator
from stator.capture.errors.boundary import internal
from stator.capture.recorder import Recorder
from stator.errors import ProgramError, UnsupportedCall


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
