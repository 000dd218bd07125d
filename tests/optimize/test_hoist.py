"""hoist: loops compute only what changes, and nothing that could fail runs before them."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.optimize.hoist import hoist
from stator.program.ir import ops_in
from tests.optimize.captured import outputs, same

X, ROWS = torch.tensor([0.5, 1.5]), torch.randn(3, 2)


def hoisted(function, *calls, spec=None):
    """The names of the ops before the loops, and of those inside; the results are the same."""
    captured = stator.to_static(function).capture(spec or list(calls[0]))
    program = hoist(captured.program)
    for call in calls:
        found, wanted = (
            outputs(one, captured.tensors, *call) for one in (program, captured.program)
        )
        assert same(found, wanted)
    outside = {id(op) for op in program.body.ops}
    inside = [op.name for op in ops_in(program.body) if id(op) not in outside]
    return [op.name for op in program.body.ops if not op.blocks], inside


def test_what_is_the_same_in_each_iteration_is_computed_before():
    def scaled(x, y):
        while x.sum() < 10:
            x = x + (y.exp() * 2).sin()
        return x

    before, inside = hoisted(scaled, (X, X), (X + 10, X))
    assert {"aten::exp", "aten::mul.Tensor", "aten::sin"} <= set(before)
    assert not {"aten::exp", "aten::sin"} & set(inside)
    assert "aten::add.Tensor" in inside


def test_it_leaves_loops_in_loops():
    def nested(x, y):
        while x.sum() < 10:
            n = x * 0
            while n.sum() < 3:
                n = n + y.exp() + x.sin().abs()
            x = x + n
        return x

    before, inside = hoisted(nested, (X, X), (X + 10, X))
    assert "aten::exp" in before
    assert "aten::sin" in inside


def test_a_layer_of_any_number_of_rows_is_moved():
    weight = torch.randn(2, 2)

    def decoded(x, memory):
        while x.sum() < 10:
            x = x + torch.nn.functional.linear(memory, weight).softmax(-1).sum()
        return x

    spec = [InputSpec([2]), InputSpec([None, 2])]
    before, _ = hoisted(decoded, (X, ROWS), (X + 9, ROWS[:0]), spec=spec)
    assert {"aten::linear", "aten::softmax.int"} <= set(before)


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (lambda rows, n: rows.select(0, 2), "aten::select.int"),  # may be out of range
        (lambda rows, n: rows.max(), "aten::max"),  # of no elements, an error
        (lambda rows, n: n // (n - 1), "aten::floor_divide"),  # by zero
        (lambda rows, n: torch.rand(2), "aten::rand"),
    ],
)
def test_what_may_fail_or_is_drawn_stays(part, name):
    def looped(x, rows, n):
        while x.sum() < 10:
            x = x + part(rows, n).sum() + 100
        return x

    spec = [InputSpec([2]), InputSpec([None, None]), InputSpec([], "int64")]
    before, inside = hoisted(looped, (X + 10, ROWS[:0], torch.tensor(1)), spec=spec)
    assert name in inside
    assert name not in before


def test_an_onnx_file_has_it_outside_of_the_loop_too(tmp_path):
    onnx = pytest.importorskip("onnx")

    def scaled(x, y):
        while x.sum() < 10:
            x = x + y.exp()
        return x

    stator.save(scaled, tmp_path / "m", input_spec=[X, X], onnx=True)
    nodes = onnx.load(tmp_path / "m.onnx").graph.node
    assert "Exp" in [node.op_type for node in nodes]
    loaded = stator.load(tmp_path / "m", backend="onnxruntime")
    for x in (X, X + 10):
        torch.testing.assert_close(loaded(x, X), scaled(x, X))
