"""What rules for list ops ask of their operands."""

from __future__ import annotations

import onnx_ir as ir

from stator.export.onnx.lowering import Lowering
from stator.export.onnx.numbers import number
from stator.export.onnx.scope import GraphScope
from stator.program.ir import Arg, Op, Value
from stator.program.types import ListType
from stator.program.typing_rules import present

OUT_OF_RANGE = "list index out of range"
NO_SUCH_ITEM = "list assignment index out of range"


def list_type(arg: Arg | Value) -> ListType:
    """The type of a list."""
    assert isinstance(arg, Value)
    kind = present(arg.type)
    assert isinstance(kind, ListType)
    return kind


def given_list(to: Lowering, op: Op) -> ir.Value:
    """The list that an op changes, represented as its result is."""
    return to.fit(to.value(op.args[0]), op.results[0].type)


def item_of(to: Lowering, op: Op, arg: Arg) -> ir.Value:
    """An item of the list that is the result."""
    element = list_type(op.results[0]).element
    return to.fit(to.value(arg, element), element)


def raises(value: ir.Value, error: str, text: str) -> ir.Value:
    """The node of `value` fails where Python raises this error; who runs the model looks it up."""
    producer = value.producer()
    assert producer is not None
    producer.metadata_props["stator.error"] = f"{error}: {text}"
    return value


def slice_bounds(to: Lowering, op: Op, count: ir.Value) -> list[ir.Value]:
    """The inputs of Slice for the first dimension of a tensor of `count` rows."""
    scope = to.scope
    start, stop, step = (*op.args[1:], None, None, None)[:3]
    step = 1 if step is None else step
    if not isinstance(step, int) or step == 0:
        to.refuse("the step of a list's slice must be a constant in ONNX")
    assert isinstance(step, int)
    ends = (-(2**62), 2**62) if step > 0 else (2**62, -(2**62))
    bounds = [
        scope.int64(end) if arg is None else number(to, arg, "int")
        for arg, end in zip((start, stop), ends, strict=True)
    ]
    if step < 0 and start is not None:  # Slice would begin at the first item, and Python nowhere
        place = scope.scalar("Add", bounds[0], count)
        is_before = scope.scalar("Less", place, scope.int64(0))
        bounds[1] = scope.scalar("Where", is_before, scope.int64(2**62), bounds[1])
    return [*(vector(scope, bound) for bound in bounds), scope.int64([0]), scope.int64([step])]


def vector(scope: GraphScope, value: ir.Value) -> ir.Value:
    """A scalar as a tensor of one element."""
    return scope.emit("Reshape", value, scope.int64([1]), shape=[1])
