"""write_casts: a program without autocast computes, to the bit, what it does with it."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.optimize.write_casts import AUTOCAST, write_casts
from tests.optimize.captured import names, outputs

HALF, BRAIN = torch.float16, torch.bfloat16


def program_of(function):
    return stator.to_static(function).capture([InputSpec([None, 4])]).program


def product(x):
    with torch.autocast("cpu", BRAIN):
        return x @ x.T, torch.softmax(x @ x.T, -1), x + 1


def switched_off_inside(x):
    with torch.autocast("cpu", HALF):
        y = x @ x.T
        with torch.autocast("cpu", enabled=False):
            y = y.float() @ x
        return y @ x.T


def in_branches_and_loops(x):
    with torch.autocast("cpu", BRAIN):
        if x.sum() > 0:
            x = ((x @ x.T).float() @ x).float()
        while x.abs().sum() > 1:
            x = (x @ torch.eye(4)).float() / 2
    return x @ x.T


def mixed(x):
    with torch.autocast("cpu", HALF):
        return torch.cat([x @ x.T, x[:, :1]], 1), torch.einsum("ij,kj->ik", x, x)


@pytest.mark.parametrize("function", [product, switched_off_inside, in_branches_and_loops, mixed])
def test_the_casts_are_those_of_autocast(function):
    program = program_of(function)
    written = write_casts(program)
    assert AUTOCAST in names(program)
    assert AUTOCAST not in names(written)
    for x in (torch.randn(3, 4), -torch.rand(2, 4), torch.ones(1, 4)):
        wanted = function(x)
        found = outputs(written, {}, x)
        for one, other in zip(
            found, wanted if isinstance(wanted, tuple) else (wanted,), strict=True
        ):
            assert one.dtype == other.dtype
            assert torch.equal(one, other)


def test_a_program_without_autocast_stays_itself():
    program = program_of(lambda x: x @ x.T)
    assert write_casts(program) is program


def test_casts_of_another_device_are_not_written():
    program = program_of(product)
    for op in program.body.ops:
        if op.name == AUTOCAST:
            op.args = ("cuda", *op.args[1:])
    assert write_casts(program) is program
