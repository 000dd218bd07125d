"""Runs ops of torch's sample database and holds what they do against the op table.

Every op is run on its samples as they are, and on the same samples with values that no one would
call ordinary: 0, -1, large, infinite, NaN. What reaches torch's dispatcher above autograd is
compared with the row of that op: did it raise, write to an argument, or give back its memory?
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, PythonKeyTracer
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_leaves, tree_map

from stator.program.ir import Arg, Literal, Op, Value
from stator.program.opset.in_files import stem_of
from stator.program.opset.queries import may_raise, row_of
from stator.program.types import TensorType

DTYPES = (torch.float32, torch.int64, torch.bool)
VALUES = (0, -1, 1000, math.inf, math.nan)
# NOTE: why not these. LAPACK corrupts memory for some values; the table has them as raising anyway.
LAPACK = (
    "linalg",
    "svd",
    "pca",
    "pinv",
    "qr",
    "geqrf",
    "lu",
    "chol",
    "ormqr",
    "triang",
    "norm.nuc",
)
SAMPLES = 2
# private ops that the database calls by their names; some of them leave their memory
NOT_IN_FILES = frozenset(
    {
        "_batch_norm_with_update", "_chunk_cat", "_softmax_backward_data", "_sparse_mm",
        "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate",
        "max_pool2d_with_indices_backward", "native_dropout_backward", "to_sparse",
    }
)  # fmt: skip


class Watch(ProxyTorchDispatchMode):
    """Sees each op as the recorder of a capture does, and runs it."""

    def __init__(self, *, is_ordinary: bool) -> None:
        super().__init__(PythonKeyTracer(), "real", pre_dispatch=True)
        self.is_ordinary = is_ordinary  # the sample as torch has it: it must not raise
        self.problems: set[str] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run `func`, and compare what it did with its row."""
        kwargs = kwargs or {}
        if func.namespace != "aten":
            return func(*args, **kwargs)
        given = _named(func, args, kwargs)
        before = {name: tree_map(_copy, arg) for name, arg in given.items()}
        try:
            result = func(*args, **kwargs)
        except (RuntimeError, ValueError, IndexError, ArithmeticError) as error:
            self._raised(func, args, kwargs, before, error)
            raise
        self._done(func, given, before, result)
        return result

    def _raised(self, func: Any, args: Any, kwargs: Any, before: Any, error: Exception) -> None:
        if self.is_ordinary or "not implemented for" in str(error):
            return
        if not may_raise(_op(func.name(), args, kwargs)):
            self.problems.add(f"{func.name()} raises: {str(error).splitlines()[0][:80]}")

    def _done(self, func: Any, given: Any, before: Any, result: Any) -> None:
        row = row_of(func.name())
        if not row.in_file and stem_of(func.name()) not in NOT_IN_FILES:
            self.problems.add(f"{func.name()} may not be in a file")
        for name, arg in given.items():
            if name not in row.writes and not _same(arg, before[name]):
                self.problems.add(f"{func.name()} writes to {name}")
            if row.aliases != "all" and name not in row.aliases and _share(arg, result):
                self.problems.add(f"{func.name()} gives back the memory of {name}")


def _named(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    names = [argument.name for argument in func._schema.arguments]
    return dict(zip(names, args, strict=False)) | kwargs


def _copy(leaf: Any) -> Any:
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _same(one: Any, other: Any) -> bool:
    pairs = zip(_tensors(one), _tensors(other), strict=True)
    return all(
        a.shape == b.shape and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
        for a, b in pairs
    )


def _share(arg: Any, result: Any) -> bool:
    places = {
        one.untyped_storage().data_ptr() for one in _tensors(arg) if one.untyped_storage().nbytes()
    }
    return any(one.untyped_storage().data_ptr() in places for one in _tensors(result))


def _op(name: str, args: Any, kwargs: Any) -> Op:
    """The op that a capture would record; a run of it has raised, so results are not known."""
    attributes = {key: _arg(value) for key, value in kwargs.items()}
    return Op(name, tuple(map(_arg, args)), attributes, ())


def _arg(value: Any) -> Arg:
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return Value("x", TensorType(dtype, tuple(value.shape)))
    if isinstance(value, list | tuple):
        return tuple(map(_arg, value))
    if isinstance(value, torch.dtype):
        return Literal("dtype", str(value).removeprefix("torch."))
    return value if isinstance(value, bool | int | float | complex | str) else None


def problems_of(op: OpInfo) -> Iterator[str]:
    """What `op` does on its samples and is not in the op table."""
    for dtype in () if op.name.startswith(LAPACK) else DTYPES:
        if dtype not in op.supported_dtypes("cpu"):
            continue
        for sample in itertools.islice(_samples(op, dtype), SAMPLES):
            if _run(op, sample, lambda leaf: leaf, Watch(is_ordinary=True)):
                for value in VALUES if _has_floats(sample) else filter(math.isfinite, VALUES):
                    watch = Watch(is_ordinary=False)
                    _run(op, sample, _filled(value), watch)
                    yield from watch.problems


def _samples(op: OpInfo, dtype: torch.dtype) -> Iterator[SampleInput]:
    torch.manual_seed(0)
    yield from op.sample_inputs("cpu", dtype, requires_grad=False)


def _has_floats(sample: SampleInput) -> bool:
    """Whether infinities can be written into it."""
    found = _tensors((sample.input, sample.args, sample.kwargs))
    return any(tensor.is_floating_point() for tensor in found)


def _run(op: OpInfo, sample: SampleInput, change: Callable[[Any], Any], watch: Watch) -> bool:
    first, args, kwargs = tree_map(change, (sample.input, sample.args, sample.kwargs))
    with contextlib.suppress(Exception), torch.no_grad(), enable_python_dispatcher(), watch:
        op(first, *args, **kwargs)
        return True
    return False


def _filled(value: float) -> Callable[[Any], Any]:
    """Tensors with that value at every other place; the others stay."""

    def fill(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.is_sparse or leaf.layout != torch.strided:
            return leaf
        if not (leaf.is_floating_point() or (math.isfinite(value) and leaf.dtype != torch.uint8)):
            return leaf.clone()
        filled = leaf.detach().clone(memory_format=torch.preserve_format)
        return filled.fill_(value)

    return fill
