"""Parts of torch are imported by a thread that no one knows, so that nothing interrupts it."""

import importlib
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
    def refuses(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuses)
    loading.load_parts()
    assert {thread for _, thread in imports} == {threading.get_ident()}
