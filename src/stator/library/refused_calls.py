"""Calls that are refused: seeds, transforms, clocks, random numbers, changes of the process."""

from __future__ import annotations

import random
import sys
import traceback
import weakref

import torch

from stator.errors import UnsupportedCall
from stator.library.callbacks import is_transform
from stator.library.process_calls import PROCESS_CALLS
from stator.library.python_random import SeededRandom
from stator.library.tensor_calls import REFUSED_CALLS
from stator.values.annotations import Args, Keywords

WORLD = frozenset({"random", "secrets", "uuid", "_random"})
# A capture replaces it for torch's own Python; importing Dynamo puts a wrapper into `torch`.
MANUAL_SEED = (torch.manual_seed, torch.random.manual_seed)
HANDLED = frozenset({sys.exc_info, sys.exception, traceback.format_exc, traceback.print_exc})


def refuse_call(function: object) -> None:
    """Raise where a call of `function` cannot be part of a program."""
    found = REFUSED_CALLS.get(function) if is_hashable(function) else None
    name = getattr(function, "__name__", "")
    owner = getattr(function, "__self__", None)
    if found is None and isinstance(owner, torch.Tensor):
        found = REFUSED_CALLS.get(name)
    if found is None and is_hashable(function) and function in PROCESS_CALLS:
        found = (f"`{name}` changes {PROCESS_CALLS[function]}, which would happen only during the "
                 "capture",
                 "call it outside, before or after the call")  # fmt: skip
    is_seed = name in ("manual_seed", "seed") and function not in MANUAL_SEED
    if found is None and is_seed and is_from_torch(function):
        found = ("the random seed is set inside a program", "set it before the call")
    if found is None and is_transform(function):
        found = ("a transform of `torch.func` inside a program is not supported", "call it outside")
    if found is None and is_hashable(function) and function in HANDLED:
        found = (f"`{name}` returns the exception that is being handled, which exists only at run "
                 "time",
                 "name it: `except ... as error`")  # fmt: skip
    if found is None and _reads_the_world(function):
        found = (
            f"`{name}` returns a different value each time, and a program would keep the first one",
            "call it outside and pass the value, or use torch's functions",
        )
    if found is not None:
        raise UnsupportedCall(found[0], fix=found[1])


def _reads_the_world(function: object) -> bool:
    """Random numbers and clocks."""
    if isinstance(getattr(function, "__self__", None), random.Random):
        return not isinstance(function.__self__, SeededRandom)  # type: ignore[attr-defined]
    module = getattr(function, "__module__", None)
    if module == "time":
        return getattr(function, "__name__", "") != "sleep"
    owner = getattr(function, "__self__", None)
    return module in WORLD or (isinstance(owner, type) and owner.__module__ == "datetime")


def is_from_torch(function: object) -> bool:
    """Is `function` one of torch?"""
    return str(getattr(function, "__module__", "")).split(".")[0] == "torch"


def is_torch_op(function: object, args: Args, kwargs: Keywords) -> bool:
    """Does it call no code of the user's? To watch an op would take longer than the op."""
    if isinstance(getattr(function, "__self__", None), torch.Tensor):
        return not any(map(callable, (*args, *kwargs.values())))
    takes_tensor = isinstance(args[0] if args else None, torch.Tensor)
    return is_from_torch(function) or (takes_tensor and function is not hash)


def is_hashable(function: object) -> bool:
    """Can `function` be looked up in a table? A module is not, though it could be."""
    if type(function) is weakref.ref and function() is None:  # that has no hash any more
        return False
    return type(function).__hash__ is not None and not isinstance(function, torch.nn.Module)
