"""Outcomes as data, and a backend that has nothing but them."""

import contextlib
import gc
import weakref

import pytest
import torch

import stator
from stator.errors import SizeCheckFailed
from stator.execute.backend import (
    Capability,
    EffectsDone,
    RaisedError,
    RunOptions,
    builtin_exception,
    needs_of,
    values_of,
)
from stator.execute.interpreter import INTERPRETER
from stator.execute.selection import PROVIDERS
from stator.location import Location
from stator.values.exceptions import KnownExceptions
from tests.execute.foreign_backend import ForeignBackend
from tests.zoo.harness import check
from tests.zoo.whole import PROGRAMS


class TooLarge(ValueError):
    def __init__(self, limit):
        super().__init__(f"more than {limit}")
        self.limit = limit


class Box:
    def __init__(self):
        self.value = 0


def refused_if_large(x):
    if x.sum() > 3:
        raise TooLarge(3)
    return x + 1


def outcome_of(function, *args):
    captured = stator.to_static(function).capture([stator.InputSpec.from_tensor(a) for a in args])
    return INTERPRETER.prepare(captured.program).bind(captured.tensors)(args)


# ---- outcomes


def test_a_run_that_ends_well_gives_its_flat_outputs():
    outcome = outcome_of(refused_if_large, torch.ones(2))
    assert [value.tolist() for value in outcome] == [[2.0, 2.0]]


def test_an_error_of_a_users_class_comes_as_data():
    outcome = outcome_of(refused_if_large, torch.ones(4))
    assert isinstance(outcome, RaisedError)
    assert (outcome.class_name, outcome.args) == ("ValueError", ("more than 3",))
    assert outcome.classes[0].endswith("TooLarge")
    assert outcome.fields == {"limit": 3}
    assert outcome.place.line == refused_if_large.__code__.co_firstlineno + 2
    assert not outcome.before_running
    assert outcome.effects is None


def test_what_torch_raises_comes_as_data():
    def picked(x, index):
        return x[index]

    outcome = outcome_of(picked, torch.ones(2), torch.tensor([5]))
    assert outcome.class_name == "IndexError"
    assert outcome.place.line == picked.__code__.co_firstlineno + 1
    assert outcome.error.__notes__[0] == f"  in the program at {outcome.place}"


def test_a_size_check_that_fails_says_that_nothing_has_run():
    def added(x, y):
        return x + y

    spec = [stator.InputSpec([None]), stator.InputSpec([None])]
    captured = stator.to_static(added).capture(spec)
    run = INTERPRETER.prepare(captured.program).bind(captured.tensors)
    outcome = run([torch.ones(2), torch.ones(3)])
    assert (outcome.class_name, outcome.before_running) == ("SizeCheckFailed", True)
    assert isinstance(outcome.error, SizeCheckFailed)
    assert outcome.error.before_running
    assert outcome.place == outcome.error.at


def test_an_error_that_a_handler_raises_again_keeps_its_place():
    def again(x, y):
        try:
            z = x[y]
        except IndexError:
            try:
                z = x[y + 1]
            except IndexError:
                z = x
            if z.sum() > 0:
                raise
        return z

    outcome = outcome_of(again, torch.ones(2), torch.tensor([5]))
    assert outcome.class_name == "IndexError"
    assert outcome.place.line == again.__code__.co_firstlineno + 2


def test_the_effects_that_precede_an_error_are_reported():
    box = Box()

    def counted(x, index):
        box.value = x.sum()
        return x[index]

    outcome = outcome_of(counted, torch.ones(2), torch.tensor([5]))
    assert isinstance(outcome.effects, EffectsDone)
    assert [value.tolist() for value in outcome.effects.values] == [2.0]


def test_a_context_shows_no_wrapper_of_stators():
    def other(x):
        try:
            if x.sum() > 0:
                raise TooLarge(1)
        except ValueError:
            raise KeyError("another") from None
        return x

    outcome = outcome_of(other, torch.ones(1))
    context = outcome.exception().__context__
    assert (outcome.class_name, type(context)) == ("KeyError", ValueError)


def test_values_of_raises_what_was_raised_and_keeps_nothing_alive():
    class Marker:
        pass

    marker = Marker()
    seen = weakref.ref(marker)

    def fail(_kept):
        with contextlib.suppress(ValueError):
            values_of(RaisedError("ValueError", ("no",), error=ValueError("no")))

    gc.disable()
    try:
        fail(marker)
        del marker
        assert seen() is None
    finally:
        gc.enable()


# ---- exceptions from data


def test_an_exception_is_made_from_data():
    raised = RaisedError("KeyError", ("a", 1), notes=("  in the program at f.py:3",))
    error = raised.exception()
    assert (type(error), error.args) == (KeyError, ("a", 1))
    assert error.__notes__ == ["  in the program at f.py:3"]


def test_the_users_own_class_is_made_from_data():
    raised = RaisedError("ValueError", ("more than 3",), ("m.TooLarge", "m.Base"), {"limit": 3})
    error = raised.exception(KnownExceptions({"m.TooLarge": TooLarge}))
    assert (type(error), error.args, error.limit) == (TooLarge, ("more than 3",), 3)
    assert type(raised.exception()) is ValueError


def test_a_violated_demand_is_made_from_data():
    place = Location("f.py", 3, 4, "f")
    raised = RaisedError(
        "SizeCheckFailed",
        ("sizes differ",),
        place=place,
        involved={"x": "f32[2]"},
        before_running=True,
    )
    error = raised.exception()
    assert isinstance(error, SizeCheckFailed)
    assert (error.problem, error.at, error.before_running) == ("sizes differ", place, True)
    assert error.involved == {"x": "f32[2]"}


@pytest.mark.parametrize(
    ("class_name", "args", "made"),
    [
        ("ValueError", ("a",), ValueError("a")),
        ("UnicodeDecodeError", ("a",), RuntimeError("UnicodeDecodeError: a")),
        ("Unknown", ("a", 1), RuntimeError("Unknown: a: 1")),
        ("KeyboardInterrupt", (), RuntimeError("KeyboardInterrupt")),
    ],
)
def test_builtin_exceptions_by_name(class_name, args, made):
    assert repr(builtin_exception(class_name, args)) == repr(made)


# ---- what programs need


def needs(function, *args, **options):
    captured = stator.to_static(function).capture([stator.InputSpec.from_tensor(a) for a in args])
    return needs_of(captured.program, RunOptions(**options))


def test_a_plain_program_needs_gradients_only():
    assert needs(refused_if_large, torch.ones(1)) == {Capability.GRADIENTS}
    assert needs(refused_if_large, torch.ones(1), gradients=False) == set()


def test_effects_before_an_error_are_a_need():
    box = Box()

    def counted(x, index):
        box.value = x.sum()
        return x[index]

    found = needs(counted, torch.ones(2), torch.tensor([0]))
    assert found == {Capability.GRADIENTS, Capability.PENDING_EFFECTS}


def test_hooks_of_modules_and_observers_are_needs():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)
            self.linear.register_full_backward_hook(lambda *_: None)

        def forward(self, x):
            return self.linear(x)

    found = needs(Net().forward, torch.ones(1, 2), observer=object())
    assert found == {Capability.GRADIENTS, Capability.HOST_CALLBACKS, Capability.OBSERVERS}


# ---- a backend that knows no Python exceptions


@pytest.fixture
def foreign(monkeypatch):
    backend = ForeignBackend()
    monkeypatch.setitem(PROVIDERS, "foreign", backend.provider())
    return backend


RAISING = [
    program
    for program in PROGRAMS
    if program.target.__module__ in ("tests.zoo.exceptions", "tests.zoo.effects")
    and "captured" in program.stages
    and not program.pending
]


@pytest.mark.parametrize("program", RAISING, ids=lambda program: program.name)
def test_a_backend_without_python_exceptions_does_what_eager_does(
    foreign, program, monkeypatch, tmp_path
):
    monkeypatch.setenv("STATOR_BACKEND", "foreign")
    check(program, "captured", tmp_path)


def test_its_errors_have_the_class_the_fields_and_the_notes(foreign):
    static = stator.to_static(refused_if_large, backend="foreign")
    with pytest.raises(TooLarge) as caught:
        static(torch.ones(4))
    line = refused_if_large.__code__.co_firstlineno + 2
    assert (str(caught.value), caught.value.limit) == ("more than 3", 3)
    assert f"test_backend.py:{line}, in refused_if_large" in caught.value.__notes__[0]


def test_its_size_checks_make_a_capture_for_other_sizes(foreign):
    def added(x, y):
        return x + y

    static = stator.to_static(added, backend="foreign")
    for sizes in ((2, 2), (3, 3), (4, 1)):
        x, y = map(torch.ones, sizes)
        assert static(x, y).tolist() == added(x, y).tolist()
    assert foreign.prepared[-1] is static.program


def test_its_effects_before_an_error_stay(foreign):
    box = Box()

    def counted(x, index):
        box.value = x.sum()
        return x[index]

    static = stator.to_static(counted, backend="foreign")
    static(torch.ones(2), torch.tensor([0]))
    with pytest.raises(IndexError):
        static(torch.ones(3)[:2] * 2, torch.tensor([7]))
    assert box.value.tolist() == 4.0
