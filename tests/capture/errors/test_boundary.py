"""A bug in the capture's own code is never taken for an exception of the user's."""

import linecache
import operator
import os

import pytest
import torch

import stator
from stator.capture.errors import boundary
from stator.capture.errors.boundary import internal
from stator.capture.journal import Journal
from stator.capture.recorder import Recorder
from stator.containers.iteration import Indexed
from stator.errors import ProgramError, UnsupportedCall
from stator.library.builtin_calls import BuiltinCalls
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


@pytest.mark.parametrize("cls", [Session, Journal])
def test_an_exception_of_another_thread_is_no_bug_of_what_is_called(cls, monkeypatch):
    static = stator.to_static(careful_branch)
    with monkeypatch.context() as patched:
        patched.setattr(cls, "note", None)
        patched.setattr(boundary, "_is_put_in", lambda _: True)
        with pytest.raises(TypeError, match="'NoneType' object is not callable"):
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


def specific(x, table):
    try:
        y = x + len(table)
        return y * int(y.sum())
    except (TypeError, KeyError, IndexError, ValueError, AttributeError):
        return x


def specific_branch(x, table):
    if x.sum() > 0:
        return specific(x, table)
    return x


OF_ITS_OWN = r"the capture fails with an? .*Error of its own"
TABLE = {"known": 1}


def looks_up(_session, value):
    return TABLE[type(value)]


def takes_an_item_of_its_own(session, _value):
    return session.host_calls[99]


def calls_with_too_few(_session, value):
    return takes_two(value)


def takes_two(one, other):
    return one, other


def unpacks(_session, _value):
    one, other = (1, 2, 3)
    return one, other


def makes_an_object(_session, value):
    return Indexed(value)


def own_code(function):
    """`function`, as if it were in a file of the staging."""
    name = os.path.join(boundary.OWN_FOLDER, "staging", os.path.basename(__file__))
    code = function.__code__.replace(co_filename=name)
    linecache.cache[name] = (1, None, linecache.getlines(__file__), name)
    return type(function)(code, function.__globals__)


@pytest.mark.parametrize("function", [specific, specific_branch])
@pytest.mark.parametrize(
    ("bug", "cls"),
    [
        (looks_up, KeyError),
        (takes_an_item_of_its_own, IndexError),
        (unpacks, ValueError),
        (makes_an_object, TypeError),
    ],
)
def test_a_handler_of_a_class_does_not_catch_a_bug_of_that_class(function, bug, cls, monkeypatch):
    failing = own_code(bug)
    monkeypatch.setattr(BuiltinCalls, "_len", lambda self, value: failing(self.session, value))
    with pytest.raises(ProgramError, match=OF_ITS_OWN) as found:
        stator.to_static(function)(torch.ones(2), {})
    assert type(found.value.__cause__) is cls


def test_a_call_of_a_function_of_its_own_with_wrong_arguments_is_a_bug(monkeypatch):
    monkeypatch.setitem(globals(), "takes_two", own_code(takes_two))
    failing = own_code(calls_with_too_few)
    monkeypatch.setattr(BuiltinCalls, "_len", lambda self, value: failing(self.session, value))
    with pytest.raises(ProgramError, match="the capture fails with a TypeError of its own"):
        stator.to_static(specific)(torch.ones(2), {})


def given(_session, value):
    return value["missing"]


def test_an_operation_on_what_user_code_gives_is_its_own(monkeypatch):
    failing = own_code(given)
    monkeypatch.setattr(BuiltinCalls, "_len", lambda self, value: failing(self.session, value))
    x = torch.ones(2)
    assert torch.equal(stator.to_static(specific)(x, {}), x)
