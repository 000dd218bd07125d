"""Classes, members of Enums and dtypes that data chooses, and what is asked about them."""

from __future__ import annotations

import enum

import torch

from tests.zoo.programs import f, i, program

NUMBERS = ((i(3),), (i(-2),), (i(0),), (i(1),))


class Shape:
    sides = 0


class Square(Shape):
    sides = 4


class Blob:
    pass


@program(*NUMBERS)
def questions_about_a_chosen_class(x):
    """`isinstance` and `issubclass` of a class that the data chooses, in a tuple too."""
    cls = Shape if x > 0 else Blob
    made = Square() if x > 1 else cls()
    return (
        isinstance(made, cls), isinstance(made, (cls, int)), issubclass(cls, Shape),
        issubclass(Square, cls), issubclass(Square, (cls, Blob)), issubclass(type(made), Shape),
    )  # fmt: skip


class Mode(enum.Enum):
    SLOW = 1
    FAST = 3


class Step(enum.IntEnum):
    UP = 1
    DOWN = -1


class Word(str, enum.Enum):
    YES = "yes"
    NO = "no"


@program(*NUMBERS, may_raise=True)
def member_for_a_value(x):
    """The member of an Enum whose value only a run knows; an error where there is none."""
    return Mode(int(x)).name


@program(*NUMBERS)
def members_for_chosen_values(x):
    """Members for values that a branch chooses, and what can be done with them."""
    mode = Mode(3 if x > 0 else 1)
    step = Step(1 if x > 1 else -1)
    word = Word("yes" if x > 0 else "no")
    counts = {Mode.SLOW: 5, Mode.FAST: 7}
    return mode.name, counts[mode], step + 1, step < 0, word.value, word == "yes", mode is Mode.SLOW


@program((f(1.0, 2.0),), (f(-4.0, 2.5),))
def new_tensor_of_numbers(x):
    """`x.new_tensor` of numbers that only a run knows."""
    count = int(x[0])
    many = [float(v) for v in x.tolist() if v > 0]
    return x.new_tensor([count, 2]), x.new_tensor(many), x.new_tensor(count, dtype=torch.long)
