"""Loops over the rows of tensors as `Scan`, which takes about half the time of `Loop` for each row.

    k = 0; while k < size(x, 0): row = select(x, 0, k); ...; k += 1

Such a loop has nothing else that ends it, uses its counter only to select rows, and carries tensors
whose shapes stay the same. ONNX Runtime has no `Scan` of no rows, so an `If` is around it where the
number of rows is dynamic. A body that reports errors stays a `Loop`, which ends at the first one.
"""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from stator.export.onnx.lowering import Lowering, lower_while, note_small
from stator.program.ir import Arg, Block, Op, Value, used_by, values_in, with_inner_ops
from stator.program.sizes import AnySize
from stator.program.types import NumberType, TensorType
from stator.torch_private.onnx_library import new_value


@dataclass(frozen=True)
class RowLoop:
    """A loop over rows: the column of its counter, its selections of rows, and its other ops."""

    counter: int
    selections: tuple[Op, ...]
    others: tuple[Op, ...]


def lower_loop(to: Lowering, op: Op) -> None:
    """A loop, as `Scan` if it can be one."""
    found = row_loop(op) if to.scope.status is None else None
    if found is None or not _lower_scan(to, op, found):
        lower_while(to, op)


def row_loop(op: Op) -> RowLoop | None:
    """The parts of a loop over rows; None for any other loop."""
    (body,) = op.blocks
    made = {result: inner for inner in body.ops for result in inner.results}
    test = made.get(body.outputs[0]) if isinstance(body.outputs[0], Value) else None
    if test is None or test.name != "stator::lt" or not isinstance(test.args[0], Value):
        return None
    step = made.get(test.args[0])
    counter = _counter(op, step)
    if step is None or counter is None:
        return None
    changing = {*body.inputs, *made}
    selections = tuple(one for one in body.ops if _selects(one, body.inputs[counter], changing))
    others = tuple(one for one in body.ops if one not in (*selections, step, test))
    columns = [k for k in range(len(body.inputs)) if k != counter]
    if not selections or not all(_is_steady(op, k) for k in columns):
        return None
    used = {value for one in with_inner_ops(others) for value in used_by(one)}
    used.update(value for k, arg in enumerate(body.outputs[1:]) if k != counter
                for value in values_in(arg))  # fmt: skip
    if used & {body.inputs[counter], step.results[0], test.results[0]}:
        return None
    rows = {_rows(one.args[0]) for one in selections}
    is_all = len(rows) == 1 and _count(test.args[1], made, changing) in rows
    if not is_all or AnySize() in rows or (_is_known(rows) and op.args[0] is not True):
        return None
    return RowLoop(counter, selections, others)


def _is_known(rows: set[object]) -> bool:
    return all(isinstance(count, int) for count in rows)


def _counter(op: Op, step: Op | None) -> int | None:
    """The column that starts at 0 and that `step` makes larger by 1."""
    (body,) = op.blocks
    if step is None or step.name != "stator::add":
        return None
    for index, (taken, start, given) in enumerate(
        zip(body.inputs, op.args[1:], body.outputs[1:], strict=True)
    ):
        is_counted = start == 0 and type(start) is int and given is step.results[0]
        others = [arg for arg in step.args if arg is not taken]
        if is_counted and others == [1] and type(others[0]) is int and len(step.args) == 2:
            return index
    return None


def _selects(op: Op, counter: Value, changing: set[Value]) -> bool:
    """Whether `op` selects the row that is counted, of a tensor from outside the loop."""
    if op.name != "aten::select.int" or len(op.args) != 3 or op.attributes:
        return False
    tensor, dim, index = op.args
    is_outside = isinstance(tensor, Value) and tensor not in changing
    is_tensor = is_outside and isinstance(tensor.type, TensorType)  # type: ignore[union-attr]
    return is_tensor and type(dim) is int and dim == 0 and index is counter


def _is_steady(op: Op, column: int) -> bool:
    """Whether what is carried keeps its shape from before the loop to its end."""
    (body,) = op.blocks
    kind = body.inputs[column].type
    if not isinstance(kind, TensorType):
        return isinstance(kind, NumberType)
    others = (op.args[1 + column], body.outputs[1 + column])
    kinds = [one.type for one in others if isinstance(one, Value)]
    shapes = [one.shape for one in kinds if isinstance(one, TensorType)]
    return shapes == [kind.shape] * 2 and not any(isinstance(n, AnySize) for n in kind.shape)


def _rows(arg: Arg) -> object:
    assert isinstance(arg, Value)
    assert isinstance(arg.type, TensorType)
    return arg.type.shape[0]


def _count(arg: Arg, made: dict[Value, Op], changing: set[Value]) -> object:
    """What the loop counts to: a constant, or the number of rows of a tensor from outside."""
    maker = made.get(arg) if isinstance(arg, Value) else None
    if maker is None:
        return arg if type(arg) is int and arg > 0 else None
    if maker.name != "aten::sym_size.int" or maker.args[1] != 0 or maker.args[0] in changing:
        return None
    return _rows(maker.args[0])


def _lower_scan(to: Lowering, op: Op, loop: RowLoop) -> bool:
    """Write the loop; False if its body reports errors."""
    (body,) = op.blocks
    places = [k for k in range(len(body.inputs)) if k != loop.counter]
    kinds = [body.inputs[k].type for k in places]
    given = [
        to.fit(to.value(op.args[1 + k], kind), kind) for k, kind in zip(places, kinds, strict=True)
    ]
    note_small(to, op)
    graph = _body(to, op, loop, places)
    if graph is None:
        return False
    tensors = [to.value(one.args[0]) for one in loop.selections]
    first = loop.selections[0].args[0]
    count, condition = _rows(first), to.value(op.args[0])
    attributes = {"body": graph, "num_scan_inputs": len(tensors)}
    results = [new_value("", to.type_of(kind), to.shape_of(kind)) for kind in kinds]
    if isinstance(count, int):
        to.scope.node("Scan", [*given, *tensors], results, attributes)
        total = to.scope.scalar("Identity", to.scope.int64(count))
    else:
        to.inner()
        inner = [new_value("", one.type, one.shape) for one in results]
        to.scope.node("Scan", [*given, *tensors], inner, attributes)
        some = to.graph("some", inner)
        to.inner()
        copies = [to.scope.emit("Identity", one, kind=one.type, shape=one.shape) for one in given]
        none = to.graph("none", copies)
        to.scope.node("If", [condition], results, {"then_branch": some, "else_branch": none})
        size = to.scope.emit("Shape", tensors[0], shape=[1], start=0, end=1)
        total = to.scope.scalar("Squeeze", size, to.scope.int64([0]))
        total = to.scope.scalar("Where", condition, total, to.scope.int64(0))
    to.small.add(op.results[loop.counter])
    to.bind(op.results[loop.counter], total)
    for k, result in zip(places, results, strict=True):
        to.bind(op.results[k], result)
    return True


def _body(to: Lowering, op: Op, loop: RowLoop, places: list[int]) -> ir.Graph | None:
    """The graph of one row; None if it reports errors."""
    (body,) = op.blocks
    dropped, taken = len(to.dropped), [body.inputs[k] for k in places]
    scope = to.inner()
    rows = [one.results[0] for one in loop.selections]
    scope.inputs = to.results([*taken, *rows])
    scope.values.update(zip([*taken, *rows], scope.inputs, strict=True))
    to.block(Block((), [*loop.others], ()))
    if scope.status is not None:
        assert scope.parent is not None
        to.scope = scope.parent
        del to.dropped[dropped:]
        return None
    args = [body.outputs[1 + k] for k in places]
    return to.graph("body", to.outputs(args, [value.type for value in taken]))
