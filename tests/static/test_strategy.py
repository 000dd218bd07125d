"""BuildStrategy and ExecutionStrategy: what they know, and what they refuse."""

import dataclasses

import pytest

from stator.errors import UnknownOption
from stator.static import BuildStrategy, ExecutionStrategy
from tests.docs.documents import ROOT
from tests.said import said

BUILD = "constant_folding, merge_equal_ops, enable_inplace, memory_reuse, fuse_ops"
EXECUTION = "num_threads, inference_mode"


@pytest.mark.parametrize(
    ("strategy", "known"), [(BuildStrategy, BUILD), (ExecutionStrategy, EXECUTION)]
)
def test_an_unknown_option_is_refused_with_the_known_ones(strategy, known):
    text = f"[ST303] {strategy.__name__} has no option `fuse`\n  fix: use one of {known}"
    with pytest.raises(UnknownOption) as refusal:
        strategy(fuse=True)
    assert said(refusal.value) == text
    with pytest.raises(UnknownOption) as refusal:
        strategy().fuse = True
    assert said(refusal.value) == text


@pytest.mark.parametrize(
    ("strategy", "option", "value", "fix"),
    [
        (BuildStrategy, "enable_inplace", 1, "give True or False"),
        (ExecutionStrategy, "inference_mode", None, "give True or False"),
        (ExecutionStrategy, "num_threads", 0, "give a number from 1 on, or None"),
        (ExecutionStrategy, "num_threads", True, "give a number from 1 on, or None"),
        (ExecutionStrategy, "num_threads", "2", "give a number from 1 on, or None"),
    ],
)
def test_a_value_that_an_option_cannot_have_is_refused(strategy, option, value, fix):
    with pytest.raises(UnknownOption) as refusal:
        strategy(**{option: value})
    assert said(refusal.value) == f"[ST303] `{option}` cannot be {value!r}\n  fix: {fix}"


def test_options_can_be_set_later_and_strategies_compared():
    strategy = BuildStrategy()
    strategy.enable_inplace = True
    assert strategy == BuildStrategy(enable_inplace=True)
    assert strategy != BuildStrategy()


@pytest.mark.parametrize("strategy", [BuildStrategy, ExecutionStrategy])
def test_every_option_is_documented(strategy):
    text = (ROOT / "docs" / "static.md").read_text()
    for field in dataclasses.fields(strategy):
        assert f"| `{field.name}` | `{field.default}` |" in text
