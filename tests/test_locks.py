"""Locks do not outlive the threads that hold them, across a fork."""

import multiprocessing
import os
import threading

import torch

import stator
from stator.locks import ForkSafeLock


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
