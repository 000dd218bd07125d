"""`nn.LSTM`, `nn.GRU` and `nn.RNN`: one node for each layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir

from stator.export.onnx.layers import size_at
from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument, dtype_of_result, tensor_type
from stator.export.onnx.scope import D, dtype_in
from stator.program.ir import Arg, Op
from stator.torch_private.onnx_library import new_value

Rule = Callable[[Lowering, Op], None]
ORDER = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}  # torch's gates as ONNX has them


def recurrent(node: str, function: str = "") -> Rule:
    """A network of one or more layers, in one or both directions."""

    def lower(to: Lowering, op: Op) -> None:
        _Network(to, op, node, function).lower()

    return lower


class _Network:
    """One network: its settings, and where the walk over its layers has come to."""

    def __init__(self, to: Lowering, op: Op, node: str, function: str) -> None:
        self.to, self.op, self.node, self.function = to, op, node, function
        self.directions = 2 if argument(op, "bidirectional") else 1
        state = argument(op, "hx")
        self.states = [to.value(one) for one in (state if isinstance(state, tuple) else (state,))]
        params = argument(op, "params")
        assert isinstance(params, tuple)
        self.params: Sequence[Arg] = params
        self.of_one = 4 if argument(op, "has_biases") else 2

    def lower(self) -> None:
        """Bind the outputs and the last states."""
        to, op = self.to, self.op
        layers, is_training = argument(op, "num_layers"), argument(op, "train")
        assert isinstance(layers, int)
        if is_training and argument(op, "dropout"):
            to.refuse(f"{op.name} draws random numbers in training mode", "call `.eval()` first")
        if len(self.params) != layers * self.directions * self.of_one:
            to.refuse(f"{op.name} with projections has no counterpart in ONNX")
        if dtype_of_result(to, op) not in (D.FLOAT, D.FLOAT16):
            to.refuse(f"{op.name}: ONNX Runtime computes it for float32 only",
                      "use float32, or write the loop over a cell")  # fmt: skip
        steps = to.scope.scalar("Squeeze", self.sizes()[0], to.scope.int64([0]))
        to.check(to.scope.scalar("Greater", steps, to.scope.int64(0)), "RuntimeError",
                 "Expected sequence length to be larger than 0 in RNN")  # fmt: skip
        found, *last = self.guarded(to.value(op.args[0]), layers)
        to.bind(op.results[0], found)
        for result, state in zip(op.results[1:], last, strict=True):
            to.bind(result, state)

    def guarded(self, given: ir.Value, layers: int) -> list[ir.Value]:
        """All layers, unless there is nothing to compute: ONNX Runtime would end the process."""
        if self.sizes_are_known():
            return self.network(given, layers)
        to, dtype = self.to, dtype_in(given)
        scope = to.scope
        is_empty = self.is_empty()
        to.inner()
        sizes = [size_at(to, self.op.args[0], dim) for dim in (0, 1)]
        shape = to.scope.emit("Concat", *sizes, to.scope.int64([self.width()]), axis=0)
        nothing = to.scope.filled(shape, 0, dtype)
        copies = [to.scope.emit("Identity", one) for one in self.states]
        empty = to.graph("empty", [nothing, *copies])
        to.inner()
        some = to.graph("some", self.network(given, layers))
        made = [new_value("", ir.TensorType(dtype), None) for _ in range(1 + len(self.states))]
        scope.node("If", [is_empty], made, {"then_branch": empty, "else_branch": some})
        return made

    def is_empty(self) -> ir.Value:
        """Whether there is no step or no row."""
        scope, shape = self.to.scope, tensor_type(self.op.args[0]).shape
        unknown = [
            size
            for size, dim in zip(self.sizes(), self.dims(), strict=True)
            if not isinstance(shape[dim], int) or not shape[dim]
        ]
        count, *others = unknown
        for other in others:
            count = scope.emit("Mul", count, other, shape=[1])
        return scope.emit("Equal", count, scope.int64([0]), shape=[1])

    def network(self, given: ir.Value, layers: int) -> list[ir.Value]:
        """The features of each step of the last layer, and the last states of all."""
        scope, swap = self.to.scope, [1, 0, 2]
        is_swapped = bool(argument(self.op, "batch_first"))
        if is_swapped:
            given = scope.emit("Transpose", given, perm=swap)
        ends: list[list[ir.Value]] = []
        for layer in range(layers):
            given, last = self.layer(given, layer)
            ends.append(last)
        if is_swapped:
            given = scope.emit("Transpose", given, perm=swap)
        states = [scope.emit("Concat", *parts, axis=0) for parts in zip(*ends, strict=True)]
        return [given, *states]

    def layer(self, given: ir.Value, index: int) -> tuple[ir.Value, list[ir.Value]]:
        """What a layer gives at each step, as [steps, batch, features], and its last states."""
        scope, ways = self.to.scope, self.directions
        weights = self.weights(index)
        bounds = (scope.int64([index * ways]), scope.int64([(index + 1) * ways]), scope.int64([0]))
        starts = [scope.emit("Slice", one, *bounds) for one in self.states]
        size = self.hidden_size()
        attributes: dict[str, object] = {
            "hidden_size": size, "direction": "bidirectional" if ways == 2 else "forward",
        }  # fmt: skip
        if self.node == "GRU":
            attributes["linear_before_reset"] = 1
        if self.function:
            attributes["activations"] = [self.function] * ways
        steps, *last = self.run(given, weights, starts, attributes)
        return steps, last

    def run(
        self,
        given: ir.Value,
        weights: Sequence[ir.Value | None],
        starts: Sequence[ir.Value],
        attributes: dict[str, object],
    ) -> list[ir.Value]:
        """The node: the features of each step, and the last states."""
        scope, dtype = self.to.scope, dtype_in(given)
        outputs = [new_value("", ir.TensorType(dtype), None) for _ in range(1 + len(starts))]
        scope.node(self.node, [given, *weights, None, *starts], outputs, attributes)
        if self.directions == 1:
            steps = scope.emit("Squeeze", outputs[0], scope.int64([1]))
            return [steps, *outputs[1:]]
        steps = scope.emit("Transpose", outputs[0], perm=[0, 2, 1, 3])
        shape = scope.emit("Concat", *self.sizes(), scope.int64([self.width()]), axis=0)
        steps = scope.emit("Reshape", steps, shape, allowzero=1)
        return [steps, *outputs[1:]]

    def dims(self) -> tuple[int, int]:
        """Where steps and rows are in the input."""
        return (1, 0) if argument(self.op, "batch_first") else (0, 1)

    def sizes(self) -> list[ir.Value]:
        """The numbers of steps and of rows."""
        return [size_at(self.to, self.op.args[0], dim) for dim in self.dims()]

    def sizes_are_known(self) -> bool:
        """Whether there is a step and a row in any run."""
        shape = tensor_type(self.op.args[0]).shape
        return all(isinstance(shape[dim], int) and shape[dim] for dim in self.dims())

    def width(self) -> int:
        """The number of features of a step."""
        return self.directions * self.hidden_size()

    def hidden_size(self) -> int:
        """The number of features of a state."""
        shape = self.to.value(self.params[1]).shape
        assert shape is not None
        return int(shape[1])  # type: ignore[arg-type]

    def weights(self, index: int) -> list[ir.Value | None]:
        """The weights for inputs and states, and the biases of both, of all directions."""
        rows: list[list[ir.Value]] = []
        for way in range(self.directions):
            start = (index * self.directions + way) * self.of_one
            rows.append([self.reordered(arg) for arg in self.params[start : start + self.of_one]])
        scope = self.to.scope
        found: list[ir.Value | None] = []
        for column in zip(*(row[:2] for row in rows), strict=True):
            parts = [scope.emit("Unsqueeze", one, scope.int64([0])) for one in column]
            found.append(scope.emit("Concat", *parts, axis=0))
        if self.of_one == 2:
            return [*found, None]
        biases = [scope.emit("Concat", *row[2:], axis=0) for row in rows]
        parts = [scope.emit("Unsqueeze", one, scope.int64([0])) for one in biases]
        return [*found, scope.emit("Concat", *parts, axis=0)]

    def reordered(self, arg: Arg) -> ir.Value:
        """Weights or biases with the gates in the order of ONNX."""
        scope, order, size = self.to.scope, ORDER[self.node], self.hidden_size()
        found = self.to.value(arg)
        if len(order) == 1:
            return found
        axis = scope.int64([0])
        parts = [
            scope.emit("Slice", found, scope.int64([k * size]), scope.int64([(k + 1) * size]), axis)
            for k in order
        ]  # fmt: skip
        return scope.emit("Concat", *parts, axis=0)
