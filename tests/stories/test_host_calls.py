"""Calls of Python that act on the world are made by each run, at their place and in order."""

import io
import logging
import sys
import time
import warnings

import pytest
import torch

import stator
from stator.errors import ConversionError, UnsupportedCall
from tests.stories.story import Story, check

X = [torch.tensor([1.0, -2.0]), torch.tensor([3.0, 1.0]), torch.tensor([1.0, -2.0])]


def logger():
    """A logger, and the stream that it writes to."""
    stream, made = io.StringIO(), logging.Logger("story", 10)
    made.addHandler(logging.StreamHandler(stream))
    return made, stream


def logged_at_each_call():
    log, stream = logger()

    def f(x):
        log.info("called")
        return x * 2

    return Story(f, X, stream.getvalue)


def logged_on_the_path_taken():
    log, stream = logger()

    def f(x):
        if x.sum() > 0:
            log.warning("positive")
        else:
            log.warning("negative")
        return x * 2

    return Story(f, X, stream.getvalue)


def logged_values():
    log, stream = logger()

    def f(x):
        log.info(f"sum {x.sum().item():.2f}")
        log.info("largest %s of %d", x.max(), len(x))
        return x * 2

    return Story(f, X, stream.getvalue)


def logged_in_each_iteration():
    log, stream = logger()

    def f(x):
        step = 0
        while x.sum() < 20:
            x = x + 4
            step += 1
            log.info("step %d: %s", step, {"x": x, "sum": [x.sum()]})
        return x

    return Story(f, X, stream.getvalue)


def logged_before_an_error():
    log, stream = logger()

    def f(x):
        log.info("before")
        if x.sum() > 0:
            raise ValueError("positive")
        log.info("after")
        return x

    return Story(f, X, stream.getvalue)


def logged_error_caught():
    log, stream = logger()

    def f(x):
        try:
            return x[int(x.sum())]
        except IndexError:
            log.error("no such row")
            return x[0]

    return Story(f, X, stream.getvalue)


def warned_in_a_branch():
    def f(x):
        if x.sum() > 0:
            warnings.warn("positive", stacklevel=1)
        return x * 2

    def call(x):
        def with_warnings(g):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                y = g(x)
            return y, [(str(one.message), one.category, one.lineno) for one in caught]

        return with_warnings

    return Story(f, [call(x) for x in X])


def written_to_the_standard_output():
    stream = io.StringIO()

    def f(x):
        sys.stdout.write(f"{x.sum():.1f} ")
        return x * 2

    def call(x):
        def redirected(g):
            sys.stdout, before = stream, sys.stdout
            try:
                return g(x)
            finally:
                sys.stdout = before

        return redirected

    return Story(f, [call(x) for x in X], stream.getvalue)


def written_to_a_stream_of_the_caller():
    stream = io.StringIO()

    def f(x):
        count = stream.write("call")
        return x * count

    return Story(f, X, stream.getvalue)


STORIES = [
    logged_at_each_call, logged_on_the_path_taken, logged_values, logged_in_each_iteration,
    logged_before_an_error, logged_error_caught, warned_in_a_branch,
    written_to_the_standard_output, written_to_a_stream_of_the_caller,
]  # fmt: skip


@pytest.mark.parametrize("make", STORIES)
def test_each_run_makes_the_calls_that_eager_code_makes(make):
    check(make)


@pytest.mark.parametrize("fails", [False, True])
def test_a_file_is_opened_written_and_closed_by_each_run(tmp_path, fails):
    folders = iter(("eager", "static"))

    def story():
        path = tmp_path / next(folders)

        def f(x):
            with open(path, "a") as file:
                file.write("call ")
                if fails and x.sum() > 0:
                    raise ValueError("no")
                file.write(f"{x.sum():.0f}\n")
            return x * 2

        return Story(f, X, lambda: path.read_text())

    check(story)


def test_a_marked_function_is_called_by_each_run_and_not_by_the_capture():
    seen = []

    @stator.host_call
    def report(step, x):
        seen.append((step, x.tolist()))

    @stator.to_static
    def f(x):
        for step in range(2):
            x = x + 1
            report(step, x)
        return x

    for start in (0.0, 5.0):
        f(torch.tensor([start]))
    assert seen == [(0, [1.0]), (1, [2.0]), (0, [6.0]), (1, [7.0])]
    assert len(f.concrete_programs) == 1


def test_a_marked_function_gives_a_value_of_its_type():
    answers = iter([3, 4, 0.5])

    @stator.host_call(result=int)
    def ask():
        return next(answers)

    @stator.to_static
    def f(x):
        n = ask()
        return x * n if n > 3 else x

    assert f(torch.tensor(2.0)).item() == 2.0
    assert f(torch.tensor(2.0)).item() == 8.0
    with pytest.raises(TypeError, match="gave a float, and it is to give a int"):
        f(torch.tensor(2.0))


def test_a_saved_model_leaves_calls_of_python_out_and_says_so(tmp_path, caplog):
    log, stream = logger()

    def f(x):
        if x.sum() > 0:
            log.info("positive")
        return x * 2

    with caplog.at_level(logging.WARNING, logger="stator"):
        stator.save(f, tmp_path / "f", [stator.InputSpec([2])])
    assert "the saved model leaves out these Python calls: Logger.info" in caplog.text
    assert stator.load(tmp_path / "f")(X[1]).tolist() == [6.0, 2.0]
    assert stream.getvalue() == ""


def test_saving_refuses_calls_of_python_if_asked_to(tmp_path):
    log, _ = logger()

    def f(x):
        log.info("called")
        return x * 2

    with pytest.raises(UnsupportedCall) as caught:
        stator.save(f, tmp_path / "f", [stator.InputSpec([2])], host_calls="refuse")
    assert (caught.value.problem, caught.value.fix) == (
        "`Logger.info` is called in every run, and a saved model cannot call Python",
        "call it outside of the model, and pass its result",
    )


def test_an_object_that_the_call_has_changed_is_not_shown_to_python_before_it_is():
    box = []

    @stator.host_call
    def keep(given):
        pass

    keep.__qualname__ = "keep"

    @stator.to_static
    def f(x):
        box.append(1)
        keep({"box": box})
        return x

    with pytest.raises(UnsupportedCall) as caught:
        f(X[0])
    assert (caught.value.problem, caught.value.fix) == (
        "`keep` receives an object from outside that this call has changed",
        "pass what it needs of the object instead",
    )


def test_a_value_that_no_program_can_pass_to_python_is_refused():
    log, _ = logger()

    @stator.to_static
    def f(x):
        log.info("memory %s", memoryview(b"bytes"))
        return x

    with pytest.raises(UnsupportedCall) as caught:
        f(X[1])
    assert caught.value.problem == (
        "`Logger.info` receives a value that a program cannot pass to Python: a memoryview is "
        "returned or kept outside: a program can return tensors, numbers, strings, None, and "
        "containers of these"
    )
    assert caught.value.fix == "pass tensors, numbers, strings and containers of these"


def test_what_a_host_call_gives_is_used_in_the_block_that_made_it(tmp_path):
    @stator.to_static
    def f(x):
        file = open(tmp_path / "file", "w")  # noqa: SIM115
        if file == x:
            return x
        return x + 1

    with pytest.raises(UnsupportedCall) as caught:
        f(X[0])
    assert (caught.value.problem, caught.value.fix) == (
        "the result of `open` is used, but it exists only at run time",
        "call its methods only, in the block that made it",
    )


def test_a_host_call_gives_numbers_and_strings_only():
    with pytest.raises(ConversionError) as caught:
        stator.host_call(result=list)
    assert (caught.value.problem, caught.value.fix) == (
        "a host call cannot return a list",
        "use bool, int, float, str, or None for no result",
    )


def test_a_clock_is_read_by_each_run_and_a_saved_model_has_none(tmp_path):
    def f(x):
        start = time.perf_counter()
        y = x * 2
        return y, time.perf_counter() >= start, start

    static = stator.to_static(f)
    results = [static(x) for x in X]
    assert [passed for _, passed, _ in results] == [True, True, True]
    assert results[0][2] < results[1][2] < results[2][2]
    assert len(static.concrete_programs) == 1
    with pytest.raises(UnsupportedCall, match="a saved model cannot call Python"):
        stator.save(f, tmp_path / "f", [stator.InputSpec([2])])
