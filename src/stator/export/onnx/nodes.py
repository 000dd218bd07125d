"""Nodes of graphs that are whole: found, made, and put in the place of others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir


def each_node(graph: ir.Graph) -> Iterator[tuple[ir.Graph, ir.Node]]:
    """Every node of `graph` and of those inside it, with the graph that has it."""
    for inner in (graph, *graph.subgraphs()):
        yield from ((inner, node) for node in tuple(inner))


def new_node(
    like: ir.Node,
    op: str,
    *inputs: ir.Value | None,
    kind: ir.TypeProtocol | None = None,
    shape: ir.Shape | None = None,
    **attributes: Any,
) -> ir.Node:
    """A node with one output, of the line of `like`."""
    made = ir.node(
        op, inputs, attributes, doc_string=like.doc_string,
        metadata_props=dict(like.metadata_props),
    )  # fmt: skip
    made.outputs[0].type, made.outputs[0].shape = kind, shape
    return made


def replace(graph: ir.Graph, node: ir.Node, *new: ir.Node) -> None:
    """Put `new` in the place of `node`; the last one gives what it gave."""
    graph.insert_before(node, new)
    (output,), (result,) = node.outputs, new[-1].outputs
    output.replace_all_uses_with(result, replace_graph_outputs=True)
    graph.remove(node, safe=True)


def maker_of(value: ir.Value | None, op: str) -> ir.Node | None:
    """The node `op` that makes `value`; None if another one does, or none."""
    maker = value.producer() if value is not None else None
    return maker if maker is not None and maker.op_type == op else None


def first_input(value: ir.Value | None, op: str) -> ir.Value | None:
    """The first input of the node `op`, if it makes `value`."""
    maker = maker_of(value, op)
    return maker.inputs[0] if maker is not None else None
