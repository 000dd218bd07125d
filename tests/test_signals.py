"""During a capture, a signal is handled where it can do no harm."""

import os
import random
import signal
import subprocess
import sys
import threading

import pytest
import torch

import stator
from stator.capture.recorder import Recorder
from stator.signals import DeferredSignals
from tests.staging.interrupts import left_behind


@pytest.fixture
def handled():
    """The numbers of the signals that the handler of SIGALRM has seen."""
    seen = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    yield seen
    signal.signal(signal.SIGALRM, before)


def test_a_signal_in_code_of_the_user_is_handled_at_once(handled):
    with DeferredSignals():
        os.kill(os.getpid(), signal.SIGALRM)
        assert handled == [signal.SIGALRM]


def test_a_signal_inside_torch_is_handled_at_the_next_check(handled):
    signals = DeferredSignals()
    scope = {"os": os, "signal": signal}
    inside = compile("os.kill(os.getpid(), signal.SIGALRM)", torch.__file__, "exec")
    with signals:
        exec(inside, scope)
        assert handled == []
        signals.check()
        assert handled == [signal.SIGALRM]


def test_what_is_pending_at_the_end_is_handled_there(handled):
    inside = compile("os.kill(os.getpid(), signal.SIGALRM)", torch.__file__, "exec")
    with DeferredSignals():
        exec(inside, {"os": os, "signal": signal})
        assert handled == []
    assert handled == [signal.SIGALRM]


def test_a_second_signal_is_handled_wherever_it_arrives(handled):
    inside = compile("os.kill(os.getpid(), signal.SIGALRM)\n" * 2, torch.__file__, "exec")
    with DeferredSignals():
        exec(inside, {"os": os, "signal": signal})
        assert handled == [signal.SIGALRM]


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT)
    with DeferredSignals():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_a_handler_that_the_user_sets_meanwhile_stays(handled):
    def mine(number, frame):
        handled.append("mine")

    with DeferredSignals():
        signal.signal(signal.SIGALRM, mine)
    assert signal.getsignal(signal.SIGALRM) is mine


def test_another_thread_leaves_the_handlers_alone():
    def capture():
        with DeferredSignals():
            found.append(signal.getsignal(signal.SIGINT))

    before, found = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(target=capture)
    thread.start()
    thread.join()
    assert found == [before]


def test_ctrl_c_in_a_capture_raises_keyboard_interrupt(monkeypatch):
    def f(x):
        return x * 2 if x.sum() > 0 else x

    def emit(*args, **options):
        monkeypatch.setattr(Recorder, "emit", plain)
        os.kill(os.getpid(), signal.SIGINT)
        return plain(*args, **options)

    plain = Recorder.emit
    monkeypatch.setattr(Recorder, "emit", emit)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            stator.to_static(f)(torch.ones(2))
    finally:
        signal.signal(signal.SIGINT, before)
    assert left_behind() == []


@pytest.mark.slow
def test_interrupts_at_random_moments_leave_torch_as_it_was():
    """In a process of its own: an interrupt in a garbage collector's callback would be lost."""
    command = [sys.executable, "-m", "tests.staging.interrupts", "--interrupts", "40"]
    seed = str(random.randrange(2**32))
    done = subprocess.run([*command, "--seed", seed], capture_output=True, text=True, check=False)
    assert done.returncode == 0, (seed, done.stdout, done.stderr)
