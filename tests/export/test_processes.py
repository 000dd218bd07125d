"""One model, several processes: killed writers, readers beside a writer, a disk that is full."""

import os
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from tests.export.saver import SIZE, number_of, save_once

pytestmark = pytest.mark.slow


def start(*args, stdout=subprocess.DEVNULL):
    command = [sys.executable, "-m", "tests.export.saver", *map(str, args)]
    return subprocess.Popen(command, stdout=stdout, text=True)


def wait_for(condition, *writers):
    while not condition():
        assert all(writer.poll() is None for writer in writers), "a writer has ended"
        time.sleep(0.001)


def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_model(tmp_path):
    path, rng, last = tmp_path / "model", random.Random(0), 0
    save_once(path, 0)
    for _ in range(3):
        writer = start("save", path, last)
        wait_for(lambda before=last: number_of(path) > before, writer)
        time.sleep(rng.random() * 0.05)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        last = number_of(path)
    save_once(path, -1)
    assert number_of(path) == -1
    assert sorted(os.listdir(tmp_path)) == ["model.safetensors", "model.stator"]


def test_a_process_forked_and_killed_often_leaves_a_whole_model(tmp_path):
    path, rng = tmp_path / "model", random.Random(1)
    save_once(path, 0)
    for number in range(1, 120):
        child = os.fork()
        if child == 0:
            try:
                save_once(path, number)
            finally:
                os._exit(0)
        time.sleep(rng.random() * 0.006)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert number_of(path) in range(number + 1)


def test_four_readers_beside_a_writer_see_whole_models(tmp_path):
    path = tmp_path / "model"
    save_once(path, 0)
    writer = start("save", path, 0)
    readers = [start("load", path, 50, stdout=subprocess.PIPE) for _ in range(4)]
    try:
        seen = [int(reader.communicate(timeout=200)[0]) for reader in readers]
    finally:
        writer.kill()
        writer.wait()
    assert [reader.returncode for reader in readers] == [0] * 4
    assert max(seen) > 1


def test_two_writers_leave_a_whole_model(tmp_path):
    path = tmp_path / "model"
    save_once(path, 0)
    writers = [start("save", path, start_at) for start_at in (0, 10**6)]
    wait_for(lambda: 0 < number_of(path) < 10**6, *writers)
    wait_for(lambda: number_of(path) > 10**6, *writers)
    for writer in writers:
        writer.kill()
        writer.wait()
    assert number_of(path) > 0


@pytest.mark.parametrize("room", [0, 100, 4096, 4 * SIZE])
def test_a_full_disk_leaves_the_old_model(tmp_path, room):
    path = tmp_path / "model"
    save_once(path, 1)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            save_once(path, 2)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert number_of(path) == 1
    assert sorted(os.listdir(tmp_path)) == ["model.safetensors", "model.stator"]
