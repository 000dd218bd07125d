"""Broadcasting: open sizes that may be 1, as static functions and saved."""

import itertools

import pytest
import torch

import stator
from stator import InputSpec
from stator.errors import SizeCheckFailed

SIZES = (0, 1, 3, 4)
VECTORS = [InputSpec([None]), InputSpec([None])]


def numbers(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel()).reshape(shape)


def outcome(function, args):
    try:
        return function(*args)
    except (RuntimeError, SizeCheckFailed) as error:
        return error


def alike(got, want, args):
    shapes = [tuple(arg.shape) for arg in args]
    if isinstance(want, Exception):
        assert isinstance(got, Exception), shapes
        return
    assert not isinstance(got, Exception), (shapes, got)
    assert got.shape == want.shape, shapes
    assert torch.equal(got, want), shapes


def check(function, specs, calls, tmp_path):
    """As a static function, each call after all the others before it; and saved."""
    static = stator.to_static(function)
    for args in calls:
        alike(outcome(static, args), outcome(function, args), args)
    stator.save(stator.to_static(function), tmp_path / "model", specs)
    loaded = stator.load(tmp_path / "model")
    for args in calls:
        alike(outcome(loaded, args), outcome(function, args), args)


def add(x, y):
    return x + y


def chain(x, y):
    return (x + y) * x - y * (x - y)


def where(x, y):
    return torch.where(x > 2, y, x)


def three(x, y):
    return torch.addcmul(x, y, x + y)


def in_place(x, y):
    z = y * 1
    z += x
    return z


def filled(x, y):
    return (x + y * 0).masked_fill(y > 2, 0.0)


def assigned(x, y):
    z = x * 1
    z[:] = y
    return z


def expand_as(x, y):
    return x.expand_as(y)


def expand_to(x, y):
    return x.expand(y.shape[0])


def broadcast(x, y):
    one, two = torch.broadcast_tensors(x, y)
    return one - two


def joined(x, y):
    return torch.cat([x + y, x])


def by_size(x, y):
    z = x * y
    return z * z.shape[0] + x.shape[0]


def branch(x, y):
    if x.sum() > 3:
        return x * y
    return x - y


def loop(x, y):
    k = 0
    while k < y.shape[0]:
        x = x + y
        k += 1
    return x


def selected(x, y):
    return x[x > 1.5] * y


PAIRS = [
    add, chain, where, three, in_place, filled, assigned, expand_as, expand_to, broadcast, joined,
    by_size, branch, loop, selected,
]  # fmt: skip


@pytest.mark.parametrize("function", PAIRS)
def test_two_open_sizes_broadcast(function, tmp_path):
    calls = [(numbers(a), numbers(b)) for a, b in itertools.product(SIZES, SIZES)]
    check(function, VECTORS, calls, tmp_path)


def test_an_open_size_broadcasts_with_a_known_one(tmp_path):
    calls = [(numbers(a),) for a in (4, 3, 1, 0)]
    check(lambda x: x + torch.ones(4), [InputSpec([None])], calls, tmp_path)
    check(lambda x: x.expand(2, 4), [InputSpec([None])], calls, tmp_path)


def test_batch_sizes_of_a_matrix_product_broadcast(tmp_path):
    calls = [
        (numbers(a, 2, 3), numbers(b, 3, 2)) for a, b in itertools.product(SIZES, SIZES)
    ]  # fmt: skip
    specs = [InputSpec([None, 2, 3]), InputSpec([None, 3, 2])]
    check(lambda x, y: x @ y, specs, calls, tmp_path)
    calls = [(numbers(a, 5, 2, 3), numbers(b, 3, 2)) for a, b in ((2, 5), (3, 5), (2, 1), (1, 4))]
    specs = [InputSpec([None, None, 2, 3]), InputSpec([None, 3, 2])]
    check(torch.matmul, specs, calls, tmp_path)


def test_a_gradient_flows_through_what_was_broadcast():
    static = stator.to_static(lambda x, y: (x * y).sum())
    for a, b in ((3, 3), (4, 4), (1, 4), (4, 1), (5, 1)):
        x, y = numbers(a).requires_grad_(), numbers(b).requires_grad_()
        static(x, y).backward()
        want = torch.autograd.grad((x * y).sum(), (x, y))
        assert torch.equal(x.grad, want[0])
        assert torch.equal(y.grad, want[1])


def attention(x, mask):
    batch, length, _ = x.shape
    scores = x @ x.transpose(-1, -2) + mask[:, None, :]
    return (scores.softmax(-1) @ x).reshape(batch, length, -1) + x


def test_a_mask_that_is_1_in_a_size_or_not(tmp_path):
    specs = [InputSpec([None, None, 4]), InputSpec([None, None])]
    calls = [
        (numbers(a, b, 4) / 9, numbers(c, d))
        for a, b, c, d in ((2, 3, 2, 3), (3, 5, 3, 5), (3, 5, 1, 5), (3, 5, 3, 1), (1, 1, 1, 1))
    ]
    check(attention, specs, calls, tmp_path)


def test_code_that_takes_two_sizes_for_one_is_checked(tmp_path):
    def viewed(x, y):
        return (x + y).view(x.shape[0], -1)

    calls = [(numbers(a), numbers(b)) for a, b in ((3, 3), (4, 4), (4, 1), (1, 4), (3, 1), (1, 1))]
    static = stator.to_static(viewed)
    for args in calls:
        alike(static(*args), viewed(*args), args)
    stator.save(stator.to_static(viewed), tmp_path / "model", VECTORS)
    loaded = stator.load(tmp_path / "model")
    with pytest.raises(SizeCheckFailed, match=r"y.shape\[0\] == x.shape\[0\] or y.shape\[0\] == 1"):
        loaded(numbers(1), numbers(4))
    assert torch.equal(loaded(numbers(4), numbers(1)), viewed(numbers(4), numbers(1)))


def test_a_check_survives_the_retry_of_a_try(tmp_path):
    def tried(x, y):
        z = x + y
        try:
            z = z.view(x.shape[0], -1) * 2
            if z.sum() > 100:
                raise ValueError
        except ValueError:
            z = z * 0
        return z.sum() + x.shape[0]

    calls = [(numbers(a), numbers(b)) for a, b in ((3, 3), (4, 4), (9, 9), (4, 1), (9, 1))]
    check(tried, VECTORS, calls, tmp_path)
    loaded = stator.load(tmp_path / "model")
    for a, b in ((1, 4), (1, 9)):
        got = outcome(loaded, (numbers(a), numbers(b)))
        assert isinstance(got, SizeCheckFailed) or torch.equal(got, tried(numbers(a), numbers(b)))


def test_a_check_in_the_middle_of_a_run_that_left_no_trace_is_captured_for():
    def later(x, y):
        z = torch.relu(x).sum().reshape(1).expand(2) + 1
        if z.sum() > 0:
            z = z * 2
        return torch.cat([x[None], y[None]]) + z[0]

    static = stator.to_static(later)
    for n in (2, 3, 4):
        args = numbers(n), numbers(n)
        alike(static(*args), later(*args), args)


def along(x, index):
    return torch.take_along_dim(x, index, 1)


def test_all_dimensions_but_one_broadcast_in_take_along_dim(tmp_path):
    spec = [InputSpec([None, 3, None]), InputSpec([None, None, None], "int64")]
    stator.save(along, tmp_path / "along", input_spec=spec)
    loaded, static = stator.load(tmp_path / "along"), stator.to_static(along, input_spec=spec)
    for one, two, last in itertools.product((1, 2, 4), (1, 2, 4), (1, 5)):
        args = numbers(one, 3, 5), torch.arange(two * 2 * last).reshape(two, 2, last) % 3
        want = outcome(along, args)
        alike(outcome(static, args), want, args)
        alike(outcome(loaded, args), want, args)


def attention_with_key(query, key, mask):
    return torch.nn.functional.scaled_dot_product_attention(query, key, key, attn_mask=mask)


def test_the_mask_of_an_attention_broadcasts():
    spec = [InputSpec([None, 2, None, 4]), InputSpec([None, 2, None, 4])]
    static = stator.to_static(
        attention_with_key, input_spec=[*spec, InputSpec([None, 1, None, None])]
    )
    for batch, rows, columns in itertools.product((1, 3), (1, 4), (1, 5)):
        args = numbers(3, 2, 4, 4), numbers(3, 2, 5, 4), numbers(batch, 1, rows, columns)
        alike(outcome(static, args), outcome(attention_with_key, args), args)
    assert len(static.concrete_programs) == 1
