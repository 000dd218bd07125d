"""decompose: ops that a target lacks become ops that it has, and compute the same."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.optimize.decompose import decompose
from tests.optimize.captured import names, outputs


def program_of(function, *spec):
    return stator.to_static(function).capture(list(spec)).program


@pytest.mark.parametrize(
    ("function", "lacking"),
    [
        (lambda x: torch.einsum("ij,kj->ik", x, x), "aten::einsum"),
        (lambda x: torch.nn.functional.softshrink(x), "aten::softshrink"),
        (lambda x: torch.outer(x[0], x[0]), "aten::outer"),
        (lambda x: x.T @ x, "aten::numpy_T"),
    ],
)
def test_the_parts_compute_what_the_op_computes(function, lacking):
    program = program_of(function, InputSpec([None, 3]))
    assert lacking in names(program)
    parts = decompose(program, lambda name: name != lacking)
    assert lacking not in names(parts)
    for rows in (4, 2, 1):
        x = torch.randn(rows, 3)
        torch.testing.assert_close(outputs(parts, {}, x)[0], function(x))


def test_ops_in_loops_and_branches_are_found():
    def loop(x):
        while x.sum() < 10:
            x = torch.outer(x, x).diagonal() + 1
        return x

    program = program_of(loop, InputSpec([None]))
    parts = decompose(program, lambda name: name != "aten::outer")
    assert "aten::outer" not in names(parts)
    x = torch.tensor([0.5, 0.1])
    torch.testing.assert_close(outputs(parts, {}, x)[0], loop(x))


def test_an_op_that_torch_cannot_take_apart_stays():
    program = program_of(lambda x: x.cummax(0).values, InputSpec([None]))
    parts = decompose(program, lambda name: name != "aten::cummax")
    assert "aten::cummax" in names(parts)


def test_a_program_with_nothing_to_replace_is_the_same_object():
    program = program_of(lambda x: x + 1, InputSpec([None]))
    assert decompose(program, lambda _: True) is program
