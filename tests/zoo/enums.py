"""Enum members, int subclasses and numpy scalars next to captured numbers."""

from __future__ import annotations

import enum

import numpy as np

from tests.zoo.programs import f, i, program


class Kind(enum.IntEnum):
    A = 0
    B = 1


K = [(i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0))]


class Kd(enum.IntEnum):
    A = 0
    B = 1


class Fl(enum.IntFlag):
    R = 1
    W = 2


class Col(enum.Enum):
    RED = 1
    BLUE = 2


class St(str, enum.Enum):
    ON = "on"
    OFF = "off"


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)))
def int_enum_compare(k, x):
    """A number from data against members of an IntEnum."""
    if k == Kind.A:
        return x
    if k.item() == Kind.B:
        return x * 10
    return x * 0


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def enum_in_match(k, x):
    """IntEnum members as patterns."""
    match int(k):
        case Kd.A:
            return x
        case Kd.B:
            return x * 10
        case _:
            return x * 0


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def intenum_arith(k, x):
    """Arithmetic with an IntEnum member."""
    return x * (int(k) + Kd.B) - Kd.B * int(k)


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def intenum_less(k, x):
    """Order against an IntEnum member."""
    return x if int(k) > Kd.A else -x


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def intenum_in_tuple(k, x):
    """Membership among IntEnum members."""
    return x if int(k) in (Kd.A, Kd.B) else -x


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def intenum_dict_key(k, x):
    """A captured number finds an IntEnum key."""
    d = {Kd.A: 5, Kd.B: 6}
    return x * d.get(int(k), 100)


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def intflag(k, x):
    """Bits of an IntFlag."""
    return x * (1 if abs(int(k)) & Fl.W else 2)


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def str_enum(x):
    """A member of a str Enum is its text."""
    m = St.ON if x.sum() > 0 else St.OFF
    if m == "on":
        return x * 2
    return x * 3


@program((f(1.0, 2.0),), (f(-1.0, -2.0),))
def enum_name_value_dict(x):
    """An Enum member chosen by data as a key, and its value."""
    m = Col.RED if x.sum() > 0 else Col.BLUE
    return x * {Col.RED: 3, Col.BLUE: 4}[m] + m.value


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def np_int_compare(k, x):
    """A captured number against numpy scalars."""
    if int(k) == np.int64(1):
        return x
    if int(k) > np.int32(1):
        return x * 2
    return x * 3


@program((i(0), f(1.0, 2.0)), (i(1), f(1.0, 2.0)), (i(2), f(1.0, 2.0)), (i(-3), f(1.0, 2.0)))
def np_float_arith(k, x):
    """Arithmetic of captured numbers and numpy scalars."""
    return x * (int(k) * np.float64(1.5)) + float(np.float32(0.25) + int(k))


@program((f(1.0, 2.0), i(2)), (f(1.0, 2.0), i(0)), (f(1.0, 2.0), i(5)))
def string_in_loop(x, n):
    """A string is the state of a loop."""
    mode = "first"
    for k in range(n):
        if mode == "first":
            x = x + 1
            mode = "second"
        elif mode == "second":
            x = x * 2
            mode = "third"
        else:
            x = x - 3
            mode = "first"
    return x


@program((f(1.0, 2.0),), (f(-1.0, -2.0),), (f(-9.0, -2.0),))
def string_match(x):
    """`match` on a string chosen by data."""
    mode = "up" if x.sum() > 0 else "down" if x.sum() < -3 else "flat"
    match mode:
        case "up":
            return x + 1
        case "down":
            return x - 1
        case _:
            return x * 0
