"""Loops over rows are `Scan`; those that may end early, or that use their counter, are `Loop`."""

import onnx
import pytest
import torch

import stator
from stator import InputSpec

ROWS = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
START = torch.tensor([0.1, -0.2, 0.3])


def nodes_in(graph):
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from nodes_in(attribute.g)


def kinds_of(function, tmp_path, size=None):
    """The types of the nodes; the results are eager's for several numbers of rows."""
    spec = [InputSpec([size, 3], "float32", "x"), InputSpec([3], "float32", "h")]
    stator.save(function, tmp_path / "f", input_spec=spec, onnx=True)
    loaded = stator.load(tmp_path / "f", backend="onnxruntime")
    for count in (4, 1, 0, 2) if size is None else (size,):
        found, wanted = loaded(ROWS[:count], START), function(ROWS[:count], START)
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-6)
    return set(nodes_in(onnx.load(tmp_path / "f.onnx").graph))


def by_rows(x, h):
    for row in x:
        h = torch.tanh(row + h * 0.5)
    return h


def by_index(x, h):
    total = torch.zeros(3)
    for k in range(x.shape[0]):
        row = x[k]
        h = row + h * 0.5
        if h.sum() > 0:
            total = total + row
    return h, total


def of_two(x, h):
    y = x.exp()
    n = 0
    for k in range(x.shape[0]):
        h = h + x[k] * y[k]
        n += 1
    return h, n


@pytest.mark.parametrize("function", [by_rows, by_index, of_two])
def test_a_loop_over_rows_is_a_scan(function, tmp_path):
    kinds = kinds_of(function, tmp_path)
    assert "Scan" in kinds
    assert "Loop" not in kinds


def counted(x, h):
    for k, row in enumerate(x):
        h = h + row * k
    return h


def ended(x, h):
    for row in x:
        h = h + row
        if h.sum() > 1:
            break
    return h


def checked(x, h):
    for row in x:
        assert row.sum() < 100, "too large"
        h = h + row
    return h


def but_the_last(x, h):
    for k in range(x.shape[0] - 1):
        h = h + x[k]
    return h


def of_itself(x, h):
    y = x
    for k in range(x.shape[0]):
        h = h + y[k]
        y = y * 2
    return h


@pytest.mark.parametrize("function", [counted, ended, checked, but_the_last, of_itself])
def test_another_loop_is_none(function, tmp_path):
    assert "Scan" not in kinds_of(function, tmp_path)
