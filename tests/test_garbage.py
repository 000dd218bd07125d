"""The collector's threshold is raised for a capture, and as it was after it."""

import gc
import os
import threading

import pytest
import torch

import stator
from stator.garbage import OBJECTS, fewer_collections, no_collections


@pytest.fixture(autouse=True)
def users_threshold():
    before = gc.get_threshold()
    gc.set_threshold(800, 9, 11)
    yield
    gc.set_threshold(*before)


def test_inside_it_is_raised_and_after_it_is_the_users():
    with fewer_collections():
        assert gc.get_threshold() == (OBJECTS, 9, 11)
        with fewer_collections():
            assert gc.get_threshold() == (OBJECTS, 9, 11)
        assert gc.get_threshold() == (OBJECTS, 9, 11)
    assert gc.get_threshold() == (800, 9, 11)


def test_it_stays_raised_until_the_last_thread_leaves():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with fewer_collections():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with fewer_collections():
        thread.start()
        assert inside.wait(10)
    assert gc.get_threshold() == (OBJECTS, 9, 11)
    leave.set()
    thread.join()
    assert gc.get_threshold() == (800, 9, 11)


def test_what_the_user_sets_meanwhile_stays():
    with fewer_collections():
        gc.set_threshold(5, 5, 5)
    assert gc.get_threshold() == (5, 5, 5)


def test_a_higher_threshold_and_none_stay():
    gc.set_threshold(OBJECTS * 2, 9, 11)
    with fewer_collections():
        assert gc.get_threshold() == (OBJECTS * 2, 9, 11)
    gc.set_threshold(0, 9, 11)
    with fewer_collections():
        assert gc.get_threshold() == (0, 9, 11)


def test_a_capture_that_fails_puts_it_back():
    @stator.to_static
    def f(x):
        raise ValueError(x.shape)

    with pytest.raises(ValueError, match="Size"):
        f(torch.ones(2))
    assert gc.get_threshold() == (800, 9, 11)


def test_the_collector_is_off_inside_and_as_it_was_after_it():
    with no_collections():
        assert not gc.isenabled()
        with no_collections():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_stays_off_until_the_last_thread_leaves():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with no_collections():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with no_collections():
        thread.start()
        assert inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_child_that_another_thread_forks_has_it_on():
    found = []

    def fork():
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 1)
        found.append(os.waitpid(child, 0)[1])

    thread = threading.Thread(target=fork)
    with no_collections():
        thread.start()
        thread.join()
    assert found == [0]
