"""GraphScope: one graph that is being built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from stator.location import Location
from stator.program.ir import Value
from stator.torch_private.onnx_library import new_recorder, new_value

D = ir.DataType
TESTS = frozenset(
    {"And", "Equal", "Greater", "GreaterOrEqual", "IsInf", "IsNaN", "Less", "LessOrEqual", "Not",
     "Or", "Xor"}
)  # fmt: skip
COUNTS = frozenset({"ArgMax", "ArgMin", "NonZero", "SequenceLength", "Shape", "Size"})


def dtype_in(value: ir.Value) -> ir.DataType:
    """The element type of a value, which is known."""
    found = value.dtype
    assert found is not None
    return found


def _type_of_output(
    op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any]
) -> ir.TypeProtocol | None:
    """The type of the first output of a node; None where that of its inputs is not known."""
    if op in TESTS:
        return ir.TensorType(D.BOOL)
    if op in COUNTS:
        return ir.TensorType(D.INT64)
    if op == "Cast":
        return ir.TensorType(D(attributes["to"]))
    if op == "ConstantOfShape":
        return ir.TensorType(attributes["value"].dtype)
    model = inputs[1] if op in ("CastLike", "Where") else inputs[0]
    if model is None or model.dtype is None:
        return None
    return model.type if op == "Identity" else ir.TensorType(model.dtype)


class GraphScope:
    """A graph: the main one, a side of an `If`, or the body of a `Loop`."""

    def __init__(self, parent: GraphScope | None = None) -> None:
        self.parent = parent
        self.recorder = new_recorder()
        self.values: dict[Value, Any] = {}
        self.constants: dict[tuple[ir.DataType, tuple[int, ...], bytes], ir.Value] = {}
        self.inputs: list[ir.Value] = []
        self.checked: set[ir.Value] = set()  # indices that were checked
        self.pending: list[tuple[ir.Value, int]] = []  # conditions and what they report if false
        self._status: ir.Value | None = parent.status if parent is not None else None
        self.place: Location | None = parent.place if parent is not None else None

    @property
    def nodes(self) -> list[ir.Node]:
        """The nodes so far."""
        nodes: list[ir.Node] = self.recorder.nodes
        return nodes

    def find(self, value: Value) -> Any:
        """What represents `value` here or in a graph around."""
        scope: GraphScope | None = self
        while scope is not None:
            if value in scope.values:
                return scope.values[value]
            scope = scope.parent
        raise LookupError(value.name)

    @property
    def status(self) -> ir.Value | None:
        """0, or the number of the first error so far; None if there can be none."""
        if self.pending:
            checks, self.pending = self.pending, []
            new = self.int64(0)
            for holds, number in reversed(checks):  # one node for each, and the first one counts
                new = self.scalar("Where", holds, new, self.int64(number))
            self.report(new)
        return self._status

    @status.setter
    def status(self, value: ir.Value) -> None:
        self._status, self.pending = value, []

    def report(self, new: ir.Value) -> None:
        """From here on the status is `new`, unless an error came before."""
        before = self.status
        if before is None:
            self._status = new
            return
        fine = self.scalar("Equal", before, self.int64(0))
        self._status = self.scalar("Where", fine, new, before)

    def was_checked(self, indices: ir.Value) -> bool:
        """Whether these indices were checked in this graph or in one around it."""
        scope: GraphScope | None = self
        while scope is not None:
            if indices in scope.checked:
                return True
            scope = scope.parent
        return False

    def is_own(self, value: ir.Value) -> bool:
        """Whether a node of this very graph makes `value`."""
        producer = value.producer()
        return producer is not None and any(node is producer for node in self.nodes)

    def emit(
        self,
        op: str,
        *inputs: ir.Value | None,
        shape: ir.Shape | Sequence[int] | None = None,
        kind: ir.TypeProtocol | None = None,
        **attributes: Any,
    ) -> ir.Value:
        """The output of one more node; unless its `kind` is given, its type follows from the op."""
        shape = ir.Shape(shape) if shape is not None and not isinstance(shape, ir.Shape) else shape
        result = new_value("", kind or _type_of_output(op, inputs, attributes), shape)
        self.node(op, inputs, [result], attributes)
        return result

    def scalar(self, op: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """The same, if the output has no dimensions."""
        return self.emit(op, *inputs, shape=[], **attributes)

    def filled(
        self,
        sizes: ir.Value,
        number: float,
        dtype: ir.DataType,
        shape: ir.Shape | Sequence[int] | None = None,
    ) -> ir.Value:
        """A tensor of these sizes that has `number` everywhere."""
        filler = ir.tensor([number], dtype=dtype)
        return self.emit("ConstantOfShape", sizes, shape=shape, value=filler)

    def node(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        outputs: Sequence[ir.Value],
        attributes: Mapping[str, Any],
    ) -> None:
        """One more node."""
        made = ir.convenience.convert_attributes(dict(attributes))
        self.nodes.append(ir.Node("", op, list(inputs), made, outputs=list(outputs)))

    def constant(self, value: Any, dtype: ir.DataType) -> ir.Value:
        """A constant; equal ones are one node, in this graph or one around."""
        array = np.array(value, dtype=object if dtype is D.STRING else dtype.numpy())
        data = str(array.tolist()).encode() if dtype is D.STRING else array.tobytes()
        key = (dtype, array.shape, data)
        scope: GraphScope | None = self
        while scope is not None:
            if key in scope.constants:
                return scope.constants[key]
            scope = scope.parent
        if dtype is D.STRING:
            flat = [text.encode() for text in array.reshape(-1).tolist()]
            tensor: Any = ir.StringTensor(flat, shape=ir.Shape(array.shape))
        else:
            tensor = ir.Tensor(array, dtype=dtype)
        result = new_value("", ir.TensorType(dtype), ir.Shape(array.shape))
        self.nodes.append(
            ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[result])
        )
        self.constants[key] = result
        return result

    def int64(self, value: int | Sequence[int]) -> ir.Value:
        """A constant of int64."""
        return self.constant(value, D.INT64)

    def cast(self, value: ir.Value, dtype: ir.DataType) -> ir.Value:
        """`value` as another element type; itself if it has it."""
        if value.dtype is dtype:
            return value
        return self.emit("Cast", value, shape=value.shape, to=int(dtype))
