"""stator.debug.eager(): the originals run, and afterwards the programs do again."""

import pytest
import torch

import stator

ran = []


@stator.not_to_static
def note():
    ran.append(1)


@stator.to_static
def doubled(x):
    note()
    return x * 2


def runs(count):
    ran.clear()
    for _ in range(count):
        doubled(torch.ones(2))
    return len(ran)


def test_inside_python_runs_at_every_call():
    doubled(torch.ones(2))
    assert runs(3) == 0
    with stator.debug.eager():
        assert runs(3) == 3
    assert runs(3) == 0


def test_an_error_inside_ends_it():
    with pytest.raises(ValueError, match="no"), stator.debug.eager():
        raise ValueError("no")
    doubled(torch.ones(2))
    assert runs(1) == 0


def test_it_may_be_nested_and_leaves_what_was_switched_off():
    with stator.debug.eager():
        with stator.debug.eager():
            pass
        assert runs(1) == 1
    stator.enable_to_static(False)
    try:
        with stator.debug.eager():
            pass
        assert runs(1) == 1
    finally:
        stator.enable_to_static(True)
