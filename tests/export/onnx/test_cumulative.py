"""Cumulative products and extremes, parts of dynamic number, and losses of no elements."""

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec
from stator.errors import ExportError

FUNCTIONS = {
    "cumprod": lambda x: (x.cumprod(0), x.cumprod(-1)),
    "cummax": lambda x: (x.cummax(0), x.cummax(1)),
    "cummin": lambda x: (x.cummin(0), x.cummin(1)),
    "chunk": lambda x: x.chunk(3),
    "losses": lambda x: (F.mse_loss(x, x * 2), F.l1_loss(x, x * 2)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_any_number_of_rows(name, dtype, tmp_path):
    function = FUNCTIONS[name]
    if name == "losses" and dtype is torch.int64:
        pytest.skip("torch has no mean of integers")
    spec = [InputSpec([None, 2], str(dtype).removeprefix("torch."))]
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    for count in (0, 1, 5, 6):
        x = torch.randint(-3, 3, (count, 2)).to(dtype)
        for one, other in zip(run(x), function(x), strict=True):
            torch.testing.assert_close(one, other, equal_nan=True)


def test_a_cosine_of_tensors_without_dimensions(tmp_path):
    def cosine(x, y):
        return F.cosine_similarity(x, y, dim=0)

    stator.save(cosine, tmp_path / "f", input_spec=[InputSpec([])] * 2, onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    x, y = torch.tensor(2.0), torch.tensor(-3.0)
    torch.testing.assert_close(run(x, y), cosine(x, y))


def test_an_index_of_a_dimension_without_elements(tmp_path):
    def taken(x):
        return x[torch.tensor([0, 1])]

    stator.save(taken, tmp_path / "f", input_spec=[InputSpec([None, None])], onnx=True)
    run = stator.load(tmp_path / "f", backend="onnxruntime")
    torch.testing.assert_close(run(torch.ones(2, 0)), torch.ones(2, 0))
    with pytest.raises(IndexError):
        run(torch.ones(0, 0))


def test_a_mean_by_scatter_reduce_is_refused(tmp_path):
    def means(x, index):
        return torch.zeros(2).scatter_reduce(0, index, x, reduce="mean")

    spec = [InputSpec([1]), InputSpec([1], "int64")]
    with pytest.raises(ExportError) as refused:
        stator.save(means, tmp_path / "f", input_spec=spec, onnx=True)
    assert refused.value.problem == 'scatter_reduce(reduce="mean") has no counterpart in ONNX'
