"""CompileQueue: jobs are done in order, by one thread, later."""

import subprocess
import sys
import threading

import pytest

from stator.inductor.queue import CompileQueue


def test_jobs_are_done_in_order_by_one_thread():
    queue, done, threads = CompileQueue(), [], set()

    def job(number):
        return lambda: (done.append(number), threads.add(threading.get_ident()))

    gate = threading.Event()
    queue.add(gate.wait)
    for number in range(3):
        queue.add(job(number))
    assert not queue.wait(0.01)
    assert done == []
    gate.set()
    assert queue.wait()
    assert done == [0, 1, 2]
    assert len(threads - {threading.get_ident()}) == 1


def test_an_empty_queue_is_not_waited_for():
    assert CompileQueue().wait()


def test_what_waits_is_forgotten_at_the_end():
    queue, done, gate, begun = CompileQueue(), [], threading.Event(), threading.Event()
    queue.add(lambda: (begun.set(), gate.wait(), done.append("first")))
    queue.add(lambda: done.append("second"))
    begun.wait()
    closing = threading.Thread(target=queue.close)
    closing.start()
    while queue._jobs:
        pass
    gate.set()
    closing.join()
    assert done == ["first"]


@pytest.mark.slow
def test_a_process_ends_after_the_job_that_is_being_done():
    code = (
        "import threading, time; from stator.inductor.queue import QUEUE; "
        "begun = threading.Event(); "
        "QUEUE.add(lambda: (begun.set(), time.sleep(0.3), print('done', flush=True))); "
        "QUEUE.add(lambda: print('never')); "
        "begun.wait()"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "done\n"
