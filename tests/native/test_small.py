"""Ops on small tensors, which the runtime computes itself, are equal to ATen's to the bit."""

from __future__ import annotations

import operator

import pytest
import torch

import stator
from stator.extension import extension
from tests.native.by_file import same

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")

SIZES = ((), (0,), (1,), (3,), (8,), (33,), (2, 17), (4, 1, 5), (4096,), (4097,))
DTYPES = (torch.float32, torch.float64, torch.int64, torch.float16, torch.int32, torch.bool)
SPECIAL = (0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-40, -1e-310, 1e38, 3.0)
BINARY = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne")
}
UNARY = {"neg": torch.neg, "abs": torch.abs, "relu": torch.relu}


def drawn(size, dtype, seed):
    """Random numbers, and the special ones between them."""
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(size, generator=generator, dtype=torch.float64) * 100
    if dtype.is_floating_point and values.numel():
        flat = values.view(-1)
        flat[: len(SPECIAL)] = torch.tensor(SPECIAL, dtype=torch.float64).roll(seed)[: len(flat)]
    return (values > 0) if dtype == torch.bool else values.to(dtype)


def check(function, *calls):
    static = stator.to_static(function, backend="native")
    with torch.no_grad():
        for call in calls:
            try:
                wanted = function(*call)
            except RuntimeError:  # torch has no such op for this dtype
                continue
            assert same(wanted, static(*call)), call


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_an_op_of_two_tensors(name, dtype):
    sizes = SIZES if dtype in DTYPES[:3] else SIZES[:4]
    check(BINARY[name], *[(drawn(size, dtype, 1), drawn(size, dtype, 2)) for size in sizes])


@pytest.mark.parametrize("name", BINARY)
def test_an_op_of_a_tensor_and_a_number(name):
    for number in (2, 0.1, -3.5, float("inf"), 2**40):
        check(
            lambda x, number=number: BINARY[name](x, number),
            *[(drawn((9,), dtype, 3),) for dtype in DTYPES[:3]],
        )


@pytest.mark.parametrize("name", UNARY)
def test_an_op_of_one_tensor(name):
    check(UNARY[name], *[(drawn(size, dtype, 4),) for size in SIZES for dtype in DTYPES[:3]])


def test_operands_that_are_not_contiguous_or_need_broadcasting():
    a, b = drawn((4, 6), torch.float32, 5), drawn((6,), torch.float32, 6)
    check(operator.add, (a, b), (a.t(), a.t()), (a[:, ::2], a[:, 1::2]), (a, b[0]), (b[0], a))


def test_memory_is_reused_only_when_nothing_else_sees_it():
    def history(x):
        kept = []
        view = x
        while x.sum() < 40:
            x = x + 1
            if x[0] > 3:
                view = x.view(-1)
            kept.append(x * 2)
        return x, view, torch.stack(kept)

    check(history, (torch.zeros(4),), (torch.ones(4),))


def test_writing_to_a_result_changes_no_other():
    def write(x):
        while x.sum() < 20:
            y = x + 1
            x = y * 2
            y.zero_()
        return x, y

    check(write, (torch.ones(3),))
