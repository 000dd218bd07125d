"""Sizes: any size gives eager's answer, or an error that says what is needed."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import SizeCheckFailed
from tests.capture.oracle import check

ANY, MATRIX = InputSpec([None]), InputSpec([None, None])
VECTORS = tuple((torch.arange(float(k)),) for k in (5, 1, 0, 2, 64))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + 1, lambda x: x.sum(), lambda x: x.shape[0], lambda x: x.unsqueeze(0) * x,
        lambda x: x.reshape(-1, 1), lambda x: torch.cat([x, x]), lambda x: x[: x.shape[0] // 2],
        lambda x: torch.arange(x.shape[0]), lambda x: x.expand(2, -1), lambda x: x.flip(0),
        lambda x: x.numel() * 2, lambda x: torch.zeros(x.shape[0] + 1),
        lambda x: x.clone().view(-1),
        lambda x: x[x > 1], lambda x: x.nonzero().shape[0], lambda x: len(x),
        lambda x: x.new_ones(x.shape), lambda x: x @ x, lambda x: x.cumsum(0), lambda x: x[-1:],
        lambda x: x.squeeze(), lambda x: x * torch.ones(1), lambda x: x.softmax(0),
    ],
)  # fmt: skip
def test_one_program_is_right_for_every_size(function):
    static = check(function, *VECTORS, spec=[ANY])
    assert len(static.concrete_programs) == 1


def test_a_size_that_is_returned_is_a_size():
    check(lambda x: x.size(), *VECTORS, spec=[ANY])


def test_a_question_about_a_size_is_a_branch_of_the_program():
    def f(x):
        if x.shape[0] == 0:
            return "none"
        if x.shape[0] > 3 and x.shape[0] % 2 == 1:
            return "odd"
        return x.shape[0]

    check(f, *VECTORS, spec=[ANY])


def test_what_one_branch_needs_is_not_needed_by_the_other():
    def f(x, y):
        return (x + y).sum() if x.sum() > 0 else x.sum() - y.sum()

    static = stator.to_static(f, [ANY, ANY])
    assert static(torch.ones(3), torch.ones(3)).item() == 6
    assert static(-torch.ones(3), torch.ones(5)).item() == -8


def test_what_is_needed_in_a_branch_is_checked_after_it_as_well():
    def f(x, y):
        if x.sum() > 0:
            x = x + y
        return x - y

    static = stator.to_static(f, [ANY, ANY])
    assert static(torch.ones(3), torch.ones(3)).tolist() == [1, 1, 1]
    with pytest.raises((SizeCheckFailed, RuntimeError)):
        static(-torch.ones(3), torch.ones(5))


def test_a_size_that_is_one_broadcasts():
    def f(x, y):
        return x + y

    static = stator.to_static(f, [ANY, ANY])
    static(torch.ones(3), torch.ones(3))
    assert static(torch.ones(1), torch.ones(3)).tolist() == [2, 2, 2]


def test_equal_sizes_are_demanded_with_the_users_line():
    static = stator.to_static(lambda x, y: torch.stack([x, y]), [ANY, ANY])
    assert static(torch.ones(3), torch.ones(3)).shape == (2, 3)
    with pytest.raises((SizeCheckFailed, RuntimeError)):
        static(torch.ones(3), torch.ones(4))


def test_matrices_of_any_size_multiply():
    calls = tuple(
        (torch.ones(a, b), torch.ones(b, c)) for a, b, c in ((2, 3, 4), (1, 3, 0), (0, 1, 1))
    )
    check(lambda x, y: x @ y, *calls, spec=[MATRIX, MATRIX])


def test_a_size_is_right_after_a_transpose_in_place():
    def f(x):
        y = torch.nonzero(x)
        y.t_()
        return torch.zeros(y.shape[1])

    check(f, (torch.tensor([1.0, 2.0, 0.0, 3.0]),))
