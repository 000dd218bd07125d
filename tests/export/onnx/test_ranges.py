"""Sigmoid and Tanh in ONNX Runtime: in their ranges, and as near to torch's as torch's rounding."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator

SPECIAL = torch.tensor([float("inf"), float("-inf"), float("nan"), 1e30, -1e30, 0.0, -0.0])
MANY = torch.cat([torch.linspace(-80, 80, 100_001), SPECIAL])


@pytest.fixture
def exported(tmp_path):
    """What ONNX Runtime gives for a function."""

    def run(function, x):
        spec = [stator.InputSpec([None], str(x.dtype).removeprefix("torch."), "x")]
        stator.save(function, tmp_path / "f", input_spec=spec, onnx=True)
        return stator.load(tmp_path / "f", backend="onnxruntime")(x)

    return run


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("function", [torch.sigmoid, torch.tanh, F.silu])
def test_the_values_are_torchs_up_to_rounding(exported, function, dtype):
    x = MANY.to(dtype)
    found, wanted = exported(function, x), function(x)
    rounding = 8 * torch.finfo(dtype).eps
    is_fused = function is F.silu and dtype is torch.float32
    least = 4e-6 if is_fused else torch.finfo(dtype).tiny
    torch.testing.assert_close(found, wanted, rtol=rounding, atol=least, equal_nan=True)


@pytest.mark.parametrize("function", [torch.sigmoid, torch.tanh])
def test_no_value_is_above_one(exported, function):
    found = exported(function, MANY)
    assert found[~found.isnan()].abs().max() == 1


def test_a_loop_that_ends_at_the_edge_of_the_range_ends(exported):
    def steps(x):
        count = 0
        while torch.tanh(x).abs().max() / 2 > 0.5 and count < 3:
            x = x + 1
            count += 1
        return count

    x = torch.linspace(7, 9.1, 5_001)
    assert steps(x) == exported(steps, x) == 0


def test_constants_that_come_after_a_node_are_before_it(exported):
    def both(x):
        return F.gelu(x, approximate="tanh") + 1, torch.sigmoid(x) * 1 - 1

    x = torch.linspace(-3, 3, 101)
    torch.testing.assert_close(exported(both, x), both(x))
