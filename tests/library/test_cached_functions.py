"""Functions and methods under `functools.lru_cache`: what the cache holds, when it is filled."""

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
