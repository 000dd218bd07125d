"""Programs that read and set attributes: the short way gives what the long way gives."""

import pytest
import torch

import stator
from stator.api.short_runs import short_run
from stator.extension import extension


class Meter:
    def __init__(self):
        self.count, self.total, self.last = 0, 0.0, torch.zeros(2)

    def add(self, x):
        self.count += 1
        self.total = self.total + 0.5
        self.last = self.last + x
        return x * self.count, {"last": self.last}

    def one(self, x):
        self.count += 2
        return x * self.count

    def fail(self, x):
        self.count += 1
        if self.count > 3:
            raise ValueError("too many")
        return x + self.count


def outcome(call, x):
    try:
        return call(x)
    except ValueError as error:
        return str(error)


@pytest.mark.parametrize("name", ["add", "one", "fail"])
def test_each_call_gives_and_leaves_what_eager_code_does(name):
    eager, meter = Meter(), Meter()
    static = stator.to_static(getattr(meter, name))
    for number in range(6):
        x = torch.full((2,), float(number))
        expected, found = outcome(getattr(eager, name), x), outcome(static, x)
        if isinstance(expected, str):
            assert found == expected
        else:
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        assert (meter.count, meter.total) == (eager.count, eager.total)
        assert torch.equal(meter.last, eager.last)
    if extension() is not None:
        assert short_run(static.concrete_programs[-1]) is not None


def test_an_attribute_of_another_kind_and_another_class_are_seen():
    class Doubled(Meter):
        def one(self, x):
            return super().one(x) * 2

    eager, meter = Meter(), Meter()
    static = stator.to_static(meter.one)
    for change in (None, None, None, 2.5, None, True, None):
        if change is not None:
            eager.count = meter.count = change
        x = torch.ones(2)
        assert torch.equal(static(x), eager.one(x))
        assert (type(meter.count), meter.count) == (type(eager.count), eager.count)
    eager.__class__ = meter.__class__ = Doubled
    for _ in range(3):
        assert torch.equal(static(torch.ones(2)), eager.one(torch.ones(2)))
        assert meter.count == eager.count


def test_a_variable_of_an_enclosing_function_takes_the_long_way():
    count = 0

    @stator.to_static
    def counted(x):
        nonlocal count
        count += 1
        return x * count

    assert [counted(torch.ones(1)).item() for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert short_run(counted.concrete_programs[-1]) is None
