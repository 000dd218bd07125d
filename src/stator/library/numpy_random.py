"""Random numbers of numpy: each run draws them, as eager code does.

    numpy.random.rand(3)    ->    host::call(3) number=0, a tensor

What a function gives is seen by a call of it with a copy of the generator.
"""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.state.host_calls import record_host_call
from stator.state.session import Session
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray

GENERATORS = (numpy.random.RandomState, numpy.random.Generator)
CHANGING = frozenset({"shuffle", "set_state", "get_state", "spawn"})


def draw_by_numpy(
    session: Session, function: Any, args: Args, kwargs: Keywords
) -> tuple[Staged] | None:
    """A draw that each run makes; None if a program cannot hold what it gives."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    if function is numpy.random.seed or (isinstance(owner, GENERATORS) and name == "seed"):
        return (record_host_call(session, function, args, kwargs, name="numpy.random.seed"),)
    if not isinstance(owner, GENERATORS) or session.is_local(owner):
        return None
    if name in CHANGING or not all(map(_is_plain, (*args, *kwargs.values()))):
        return None
    drawn = getattr(copy.deepcopy(owner), name)(*args, **kwargs)
    called = f"numpy.random.{name}"
    if type(drawn) in (int, float):
        return (record_host_call(session, function, args, kwargs, name=called, result=type(drawn)),)
    if not isinstance(drawn, numpy.ndarray) or drawn.dtype.kind not in "fi":
        return None
    with session.recorder.real():
        like = torch.from_numpy(drawn)
    draw = functools.partial(_tensor, function)
    made = record_host_call(
        session, draw, args, kwargs, name=called, result=torch.Tensor, like=like
    )
    return (CapturedArray(made),)


def is_seeded(function: Any) -> bool:
    """Does it draw from a `SeedSequence`, which always gives the same?"""
    owner = getattr(function, "__self__", None)
    return isinstance(owner, numpy.random.SeedSequence) and function.__name__ == "generate_state"


def refuse_unseeded(cls: type, args: Args, kwargs: Keywords) -> None:
    """An error for a source of random numbers that takes its seed from the process."""
    given = (*args, *(kwargs.get(name) for name in ("seed", "entropy")))
    if str(cls.__module__).startswith("numpy.random") and all(one is None for one in given):
        raise UnsupportedCall(
            f"`{cls.__name__}()` takes its seed from the process while the function is captured, "
            "not when it runs",
            fix="give it a seed, or use torch's random functions",
        )  # fmt: skip


def _tensor(function: Any, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.from_numpy(function(*args, **kwargs))


def _is_plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return not getattr(value, "is_open", False) and all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)
