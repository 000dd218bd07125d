"""numpy in converted code: arrays are captured tensors behind torch's own numpy layer.

`x.numpy()` and every array that numpy code makes become a `CapturedArray`; numpy functions of one
are the functions of the same name in `torch._numpy`. Scalars stay numpy's own, computed while
capturing.
"""

from __future__ import annotations

import numpy
import torch

from stator.errors import UnsupportedCall
from stator.frames import current_place
from stator.state.session import Session
from stator.torch_private import numpy_layer
from stator.values.annotations import Args, Keywords, Staged
from stator.values.arrays import CapturedArray
from stator.values.staged import StagedList
from stator.values.symbolic import Number

TAKES_DATA = frozenset({
    "prod", "sum", "mean", "max", "min", "amax", "amin", "array", "asarray", "cumsum", "cumprod",
    "median", "var", "std",
})  # fmt: skip
ARRAY_KINDS = "biufc"  # bool, int, unsigned, float, complex


def is_numpy_function(function: object) -> bool:
    """Is `function` numpy's own?"""
    if isinstance(function, numpy.ufunc):
        return True
    if isinstance(function, type):
        return False
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None)
    return (isinstance(module, str) and module.split(".")[0] == "numpy") or isinstance(
        owner, numpy.ndarray | numpy.random.RandomState
    )


def call_numpy(session: Session, function: Staged, args: Args, kwargs: Keywords) -> Staged:
    """A numpy function: on captured values through torch, on others as it is."""
    module = str(getattr(function, "__module__", ""))
    if module.startswith("numpy.random"):
        raise UnsupportedCall(
            "numpy draws random numbers while the function is captured, not when it runs",
            at=current_place(), fix="use torch's random functions",
        )  # fmt: skip
    if not _is_captured((args, tuple(kwargs.values()))):
        return captured_array(session, function(*args, **kwargs))
    counterpart = _counterpart(function, module)
    if isinstance(function, numpy.ufunc) or function.__name__ in TAKES_DATA:
        args = tuple(_numbers_as_array(session, arg) for arg in args)
    args, kwargs = _for_torch((args, kwargs))
    return counterpart(*args, **kwargs)


def _numbers_as_array(session: Session, value: object) -> Staged:
    """Captured numbers, alone or in a sequence, as an array of the dtype that numpy gives them."""
    parts = value if isinstance(value, list | tuple) else (value,)
    if not any(isinstance(part, Number) for part in parts):
        return value
    plain = list(value) if isinstance(value, tuple) else value
    made = session.interpreter.call(torch.tensor, plain)
    return CapturedArray(made.double() if made.is_floating_point() else made)


def _counterpart(function: Staged, module: str) -> Staged:
    found: object = numpy_layer.functions
    for part in (*module.split(".")[1:], function.__name__):
        found = getattr(found, part, None)
    if found is None:
        raise UnsupportedCall(
            f"`numpy.{function.__name__}` has no counterpart on captured tensors",
            at=current_place(), fix="use the torch function",
        )  # fmt: skip
    return found


def captured_array(session: Session, value: object) -> Staged:
    """A numpy array as a captured one; each run gets a copy of its own."""
    if isinstance(value, numpy.ndarray) and value.dtype.kind in ARRAY_KINDS:
        with session.recorder.real():
            constant = torch.from_numpy(numpy.ascontiguousarray(value).reshape(value.shape))
        return CapturedArray(constant.clone())
    if isinstance(value, tuple):
        return tuple(captured_array(session, item) for item in value)
    return value


def live_array(session: Session, array: numpy.ndarray[Staged, Staged]) -> Staged:
    """An array of the caller's: the program reads and writes its memory."""
    if array.dtype.kind not in ARRAY_KINDS or not array.flags.writeable:
        return array
    if id(array) not in session.stand_ins.arrays:
        with session.recorder.real():
            session.stand_ins.arrays[id(array)] = (array, CapturedArray(torch.from_numpy(array)))
    return session.stand_ins.arrays[id(array)][1]


def array_of(
    _session: Session, tensor: torch.Tensor, *args: object, **kwargs: object
) -> CapturedArray:
    """`tensor.numpy()`: the same memory, as an array."""
    force = kwargs.get("force", args[0] if args else False)
    if tensor.requires_grad and not force:
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
        )
    return CapturedArray(tensor.detach() if force else tensor)


def tensor_of(session: Session, array: object) -> Staged:
    """`torch.from_numpy(array)`: the same memory, as a tensor."""
    if isinstance(array, CapturedArray):
        return array.tensor
    return captured_array(session, array).tensor


def _is_captured(tree: object) -> bool:
    if isinstance(tree, list | tuple):
        return any(_is_captured(item) for item in tree)
    return isinstance(tree, torch.Tensor | CapturedArray | Number)


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


def numpy_dtype(value: object) -> Staged:
    """A dtype of numpy's under the name that torch's numpy layer knows; else `value` itself."""
    if isinstance(value, numpy.dtype):
        return value.name
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return numpy.dtype(value).name
    return value
