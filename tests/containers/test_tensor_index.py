"""Indexing a tensor by captured numbers."""

import numpy
import pytest
import torch

from stator.containers.tensor_index import read_tensor
from tests.capture.oracle import check

X = torch.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("key", [0, (1, 2), (slice(1), 0), (..., 1), None, (0, None), [0, 1]])
def test_without_captured_numbers_it_is_torchs_own_index(key):
    assert torch.equal(read_tensor(X, key), X[key])


@pytest.mark.parametrize(
    "read",
    [
        lambda x, n: x[n], lambda x, n: x[n, n], lambda x, n: x[:, n, 1:], lambda x, n: x[..., n],
        lambda x, n: x[n, ..., n], lambda x, n: x[None, n, None], lambda x, n: x[0, :, n],
        lambda x, n: x[n, [0, 1]], lambda x, n: x[..., n, None], lambda x, n: x[:, :n, n],
        lambda x, n: x[torch.tensor([True, False]), n],
    ],
)  # fmt: skip
def test_a_captured_number_indexes_as_an_int_does(read):
    check(lambda x, i: read(x, int(i)), *((X, torch.tensor(k)) for k in (0, 1, -1)))


@pytest.mark.parametrize("x", [torch.tensor(3.0), torch.ones(2)])
def test_too_many_indices_have_the_text_of_eager(x):
    reads = [lambda x, i: x[i, i], lambda x, i: x[int(i), i, 0]]
    reads += [lambda x, i: x[i]] if x.dim() == 0 else []
    for read in reads:
        check(read, (x, torch.tensor(1)))


@pytest.mark.xfail(strict=True, reason="the text is that of `select`, not of indexing")
def test_an_index_out_of_range_has_the_text_of_eager():
    check(lambda x, i: x[int(i)], (X, torch.tensor(5)))


def test_a_mask_without_dimensions_reads_and_writes_all_or_nothing():
    def f(x):
        truth, y = x.sum() > 0, torch.ones_like(x)
        y[truth] = x[truth] * 3
        y[~truth] = 5.0
        return x[truth], y

    check(f, *((sign * torch.ones(shape),) for shape in ((), (2,), (2, 3)) for sign in (1, -1)))


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_a_tensor_of_bytes_is_a_mask():
    def f(x):
        mask, y = (x > 0).to(torch.uint8), x.clone()
        y[mask] = torch.tensor([7.0, 8.0, 9.0])
        return x[mask], y, x[mask[0], 1], x[mask[0, 0]], x[numpy.array([0, 1], "uint8")]

    def fill(x):
        x = x.clone()
        x[(x > 0).to(torch.uint8)] = 7.0
        return x

    rows = torch.tensor([[1.0, -1.0], [2.0, 3.0]])
    for function in (f, fill):
        check(function, (rows,), (rows.flip(1),))


def test_bytes_in_the_index_of_an_array_are_positions():
    def f(x):
        rows = x.numpy()
        flags = (rows[:, 0] > 0).astype(numpy.uint8)
        return torch.from_numpy(rows[flags]), torch.from_numpy(rows[numpy.array([1, 0], "uint8")])

    check(f, (torch.tensor([[1.0, -1.0], [2.0, 3.0]]),), (torch.tensor([[-1.0, 1.0], [2.0, 3.0]]),))
