"""Products that the runtime adds up itself are equal to BLAS's to the bit, whatever the sizes.

The runtime finds by trying for which sizes it may do so: with the second product of its sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import stator
from stator.extension import extension
from tests.native.by_file import same

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")

CALLS = 4  # one that is noted, one that tries, and some by what was found
# rows, inner side, columns: parts of tiles, few rows, the longest chain and longer ones
SIZES = (
    (16, 128, 784), (128, 16, 100), (17, 33, 131), (9, 192, 50), (9, 193, 50), (2, 120, 300),
    (1, 180, 400), (64, 2, 256), (65, 64, 63), (8, 91, 48), (33, 47, 29), (250, 9, 16),
)  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """BLAS has one thread."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def known_chains() -> int:
    module = extension()
    assert module is not None
    known: int = module.known_chains()
    return known


def drawn(*shape: int, dtype: torch.dtype) -> Tensor:
    """Numbers of many sizes, some of them zero."""
    made = torch.randn(shape, dtype=dtype) * 10 ** torch.randn(shape, dtype=dtype)
    return torch.where(torch.rand(shape) < 0.1, 0, made)


def product(a: Tensor, b: Tensor) -> Tensor:
    return a.mm(b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    static = stator.to_static(product, backend="native")
    for m, k, n in SIZES:
        for tiny in (1, 1, 1, float(torch.finfo(dtype).tiny) ** 0.5):
            a, b = drawn(m, k, dtype=dtype) * tiny, drawn(k, n, dtype=dtype) * tiny
            assert same(a.mm(b), static(a, b)), (m, k, n, tiny)


def gradients(x: Tensor, weight: Tensor, given: Tensor, *, native: bool) -> list[Tensor]:
    run = stator.to_static(functional.linear, backend="native") if native else functional.linear
    leaves = [each.detach().requires_grad_() for each in (x, weight, weight[:, 0].contiguous())]
    made: list[Tensor] = []
    for _ in range(CALLS):
        result = run(*leaves)
        made.extend(torch.autograd.grad(result, leaves, given))
    return made


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_of_weights(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    for batch, wide, out in ((16, 784, 128), (5, 333, 77), (32, 64, 64), (3, 1000, 20)):
        x, weight = drawn(batch, wide, dtype=dtype), drawn(out, wide, dtype=dtype)
        given = drawn(batch, out, dtype=dtype)
        wanted = gradients(x, weight, given, native=False)
        assert same(wanted, gradients(x, weight, given, native=True)), (batch, wide, out)


def test_parts_of_tensors_that_begin_anywhere() -> None:
    torch.manual_seed(0)
    static = stator.to_static(product, backend="native")
    for shift in range(9):
        a = drawn(16 * 61 + shift, dtype=torch.float32)[shift:].view(16, 61)
        b = drawn(61 * 90 + shift, dtype=torch.float32)[shift:].view(61, 90)
        assert same(a.mm(b), static(a, b)), shift


def test_numbers_that_are_infinite_or_none() -> None:
    torch.manual_seed(0)
    static = stator.to_static(product, backend="native")
    for special in (float("inf"), float("-inf"), float("nan")):
        for _ in range(CALLS):
            a, b = drawn(16, 61, dtype=torch.float32), drawn(61, 90, dtype=torch.float32)
            a[3, 5] = b[7, 11] = special
            torch.testing.assert_close(static(a, b), a.mm(b), rtol=0, atol=0, equal_nan=True)


def test_more_sizes_than_are_remembered() -> None:
    static = stator.to_static(product, backend="native")
    b = torch.randn(64, 64)
    for _ in range(3):
        for m in range(9, 250):
            a = torch.randn(m, 64)
            assert same(a.mm(b), static(a, b)), m


def test_threads_that_find_the_same_at_once() -> None:
    static = stator.to_static(product, backend="native")
    static(torch.randn(40, 77), torch.randn(77, 40))

    def work(seed: int) -> bool:
        torch.set_num_threads(1)
        numbers = torch.Generator().manual_seed(seed)
        a = torch.randn(40, 77, generator=numbers)
        b = torch.randn(77, 40, generator=numbers)
        return all(same(a.mm(b), static(a, b)) for _ in range(20))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


@pytest.mark.skipif(
    not torch.backends.mkl.is_available()  # type: ignore[no-untyped-call]
    or torch.backends.cpu.get_cpu_capability() != "AVX512",
    reason="BLAS may add up in another order, or faster",
)
def test_some_products_are_computed_without_blas() -> None:
    static = stator.to_static(product, backend="native")
    before = known_chains()
    for m in (97, 98, 99):
        for _ in range(2):
            static(torch.randn(m, 16), torch.randn(16, 160))
    assert known_chains() > before
