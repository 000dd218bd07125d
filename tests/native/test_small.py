"""Ops on small tensors, which the runtime computes itself, are equal to ATen's to the bit.

The counts of the runtime say that its own kernels were run: a fast path that is no longer taken
would pass every other test.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

import stator
from stator.extension import extension
from tests.native.by_file import same
from tests.native.small_cases import Case, cases, drawn

pytestmark = pytest.mark.skipif(extension() is None, reason="the native runtime is not built")


def counted(run: Callable[[], object]) -> tuple[object, dict[str, int]]:
    """What `run` gives, and how the runtime ran torch ops meanwhile."""
    module = extension()
    assert module is not None
    before = module.counts()
    result = run()
    return result, {way: count - before[way] for way, count in module.counts().items()}


def check(function: Callable[..., object], *calls: tuple[object, ...]) -> int:
    """Compares the runtime with eager; gives the number of ops that small kernels have run."""
    static = stator.to_static(function, backend="native")
    small = 0
    with torch.no_grad():
        for call in calls:
            try:
                wanted = function(*call)
            except RuntimeError:  # torch has no such op for this dtype
                continue
            got, counts = counted(lambda call=call: static(*call))
            assert same(wanted, got), call
            small += counts["small"]
    return small


def check_sizes(case: Case, calls: Iterable[tuple[Tensor, ...]]) -> dict[str, int]:
    """The same, for calls of one program for all sizes."""
    total = dict.fromkeys(("small", "unboxed", "boxed"), 0)
    programs = {}
    for call in calls:
        kinds = tuple((tensor.dtype, tensor.dim(), 0 in tensor.shape) for tensor in call)
        if kinds not in programs:
            programs[kinds] = any_size(case.function, call)
        wanted = case.function(*call)
        got, counts = counted(lambda call=call, kinds=kinds: programs[kinds](*call))
        assert same(wanted, got), (case.name, [(tensor.dtype, tensor.shape) for tensor in call])
        for way in total:
            total[way] += counts[way]
    return total


def any_size(function: Callable[..., object], call: tuple[Tensor, ...]) -> Callable[..., object]:
    """The function as a program for tensors like these, of any size."""
    spec = [
        stator.InputSpec([None] * tensor.dim(), str(tensor.dtype).removeprefix("torch."))
        for tensor in call
    ]
    return stator.to_static(function, backend="native", input_spec=spec)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_a_kernel_is_equal_to_the_bit_and_used(case):
    with torch.no_grad():
        total = check_sizes(case, case.calls())
    assert total["small"] > (total["boxed"] + total["unboxed"]) / 2, total


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "lt", "ge", "eq"])
def test_an_op_of_a_tensor_and_a_number(name):
    for number in (2, 0.1, -3.5, float("inf"), 2**40, True):

        def with_number(x, number=number):
            return getattr(operator, name)(x, number)

        dtypes = (torch.float32, torch.float64, torch.int64, torch.float16, torch.bool)
        check(with_number, *[(drawn((9,), dtype, 3),) for dtype in dtypes])


def test_other_dtypes_are_left_to_torch():
    dtypes = (torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.complex64)
    for name in ("add", "mul", "truediv", "eq"):
        taken = check(
            getattr(operator, name),
            *[(torch.ones(3, dtype=dtype), torch.ones(3, dtype=dtype) * 2) for dtype in dtypes],
        )
        assert taken == 0


def test_operands_that_are_not_contiguous_or_need_broadcasting():
    a, b = drawn((4, 6), torch.float32, 5), drawn((6,), torch.float32, 6)
    calls = [(a, b), (a.t(), a.t()), (a[:, ::2], a[:, 1::2]), (a, b[0]), (b[0], a), (b, a)]
    check(operator.add, *calls, (a[:, :1], a), (a[:1], a), (b[:1], b), (b[:1], a), (a, b[:1]))


def cells() -> Iterable[tuple[int, int, int]]:
    """Batches, inputs and hidden sizes."""
    for batch in (1, 2, 5):
        for hidden in (2, 3, 8, 15, 16, 17, 32, 33, 64):
            yield batch, 7, hidden


@pytest.mark.parametrize("kind", [nn.GRUCell, nn.LSTMCell])
def test_a_recurrent_cell(kind):
    for batch, inputs, hidden in cells():
        torch.manual_seed(hidden)
        cell = kind(inputs, hidden)
        state = torch.randn(batch, hidden)
        given = (state, torch.randn(batch, hidden)) if kind is nn.LSTMCell else state
        x = torch.randn(batch, inputs)
        with torch.no_grad():
            wanted = cell(x, given)
            static = stator.to_static(cell, backend="native")
            got, counts = counted(lambda: static(x, given))  # noqa: B023  # called at once
        assert same(wanted, got), (batch, hidden)
        assert counts.pop("small") == 1
        assert not any(counts.values())


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


def test_a_write_after_a_part_was_taken_is_seen_in_it():
    def write(x):
        y = x * 2
        part = y[1]
        row = y.view(-1)
        y.add_(1)
        return part + 1, row * 2

    check(write, (drawn((3, 4), torch.float32, 1),))


def double(x):
    return x * 2


def test_results_of_earlier_calls_stay_as_they_were():
    static = stator.to_static(double, backend="native")
    with torch.no_grad():
        results = [static(torch.full((4,), float(k))) for k in range(20)]
        results[3].mark = "mine"
        del results[3]
        later = [static(torch.full((4,), float(k))) for k in range(20, 25)]
    assert [int(result[0]) for result in results] == [2 * k for k in range(20) if k != 3]
    assert not any(hasattr(result, "mark") for result in later)
    assert len({result.data_ptr() for result in results + later}) == 24


def test_gradients_are_recorded_where_a_parameter_needs_them():
    layer = stator.to_static(nn.Linear(3, 2), backend="native")
    x = torch.randn(4, 3)
    with torch.no_grad():
        assert not layer(x).requires_grad
    out = layer(x)
    assert out.requires_grad
    out.sum().backward()
    assert torch.equal(layer.weight.grad, x.sum(0).expand(2, 3))


def test_no_gradient_needed_means_no_autograd():
    static = stator.to_static(double, backend="native")
    plain, counts = counted(lambda: static(torch.ones(3)))  # grad mode is on
    assert not plain.requires_grad
    assert counts["small"] == 1
    needing, counts = counted(lambda: static(torch.ones(3, requires_grad=True)))
    assert needing.requires_grad
    assert counts["small"] == 0


def until(x):
    while x.sum() < 100:
        x = x * 2
    return x


def test_what_only_decides_needs_no_autograd_in_training():
    x = torch.ones(4, requires_grad=True)
    static = stator.to_static(until, backend="native")
    result, counts = counted(lambda: static(x))
    assert result.requires_grad
    assert counts["small"] > counts["recorded"] + counts["unboxed"] > 0
    result.sum().backward()
    assert torch.equal(x.grad, torch.full((4,), 32.0))


@pytest.mark.filterwarnings("ignore:.*torch.jit.script")  # which torch uses here itself
def test_forward_gradients_are_carried():
    static = stator.to_static(double, backend="native")
    static(torch.ones(2))
    for mode in (torch.enable_grad, torch.no_grad):
        with forward_ad.dual_level(), mode():
            dual = forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
            tangent = forward_ad.unpack_dual(static(dual)).tangent
            assert torch.equal(tangent, torch.full((2,), 6.0))


def test_transforms_and_modes_see_the_ops():
    static = stator.to_static(double, backend="native")
    static(torch.ones(2))
    assert torch.equal(torch.vmap(static)(torch.ones(3, 2)), torch.full((3, 2), 2.0))
    layer = stator.to_static(nn.Linear(3, 2), backend="native")
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        assert layer(torch.ones(1, 3)).dtype == torch.bfloat16


def test_inference_mode_gives_inference_tensors_and_only_there():
    static = stator.to_static(double, backend="native")
    for inference in (False, True, False, True, True, False):
        with torch.inference_mode(inference), torch.no_grad():
            assert static(torch.ones(2)).is_inference() is inference


def count_up(n):
    total, i, n = 0, 0, int(n)
    while i < n:
        if i % 3 == 0:
            total += i * 2
        elif total > 10 and not i % 2:
            total -= 1
        i += 1
    return total, i


def halves(n):
    x, steps = float(n), 0
    while x > 0.5:
        x = x / 2 - 0.001 * steps
        steps += 1
    return x, steps


def swap(n):
    a, b = 0, 1
    i = 0
    while i < int(n):
        a, b = b, a + b
        i += 1
    return a, b


def divide(n):
    i, total = 5, 0
    while i > -5:
        i -= 1
        total += int(n) // i + int(n) % i
    return total


def grow(n):
    x = int(n)
    while x > 0:
        x = x * 3
    return x


def nested(n):
    total = 0
    for i in range(int(n)):
        j = i
        while j > 0:
            total += i * j
            j -= 2
    return total


@pytest.mark.parametrize("function", [count_up, halves, swap, divide, grow, nested])
def test_loops_of_numbers(function):
    native = stator.to_static(function, backend="native")
    reference = stator.to_static(function, backend="interpreter")
    for n in (0, 1, 2, 10, 91):
        given = torch.tensor(n)
        wanted, got = outcome(reference, given), outcome(native, given)
        assert wanted == got


def test_loops_of_numbers_have_their_own_code():
    static = stator.to_static(count_up, backend="native")
    static(torch.tensor(3))
    _, counts = counted(lambda: static(torch.tensor(100)))
    assert counts["numbers"] == 1


def outcome(function: Callable[..., object], *call: object) -> object:
    try:
        return function(*call)
    except Exception as error:  # noqa: BLE001  # whatever is raised is the answer
        return type(error), str(error), getattr(error, "__notes__", [])
