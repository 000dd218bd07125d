"""numpy in converted code: arrays are captured tensors behind torch's own numpy layer.

`x.numpy()` and every array that numpy code makes become a `CapturedArray`; numpy functions of one
are the functions of the same name in `torch._numpy`. Scalars stay numpy's own, computed while
capturing.
"""

from __future__ import annotations

import functools
import operator
import types

import numpy
import torch

from stator.containers.lists import is_captured
from stator.errors import UnsupportedCall
from stator.library.known_arrays import NOT_KNOWN, compute_known, known_array
from stator.library.numpy_random import draw_by_numpy, is_seeded
from stator.state.callers_arrays import live_array, refuse_errors
from stator.state.session import Session, error_modes
from stator.torch_private import numpy_layer
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray, ReversedArray
from stator.values.staged import StagedList
from stator.values.symbolic import Number

CUMULATED = {"cumsum": numpy.cumsum, "cumprod": numpy.cumprod}
MAKES_ARRAYS = (numpy.array, numpy.asarray, numpy.ascontiguousarray, numpy.asanyarray)
CAPTURED_ROW = (torch.Tensor, CapturedArray)
NUMBERS = (bool, int, float, numpy.generic, torch.SymInt, torch.SymFloat, torch.SymBool)
TAKES_DATA = frozenset({
    "prod", "sum", "mean", "max", "min", "amax", "amin", "array", "asarray", "cumsum", "cumprod",
    "median", "var", "std", "linspace",
})  # fmt: skip


def is_numpy_function(function: object) -> bool:
    """Is `function` numpy's own?"""
    if isinstance(function, numpy.ufunc):
        return True
    if isinstance(function, type):
        return False
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    if isinstance(function, types.FunctionType):  # `functools.wraps` copies `__module__`
        module = function.__globals__.get("__name__", module)
    return (isinstance(module, str) and module.split(".")[0] == "numpy") or isinstance(
        owner, numpy.ndarray | numpy.random.RandomState
    )


def call_numpy(session: Session, function: Staged, args: Args, kwargs: Keywords) -> Staged:
    """A numpy function: on captured values through torch, on others as it is."""
    module = str(getattr(function, "__module__", ""))
    if module.startswith("numpy.random") and not is_seeded(function):
        drawn = draw_by_numpy(session, function, args, kwargs)
        if drawn is not None:
            return drawn[0]
        raise UnsupportedCall(
            "numpy draws random numbers while the function is captured, not when it runs",
            fix="use torch's random functions",
        )
    session.reads.watch_call(error_modes, (), session.error_modes)
    args = tuple(_live(session, arg) for arg in args)
    kwargs = {name: _live(session, arg) for name, arg in kwargs.items()}
    done = compute_known(session, lambda a, k: function(*a, **k), args, kwargs)
    if done is not NOT_KNOWN:
        return done
    refuse_errors(session)
    counterpart = _counterpart(function, module)
    if isinstance(function, numpy.ufunc) or function.__name__ in TAKES_DATA:
        args = tuple(_numbers_as_array(session, arg) for arg in args)
    args = tuple(_rows_as_arrays(session, arg) for arg in args)
    if isinstance(kwargs.get("out"), ReversedArray):
        kwargs["out"].refuse_write()
    is_on_tensor = any(isinstance(arg, torch.Tensor) for arg in args)
    if is_on_tensor and function not in MAKES_ARRAYS and not isinstance(function, numpy.ufunc):
        session.stand_ins.are_certain = False
    args, kwargs = _for_torch((args, kwargs))
    try:
        made = counterpart(*args, **kwargs)
        return _as_tensor(made) if is_on_tensor and isinstance(function, numpy.ufunc) else made
    except NotImplementedError as error:
        raise UnsupportedCall(
            f"`numpy.{function.__name__}` cannot be called this way on captured values: {error}",
            fix="use the torch function",
        ) from error


def _as_tensor(made: Staged) -> Staged:
    """What a ufunc of a tensor gives: a tensor, of numpy's dtype."""
    if isinstance(made, tuple):
        return tuple(map(_as_tensor, made))
    return made.tensor if isinstance(made, CapturedArray) else made


def _numbers_as_array(session: Session, value: object) -> Staged:
    """Captured numbers, alone or in a sequence, as an array of the dtype that numpy gives them."""
    parts = value if isinstance(value, list | tuple) else (value,)
    if value is not parts and not isinstance(value, Number):
        return value
    if _is_row(parts):
        return CapturedArray(_row(session, parts))
    if not any(isinstance(part, Number) for part in parts):
        return value
    plain = list(value) if isinstance(value, tuple) else value
    is_float = any(isinstance(part, float | torch.SymFloat) for part in parts)
    dtype = torch.float64 if is_float else None  # not torch's default, which has fewer digits
    made = session.interpreter.call(torch.tensor, plain, dtype=dtype)
    return CapturedArray(made.double() if made.is_floating_point() else made)


def _rows_as_arrays(session: Session, value: object) -> Staged:
    """The sequences in a sequence (`numpy.concatenate([a, [last]])`), as arrays."""
    if type(value) in (list, tuple, StagedList) and not is_captured(value):
        inner: Staged = value
        made = [
            _numbers_as_array(session, item) if isinstance(item, list | tuple) else item
            for item in inner
        ]
        return value if all(map(operator.is_, made, inner)) else made
    return value


def _is_row(parts: Staged) -> bool:
    """Numbers, some of which are captured arrays or tensors without dimensions?"""
    if is_captured(parts) or not any(isinstance(part, CAPTURED_ROW) for part in parts):
        return False
    return all(isinstance(part, CAPTURED_ROW + NUMBERS) and not _rank(part) for part in parts)


def _rank(part: Staged) -> int:
    return part.ndim if isinstance(part, CAPTURED_ROW) else 0


def _row(session: Session, parts: Staged) -> torch.Tensor:
    """The numbers `parts` in one tensor, of the dtype that numpy would find for them."""
    names = [_dtype_name(part) for part in parts]
    dtype = getattr(torch, functools.reduce(numpy.promote_types, names, names[0]).name)
    made = (
        _tensor(part).detach() if isinstance(part, CAPTURED_ROW)
        else session.interpreter.call(torch.tensor, part, dtype=dtype)
        for part in parts
    )  # fmt: skip
    return torch.stack([one.to(dtype) for one in made])


def _dtype_name(part: Staged) -> Staged:
    if isinstance(part, CAPTURED_ROW):
        return numpy.dtype(str(_tensor(part).dtype).removeprefix("torch."))
    if isinstance(part, numpy.generic):
        return part.dtype
    names = {torch.SymFloat: float, torch.SymInt: int, torch.SymBool: bool}
    return numpy.dtype(names.get(type(part), type(part)))


def _interpolated(x: Staged, xp: Staged, fp: Staged) -> Staged:
    """`numpy.interp` of captured arrays; outside of `xp`, the first and the last of `fp`."""
    at, points, values = (torch.as_tensor(_tensor(one)).double() for one in (x, xp, fp))
    right = torch.searchsorted(points, at, right=True).clamp(1, points.shape[0] - 1)
    low, start = points[right - 1], values[right - 1]
    inside = (values[right] - start) / (points[right] - low) * (at - low) + start
    ends = torch.where(at >= points[-1], values[-1], inside)
    return CapturedArray(torch.where(at <= points[0], values[0], ends))


def _evenly_spaced(
    start: Staged, stop: Staged, num: int = 50, endpoint: bool = True, **options: object
) -> Staged:
    """`numpy.linspace` between captured numbers, in numpy's own order of operations."""
    if options or not isinstance(num, int):
        raise NotImplementedError("only start, stop, num and endpoint are known")
    low, high = (torch.as_tensor(_tensor(one)).double() for one in (start, stop))
    if low.dim() or high.dim():
        raise NotImplementedError("its ends are arrays")
    index, steps = torch.arange(num, dtype=torch.float64), num - 1 if endpoint else num
    if steps <= 0:
        return CapturedArray(index * (high - low) + low)
    step = (high - low) / steps
    made = torch.where(step == 0, index / steps * (high - low), index * step) + low
    return CapturedArray(torch.cat([made[:-1], high[None]]) if endpoint else made)


def _cumulated(name: str, array: Staged, axis: object = None, dtype: object = None) -> Staged:
    """`numpy.cumsum` and `cumprod`: of truth values and small integers, they give an int64."""
    held = torch.as_tensor(_tensor(array))
    if dtype is None and not (held.is_floating_point() or held.is_complex()):
        dtype = "int64"
    return getattr(numpy_layer.functions, name)(CapturedArray(held), axis=axis, dtype=dtype)


def _tensor(value: Staged) -> Staged:
    return value.tensor if isinstance(value, CapturedArray) else value


def _counterpart(function: Staged, module: str) -> Staged:
    if function is numpy.interp:
        return _interpolated
    if function is numpy.linspace:
        return _evenly_spaced
    name = function.__name__
    if CUMULATED.get(name) is function:
        return functools.partial(_cumulated, name)
    found: object = numpy_layer.functions
    for part in (*module.split(".")[1:], name):
        found = getattr(found, part, None)
    if found is None:
        raise UnsupportedCall(f"`numpy.{name}` has no counterpart on captured tensors",
                              fix="use the torch function")  # fmt: skip
    return found


def array_of(
    session: Session, tensor: torch.Tensor, *args: object, **kwargs: object
) -> CapturedArray:
    """`tensor.numpy()`: the same memory, as an array."""
    refuse_errors(session)
    force = kwargs.get("force", args[0] if args else False)
    if tensor.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return CapturedArray(tensor.detach() if force else tensor)


def tensor_of(session: Session, array: object) -> Staged:
    """`torch.from_numpy(array)`: the same memory, as a tensor."""
    array = _live(session, array)
    return (array if isinstance(array, CapturedArray) else known_array(session, array)).tensor


def _live(session: Session, value: Staged) -> Staged:
    """An array of the caller's, alone or in a sequence, as one that every run reads."""
    if isinstance(value, numpy.ndarray) and session.provenance.is_external(value):
        return live_array(session, value)
    if type(value) in (list, tuple, StagedList) and any(
        isinstance(item, numpy.ndarray) for item in value
    ):
        return type(value)(_live(session, item) for item in value)
    return value


def _for_torch(tree: object) -> Staged:
    """Arguments as torch's numpy layer takes them."""
    if isinstance(tree, StagedList):
        return [_for_torch(item) for item in tree]
    if isinstance(tree, list | tuple):
        return type(tree)(_for_torch(item) for item in tree)
    if isinstance(tree, dict):
        return {key: _for_torch(item) for key, item in tree.items()}
    if isinstance(tree, torch.Tensor):
        return CapturedArray(tree)
    return numpy_dtype(tree)


def numpy_dtypes(args: Args, kwargs: Keywords) -> tuple[Args, Keywords]:
    """Arguments with dtypes of numpy's under the names that torch's numpy layer knows."""
    return tuple(map(numpy_dtype, args)), {key: numpy_dtype(one) for key, one in kwargs.items()}


def numpy_dtype(value: object) -> Staged:
    """A dtype of numpy's under the name that torch's numpy layer knows; else `value` itself."""
    if isinstance(value, numpy.dtype):
        return value.name
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return numpy.dtype(value).name
    return value
