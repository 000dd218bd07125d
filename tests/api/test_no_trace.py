"""Converting, running, saving and being refused leave the user's process as it was."""

from __future__ import annotations

import builtins
import contextlib
import importlib.util
import logging
import os
import random
import signal
import subprocess
import sys
import types
import warnings

import numpy
import pytest
import torch

import stator
from stator import InputSpec, StatorError

SOURCE = '''
import torch

LIMIT = 3.0
TABLE = {"scale": 2.0}
SEEN = [1, 2]


def helper(x):
    return x * TABLE["scale"] if x.sum() > 0 else x * 0.5


def make(step):
    def counted(x):
        while x.sum() < LIMIT:
            x = helper(x) + step
        return x

    return counted


def clipped(x, high=LIMIT):
    """Stays below a limit."""
    for value in SEEN:
        if x.max() > high:
            x = x - value
    assert x.min() > -100, "too low"
    return x


def refused(x):
    return eval("x")


def raising(x):
    if x.sum() < 100:
        raise ValueError("small")
    return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        if x.sum() > 0:
            return self.layer(x)
        return x


counted = make(1.0)
'''


@pytest.fixture
def module(tmp_path):
    """A module of the user's, freshly imported."""
    file = tmp_path / "users_module.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("users_module", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def use(module, folder):
    """Everything that one does with Stator, each thing also with an error."""
    x = torch.tensor([1.0, -2.0, 0.5])
    model = module.Model()
    for function in (module.clipped, module.counted, model):
        static = stator.to_static(function)
        static(x)
        static(-x)
        static(torch.ones(5) if function is not model else torch.ones(2, 3))
    stator.save(module.clipped, folder / "saved", input_spec=[InputSpec([None], "float32")])
    stator.load(folder / "saved")(x)
    with contextlib.suppress(StatorError):
        stator.to_static(module.refused)(x)
    with contextlib.suppress(ValueError):
        stator.to_static(module.raising)(x)


@pytest.fixture
def used(module, tmp_path):
    """A function that uses Stator once: what torch itself sets up on first use is done before."""
    use(module, tmp_path)
    return lambda: use(module, tmp_path)


def named(*owners):
    """The names of `owners`, with what they represent."""
    return [{name: id(value) for name, value in vars(owner).items()} for owner in owners]


def test_no_warning_filter_is_set_or_taken_away(module, tmp_path):
    before = list(warnings.filters), warnings.showwarning
    use(module, tmp_path)
    assert (list(warnings.filters), warnings.showwarning) == before


def test_no_warning_is_shown(module, tmp_path):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        use(module, tmp_path)
    assert [str(one.message) for one in shown] == []


def test_the_users_module_has_the_names_it_had(module, tmp_path):
    before = named(module)
    use(module, tmp_path)
    assert named(module) == before


def test_the_users_functions_are_as_they_were(module, tmp_path):
    functions = [one for one in vars(module).values() if isinstance(one, types.FunctionType)]

    def parts(function):
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        return (
            function.__code__, function.__globals__ is vars(module), function.__defaults__,
            dict(vars(function)), function.__doc__, cells,
        )  # fmt: skip

    before = [parts(function) for function in functions]
    use(module, tmp_path)
    assert [parts(function) for function in functions] == before


def test_the_users_classes_are_as_they_were(module, tmp_path):
    before = named(module.Model)
    use(module, tmp_path)
    assert named(module.Model) == before


def test_the_users_globals_are_not_copied(module):
    static = stator.to_static(module.counted)
    start = torch.tensor([1.0, 1.0])
    assert static(start).tolist() == module.counted(start).tolist()
    for name, value in (("LIMIT", 20.0), ("TABLE", {"scale": 3.0})):
        setattr(module, name, value)
        assert static(start).tolist() == module.counted(start).tolist()
    module.TABLE["scale"] = 5.0
    assert static(start).tolist() == module.counted(start).tolist()


def test_a_function_rebound_in_the_users_module_is_called(module):
    static = stator.to_static(module.counted)
    start = torch.tensor([1.0, 1.0])
    static(start)
    module.helper = lambda x: x + 10
    assert static(start).tolist() == module.counted(start).tolist() == [12.0, 12.0]


def test_a_closure_variable_rebound_in_a_called_function_is_seen():
    step = 1.0

    def inner(x):
        return x + step

    def outer(x):
        return inner(x) if x.sum() > 0 else x

    static = stator.to_static(outer)
    assert static(torch.ones(1)).item() == 2
    step = 4.0
    assert static(torch.ones(1)).item() == 5


def test_builtins_and_torch_have_the_names_they_had(used):
    owners = builtins, torch.Tensor, torch.nn.Module, torch.nn.functional, torch
    before = named(*owners)
    used()
    for was, now in zip(before, named(*owners), strict=True):
        changed = {name for name, value in was.items() if now.get(name) != value}
        assert changed == set()


def test_the_hooks_and_switches_of_the_process_are_as_they_were(used):
    def switches():
        return (
            sys.gettrace(), sys.getprofile(), sys.excepthook, sys.displayhook,
            sys.getrecursionlimit(), list(sys.path), list(sys.meta_path), list(sys.path_hooks),
            dict(os.environ), os.getcwd(),
            [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGALRM, signal.SIGTERM)],
            torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(),
            torch.get_default_device(), torch.are_deterministic_algorithms_enabled(),
            torch.get_num_threads(), torch.is_autocast_enabled("cpu"), logging.root.level,
            list(logging.root.handlers), torch.utils._python_dispatch._get_current_dispatch_mode(),
        )  # fmt: skip

    before = switches()
    used()
    assert switches() == before


def test_no_random_number_is_drawn(module, tmp_path):
    module.Model = lambda: model
    model = torch.nn.Linear(3, 3)  # made before: weights are random
    states = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    use(module, tmp_path)
    now = random.getstate(), numpy.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    assert now == states


@pytest.mark.slow
def test_importing_stator_changes_no_filter_and_no_hook():
    script = (
        # sympy, which torch uses for sizes, sets a filter for its own class of warning
        "import sys, warnings, logging, signal, sympy, torch\n"
        "def state():\n"
        "    return (list(warnings.filters), warnings.showwarning, sys.excepthook,\n"
        "            sys.gettrace(), list(sys.meta_path), list(sys.path),\n"
        "            logging.root.handlers[:], signal.getsignal(signal.SIGINT))\n"
        "before = state()\n"
        "import stator\n"
        "assert state() == before\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
