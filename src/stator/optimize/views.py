"""Views: how a write to a view becomes a new value of what it looks at.

    %v = aten::select.int(%x, 0, 2); aten::copy_(%v, %y)    ->   aten::select_scatter(%x, %y, 0, 2)

`INVERSES` has a function for each op whose result certainly shares memory with its first argument,
and through which a write can be expressed. Other views can be read only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from stator.location import Location
from stator.program.ir import Arg, Op, Value
from stator.program.opset.queries import aliased_by
from stator.program.registry import argument_names, schema_of
from stator.program.types import NumberType, TensorType, Type

INT = NumberType("int")


class OpMaker(Protocol):
    """Appends ops to the block that is being built."""

    def op(self, name: str, args: tuple[Arg, ...], kind: Type, place: Location | None) -> Value:
        """The result of one more op."""

    def view(self, step: ViewStep, name: str, args: tuple[Arg, ...]) -> Value:
        """The view of other contents."""


@dataclass(frozen=True)
class ViewStep:
    """One view op: applied to `source`, it gives the view, which is result `index` of it."""

    op: Op  # with arguments of the new program
    source: TensorType
    index: int

    @property
    def kind(self) -> Type:
        """The type of the view."""
        return self.op.results[self.index].type

    def argument(self, name: str, default: Arg = None) -> Arg:
        """One argument by its name in the schema."""
        names = argument_names(self.op.name)
        position = names.index(name)
        if position < len(self.op.args):
            return self.op.args[position]
        return self.op.attributes.get(name, default)


Inverse = Callable[[ViewStep, Value, Value, OpMaker], Value]


def _same(_step: ViewStep, _before: Value, new: Value, _make: OpMaker) -> Value:
    return new


def _made(step: ViewStep, make: OpMaker, name: str, *args: Arg, kind: Type | None = None) -> Value:
    return make.op(f"aten::{name}", args, kind or step.source, step.op.place)


def _select(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    dim, index = step.argument("dim"), step.argument("index")
    return _made(step, make, "select_scatter", before, new, dim, index)


def _slice(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    dim, start = step.argument("dim", 0), step.argument("start")
    end, stride = step.argument("end"), step.argument("step", 1)
    return _made(step, make, "slice_scatter", before, new, dim, start, end, stride)


def _narrow(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    dim, start, length = (step.argument(name) for name in ("dim", "start", "length"))
    if isinstance(start, int) and start < 0:
        return _refused(step)
    if isinstance(start, int) and isinstance(length, int):
        end: Arg = start + length
    else:
        end = make.op("stator::add", (start, length), INT, step.op.place)
    return _made(step, make, "slice_scatter", before, new, dim, start, end, 1)


def _refused(step: ViewStep) -> Value:
    raise LookupError(step.op.name)


def _unbind(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    return _made(step, make, "select_scatter", before, new, step.argument("dim", 0), step.index)


def _split(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    size, dim = step.argument("split_size"), step.argument("dim", 0)
    if not isinstance(size, int):
        return _refused(step)
    start = size * step.index
    return _made(step, make, "slice_scatter", before, new, dim, start, start + size, 1)


def _transpose(step: ViewStep, _before: Value, new: Value, make: OpMaker) -> Value:
    return _made(step, make, "transpose.int", new, step.argument("dim0"), step.argument("dim1"))


def _t(step: ViewStep, _before: Value, new: Value, make: OpMaker) -> Value:
    return _made(step, make, "t", new)


def _permute(step: ViewStep, _before: Value, new: Value, make: OpMaker) -> Value:
    dims = step.argument("dims")
    assert isinstance(dims, tuple)
    order = [int(dim) % len(dims) for dim in dims]  # type: ignore[arg-type] # constants
    back = tuple(order.index(dim) for dim in range(len(order)))
    return _made(step, make, "permute", new, back)


def _unsqueeze(step: ViewStep, _before: Value, new: Value, make: OpMaker) -> Value:
    return _made(step, make, "squeeze.dim", new, step.argument("dim"))


def _reshaped(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    """The sizes of what the view looks at, again."""
    sizes = tuple(
        size if isinstance(size, int)
        else make.op("aten::sym_size.int", (before, dim), INT, step.op.place)
        for dim, size in enumerate(step.source.shape)
    )  # fmt: skip
    return _made(step, make, "view", new, sizes)


def _diagonal(step: ViewStep, before: Value, new: Value, make: OpMaker) -> Value:
    rest = (step.argument(name, default) for name, default in
            (("offset", 0), ("dim1", 0), ("dim2", 1)))  # fmt: skip
    return _made(step, make, "diagonal_scatter", before, new, *rest)


INVERSES: Mapping[str, Inverse] = MappingProxyType(
    {
        "aten::alias": _same,
        "aten::detach": _same,
        "aten::detach_": _same,
        "aten::select.int": _select,
        "aten::slice.Tensor": _slice,
        "aten::narrow": _narrow,
        "aten::unbind.int": _unbind,
        "aten::split.Tensor": _split,
        "aten::transpose.int": _transpose,
        "aten::t": _t,
        "aten::permute": _permute,
        "aten::unsqueeze": _unsqueeze,
        "aten::squeeze.dim": _reshaped,
        "aten::squeeze": _reshaped,
        "aten::view": _reshaped,
        "aten::unflatten.int": _reshaped,
        "aten::diagonal": _diagonal,
    }
)


def is_certain_view(op: Op) -> bool:
    """Whether every result of `op` shares memory with its first argument, in every run."""
    if op.name in INVERSES:
        return True
    if not op.name.startswith("aten::"):
        return False
    schema = schema_of(op.name)
    return schema.is_view and not schema.is_composite and not schema.is_mutable


def may_alias(op: Op) -> bool:
    """Whether a result of `op` may share memory with an argument."""
    return bool(aliased_by(op))
