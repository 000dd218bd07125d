"""What torch's own Python calls while it runs in a capture."""

import types

import pytest
import torch

from stator.errors import DataDependent, UnsupportedCall
from stator.library import calls_inside_torch as module
from stator.library.calls_inside_torch import calls_inside_torch
from stator.torch_private import control_flow


def test_a_function_that_torch_would_compile_is_refused_by_its_text():
    owner, name = control_flow.COMPILING[0]
    before = getattr(owner, name)
    with calls_inside_torch(None), pytest.raises(DataDependent) as caught:
        getattr(owner, name)(lambda: None)
    assert caught.value.problem == "torch compiles a function inside a program"
    assert caught.value.fix == "write plain `if` and `while`"
    assert getattr(owner, name) is before


def test_einsum_of_open_sizes_does_not_ask_for_a_cheaper_order(monkeypatch):
    package = types.SimpleNamespace(contract_path=lambda *_given, optimize: ([(1, 2)], optimize))
    installed = types.SimpleNamespace(get_opt_einsum=lambda: package)
    monkeypatch.setattr(module, "opt_einsum", installed)
    known, opened = torch.ones(2, 3), types.SimpleNamespace(shape=(torch.SymInt(None), 3))
    with calls_inside_torch(None):
        assert package.contract_path("", known, known, optimize="auto") == ([(1, 2)], "auto")
        path, _ = package.contract_path("", known, opened, known, known, optimize="auto")
    assert path == [(0, 1), (0, 2), (0, 1)]


def test_the_random_state_of_a_gpu_is_refused_by_its_text(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    before = torch.cuda.get_rng_state
    with calls_inside_torch(None), pytest.raises(UnsupportedCall) as caught:  # as fork_rng does
        torch.cuda.get_rng_state(0)
    assert caught.value.problem == (
        "the random state of a CUDA device is read or set inside a program"
    )
    assert caught.value.fix == (
        "seed all devices with `torch.manual_seed`; give `fork_rng` the argument `devices=[]`"
    )
    assert torch.cuda.get_rng_state is before
