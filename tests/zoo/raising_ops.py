"""Ops of torch that raise for some values: a `try` catches them, and earlier effects are kept."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812  # as everyone writes it

from tests.zoo.programs import f, i, program

DIVISORS = ((i(7, 8), i(2, 3)), (i(7, 8), i(2, 0)), (i(7, -8), i(-2, 3)))


class Box:
    """Something outside that a call changes."""

    def __init__(self):
        self.t = torch.zeros(())


BOX = Box()


def held():
    """What the box holds."""
    return BOX.t.clone()


def reset():
    """An empty box."""
    BOX.t = torch.zeros((), dtype=torch.int64)


@program(*DIVISORS)
def try_integer_division(x, z):
    """Integers divided by zero raise."""
    try:
        y = x // z
    except RuntimeError:
        y = x * 0 - 1
    return y


@program(*DIVISORS)
def try_integer_remainder(x, z):
    """The remainder raises too."""
    try:
        y = x % z
    except RuntimeError:
        y = x * 0 - 1
    return y


@program(*DIVISORS)
def try_division_with_rounding(x, z):
    """`div` rounds integers to integers."""
    y = x
    try:
        y = y + 1
        y = torch.div(y, z, rounding_mode="trunc")
    except RuntimeError:
        y = y * 10
    return y


@program((f(7.0, 8.0), f(2.0, 0.0)))
def float_division_needs_no_handler(x, z):
    """Floats divided by zero give infinity."""
    try:
        y = x // z
    except RuntimeError:
        y = x * 0 - 1
    return y


@program((i(0, 2),), (i(0, 5),), (i(-1, 2),))
def try_one_hot(labels):
    """A label that is out of range."""
    try:
        y = F.one_hot(labels, 3)
    except RuntimeError:
        y = torch.zeros(2, 3, dtype=torch.int64) - 1
    return y


@program((f(1.0, 2.0), i(1, 1)), (f(1.0, 2.0), i(3, -1)))
def try_repeat_interleave(x, counts):
    """Counts must not be negative."""
    try:
        y = torch.repeat_interleave(x, counts, output_size=2)
    except RuntimeError:
        y = x * 0
    return y


@program(
    (f([[1.0, 2.0, 3.0]]), i(2)),
    (f([[1.0, 2.0, 3.0]]), i(3)),
)
def try_cross_entropy(logits, target):
    """A target that is no class."""
    try:
        y = F.cross_entropy(logits, target.reshape(1))
    except (RuntimeError, IndexError):
        y = logits.sum() * 0
    return y


@program((i(3),), (i(-3),))
def try_negative_size(n):
    """A size that is negative."""
    try:
        y = torch.zeros(int(n))
    except RuntimeError:
        y = torch.ones(1)
    return y.sum()


@program((f(0.2, 0.9),), (f(0.2, 1.9),))
def try_probabilities(p):
    """A loss that wants probabilities."""
    try:
        y = F.binary_cross_entropy(p, torch.ones(2))
    except RuntimeError:
        y = p.sum() * 0
    return y


@program(*DIVISORS, may_raise=True, watch=held, reset=reset, refused_saved="ST200")
def effect_before_integer_division(x, z):
    """What was put into an object before the op raised is kept."""
    BOX.t = x.sum()
    return x // z


@program(*DIVISORS, may_raise=True, watch=held, reset=reset, refused_saved="ST200")
def effects_around_integer_remainder(x, z):
    """The second effect is not reached where the op raises."""
    BOX.t = x.sum()
    y = x % z
    BOX.t = y.sum() + 100
    return y


@program((f(2.0, 0.5),), (f(2.0, -0.5),))
def class_of_torch_is_caught(x):
    """An error of a class of torch's own, which is a RuntimeError too."""
    try:
        return torch.linalg.cholesky(torch.diag(x))
    except torch.linalg.LinAlgError as error:
        return x, type(error).__name__, isinstance(error, RuntimeError)
