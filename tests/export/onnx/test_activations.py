"""`gelu` is one node, as a function and as the formula that many models write out; `silu` is exact.

Formulas that become others, which ONNX Runtime computes faster.
"""

import math

import onnx
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator

MANY = torch.cat([torch.linspace(-40, 40, 20_001), torch.tensor([float("nan"), 1e30, -1e30])])


def nodes_of(function, tmp_path, x, **options):
    """The types of the nodes; what ONNX Runtime computes with them is what torch computes."""
    spec = [stator.InputSpec([None], str(x.dtype).removeprefix("torch."), "x")]
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True, **options)
    found = stator.load(tmp_path / "f", backend="onnxruntime")(x)
    torch.testing.assert_close(found, function(x), rtol=1e-5, atol=4e-6, equal_nan=True)
    return [node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node]


def written_out(x):
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


@pytest.mark.parametrize("function", [F.gelu, lambda x: F.gelu(x, approximate="tanh"), written_out])
def test_gelu_is_one_node(function, tmp_path):
    assert nodes_of(function, tmp_path, MANY) == ["Gelu"]
    assert "Gelu" not in nodes_of(function, tmp_path, MANY, opset=18)


def test_a_part_of_the_formula_that_is_used_elsewhere_is_kept(tmp_path):
    def both(x):
        half = 0.5 * x
        cube = x + 0.044715 * torch.pow(x, 3)
        return half * (1 + torch.tanh(math.sqrt(2 / math.pi) * cube)), half

    kinds = nodes_of(both, tmp_path, MANY)
    assert sorted(set(kinds)) == ["Constant", "Gelu", "Mul"]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 0.4 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3)))),
        lambda x: 0.5 * x * (1 + torch.tanh(0.7978 * (x + 0.044715 * torch.pow(x, 3)))),
        lambda x: 0.5 * x * (2 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 3)))),
        lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.0447 * torch.pow(x, 3)))),
        lambda x: 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * torch.pow(x, 2)))),
        lambda x: 0.5 * x.sin() * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x**3))),
    ],
)
def test_a_formula_that_is_almost_gelu_is_not(function, tmp_path):
    assert "Gelu" not in nodes_of(function, tmp_path, MANY)


def test_doubles_are_written_out(tmp_path):
    x = torch.linspace(-5, 5, 101, dtype=torch.float64)
    assert "Gelu" not in nodes_of(written_out, tmp_path, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_silu_has_its_digits_where_it_is_small(dtype, tmp_path):
    x = torch.cat([torch.linspace(-100, 20, 5_001), torch.tensor([float("nan"), -1e30])]).to(dtype)
    name = str(dtype).removeprefix("torch.")
    stator.save(F.silu, tmp_path / "f", input_spec=[stator.InputSpec([None], name)], onnx=True)
    found = stator.load(tmp_path / "f", backend="onnxruntime")(x)
    torch.testing.assert_close(found, F.silu(x), rtol=1e-6, atol=1e-38, equal_nan=True)


def test_a_norm_by_the_root_of_squares_is_a_quotient(tmp_path):
    def norm(x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    kinds = nodes_of(norm, tmp_path, MANY[:50])
    assert "Div" in kinds
    assert "Reciprocal" not in kinds


def test_one_over_a_root_that_is_used_elsewhere_is_kept(tmp_path):
    def both(x):
        inverse = torch.rsqrt(x * x + 1)
        return x * inverse, inverse

    spec = [stator.InputSpec([None], "float32", "x")]
    stator.save(both, tmp_path / "f", input_spec=spec, onnx=True)
    loaded, x = stator.load(tmp_path / "f", backend="onnxruntime"), torch.randn(5)
    torch.testing.assert_close(loaded(x), both(x))


def test_sizes_stay_vectors_and_the_second_reshape_counts(tmp_path):
    def shaped(x):
        rows = x.reshape(x.shape[1], x.shape[0], 2) * 2
        return rows.reshape(-1, 2), x.reshape(x.shape[0], 2, x.shape[1]).reshape(-1, 4).sum(1)

    spec = [stator.InputSpec([None, None, 2], "float32", "x")]
    stator.save(shaped, tmp_path / "f", input_spec=spec, onnx=True)
    reshapes = [n for n in onnx.load(tmp_path / "f.onnx").graph.node if n.op_type == "Reshape"]
    assert [node.input[0] for node in reshapes].count("x") == 2
    assert len(reshapes) == 3  # the last: of what is between
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for shape in ((4, 6, 2), (1, 2, 2), (0, 2, 2)):
        x = torch.randn(shape)
        torch.testing.assert_close(loaded(x), shaped(x))


@pytest.mark.parametrize("is_turned", [False, True])
def test_a_branch_that_only_expands_is_no_branch(is_turned, tmp_path):
    def places(x):
        found = torch.arange(x.shape[1]).unsqueeze(0)
        if is_turned:
            found = found if x.shape[0] == 1 else found.expand(x.shape[0], -1)
        elif x.shape[0] != 1:
            found = found.expand(x.shape[0], -1)
        return found * 2

    spec = [stator.InputSpec([None, None], "float32", "x")]
    stator.save(places, tmp_path / "f", input_spec=spec, onnx=True)
    assert "If" not in [node.op_type for node in onnx.load(tmp_path / "f.onnx").graph.node]
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for shape in ((3, 2), (1, 2), (0, 2), (2, 0)):
        assert torch.equal(loaded(torch.ones(shape)), places(torch.ones(shape)))


def test_a_branch_that_expands_another_tensor_stays(tmp_path):
    def places(x, y):
        return (x if x.shape[0] == 1 else y.expand(x.shape[0], -1)) * 2

    spec = [stator.InputSpec([None, 2], "float32", "x"), stator.InputSpec([1, 2], "float32", "y")]
    stator.save(places, tmp_path / "f", input_spec=spec, onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    y = torch.zeros(1, 2)
    for rows in (3, 1, 0):
        assert torch.equal(loaded(torch.ones(rows, 2), y), places(torch.ones(rows, 2), y))
