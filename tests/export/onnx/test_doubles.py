"""A `float` of Python is a double in ONNX too, unless torch computes in less."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator.api.onnx_layer import OnnxMethod
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


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.leaky_relu(x, 0.01),
        lambda x: F.elu(x, 0.3),
        lambda x: F.softplus(x, 1.1),
        lambda x: F.layer_norm(x, (2,), eps=1e-3),
        lambda x: F.batch_norm(x[None], x, x.abs() + 0.1, eps=1e-3),
        lambda x: F.group_norm(x[None], 1, eps=1e-3),
        lambda x: F.rms_norm(x, (2,), eps=1e-3),
        lambda x: x.log2() + x.log10(),
        lambda x: torch.addcmul(x, x, x, value=0.3) + torch.addcdiv(x, x, x, value=0.1),
        lambda x: x + torch.linspace(0.1, 0.9, 2, dtype=torch.float64),
        lambda x: x + torch.arange(0.1, 0.3, 0.1, dtype=torch.float64),
        lambda x: F.hardshrink(x, 0.3) + F.hardsigmoid(x) + F.threshold(x, 0.1, 0.7),
    ],
)
def test_constants_of_layers_keep_their_digits(function, tmp_path):
    torch.testing.assert_close(exported(function, tmp_path, X), function(X), rtol=1e-12, atol=1e-13)


def test_a_result_that_float32_would_explain_is_a_difference_for_doubles(tmp_path, monkeypatch):
    right = OnnxMethod.run
    monkeypatch.setattr(OnnxMethod, "run", lambda *args: [x * (1 + 1e-8) for x in right(*args)])
    with pytest.raises(ExportError, match="behaves differently from the program"):
        exported(torch.sin, tmp_path, X)
