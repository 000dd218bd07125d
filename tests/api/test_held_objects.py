"""What calls change in objects that a model or a function has is state of the saved model."""

from __future__ import annotations

import numpy
import pytest
import torch

import stator
from stator import InputSpec
from stator.api.held_objects import held_objects
from stator.errors import CaptureError
from tests.zoo.comparison import compare

SPEC = [InputSpec([None, 2])]
ROWS = tuple(torch.linspace(-1, 1, 2 * n).reshape(n, 2) for n in (2, 3, 1))


class Schedule:
    """As of a diffusion model: it is set up by each call, and counts over all of them."""

    def __init__(self):
        self.options = frozenset({"linear"})  # only read: no state
        self.count, self.position, self.history, self.total = None, None, [], 0

    def set_up(self, count):
        self.count, self.position, self.history = count, None, []
        self.sizes = torch.linspace(1, 0.5, count)

    def step(self, x):
        self.position = 0 if self.position is None else self.position + 1
        self.history.append(x)
        if len(self.history) > 2:
            self.history.pop(0)
        self.total += 1
        rate = 0.5 if "linear" in self.options else 0.1
        return x - rate * self.sizes[self.position] * sum(self.history) / len(self.history)


class Sampler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.schedule, self.layer = Schedule(), torch.nn.Linear(2, 2)

    def forward(self, x):
        self.schedule.set_up(4)
        for _ in self.schedule.sizes:
            x = self.schedule.step(self.layer(x))
        return x, self.schedule.total


def loaded(model, folder):
    stator.save(model, folder / "model", SPEC)
    return stator.load(folder / "model")


def test_attributes_of_an_object_of_the_model_are_state_one_by_one(tmp_path):
    torch.manual_seed(0)
    model = Sampler().eval()
    got = loaded(model, tmp_path)
    with torch.no_grad():
        for x in ROWS:
            assert compare(model(x), got(x)) is None
    assert "schedule.sizes" in got.state_dict()
    assert got(ROWS[0])[1] == 16
    got.reset_state()
    assert got(ROWS[0])[1] == 4


def test_objects_in_the_closure_of_a_function_are_state_too(tmp_path):
    schedule = Schedule()

    def sample(x):
        schedule.set_up(3)
        for _ in range(3):
            x = schedule.step(x)
        return x, schedule.total

    got = loaded(sample, tmp_path)
    assert schedule.total == 0
    for x in ROWS:
        assert compare(sample(x), got(x)) is None


class Table(torch.nn.Module):
    """Keeps an array, which no state can be; it reads it in the same call, or in the next."""

    def __init__(self, reads_old):
        super().__init__()
        self.reads_old, self.steps = reads_old, numpy.arange(2)

    def forward(self, x):
        old = self.steps if self.reads_old else None
        self.steps = numpy.arange(3)
        return x * torch.from_numpy(self.steps if old is None else old).sum()


def test_what_no_call_reads_from_an_earlier_one_is_left_out_with_a_warning(tmp_path, caplog):
    model = Table(reads_old=False).eval()
    got = loaded(model, tmp_path)
    assert "leaves out what calls write to steps and never read from there" in caplog.text
    for x in ROWS:
        assert compare(model(x), got(x)) is None


def test_what_a_later_call_reads_is_refused_where_it_cannot_be_kept(tmp_path):
    with pytest.raises(CaptureError) as caught:
        loaded(Table(reads_old=True).eval(), tmp_path)
    assert caught.value.problem == (
        "a call changes `steps`, and keeps a ndarray there, which a saved model cannot keep"
    )


class Replaced(torch.nn.Module):
    """The whole object is another one after each call."""

    def __init__(self):
        super().__init__()
        self.box = Box(0)

    def forward(self, x):
        self.box.value += 1
        before = self.box.value
        self.box = Box(before + 1)
        return x + before


class Box:
    def __init__(self, value):
        self.value = value


def test_an_object_that_a_call_replaces_is_state_as_a_whole(tmp_path):
    model = Replaced().eval()
    got = loaded(model, tmp_path)
    for x in ROWS:
        assert compare(model(x), got(x)) is None


def test_an_object_with_two_names_is_found_once():
    inner = Box(1)
    outer = Box(inner)
    names = [name for name, _ in held_objects([("a", outer), ("b", inner), ("c", [inner])])]
    assert names == ["a", "b"]
