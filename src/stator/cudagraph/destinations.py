"""destinations: values of a loop that ops write where the next iteration reads them.

    while x < limit:                  body: t = aten::mul(x, 0.9)
        x = x * 0.9 + 1                     aten::add.out(t, 1, out=x)      no copy to x

An op may write to the memory of what the loop carries once nothing in the body reads that memory
any more. What a loop computes is small, as a rule, and a copy is as long as an op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from stator.optimize.device_numbers import READS
from stator.program.ir import Block, Op, Value, used_by, values_in
from stator.program.opset.queries import aliased_by, is_pure, kind_of
from stator.program.regions import REGION
from stator.program.registry import cached_by_op, resolve, schema_of
from stator.program.sizes import is_static
from stator.program.types import TensorType

FLAG = ("bool", ())  # dtype and sizes of what decides


@cached_by_op
def out_variant(name: str) -> str | None:
    """The op that writes what `name` gives into a tensor `out`, if there is one."""
    base, _, overload = name.partition(".")
    wanted = [(one.name, one.type) for one in schema_of(name).arguments]
    for other in (f"{base}.out", f"{base}.{overload}_out"):
        try:
            resolve(other)
        except LookupError:
            continue
        if [(one.name, one.type) for one in schema_of(other).arguments] == [
            *wanted, ("out", "Tensor"),
        ]:  # fmt: skip
            return other
    return None


def destinations(body: Block) -> Mapping[Value, int]:
    """For values that ops of `body` may write into place: which of the carried values it is.

    The number of what decides whether there is another iteration is -1.
    """
    makers = {value: place for place, op in enumerate(body.ops) for value in op.results}
    found: dict[Value, int] = {}
    for number, yielded in enumerate(body.outputs[1:]):
        if not isinstance(yielded, Value) or body.outputs.count(yielded) > 1:
            continue
        place, mine = makers.get(yielded), body.inputs[number]
        if place is None or yielded.type != mine.type or not _writes(body.ops[place], yielded):
            continue
        if _is_read_last(body, mine, place):
            found[yielded] = number
    found.update(dict.fromkeys(_tested(body, makers), -1))
    return found


def _writes(op: Op, result: Value) -> bool:
    """Whether `op` computes each element by itself, or is compiled: it can write anywhere."""
    kind = result.type
    if not isinstance(kind, TensorType) or not is_static(kind.shape):
        return False
    if op.name == REGION:
        return True
    if kind_of(op) != "torch" or len(op.results) != 1:
        return False
    is_plain = is_pure(op) and "pointwise" in schema_of(op.name).tags
    return is_plain and out_variant(op.name) is not None


def _is_read_last(body: Block, mine: Value, place: int) -> bool:
    """Whether nothing reads the memory of `mine` after the op at `place`, which reads it as is."""
    shared = {mine}
    for number, op in enumerate(body.ops):
        used = shared.intersection(used_by(op))
        if number > place and used:
            return False
        if number == place:
            if used - {mine}:
                return False
        elif op.name == REGION:  # what it gives is new
            continue
        elif used and (op.blocks or shared.intersection(aliased_by(op))):
            shared.update(op.results)
    return not shared.intersection(values_in(body.outputs))


def _tested(body: Block, makers: Mapping[Value, int]) -> Iterator[Value]:
    """The tensor that decides, if an op of the body can write it."""
    decides = body.outputs[0]
    reader = body.ops[makers[decides]] if isinstance(decides, Value) and decides in makers else None
    if reader is None or reader.name not in READS:
        return
    (tensor,) = values_in(reader.args)
    kind = tensor.type
    if not isinstance(kind, TensorType) or (kind.dtype, kind.shape) != FLAG:
        return
    if (
        tensor in makers
        and tensor not in body.outputs
        and _writes(body.ops[makers[tensor]], tensor)
    ):
        yield tensor
