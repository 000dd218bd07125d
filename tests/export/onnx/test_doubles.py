"""A `float` of Python is a double in ONNX too, unless torch computes in less."""

import pytest
import torch

import stator
from stator.errors import ExportError

NUMBER = 16777217.1  # float32 has 16777218
X = torch.tensor([0.3, 1.7], dtype=torch.float64)


def exported(function, tmp_path, *args):
    stator.save(function, tmp_path / "f", input_spec=list(args), onnx=True)
    return stator.load(tmp_path / "f", backend="onnxruntime")(*args)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: torch.add(x, x, alpha=n),
        lambda x, n: torch.sub(x, x * 3, alpha=n),
        lambda x, n: torch.full((2,), n, dtype=torch.float64) + x,
        lambda x, n: torch.full((2,), n, dtype=torch.int64) + x.long(),
        lambda x, n: torch.full_like(x, n) + x,
        lambda x, n: x.new_full((2,), n) + x,
        lambda x, n: x.masked_fill(x > 0, n),
        lambda x, n: torch.where(x > 0, n, x),
        lambda x, n: n - x,
    ],
)
def test_no_digit_is_lost(function, dtype, tmp_path):
    x, number = X.to(dtype), torch.tensor(NUMBER, dtype=torch.float64)
    wanted = function(x, NUMBER)
    rounding = 4 * torch.finfo(wanted.dtype).eps if wanted.is_floating_point() else 0
    at_run_time = exported(lambda x, n: function(x, n.item()), tmp_path, x, number)
    torch.testing.assert_close(at_run_time, wanted, rtol=rounding, atol=0)
    constant = exported(lambda x: function(x, NUMBER), tmp_path, x)
    torch.testing.assert_close(constant, wanted, rtol=rounding, atol=0)


def test_a_number_that_onnx_needs_when_it_is_saved_is_refused_by_line(tmp_path):
    def leaky(x, slope):
        return torch.nn.functional.leaky_relu(x, slope.item())

    with pytest.raises(ExportError, match="aten::leaky_relu cannot be written in ONNX") as caught:
        exported(leaky, tmp_path, torch.ones(2), torch.tensor(0.5))
    assert caught.value.at.file == __file__
