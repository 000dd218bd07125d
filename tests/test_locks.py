"""Locks do not outlive the threads that hold them, across a fork."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

import pytest
import torch

import stator
from stator.locks import ForkSafeLock

ROOT = Path(__file__).parents[1]


def test_a_lock_is_reentrant():
    lock = ForkSafeLock()
    with lock, lock:
        pass


def in_child(work):
    """The exit status of a forked child that does `work`; None if it has not ended in time."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(60)
    if child.is_alive():
        child.kill()
        return None
    return child.exitcode


def test_a_lock_that_another_thread_holds_is_free_in_a_child():
    lock, held, done = ForkSafeLock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            done.wait()

    def work():
        with lock:
            os._exit(0)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(work) == 0
    finally:
        done.set()
        thread.join()


@pytest.mark.slow
def test_forks_at_any_moment_of_a_capture_give_children_that_capture():
    """In a process of its own, as DataLoader workers of a server are."""
    command = [sys.executable, "-m", "tests.staging.forks", "--forks", "10"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 forks" in done.stdout


def test_a_fork_waits_until_the_lock_is_free():
    lock, held, seen = ForkSafeLock(), threading.Event(), []
    lock.waits_at_fork(20.0, lambda: os._exit(3))

    def hold():
        with lock:
            held.set()
            time.sleep(0.2)
            seen.append("done")

    def work():
        os._exit(0 if seen == ["done"] else 1)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    assert in_child(work) == 0
    thread.join()


def test_a_fork_that_has_waited_long_enough_tells_its_child():
    lock, held, done = ForkSafeLock(), threading.Event(), threading.Event()
    lock.waits_at_fork(0.05, lambda: os._exit(3))

    def hold():
        with lock:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(lambda: os._exit(0)) == 3
    finally:
        done.set()
        thread.join()


def test_a_child_captures_while_a_thread_of_the_parent_does():
    inside, done = threading.Event(), threading.Event()

    @stator.to_static
    def slow(x):
        return wait(x)

    @stator.not_to_static
    def wait(x):
        inside.set()
        done.wait()
        return x

    def work():
        torch.set_num_threads(1)
        static = stator.to_static(lambda x: x + 1 if x.sum() > 0 else x)
        os._exit(0 if static(torch.ones(2)).tolist() == [2.0, 2.0] else 1)

    thread = threading.Thread(target=slow, args=(torch.ones(2),))
    thread.start()
    inside.wait()
    try:
        assert in_child(work) == 0
    finally:
        done.set()
        thread.join()


def test_no_interrupt_can_come_between_taking_the_lock_and_knowing_it():
    for name in ("__enter__", "__exit__"):  # Python handles signals in functions of Python alone
        assert not isinstance(getattr(ForkSafeLock, name), types.FunctionType)
