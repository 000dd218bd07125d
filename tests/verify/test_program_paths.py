"""find_paths(): inputs of a program for the paths that no given input takes."""

import torch

import stator
from stator import Example, InputSpec
from stator_verify import program_paths
from stator_verify.program_paths import find_paths, fits


def program_of(function, *args, spec):
    """The program that serves a call with `args`."""
    return stator.to_static(function, input_spec=spec).concrete_program(*args).program


def choose(x, n):
    if x.sum() > 1000:
        if n == 7:
            return x * 2
        return x - 1
    return x


VECTOR, WHOLE = InputSpec([None], "float32", "x"), InputSpec.int("n")


def test_each_path_is_taken_by_some_input():
    program = program_of(choose, torch.ones(3), 2, spec=[VECTOR, WHOLE])
    found = find_paths(program, {}, [(torch.ones(3), 2)], changing=())
    assert (found.taken, found.missing) == (4, ())
    kinds = {(bool(x.sum() > 1000), n == 7) for x, n in found.inputs}
    assert {(True, True), (True, False)} <= kinds


def test_what_the_given_inputs_take_needs_no_other_input():
    program = program_of(choose, torch.ones(3), 2, spec=[VECTOR, WHOLE])
    given = [(torch.ones(3), 2), (torch.full((3,), 999.0), 7), (torch.full((3,), 999.0), 6)]
    assert find_paths(program, {}, given, changing=()).inputs == ()


def test_a_path_that_no_input_takes_is_named():
    def never(x):
        return x + 1 if (x * x).sum() < -1 else x

    found = find_paths(
        program_of(never, torch.ones(3), spec=[VECTOR]), {}, [(torch.ones(3),)], changing=()
    )
    line = never.__code__.co_firstlineno + 1
    assert (found.taken, found.missing) == (1, (f"test_program_paths.py:{line} if (taken)",))


def test_a_loop_runs_not_at_all_once_and_often():
    def halve(x):
        steps = 0
        while x.abs().max() > 1:
            x, steps = x / 2, steps + 1
        return steps

    program = program_of(halve, torch.ones(2), spec=[InputSpec([2], "float32", "x")])
    found = find_paths(program, {}, [(torch.tensor([9.0, 1.0]),)], changing=())
    assert found.missing == ()
    assert {min(2, halve(x)) for (x,) in found.inputs} >= {0, 1}


def test_each_run_starts_from_the_stored_tensors(monkeypatch):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen += 1
            return x * 2 if self.seen > 1 else x

    monkeypatch.setattr(program_paths, "RUNS", 5)
    model = Counter()
    program = (
        stator.to_static(model, input_spec=[VECTOR]).forward.concrete_program(torch.ones(2)).program
    )
    stored = {"seen": model.seen}
    found = find_paths(program, stored, [(torch.ones(2),)], changing=("seen",))
    assert (found.taken, len(found.missing)) == (1, 1)
    assert float(model.seen) == 0


def test_sizes_fit_the_types_of_the_inputs():
    def add(x, y):
        return x + y

    same = [InputSpec(["rows", 2], "float32", name) for name in "xy"]
    program = program_of(add, torch.ones(3, 2), torch.ones(3, 2), spec=same)
    assert fits(program, Example(torch.ones(3, 2), torch.ones(3, 2)))
    assert not fits(program, Example(torch.ones(3, 2), torch.ones(4, 2)))
    assert not fits(program, Example(torch.ones(3, 3), torch.ones(3, 3)))
