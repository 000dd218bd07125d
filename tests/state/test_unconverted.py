"""The watch of user code that library code calls: what it takes for such code, and what not."""

import contextlib
import cProfile
import functools
import gc
import importlib
import re
import sys

import mpmath
import pytest
import torch

import stator
from stator.frames import is_library_file
from stator.staging.operators import Staging
from stator.state.session import Session
from stator.state.unconverted import UserCodeWatch

GONE = []
REGISTERED = []


class Collected:
    def __init__(self):
        self.itself = self  # only the collector finds it

    def __del__(self):
        GONE.append(1)


def test_finalizers_of_other_objects_are_not_called_by_the_library_code_that_happens_to_run():
    def busy(_):
        return str(len([[] for _ in range(300_000)]))  # the collector would run

    def f(x):
        return x + len(re.sub("a", busy, "banana"))

    Collected()
    static = stator.to_static(f)
    assert static(torch.zeros(())) == f(torch.zeros(())) == 21
    GONE.clear()


def test_what_a_module_does_when_it_is_imported_is_done_once_as_in_eager_code(
    tmp_path, monkeypatch
):
    (tmp_path / "imported_inside.py").write_text(
        "from tests.state import test_unconverted\n"
        "def register():\n"
        "    test_unconverted.REGISTERED.append(1)\n"
        "register()\n"
        "SIZE = 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    def f(x):
        return x * importlib.import_module("imported_inside").SIZE

    static = stator.to_static(f)
    for number in range(3):
        assert static(torch.ones(number)).sum() == 3 * number
    assert REGISTERED == [1]
    del sys.modules["imported_inside"]
    REGISTERED.clear()


@pytest.mark.parametrize("package", [torch, mpmath, re], ids=lambda one: one.__name__)
def test_what_sizes_are_computed_with_is_no_user_code(package):
    assert is_library_file(package.__file__)


COUNTED = []


def counting(a, b):
    COUNTED.append(1)
    return a - b


def sorts(x):
    return x * sorted([3, 1], key=functools.cmp_to_key(counting))[0]


@contextlib.contextmanager
def profiled_in_python():
    seen, before = [], sys.getprofile()

    def profile(frame, event, _):
        seen.append(frame.f_code)

    sys.setprofile(profile)
    try:
        yield
        assert sys.getprofile() is profile
    finally:
        sys.setprofile(before)
    assert counting.__code__ in seen


@contextlib.contextmanager
def profiled_in_c():
    with cProfile.Profile():
        yield


@pytest.mark.parametrize("profiled", [profiled_in_python, profiled_in_c])
def test_user_code_is_seen_while_someone_profiles(profiled):
    COUNTED.clear()
    with profiled(), pytest.raises(stator.StatorError, match="which changes a list"):
        stator.to_static(sorts)(torch.ones(1))
    assert COUNTED == []


def test_a_profiler_that_cannot_go_on_is_refused(monkeypatch):
    watch = UserCodeWatch(Session(Staging))
    monkeypatch.setattr(sys, "getprofile", object)
    with pytest.raises(stator.StatorError) as caught:
        watch.__enter__()
    assert caught.value.problem == (
        "library code is called while an object profiles it, and may call user code unseen"
    )
    assert caught.value.fix == "start the profiler after the first call"


class ReadsBySuper:
    def __getattribute__(self, name):
        return super().__getattribute__(name)


class Config(ReadsBySuper):
    scale = 2.0


def test_a_method_that_calls_super_is_not_looked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(gc, "get_referrers", lambda *given: asked.append(given) or [])
    config = Config()

    def scaled(x):
        for _ in range(5):
            x = x * config.scale
        return x

    assert stator.to_static(scaled)(torch.ones(2)).tolist() == [32.0, 32.0]
    assert asked == []


def test_a_function_around_user_code_is_looked_for_once_and_its_variable_is_guarded(monkeypatch):
    found, ask = [], gc.get_referrers

    def counted(*given):
        found.append(given)
        return ask(*given)

    monkeypatch.setattr(gc, "get_referrers", counted)
    sign = 1

    def compare(a, b):
        return sign * (a - b)

    def largest(x):
        for _ in range(4):
            x = x + sorted([3, 1, 2], key=functools.cmp_to_key(compare))[-1]
        return x

    static = stator.to_static(largest)
    assert static(torch.zeros(1)).tolist() == [12.0]
    assert len(found) <= 1
    sign = -1
    assert static(torch.zeros(1)).tolist() == [4.0]
