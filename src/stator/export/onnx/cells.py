"""Recurrent cells: one step of an LSTM, a GRU or an Elman network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir

from stator.export.onnx.lowering import Lowering
from stator.export.onnx.operands import argument
from stator.export.onnx.scope import dtype_in
from stator.program.ir import Arg, Op
from stator.torch_private.onnx_library import new_value

Rule = Callable[[Lowering, Op], Any]


def linear(to: Lowering, one: ir.Value, weight: Arg, bias: Arg) -> ir.Value:
    """`one @ weight.T + bias`."""
    turned = to.scope.emit("Transpose", to.value(weight), perm=[1, 0])
    product = to.scope.emit("MatMul", one, turned)
    if bias is None:
        return product
    return to.scope.emit("Add", product, to.value(bias))


def _cell_parts(
    to: Lowering, op: Op, count: int
) -> tuple[ir.Value, list[ir.Value], list[ir.Value]]:
    """The state of a recurrent cell, and its gates from the input and from the state."""
    names = ("w_ih", "w_hh", "b_ih", "b_hh")
    w_ih, w_hh, b_ih, b_hh = (argument(op, name) for name in names)
    state_arg = argument(op, "hx")
    state = to.value(state_arg[0] if isinstance(state_arg, tuple) else state_arg)
    gates = []
    for source, weight, bias in ((to.value(op.args[0]), w_ih, b_ih), (state, w_hh, b_hh)):
        whole = linear(to, source, weight, bias)
        parts = [new_value("", ir.TensorType(dtype_in(whole)), None) for _ in range(count)]
        to.scope.node("Split", [whole], parts, {"axis": -1, "num_outputs": count})
        gates.append(parts)
    return state, gates[0], gates[1]


def lstm_cell(to: Lowering, op: Op) -> None:
    """One step of an LSTM."""
    _, given, kept = _cell_parts(to, op, 4)
    inner, forget, cell, outer = (
        to.scope.emit(name, to.scope.emit("Add", a, b))
        for name, a, b in zip(("Sigmoid", "Sigmoid", "Tanh", "Sigmoid"), given, kept, strict=True)
    )
    before = argument(op, "hx")
    assert isinstance(before, tuple)
    kept_part = to.scope.emit("Mul", forget, to.value(before[1]))
    memory = to.scope.emit("Add", kept_part, to.scope.emit("Mul", inner, cell))
    to.bind(op.results[0], to.scope.emit("Mul", outer, to.scope.emit("Tanh", memory)))
    to.bind(op.results[1], memory)


def gru_cell(to: Lowering, op: Op) -> ir.Value:
    """One step of a GRU."""
    state, given, kept = _cell_parts(to, op, 3)
    reset, update = (
        to.scope.emit("Sigmoid", to.scope.emit("Add", a, b))
        for a, b in zip(given[:2], kept[:2], strict=True)
    )
    new = to.scope.emit(
        "Tanh", to.scope.emit("Add", given[2], to.scope.emit("Mul", reset, kept[2]))
    )
    return to.scope.emit("Add", new, to.scope.emit("Mul", update, to.scope.emit("Sub", state, new)))


def rnn_cell(function: str) -> Rule:
    """One step of an Elman network."""

    def lower(to: Lowering, op: Op) -> ir.Value:
        _, (given,), (kept,) = _cell_parts_of_one(to, op)
        return to.scope.emit(function, to.scope.emit("Add", given, kept))

    return lower


def _cell_parts_of_one(to: Lowering, op: Op) -> tuple[None, list[ir.Value], list[ir.Value]]:
    w_ih, w_hh, b_ih, b_hh = (argument(op, name) for name in ("w_ih", "w_hh", "b_ih", "b_hh"))
    one = linear(to, to.value(op.args[0]), w_ih, b_ih)
    return None, [one], [linear(to, to.value(argument(op, "hx")), w_hh, b_hh)]
