"""Functions and methods under `functools.lru_cache`: what the cache holds, when it is filled."""

import dataclasses
import functools
import logging

import pytest
import torch

import stator


class Scales(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    @functools.lru_cache  # noqa: B019
    def scale(self, number):
        return self.factor * number

    def forward(self, x):
        y = x * self.scale(3)
        if x.sum() > 0:
            y = y + self.scale(3)
        return y


def test_a_cached_method_gives_what_its_cache_has():
    given = []
    for model in (Scales(), stator.to_static(Scales())):
        results = []
        for number in range(5):
            if number == 2:
                model.factor = 5.0  # the cache still has what the old factor gave
            if number == 4:
                Scales.scale.cache_clear()
            results.append(model(torch.full((2,), (-1.0) ** number)).tolist())
        given.append(results)
    assert given[0] == given[1]
    assert given[0][2] == [12.0, 12.0]
    assert given[0][4] == [30.0, 30.0]


@pytest.fixture
def warns_once(monkeypatch):
    @functools.lru_cache(None)
    def warning_once(self, *args):
        self.warning(*args)

    monkeypatch.setattr(logging.Logger, "warning_once", warning_once, raising=False)
    return warning_once


LOG = logging.getLogger("test_cached_functions")


def warns_of_positive_sums(x):
    if x.sum() > 0:
        LOG.warning_once("the sum is positive")
    return x + 1


def test_a_cached_method_of_a_logger_logs_when_a_run_first_comes_to_it(warns_once, caplog):
    def said():
        return [record.getMessage() for record in caplog.records if record.name == LOG.name]

    static = stator.to_static(warns_of_positive_sums)
    static(-torch.ones(2))
    assert said() == []
    for _ in range(3):
        static(torch.ones(2))
    assert said() == ["the sum is positive"]
    warns_once.cache_clear()
    static(torch.ones(2))
    assert said() == ["the sum is positive"] * 2


class Recipe:
    def __init__(self):
        self.added = {1: 2}


def test_a_cached_function_may_go_through_a_dict_of_the_callers():
    recipe = Recipe()

    @functools.lru_cache(10)
    def cooked(recipe, length):
        return {position: at + length for position, at in recipe.added.items()}

    def used(x):
        for position, factor in cooked(recipe, x.shape[0]).items():
            x = x * factor + position
        return x

    static = stator.to_static(used, input_spec=[stator.InputSpec([None])])
    for length in (2, 3, 1):
        assert torch.equal(static(torch.ones(length)), used(torch.ones(length)))


class Frozen(dict):
    """A dict that a cache can have for a key."""

    def __hash__(self):
        return hash(frozenset(self.items()))


@dataclasses.dataclass
class Unhashable:
    number: int


@functools.cache
def first_number(of):
    return of["number"] if isinstance(of, dict) else getattr(of, "number", 3)


def scales_by_a_frozen_dict(x):
    return x * first_number(Frozen(number=2))


def scales_by_a_dict(x):
    try:
        return x * first_number({"number": 2})
    except TypeError as error:
        return x, str(error)


def scales_by_a_list_in_a_tuple(x):
    try:
        return x * first_number(((1, [x.shape[0]]), 2))
    except TypeError as error:
        return x, str(error)


def scales_by_a_dataclass(x):
    try:
        return x * first_number(Unhashable(4))
    except TypeError as error:
        return x, str(error)


@pytest.mark.parametrize(
    "function",
    [
        scales_by_a_frozen_dict,
        scales_by_a_dict,
        scales_by_a_list_in_a_tuple,
        scales_by_a_dataclass,
    ],
)
def test_arguments_of_a_cached_function_are_hashable_or_not_as_in_eager_code(function):
    x = torch.arange(3.0)
    assert str(stator.to_static(function)(x)) == str(function(x))
