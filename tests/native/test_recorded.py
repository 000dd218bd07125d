"""Ops on small tensors whose gradients autograd records: equal to eager's to the bit.

The counts of the runtime say that it has made autograd's nodes itself: a fast path that is no
longer taken would pass every other test.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

import stator
from stator.extension import extension
from tests.native.by_file import same
from tests.native.test_small import counted

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")

Gradients = list[Tensor | None]
Function = Callable[..., Tensor]


def converted(function: Function) -> Function:
    """The function in the native runtime."""
    return stator.to_static(function, backend="native")


def fresh(inputs: Sequence[Tensor]) -> list[Tensor]:
    """Leaves of their own, with the same values, strides and need of gradients."""
    seen: dict[int, Tensor] = {}
    for each in inputs:
        if id(each) not in seen:
            made = torch.empty_strided(each.shape, each.stride(), dtype=each.dtype)
            seen[id(each)] = made.copy_(each.detach()).requires_grad_(each.requires_grad)
    return [seen[id(each)] for each in inputs]


def trained(
    function: Function, inputs: Sequence[Tensor], weight: Tensor | None = None
) -> Gradients:
    """The result, and the gradients of the inputs."""
    leaves = fresh(inputs)
    result = function(*leaves)
    result.backward(torch.ones_like(result) if weight is None else weight)
    return [result.detach(), *(leaf.grad for leaf in leaves)]


def check(function: Function, inputs: Sequence[Tensor], weight: Tensor | None = None) -> int:
    """Compares with eager; gives the number of ops that were recorded by the runtime."""
    static = converted(function)
    wanted = trained(function, inputs, weight)
    got, counts = counted(lambda: trained(static, inputs, weight))
    assert same(wanted, got)
    return counts["recorded"]


def drawn(*shape: int, dtype: torch.dtype = torch.float32, needs: bool = True) -> Tensor:
    """Numbers of many sizes, some of them zero, infinite or none."""
    made = torch.randn(shape, dtype=dtype) * 10 ** torch.randn(shape, dtype=dtype)
    flat = made.view(-1)
    for k, special in enumerate((0.0, -0.0, float("inf"), float("nan"))):
        if flat.numel() > 8 + k:
            flat[2 * k] = special
    return made.requires_grad_(needs)


SHAPES = ((), (1,), (5,), (3, 7), (2, 3, 4), (0, 4), (33,), (4096,))
UNARY: tuple[Function, ...] = (torch.relu, torch.tanh, torch.sigmoid, torch.exp)
BINARY: tuple[Function, ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x * x + x * y - x,
)
NUMBERS: tuple[Function, ...] = (
    lambda x: x + 0.1,
    lambda x: x - 3,
    lambda x: x * 1.1,
    lambda x: (x * 2 - 0.3) * 1e30 + 7,
)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", SHAPES)
def test_pointwise_ops(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, y = drawn(*shape, dtype=dtype), drawn(*shape, dtype=dtype)
    weight = drawn(*shape, dtype=dtype, needs=False)
    for function in UNARY + NUMBERS:
        assert check(function, [x], weight) > 0
    for function in BINARY:
        assert check(function, [x, y], weight) > 0
        assert check(function, [x, y.detach()], weight) > 0
        assert check(function, [x.detach(), y], weight) > 0
        assert check(function, [x, x], weight) > 0


def test_other_operands_are_left_to_torch() -> None:
    torch.manual_seed(0)
    product: Function = lambda x, y: x * y  # noqa: E731
    assert check(product, [drawn(3, 4), drawn(4)]) == 0
    assert check(product, [drawn(3, 4), drawn(4, 3).t()]) == 0
    assert check(product, [drawn(3, 4), drawn(3, 4, dtype=torch.float64)]) == 0
    assert check(product, [drawn(5000), drawn(5000)]) == 0


@pytest.mark.parametrize("weight", [torch.ones(()).expand(3, 4), torch.randn(4, 3).t()])
def test_gradients_that_are_not_contiguous(weight: Tensor) -> None:
    torch.manual_seed(0)
    for function in UNARY + NUMBERS:
        assert check(function, [drawn(3, 4)], weight) > 0
    for function in BINARY:
        assert check(function, [drawn(3, 4), drawn(3, 4)], weight) > 0


@pytest.mark.parametrize("needs", [(1, 1, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
@pytest.mark.parametrize("batch", [1, 2, 16])
@pytest.mark.parametrize("sizes", [(784, 128), (5, 1), (2, 3), (33, 17)])
def test_linear(batch: int, sizes: tuple[int, int], needs: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(batch, sizes[0]), torch.randn(sizes[1], sizes[0]), torch.randn(sizes[1])]
    for each, need in zip(inputs, needs, strict=True):
        each.requires_grad_(bool(need))
    assert check(functional.linear, inputs, torch.randn(batch, sizes[1])) == 1
    for number in (1.0, 0.37):
        weight = torch.tensor(number).expand(batch, sizes[1])
        assert check(functional.linear, inputs, weight) == 1


def test_a_row_that_was_a_column() -> None:
    torch.manual_seed(0)
    row = torch.randn(6, 1).t().requires_grad_()
    assert row.stride() == (1, 1)
    assert check(functional.linear, [row, torch.randn(3, 6), torch.randn(3)]) == 1
    assert check(torch.gru_cell, gru(1, 6, 4, x=row)) == 0


def gru(batch: int, size: int, hidden: int, x: Tensor | None = None) -> list[Tensor]:
    """The arguments of a cell, all of which need gradients."""
    width = 3 * hidden
    shapes = ((batch, size), (batch, hidden), (width, size), (width, hidden), (width,), (width,))
    made = [torch.randn(shape) for shape in shapes]
    if x is not None:
        made[0] = x
    return [each.requires_grad_() for each in made]


@pytest.mark.parametrize("batch", [1, 2, 5])
@pytest.mark.parametrize("hidden", [2, 7, 8, 32, 33])
def test_gru_cell(batch: int, hidden: int) -> None:
    torch.manual_seed(0)
    inputs = gru(batch, 16, hidden)
    weight = torch.randn(batch, hidden)
    assert check(torch.gru_cell, inputs, weight) == 1
    assert check(torch.gru_cell, inputs, torch.ones(()).expand(batch, hidden)) == 1
    for k in range(6):
        alone = [each.detach().requires_grad_(j == k) for j, each in enumerate(inputs)]
        assert check(torch.gru_cell, alone, weight) == 1
        others = [each.detach().requires_grad_(j != k) for j, each in enumerate(inputs)]
        assert check(torch.gru_cell, others, weight) == 1


def test_tensors_that_a_cell_reads_twice() -> None:
    torch.manual_seed(0)
    x, _, weight, _, bias, _ = gru(3, 8, 8)
    assert check(torch.gru_cell, [x, x, weight, weight, bias, bias], torch.randn(3, 8)) == 1


def all_states(x: Tensor, h: Tensor, *weights: Tensor) -> Tensor:
    """Each state is read by the next step, and again at the end."""
    states = [h]
    for _ in range(6):
        states.append(torch.gru_cell(x, states[-1], *weights))
    early = states[1] * states[2] + states[1]
    return torch.stack([*states, early, states[3] * 0.5])


def test_gradients_add_up_in_the_order_of_eager_code() -> None:
    torch.manual_seed(0)
    for _ in range(10):
        inputs = gru(2, 5, 9)
        assert check(all_states, inputs, torch.randn(9, 2, 9)) >= 6


def two_calls(function: Function, inputs: Sequence[Tensor]) -> Gradients:
    """Gradients of two calls in one graph, with uses of the tensors before, between and after."""
    leaves = fresh(inputs)
    before = leaves[0].sum() * leaves[2].sum()
    one = function(*leaves)
    between = one.sum() * leaves[2].mean()
    other = function(*leaves)
    (before + between + (one * other).sum() + leaves[2].norm()).backward()
    return [leaf.grad for leaf in leaves]


def test_tensors_that_other_code_reads_too() -> None:
    torch.manual_seed(0)
    inputs = gru(2, 5, 9)
    assert same(two_calls(all_states, inputs), two_calls(converted(all_states), inputs))


class Until(nn.Module):
    """A cell stepped until its state is large, then a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 6)
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 8), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 6)
        steps = 0
        while steps < 9 and h.abs().max() < 0.6:
            h = self.cell(x, h)
            steps += 1
        return self.layers(h) * 0.5 + 1


def training(module: nn.Module, run: Function, steps: int = 5) -> list[Tensor]:
    """The weights after some steps of an optimizer."""
    torch.manual_seed(1)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        run(torch.randn(3, 4)).square().sum().backward()
        optimizer.step()
    return [parameter.detach() for parameter in module.parameters()]


def module() -> Until:
    torch.manual_seed(0)
    return Until()


def test_training_a_module() -> None:
    eager, kept = module(), module()
    static = converted(kept)
    assert same(training(eager, eager), training(kept, static))


def test_gradients_are_added_to_those_that_are_there() -> None:
    eager, kept = module(), module()
    static = converted(kept)
    for each in (eager, static):
        for _ in range(3):
            each(torch.ones(2, 4)).sum().backward()
    assert same([p.grad for p in eager.parameters()], [p.grad for p in kept.parameters()])


def test_a_graph_that_is_kept_and_one_that_is_gone() -> None:
    static = converted(torch.gru_cell)
    leaves = gru(2, 3, 4)
    result = static(*leaves)
    result.sum().backward(retain_graph=True)
    once = [leaf.grad.clone() for leaf in leaves]
    result.sum().backward()
    assert same([2 * each for each in once], [leaf.grad for leaf in leaves])
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.sum().backward()


@pytest.mark.parametrize("changed", range(4))
def test_a_saved_tensor_that_was_changed(changed: int) -> None:
    leaves = gru(2, 3, 4)
    result = converted(torch.gru_cell)(*leaves)
    with torch.no_grad():
        leaves[changed].add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def test_a_bias_may_change() -> None:
    leaves, others = gru(2, 3, 4), gru(2, 3, 4)
    for function, given in ((torch.gru_cell, leaves), (converted(torch.gru_cell), others)):
        torch.manual_seed(3)
        with torch.no_grad():
            for each in given:
                each.copy_(torch.randn(each.shape))
        result = function(*given)
        with torch.no_grad():
            given[4].add_(1)
        result.sum().backward()
    assert same([leaf.grad for leaf in leaves], [leaf.grad for leaf in others])


def test_a_result_that_was_changed() -> None:
    static = converted(torch.tanh)
    result = static(torch.ones(3, requires_grad=True))
    with torch.no_grad():
        result.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()


def second(function: Function, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Gradients of gradients."""
    leaves = fresh(inputs)
    result = function(*leaves)
    first = torch.autograd.grad(result.square().sum(), leaves, create_graph=True)
    loss = sum(each.square().sum() for each in first) + result.sum()
    assert isinstance(loss, Tensor)
    return [*first, *torch.autograd.grad(loss, leaves, allow_unused=True)]


def test_second_derivatives() -> None:
    torch.manual_seed(0)

    def network(x: Tensor, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        return functional.linear(torch.tanh(functional.linear(x, a, b)) * 0.7, c, d).sigmoid()

    shapes = ((3, 4), (5, 4), (5,), (2, 5), (2,))
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    assert same(second(network, inputs), second(converted(network), inputs))


def test_second_derivatives_of_a_cell() -> None:
    torch.manual_seed(0)
    inputs = [each.detach().double().float().requires_grad_() for each in gru(2, 3, 4)]
    for one, other in zip(
        second(torch.gru_cell, inputs), second(converted(torch.gru_cell), inputs), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_second_derivatives_inside_a_program() -> None:
    torch.manual_seed(0)

    def penalty(*inputs: Tensor) -> Tensor:
        result = torch.gru_cell(*inputs)
        (slope,) = torch.autograd.grad(result.sum(), inputs[0], create_graph=True)
        return result.sum() + slope.square().sum()

    assert check(penalty, gru(2, 3, 4)) >= 0


def test_many_gradients_at_once() -> None:
    torch.manual_seed(0)
    linear = [torch.randn(shape, requires_grad=True) for shape in ((2, 3), (4, 3), (4,))]
    weights = torch.randn(5, 2, 4)
    for cell, inputs in ((torch.gru_cell, gru(2, 3, 4)), (functional.linear, linear)):
        made = [
            torch.autograd.grad(function(*inputs), inputs, weights, is_grads_batched=True)
            for function in (cell, converted(cell))
        ]
        for one, other in zip(*made, strict=True):
            torch.testing.assert_close(one, other)


def test_tangents_of_gradients() -> None:
    torch.manual_seed(0)
    inputs = gru(2, 3, 4)
    found = []
    for function in (torch.gru_cell, converted(torch.gru_cell)):
        result = function(*inputs)
        with forward_ad.dual_level():
            weight = forward_ad.make_dual(torch.ones(2, 4), torch.full((2, 4), 0.5))
            (gradient,) = torch.autograd.grad(result, inputs[0], weight)
            found.append(forward_ad.unpack_dual(gradient).tangent)
    torch.testing.assert_close(*found)


def test_autocast_around_the_backward_pass() -> None:
    torch.manual_seed(0)
    linear = [torch.randn(4, 8), torch.randn(8, 8), torch.randn(8)]
    for function, inputs in ((functional.linear, linear), (torch.gru_cell, gru(3, 5, 8))):
        found = []
        for run in (function, converted(function)):
            leaves = [each.detach().clone().requires_grad_() for each in inputs]
            result = run(*leaves)
            with torch.autocast("cpu", torch.bfloat16):
                result.sum().backward()
            found.append([leaf.grad for leaf in leaves])
        assert same(*found)


def test_a_saved_tensor_that_the_program_made_itself() -> None:
    def program(x: Tensor, y: Tensor) -> Tensor:
        factor = y + 1
        for _ in range(6):
            x = x * factor
            factor = factor * 0.5 + y
        return x

    torch.manual_seed(0)
    static = converted(program)
    inputs = [torch.randn(5, requires_grad=True), torch.randn(5)]
    wanted = trained(program, inputs)
    assert all(same(wanted, trained(static, inputs)) for _ in range(3))


def test_lower_precision_of_products() -> None:
    torch.manual_seed(0)
    inputs = [torch.randn(4, 64), torch.randn(32, 64), torch.randn(32)]
    found = []
    for function in (functional.linear, converted(functional.linear)):
        leaves = [each.clone().requires_grad_() for each in inputs]
        result = function(*leaves)
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("medium")
        result.sum().backward()
        torch.set_float32_matmul_precision(before)
        found.append([leaf.grad for leaf in leaves])
    assert same(*found)


def test_hooks_on_results() -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor]:
        middle = torch.tanh(x)
        return middle, middle * 2 + 1

    found = []
    for function in (program, stator.to_static(program, backend="native")):
        x = torch.linspace(-1, 1, 5, requires_grad=True)
        middle, last = function(x)
        seen: list[Tensor] = []
        middle.retain_grad()
        middle.register_hook(lambda gradient, seen=seen: seen.append(gradient) or gradient * 3)
        (last.sum() + middle.sum()).backward()
        found.append([x.grad, middle.grad, *seen])
    assert same(*found)


def test_hooks_on_saved_tensors_see_all_of_them() -> None:
    torch.manual_seed(0)
    inputs = gru(2, 5, 9)
    static = converted(torch.gru_cell)
    shapes = []
    for function in (torch.gru_cell, static):
        seen: list[torch.Size] = []

        def pack(tensor: Tensor, seen: list[torch.Size] = seen) -> Tensor:
            seen.append(tensor.shape)
            return tensor

        with saved_tensors_hooks(pack, lambda tensor: tensor):
            function(*inputs).sum().backward()
        shapes.append(sorted(seen))
    assert shapes[0] == shapes[1]


def test_checkpoints() -> None:
    eager, kept = module(), module()
    static = converted(kept)
    for function in (eager, static):
        checkpoint(function, torch.ones(2, 4), use_reentrant=False).sum().backward()
    assert same([p.grad for p in eager.parameters()], [p.grad for p in kept.parameters()])


def test_anomaly_mode() -> None:
    static = converted(torch.tanh)
    x = torch.tensor([float("nan")], requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        _, counts = counted(lambda: static(x))
    assert counts["recorded"] == 0


def test_results_are_printed_as_in_eager_code() -> None:
    linear = [torch.randn(shape, requires_grad=True) for shape in ((2, 3), (4, 3), (4,))]
    for function, inputs in ((torch.gru_cell, gru(2, 3, 4)), (functional.linear, linear)):
        wanted = function(*inputs)
        result, counts = counted(lambda f=function, i=inputs: converted(f)(*i))
        assert counts["recorded"] == 1
        assert repr(result) == repr(wanted)


def test_no_gradients_where_none_are_wanted() -> None:
    static = converted(torch.gru_cell)
    leaves = gru(2, 3, 4)
    with torch.no_grad():
        result, counts = counted(lambda: static(*leaves))
    assert isinstance(result, Tensor)
    assert counts["recorded"] == 0
    assert not result.requires_grad


def test_memory_is_freed_with_the_graph() -> None:
    static = converted(torch.gru_cell)
    leaves = gru(2, 3, 4)
    x = leaves[0] * 2
    result = static(x, *leaves[1:])
    saved = weakref.ref(x)
    del x
    result.sum().backward()
    node = result.grad_fn
    del result, node
    gc.collect()
    assert saved() is None


def test_many_threads() -> None:
    eager, kept = module(), module()
    static = converted(kept)
    x = torch.randn(3, 4)
    wanted = torch.autograd.grad(eager(x).sum(), list(eager.parameters()))
    static(x)
    wrong: list[int] = []

    def train() -> None:
        for _ in range(30):
            got = torch.autograd.grad(static(x).sum(), list(kept.parameters()))
            if not same(list(wanted), list(got)):
                wrong.append(1)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
