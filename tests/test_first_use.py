"""Attributes that are computed when they are first read."""

import threading

import pytest

from stator.first_use import FirstUse


class Slow:
    """An object whose `value` is there when `wait` is over."""

    def __init__(self, wait):
        self.wait, self.count = wait, 0

    @FirstUse
    def value(self):
        """What took so long."""
        self.count += 1
        self.wait()
        return self.count


def test_it_is_computed_once():
    one = Slow(lambda: None)
    assert [one.value, one.value, one.count] == [1, 1, 1]


def test_no_one_waits_for_another_object():
    started, go_on = threading.Event(), threading.Event()

    def wait():
        started.set()
        go_on.wait(60)

    slow, quick = Slow(wait), []
    other = threading.Thread(target=lambda: slow.value)
    other.start()
    started.wait(60)
    reader = threading.Thread(target=lambda: quick.append(Slow(lambda: None).value))
    reader.start()
    reader.join(30)
    go_on.set()
    other.join()
    assert quick == [1]


def test_the_class_has_no_value():
    with pytest.raises(AttributeError, match="not of the class"):
        Slow.value  # noqa: B018
    assert vars(Slow)["value"].__doc__ == "What took so long."
