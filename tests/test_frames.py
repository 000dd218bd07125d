"""Tracebacks: the user's frames alone, unless everything is asked for."""

import sys
import traceback
import types

import pytest
import torch

import stator
from stator.frames import _places, hide_library_frames, is_own_file, place_in, place_of


@pytest.fixture
def everything_shown():
    stator.set_verbosity(3)
    yield
    stator.set_verbosity(0)


def fails_at_run_time(x, n):
    while n > 0:
        x = halved(x)
        n = n - 1
    return x


def halved(x):
    if x.sum() > 8:
        raise ValueError("too much")
    return x / 2


def fails_at_capture(x):
    return inner(x)


def inner(x):
    return x @ x


def frames(call):
    with pytest.raises(Exception) as caught:  # noqa: PT011  # the frames are what matters
        call()
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    return files, names


def own(files):
    return [file for file in files if is_own_file(file)]


CALLS = {
    "an error of the program": lambda: stator.to_static(fails_at_run_time)(
        torch.ones(9), torch.tensor(2)
    ),
    "an error while it is captured": lambda: stator.to_static(fails_at_capture)(torch.ones(2, 3)),
    "a refusal": lambda: stator.to_static(lambda x: x.grad_fn)(torch.ones(2)),
    "syntax": lambda: stator.to_static(lambda x: eval("x"))(torch.ones(2)),
    "a spec": lambda: stator.InputSpec([None], "no dtype"),
    "load": lambda: stator.load("no_such_model"),
    "to_static": lambda: stator.to_static(42),
    "an executor": lambda: stator.static.Executor("cpu").run("no program"),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_frame_of_stator_is_shown(name):
    files, _ = frames(CALLS[name])
    assert own(files) == []
    assert not [file for file in files if "torch" in file]


@pytest.mark.parametrize("name", CALLS)
def test_at_verbosity_3_every_frame_is_shown(name, everything_shown):
    files, _ = frames(CALLS[name])
    assert own(files)


def test_the_users_own_frames_stay():
    _, names = frames(CALLS["an error while it is captured"])
    assert names[-2:] == ["fails_at_capture", "inner"]


def test_torch_frames_that_eager_shows_too_stay():
    files, names = frames(lambda: stator.to_static(torch.nn.Linear(2, 3))(torch.ones(2, 3)))
    assert names[-1] == "forward"
    assert files[-1].endswith("linear.py")


def test_the_frames_of_causes_are_hidden_too():
    def call():
        stator.load("no_such_model")

    with pytest.raises(stator.StatorError) as caught:
        call()
    chain, error = [], caught.value
    while error is not None:
        chain += [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        error = error.__cause__ or error.__context__
    assert own(chain) == []


def test_an_error_of_a_static_function_inside_another_comes_through_whole():
    static = stator.to_static(fails_at_run_time)
    outer = stator.to_static(lambda x, n: static(x, n) + 1)
    with pytest.raises(ValueError, match="too much") as caught:
        outer(torch.ones(9), torch.tensor(2))
    assert own([f.filename for f in traceback.extract_tb(caught.value.__traceback__)]) == []


def test_torch_does_not_log_its_own_stack(caplog):
    frames(CALLS["an error while it is captured"])
    assert [record for record in caplog.records if record.name.startswith("torch")] == []


def test_equal_code_of_two_compilations_is_not_compared_by_value():
    source = "def f():\n    def g():\n        return 1\n    return g\n"
    one, other = (compile(source, "user.py", "exec").co_consts[0] for _ in range(2))
    assert one == other
    assert _places(one) is _places(one)
    assert _places(one) is not _places(other)


def test_a_place_is_where_python_says_that_the_frame_is():
    frame = sys._getframe()
    place, line = place_in(frame), frame.f_lineno
    assert (place.line, place.file, place.function) == (line, __file__, frame.f_code.co_name)
    assert place_in(frame).line == frame.f_lineno > line


def test_an_error_may_leave_from_an_instruction_that_is_on_no_line():
    code = halved.__code__.replace(co_linetable=b"", co_firstlineno=7)
    with pytest.raises(AttributeError) as caught:
        types.FunctionType(code, globals())(None)
    assert caught.value.__traceback__.tb_next.tb_lineno is None
    assert place_of(caught.value).line == 7
    hide_library_frames(caught.value)
    assert caught.value.__traceback__.tb_next.tb_lineno == 7
