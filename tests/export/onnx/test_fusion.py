"""Formulas that become fewer nodes, with the values of torch also for sizes of 0 and 1."""

import onnx
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

import stator
from stator import InputSpec

WEIGHT = torch.randn(6, 12, generator=torch.Generator().manual_seed(0))


def gelu_of_rows(x):
    rows = (x.reshape(-1, 6) @ WEIGHT).view(x.shape[0], x.shape[1], 12)
    return F.gelu(rows).reshape(-1, 12) @ WEIGHT.T


def rows_of_as_many_elements(x):
    rows = (x.reshape(-1, 6) @ WEIGHT).view(x.shape[1], x.shape[0], 12)
    return F.gelu(rows).reshape(-1, 12) @ WEIGHT.T


def rows_that_do_not_always_fit(x):
    rows = (x.reshape(-1, 6) @ WEIGHT).view(x.shape[0], int(x.shape[1] * 0.5) * 2, 12)
    return F.gelu(rows).reshape(-1, 12) @ WEIGHT.T


def rows_that_are_read_twice(x):
    rows = (x.reshape(-1, 6) @ WEIGHT).view(x.shape[0], x.shape[1], 12)
    return F.gelu(rows).reshape(-1, 12) @ WEIGHT.T, rows


def rows_of_another_size(x):
    rows = (x.reshape(-1, 6) @ WEIGHT).view(x.shape[0], x.shape[1], 12)
    return F.gelu(rows).reshape(-1, 6) @ WEIGHT


@pytest.mark.parametrize(
    ("function", "reshapes"),
    [(gelu_of_rows, 1), (rows_of_as_many_elements, 1), (rows_that_are_read_twice, 3),
     (rows_of_another_size, 3), (rows_that_do_not_always_fit, 4)],
)  # fmt: skip
def test_reshapes_around_rows(function, reshapes, tmp_path):
    stator.save(function, tmp_path / "f", input_spec=[InputSpec([None, None, 6])], onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for shape in ((2, 4, 6), (1, 2, 6), (0, 4, 6), (2, 0, 6)):
        x = torch.randn(shape)
        torch.testing.assert_close(loaded(x), function(x))
    nodes = onnx.load(tmp_path / "f.onnx", load_external_data=False).graph.node
    assert [node.op_type for node in nodes].count("Reshape") == reshapes
