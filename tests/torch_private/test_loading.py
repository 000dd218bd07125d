"""Parts of torch are imported by a thread that no one knows, so that nothing interrupts it."""

import _thread
import importlib
import sys
import threading

import pytest

from stator.torch_private import loading


@pytest.fixture
def imports(monkeypatch):
    """The imports that are made, each with its thread; nothing is imported yet."""
    found = []
    monkeypatch.setattr(loading._Progress, "is_done", False)
    monkeypatch.setattr(
        importlib, "import_module", lambda name: found.append((name, threading.get_ident()))
    )
    return found


def test_another_thread_imports_and_this_one_waits(imports):
    loading.load_parts()
    assert [name for name, _ in imports] == list(loading.PARTS)
    assert threading.get_ident() not in {thread for _, thread in imports}


def test_it_is_done_once(imports):
    loading.load_parts()
    loading.load_parts()
    assert len(imports) == len(loading.PARTS)


def test_what_fails_is_left_to_the_capture(imports, monkeypatch):
    def fails(name):
        raise ImportError(name)

    with monkeypatch.context() as patched:
        patched.setattr(importlib, "import_module", fails)
        loading.load_parts()
    loading.load_parts()
    assert len(imports) == len(loading.PARTS)


def test_where_no_thread_can_be_started_this_one_imports(imports, monkeypatch):
    def refuses(function, args):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(_thread, "start_new_thread", refuses)
    loading.load_parts()
    assert {thread for _, thread in imports} == {threading.get_ident()}


def test_a_thread_that_ends_before_it_runs_is_started_again(imports, monkeypatch):
    """As an exception that is put into this thread may do to one that it starts."""
    start, started = _thread.start_new_thread, []

    def ends(*_):
        raise SystemExit  # which Python does not report

    def first_ends(function, args):
        started.append(function)
        start(ends if len(started) == 1 else function, args)

    monkeypatch.setattr(_thread, "start_new_thread", first_ends)
    loading.load_parts()
    assert len(started) == 2
    assert [name for name, _ in imports] == list(loading.PARTS)


def test_a_module_that_keeps_the_frames_that_import_it(imports, monkeypatch):
    kept = []
    monkeypatch.setattr(importlib, "import_module", lambda _name: kept.append(sys._getframe(1)))
    waits = threading.Thread(target=loading.load_parts, daemon=True)
    waits.start()
    waits.join(timeout=20)
    assert not waits.is_alive()
    assert kept
