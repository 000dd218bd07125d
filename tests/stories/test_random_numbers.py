"""Stories about random numbers of Python's and numpy's: runs draw them, seeds are seen."""

from __future__ import annotations

import random

import numpy
import pytest
import torch

import stator
from stator.errors import UnsupportedCall
from tests.stories.book import DOWN, UP, Book, X

story = Book()


@pytest.fixture(autouse=True)
def seeds_are_put_back():
    states = random.getstate(), numpy.random.get_state()
    yield
    random.setstate(states[0])
    numpy.random.set_state(states[1])


def seeded(static):
    random.seed(5)
    numpy.random.seed(5)
    given = [str(static(x)) for x in (UP, DOWN, UP)]
    return given, random.random(), numpy.random.rand()


@story
def numbers():
    def f(x):
        return x * random.random() + random.uniform(1, 2), random.randint(0, 9), random.gauss(0, 1)

    return f, [seeded, seeded]


@story
def numbers_of_a_path():
    def f(x):
        count = 0
        while random.random() < 0.8:
            count += 1
        if x.sum() > 0:
            return x + count + random.randrange(5)
        return x - count

    return f, [seeded, seeded]


@story
def items_of_a_sequence():
    rows, order = [UP, DOWN, UP + 1], [1, 2, 3, 4]

    def f(x):
        random.shuffle(order)
        drawn = random.choices("abc", weights=[1, 2, 3], k=2), random.sample(range(100), 3)
        return random.choice(rows) + x, drawn, random.sample(order, 4), random.choices(order)

    return f, [seeded, seeded], lambda: order


@story
def seed_inside():
    def f(x):
        random.seed(7)
        numpy.random.seed(7)
        return random.random(), numpy.random.rand()

    return f, [seeded, seeded]


@story
def generator_of_the_caller():
    python, state, new = random.Random(3), numpy.random.RandomState(3), numpy.random.default_rng(3)

    def f(x):
        if x.sum() > 0:
            return x * python.choice([1, 2, 3]) + state.uniform()
        return x * new.random() + torch.from_numpy(new.normal(size=(2,))).float()

    return f, X, lambda: (python.random(), state.rand(), new.random())


@story
def arrays():
    def f(x):
        noise = numpy.random.normal(0, 1, x.shape).astype(numpy.float32)
        order = numpy.random.permutation(2)
        return (x + torch.from_numpy(noise))[torch.from_numpy(order)]

    return f, [seeded, seeded, torch.ones(3)]


@story.right()
def test_a_story_goes_as_eager_code_does(name):
    random.seed(0)
    numpy.random.seed(0)
    story.check(name)


def test_a_saved_model_has_no_random_numbers_of_python(tmp_path):
    with pytest.raises(UnsupportedCall) as caught:
        stator.save(
            lambda x: x * random.random(), tmp_path / "drawn",
            input_spec=[stator.InputSpec((2,), torch.float32)],
        )  # fmt: skip
    assert caught.value.problem == (
        "`random.random` is called in every run, and a saved model cannot call Python"
    )
