"""Formulas of several nodes as one node of ONNX.

    0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))  ->   Gelu(x, approximate="tanh")
    If(c) {Expand(x, sizes)} {x}                                  ->   Expand(x, Where(c, sizes, 1))
    x * (1 / sqrt(y))                                             ->   x / sqrt(y)
    Reshape(Squeeze(Shape(x, start=1, end=2)), [1])               ->   Shape(x, start=1, end=2)
    Reshape(Reshape(x, sizes), [-1, 128])                         ->   Reshape(x, [-1, 128])
    Reshape(Gelu(Reshape(x, sizes)), [-1, 128])                   ->   Gelu(x), if x has rows of 128
    CastLike(0.0, n)                                              ->   0
    Identity(x), unless a graph gives it                          ->   x

Many models write the first formula out. ONNX Runtime would find it too, but not where `ranges` has
put a node around Tanh. The second one spares an `If`, which takes as long as ten small nodes. The
third, which `x * rsqrt(y)` is, lets ONNX Runtime see a norm by the root of the mean of squares, for
which it has one kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import onnx_ir as ir

from stator.export.onnx.activations import FIRST_OPSET
from stator.export.onnx.nodes import each_node, first_input, maker_of, new_node, replace
from stator.export.onnx.scope import D

UNARY = frozenset(
    {"Gelu", "Relu", "Tanh", "Sigmoid", "Erf", "Exp", "Neg", "Abs", "Sqrt", "Softplus", "Elu",
     "LeakyRelu", "HardSwish", "Clip"}
)  # fmt: skip
SHAPE_NODES = frozenset({"Constant", "Shape", "Squeeze", "Unsqueeze", "Reshape", "Concat"})


def fuse(graph: ir.Graph, opset: int) -> None:
    """Replace the formulas in `graph`, and in those inside it."""
    for inner, node in each_node(graph):
        for rule in RULES.get(node.op_type, ()):
            rule(inner, node)
    if opset >= FIRST_OPSET:
        for inner, node in each_node(graph):
            _fuse_gelu(inner, node)
    for inner, node in each_node(graph):
        if node.op_type == "Reshape":
            _keep_rows(inner, node)


def _drop_copy(graph: ir.Graph, node: ir.Node) -> None:
    """A copy that only nodes read."""
    (given,), (output,) = node.inputs, node.outputs
    if given is None or output.is_graph_output():
        return
    given.type = given.type or output.type
    given.shape = output.shape if given.shape is None else given.shape
    if given.producer() is not None:
        given.meta.update(dict(output.meta))  # the user's name for it
    output.replace_all_uses_with(given)
    graph.remove(node, safe=True)


def _fuse_expand(graph: ir.Graph, node: ir.Node) -> None:
    """A branch that only expands a tensor: by sizes of 1, it stays as it is."""
    sides = [node.attributes[name].as_graph() for name in ("then_branch", "else_branch")]
    found = [_expanded(side) for side in sides]
    if len(node.outputs) != 1 or found.count(None) != 1:
        return
    index = found.index(None)
    (same,), expand = sides[index].outputs, found[1 - index]
    copy = same.producer()
    assert expand is not None
    value, sizes = expand.inputs
    (result,) = expand.outputs
    is_kept = copy is not None and copy.op_type == "Identity" and copy.inputs[0] is value
    if not is_kept or len(sides[index]) != 1 or value is None or value.shape is None:
        return
    if result.shape is None or len(result.shape) != len(value.shape) or value.producer() is expand:
        return
    moved = [one for one in sides[1 - index] if one is not expand]
    sides[1 - index].remove((*moved, expand))
    (output,), whole_numbers = node.outputs, ir.TensorType(D.INT64)
    one = new_node(expand, "Constant", kind=whole_numbers, value=ir.tensor([1]))
    choices = [sizes, one.outputs[0]] if index else [one.outputs[0], sizes]
    choice = new_node(expand, "Where", node.inputs[0], *choices, kind=whole_numbers)
    chosen = choice.outputs[0]
    whole = new_node(expand, "Expand", value, chosen, kind=output.type, shape=output.shape)
    replace(graph, node, *moved, one, choice, whole)


def _fuse_division(graph: ir.Graph, node: ir.Node) -> None:
    """A product with one over a root: a quotient."""
    for value, inverse in _pairs(node.inputs):
        root = first_input(inverse, "Reciprocal")
        if inverse is None or first_input(root, "Sqrt") is None or len(inverse.uses()) != 1:
            continue
        node.op_type = "Div"
        node.replace_input_with(0, value)
        node.replace_input_with(1, root)
        maker = inverse.producer()
        if maker is not None and maker.graph is graph and not inverse.is_graph_output():
            graph.remove(maker, safe=True)
        return


def _fuse_size(graph: ir.Graph, node: ir.Node) -> None:
    """A size that is taken out of a vector of one element, and put into one again."""
    number, target = node.inputs
    vector = first_input(number, "Squeeze")
    shape = maker_of(vector, "Shape")
    if vector is None or shape is None or "end" not in shape.attributes:
        return
    start = shape.attributes["start"].as_int() if "start" in shape.attributes else 0
    if shape.attributes["end"].as_int() - start != 1 or _constant(target) not in ([1], [-1]):
        return
    (output,) = node.outputs
    if not output.is_graph_output():
        output.replace_all_uses_with(vector)
        graph.remove(node, safe=True)


def _fuse_reshapes(graph: ir.Graph, node: ir.Node) -> None:
    """Of two reshapes in a row, the second counts; a size of 0 would be that of its input."""
    if node.graph is not graph:  # it is gone already
        return
    between, target = node.inputs
    given, sizes = first_input(between, "Reshape"), _constant(target)
    if between is None or given is None or not isinstance(sizes, list) or 0 in sizes:
        return
    maker = between.producer()
    if len(between.uses()) != 1 or between.is_graph_output() or maker is None:
        return
    if maker.graph is graph:
        node.replace_input_with(0, given)
        graph.remove(maker, safe=True)


def _keep_rows(graph: ir.Graph, node: ir.Node) -> None:
    """A function of each element, between two reshapes of which the second undoes the first."""
    given, target = node.inputs
    function = given.producer() if given is not None else None
    if given is None or function is None or function.op_type not in UNARY:
        return
    whole = function.inputs[0]
    rows = _rows(graph, whole)
    if whole is None or rows is None or rows.shape is None or not _is_only_read_once(given):
        return
    if _constant(target) != [-1, rows.shape[1]] or rows.shape[1] == 0:
        return
    (output,), maker = node.outputs, whole.producer()
    if output.is_graph_output() or maker is None or function.graph is not graph:
        return
    function.replace_input_with(0, rows)
    given.shape = output.shape
    output.replace_all_uses_with(given)
    graph.remove(node, safe=True)
    _remove_unused(graph, [maker])


def _rows(graph: ir.Graph, value: ir.Value | None) -> ir.Value | None:
    """The matrix with rows of a known size that `value` is a reshape of, if it is read once."""
    rows = first_input(value, "Reshape")
    if value is None or rows is None or rows.shape is None or not _is_only_read_once(value):
        return None
    maker = value.producer()
    is_sure = value.shape is not None and _is_matrix_of(rows.shape, value.shape)
    return rows if is_sure and maker is not None and maker.graph is graph else None


def _is_matrix_of(rows: ir.Shape, whole: ir.Shape) -> bool:
    """Whether [s0*s1, 128] and [s0, s1, 128] are such that no reshape of one to the other fails."""
    if len(rows) != 2 or len(whole) < 2 or rows[1] != whole[-1]:
        return False
    factors = str(rows[0]).split("*")
    return all(f.isidentifier() for f in factors) and sorted(factors) == sorted(
        map(str, whole[:-1])
    )


def _is_only_read_once(value: ir.Value) -> bool:
    return len(value.uses()) == 1 and not value.is_graph_output()


def _fold_cast(graph: ir.Graph, node: ir.Node) -> None:
    """A number in another type, which ONNX Runtime would find too late to fold it."""
    given, like = node.inputs
    found = _number(given)
    if found is None or like is None or like.dtype not in (D.INT64, D.INT32, D.FLOAT, D.DOUBLE):
        return
    data = np.array(found, dtype=like.dtype.numpy())
    (output,) = node.outputs
    if float(data) != found or output.is_graph_output():
        return
    tensor, kind = ir.Tensor(data, dtype=like.dtype), ir.TensorType(like.dtype)
    made = new_node(node, "Constant", kind=kind, shape=ir.Shape([]), value=tensor)
    replace(graph, node, made)


def _expanded(side: ir.Graph) -> ir.Node | None:
    """The node that a side ends with, if it only computes sizes and expands a tensor by them."""
    *before, last = tuple(side) or (None,)
    if (
        last is None
        or last.op_type != "Expand"
        or any(n.op_type not in SHAPE_NODES for n in before)
    ):
        return None
    return last if tuple(side.outputs) == tuple(last.outputs) else None


def _fuse_gelu(graph: ir.Graph, node: ir.Node) -> None:
    given = _input_of_gelu(node)
    if given is not None:
        (output,), makers = node.outputs, _makers(node)
        kind, shape = output.type, output.shape
        made = new_node(node, "Gelu", given, kind=kind, shape=shape, approximate="tanh")
        replace(graph, node, made)
        _remove_unused(graph, makers)


def _makers(node: ir.Node) -> list[ir.Node]:
    """The nodes that make the inputs of `node`."""
    found = (value.producer() for value in node.inputs if value is not None)
    return list(dict.fromkeys(maker for maker in found if maker is not None))


def _remove_unused(graph: ir.Graph, nodes: Sequence[ir.Node]) -> None:
    """Remove those of `nodes` that nothing uses, and what only they have used."""
    for node in nodes:
        is_used = any(value.uses() or value.is_graph_output() for value in node.outputs)
        if node.graph is graph and not is_used:
            makers = _makers(node)
            graph.remove(node, safe=True)
            _remove_unused(graph, makers)


def _input_of_gelu(node: ir.Node) -> ir.Value | None:
    """The x of the formula, if `node` gives its value."""
    for half, rest in _factors(node):
        given = _of(half, "Mul", 0.5)
        inside = _of(rest, "Add", 1.0)
        if given is not None and inside is not None and given.dtype is D.FLOAT:
            argument = _of(_argument_of_tanh(inside), "Mul", math.sqrt(2 / math.pi))
            if argument is not None and _is_cubic(argument, given):
                return given
    return None


def _argument_of_tanh(value: ir.Value) -> ir.Value | None:
    """What Tanh, kept in its range, is computed of."""
    clipped = first_input(value, "Clip")
    return first_input(value if clipped is None else clipped, "Tanh")


def _is_cubic(value: ir.Value, given: ir.Value) -> bool:
    """Whether `value` is x + 0.044715 * x ** 3."""
    maker = maker_of(value, "Add")
    if maker is None:
        return False
    for one, other in _pairs(maker.inputs):
        cube = _of(other, "Mul", 0.044715)
        power = maker_of(cube, "Pow")
        if one is given and power is not None:
            base, exponent = power.inputs
            return base is given and _number(exponent) == 3.0
    return False


def _factors(node: ir.Node) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
    if node.op_type == "Mul":
        yield from _pairs(node.inputs)


def _pairs(
    inputs: Sequence[ir.Value | None],
) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
    one, other = inputs
    yield one, other
    yield other, one


def _of(value: ir.Value | None, op: str, number: float) -> ir.Value | None:
    """The other operand, if `value` is made by the node `op` of it and the constant `number`."""
    maker = maker_of(value, op)
    if maker is None:
        return None
    for one, other in _pairs(maker.inputs):
        found = _number(other)
        if found is not None and np.float32(found) == np.float32(number):
            return one
    return None


def _number(value: ir.Value | None) -> float | None:
    """The number that a constant is."""
    found = _constant(value)
    return float(found) if isinstance(found, int | float) else None


def _constant(value: ir.Value | None) -> object:
    """The number that a constant is, or the list of its numbers; None for what is no constant."""
    maker = maker_of(value, "Constant")
    if maker is None or "value" not in maker.attributes:
        return None
    found: object = maker.attributes["value"].as_tensor().numpy().tolist()
    return found


RULES: Mapping[str, tuple[Callable[[ir.Graph, ir.Node], None], ...]] = MappingProxyType(
    {
        "If": (_fuse_expand,),
        "Mul": (_fuse_division,),
        "Reshape": (_fuse_size, _fuse_reshapes),
        "CastLike": (_fold_cast,),
        "Identity": (_drop_copy,),
    }
)
