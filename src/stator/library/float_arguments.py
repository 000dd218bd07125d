"""Ops whose schema has a plain number (a probability, a number of steps), given a symbolic one.

Torch's argument parser would ask for the value. So the op is looked up by its schema and recorded
directly; an example takes part only in finding out what the result looks like.
"""

from __future__ import annotations

import types

import torch

from stator.capture.conversions import index, to_float
from stator.capture.recorder import Recorder
from stator.errors import DataDependent
from stator.torch_private import ops
from stator.values.annotations import Args, Keywords, Staged

EXAMPLE = 0.5  # valid as a probability, a momentum, a slope, a tolerance
# They make a tensor of a plain int, in these places: `capture/fake_rules.py` has its size.
SIZED: dict[str, tuple[int | str, ...]] = {
    **dict.fromkeys(("bartlett_window", "blackman_window", "hamming_window", "hann_window",
                     "kaiser_window"), (0, "window_length")),
    **dict.fromkeys(("linspace", "logspace"), (2, "steps")),
    **dict.fromkeys(("tril_indices", "triu_indices"), (0, 1, "row", "col")),
    "one_hot": (1, "num_classes"),
}  # fmt: skip


def is_op_with_float(function: object, args: tuple[object, ...], kwargs: dict[str, object]) -> bool:
    """Is this an op of torch that is given a symbolic number where it wants a plain one?"""
    values = (getattr(function, "__self__", None), *args, *kwargs.values())
    if not isinstance(function, types.BuiltinFunctionType):
        return False
    if function.__name__ in SIZED:
        is_size = any(isinstance(value, torch.Tensor) for value in _sizes(function, args, kwargs))
        return is_size or any(isinstance(one, torch.SymInt | torch.SymFloat) for one in values)
    return any(isinstance(value, torch.Tensor) for value in values) and (
        any(isinstance(value, torch.SymFloat) for value in values)
        or bool(_ints_for_floats(function.__name__, _with_owner(function, args), kwargs))
    )


def _sizes(function: Staged, args: Args, kwargs: Keywords) -> list[object]:
    """What is given where an op in `SIZED` wants a plain int."""
    given = dict[int | str, object](enumerate(args)) | dict[int | str, object](kwargs.items())
    return [given[place] for place in SIZED[function.__name__] if place in given]


def _ints_for_floats(name: str, args: Args, kwargs: Keywords) -> frozenset[int | str]:
    """Where a symbolic int is given and the op has a float, such as the value to pad with."""
    op = ops.find_overload(name, *_plain_arguments(args, kwargs))
    if op is None:
        return frozenset()
    given = dict[int | str, object](enumerate(args)) | dict[int | str, object](kwargs.items())
    return frozenset(
        place
        for at, parameter in enumerate(ops.schema(op).arguments)
        for place in (at, parameter.name)
        if isinstance(given.get(place), torch.SymInt)
        and str(parameter.type) in ("float", "Optional[float]")
    )


def _plain_arguments(args: Args, kwargs: Keywords) -> tuple[Args, Keywords]:
    """Arguments by which torch finds an overload."""
    plain = {name: _plain(_example(value)) for name, value in kwargs.items()}
    return tuple(_plain(_example(arg)) for arg in args), plain


def record_with_floats(
    recorder: Recorder, function: Staged, args: tuple[object, ...], kwargs: dict[str, object]
) -> Staged:
    """What the op behind `function` gives, recorded with the symbolic floats it is given."""
    places = SIZED.get(function.__name__, ())  # a tensor there is its value
    args = tuple(_size(recorder, arg) if at in places else arg for at, arg in enumerate(args))
    kwargs = {name: _size(recorder, v) if name in places else v for name, v in kwargs.items()}
    args = _with_owner(function, args)
    ints = _ints_for_floats(function.__name__, args, kwargs)
    args = tuple(to_float(recorder, arg) if at in ints else arg for at, arg in enumerate(args))
    kwargs = {k: to_float(recorder, v) if k in ints else v for k, v in kwargs.items()}
    op = ops.find_overload(function.__name__, *_plain_arguments(args, kwargs))
    if op is None:
        raise DataDependent(f"`{function.__name__}` needs the value of a captured number",
                            fix="compute it with other ops")  # fmt: skip
    args, kwargs = _by_position(op, args, kwargs)
    example_kwargs = {name: _example(value) for name, value in kwargs.items()}
    return recorder.record_op(op, (args, kwargs), (tuple(map(_example, args)), example_kwargs))


def _by_position(op: Staged, args: Args, kwargs: Keywords) -> tuple[Args, Keywords]:
    """The arguments as torch's dispatcher gives them: by name only those that have no position."""
    placed = [one for one in ops.schema(op).arguments[len(args) :] if not one.kwarg_only]
    last = max((at for at, one in enumerate(placed) if one.name in kwargs), default=-1)
    found = [kwargs.get(one.name, one.default_value) for one in placed[: last + 1]]
    names = {one.name for one in placed}
    return (*args, *found), {name: kwargs[name] for name in kwargs if name not in names}


def _size(recorder: Recorder, value: object) -> object:
    return index(recorder, value) if isinstance(value, torch.Tensor) else value


def _with_owner(function: Staged, args: Args) -> Args:
    """The arguments of an op, the tensor first whose method `function` is."""
    owner = getattr(function, "__self__", None)
    return (owner, *args) if isinstance(owner, torch.Tensor) else args


def _example(value: object) -> Staged:
    return EXAMPLE if isinstance(value, torch.SymFloat) else value


def _plain(value: object) -> Staged:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return 2 if isinstance(value, torch.SymInt) else value


def without_generator(function: object, kwargs: Keywords) -> Keywords:
    """`kwargs` without `generator=None`, beside which torch takes no dynamic size."""
    if (
        not isinstance(function, types.BuiltinFunctionType)
        or kwargs.get("generator", 0) is not None
    ):
        return kwargs
    return {name: value for name, value in kwargs.items() if name != "generator"}
