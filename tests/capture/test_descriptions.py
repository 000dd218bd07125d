"""What an op gives is remembered, where it follows from what its arguments are like."""

import pytest
import torch

import stator
from stator import InputSpec
from stator.capture import descriptions
from stator.capture.recorder import Recorder
from stator.capture.sizes import Sizes
from stator.torch_private.fake import FakeTensor, FakeTensorMode


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(descriptions, "_known", {})


MODE = FakeTensorMode()


class Stub:
    """What a recorder offers."""

    fake, sizes = MODE, Sizes()

    def as_fake(self, tensor):
        return tensor if isinstance(tensor, FakeTensor) else MODE.from_tensor(tensor)


def fake(*args, **options):
    with MODE:
        return torch.empty(*args, **options)


def described(op, *args, **kwargs):
    """The result, and whether torch was asked."""
    asked = []

    def run():
        asked.append(op)
        return op(*args, **kwargs)

    return descriptions.described(Stub(), op, (args, kwargs), run), bool(asked)


def assert_alike(one, other):
    assert type(one) is type(other)
    for name in ("shape", "dtype", "device", "requires_grad", "layout"):
        assert getattr(one, name) == getattr(other, name)
    assert one.stride() == other.stride()


ADD = torch.ops.aten.add.Tensor


def test_an_op_is_described_once_for_arguments_that_are_alike():
    first, asked = described(ADD, fake(2, 3), 1)
    again, asked_again = described(ADD, fake(2, 3), 5)
    assert (asked, asked_again) == (True, False)
    assert_alike(again, first)
    assert again is not first


@pytest.mark.parametrize(
    "other",
    [
        (fake(2, 4), 1),
        (fake(2, 3, dtype=torch.int64), 1),
        (fake(3, 2).t(), 1),
        (fake(2, 3), 1.0),
        (fake(2, 3), True),
        (fake(2, 3), fake(3)),
    ],
)
def test_arguments_of_another_kind_are_described_on_their_own(other):
    described(ADD, fake(2, 3), 1)
    result, asked = described(ADD, *other)
    assert asked
    assert_alike(described(ADD, *other)[0], result)


def test_a_number_that_decides_the_shape_counts():
    assert described(torch.ops.aten.sum.dim_IntList, fake(2, 3), [0])[0].shape == (3,)
    assert described(torch.ops.aten.sum.dim_IntList, fake(2, 3), [1])[0].shape == (2,)
    assert described(torch.ops.aten.repeat_interleave.self_int, fake(2), 3)[0].shape == (6,)
    assert described(torch.ops.aten.repeat_interleave.self_int, fake(2), 4)[0].shape == (8,)


@pytest.mark.parametrize(
    "op",
    [
        torch.ops.aten.add_.Tensor,
        torch.ops.aten.view.default,
        torch.ops.aten.contiguous.default,
        torch.ops.aten.nonzero.default,
        torch.ops.aten.batch_norm.default,
        torch.ops.aten.max.dim,
    ],
)
def test_ops_that_write_alias_or_depend_on_data_are_not_remembered(op):
    assert not descriptions._is_plain(op)


def test_what_needs_a_gradient_is_connected_to_its_arguments():
    first, x, y = (fake(2, requires_grad=True) for _ in range(3))
    described(ADD, first, first)
    result, asked = described(ADD, x, y)
    assert not asked
    assert result.requires_grad
    assert not result.is_leaf
    sources = [node.variable for node, _ in result.grad_fn.next_functions if node is not None]
    assert [one is other for one, other in zip(sources, (x, y), strict=True)] == [True, True]
    assert described(ADD, x, 1)[1]  # another call: with one that takes no gradient
    assert described(ADD, x, 1)[0].grad_fn.next_functions[0][0].variable is x


def test_gradients_count_only_where_they_are_taken():
    x = fake(2, requires_grad=True)
    described(ADD, x, 1)
    with torch.no_grad():
        result, asked = described(ADD, x, 1)
        assert asked
        assert not result.requires_grad
        result, asked = described(ADD, x, 1)
    assert not asked
    assert not result.requires_grad
    assert described(ADD, x, 1)[0].requires_grad


def test_a_result_that_is_connected_to_some_of_its_arguments_is_left_to_torch():
    op, x, y = torch.ops.aten.where.self, fake(2, requires_grad=True), fake(2, requires_grad=True)
    chosen = fake(2, dtype=torch.bool)

    def half_connected():
        return op(chosen, x, y.detach())

    for _ in range(2):
        descriptions.described(Stub(), op, ((chosen, x, y), {}), half_connected)
        assert not descriptions._known


def test_a_view_of_an_argument_is_left_to_torch():
    unflatten, x = torch.ops.aten.unflatten.int, fake(6, requires_grad=True)
    for _ in range(2):
        result, asked = described(unflatten, x, 0, [2, 3])
        assert asked
        assert result._base is x


def test_stored_tensors_are_described_like_any_other():
    linear, x = torch.ops.aten.linear.default, fake(2, 3)
    weights = [torch.nn.Parameter(torch.ones(4, 3)) for _ in range(2)]
    with torch.no_grad():
        first, asked = described(linear, x, MODE.from_tensor(weights[0]))
        again, asked_again = described(linear, x, weights[1])
    assert (asked, asked_again) == (True, False)
    assert_alike(again, first)
    for weight in (MODE.from_tensor(weights[0]), weights[1]):
        connected = described(linear, x, weight)[0].grad_fn
    assert connected.next_functions[-1][0].variable is MODE.from_tensor(weights[1])

    class Own(torch.Tensor):
        """It may do what it likes."""

    own = torch.ones(4, 3).as_subclass(Own)
    assert descriptions._call_key(linear, (x, own), {}) is None


def asked_ops(monkeypatch, f, *args, spec):
    """The ops that torch describes while `f` is captured; the values are those of eager code."""
    asked = []
    original = Recorder._described

    def note(self, op, name, *rest):
        asked.append(name)
        return original(self, op, name, *rest)

    monkeypatch.setattr(Recorder, "_described", note)
    assert torch.equal(stator.to_static(f, input_spec=spec)(*args), f(*args))
    return asked


OPEN = InputSpec([None, 3], "float32")


def test_symbolic_sizes_are_described_once_in_a_capture(monkeypatch):
    def f(x):
        return x.exp().exp() + x.exp()

    for _ in range(2):
        assert asked_ops(monkeypatch, f, torch.ones(2, 3), spec=[OPEN])[-2:] == [
            "aten::exp", "aten::add.Tensor"
        ]  # fmt: skip
        monkeypatch.undo()


def test_what_needed_a_check_is_described_again_in_each_block():
    """Each block has its own check of the sizes, so each path raises as eager code does."""

    def f(x, y):
        if x.sum() > 0:
            return x * y
        return (x * y) * 2

    static = stator.to_static(f, input_spec=[InputSpec([None]), InputSpec([None])])
    for sign in (1, -1):
        x = sign * torch.ones(3)
        assert torch.equal(static(x, torch.ones(3)), f(x, torch.ones(3)))
        assert torch.equal(static(x, torch.ones(1)), f(x, torch.ones(1)))
        assert torch.equal(static(x[:1], torch.ones(4)), f(x[:1], torch.ones(4)))
        with pytest.raises(Exception, match="2"):
            static(x, torch.ones(2))


def test_gradients_flow_through_what_was_remembered():
    model = torch.nn.Sequential(*(torch.nn.Linear(3, 3) for _ in range(4)))
    static = stator.to_static(model.forward, input_spec=[OPEN])
    x = torch.randn(2, 3)
    wanted = torch.autograd.grad(model(x).sum(), tuple(model.parameters()))
    given = torch.autograd.grad(static(x).sum(), tuple(model.parameters()))
    for one, other in zip(given, wanted, strict=True):
        assert torch.equal(one, other)


def test_a_gradient_that_is_none_is_none_through_what_was_remembered():
    def f(x, y, z):
        a, b = (x * y).sin(), (x * z).sin()
        return torch.autograd.grad(b.sum(), (y, z), allow_unused=True)[0] is None, a

    tensors = [torch.ones(3, requires_grad=True) for _ in range(3)]
    static = stator.to_static(f)
    assert static(*tensors)[0] is f(*tensors)[0] is True


def test_autocast_inference_and_forward_mode_are_left_to_torch():
    x, y = fake(2, 2), fake(2, 2)
    matmul = torch.ops.aten.mm.default
    described(matmul, x, y)
    assert not described(matmul, x, y)[1]
    with torch.autocast("cpu", torch.bfloat16):
        assert described(matmul, x, y)[1]
    with torch.inference_mode():
        assert described(matmul, x, y)[1]
    with torch.autograd.forward_ad.dual_level():
        assert described(matmul, x, y)[1]


def test_a_result_that_is_its_argument_is_not_remembered():
    x = fake(2)
    dropout = torch.ops.aten.dropout.default
    assert described(dropout, x, 0.5, False)[0] is x
    assert described(dropout, x, 0.5, False)[0] is x


def test_a_default_dtype_counts():
    divide = torch.ops.aten.div.Tensor
    described(divide, fake(2, dtype=torch.int64), 2)
    torch.set_default_dtype(torch.float64)
    try:
        assert described(divide, fake(2, dtype=torch.int64), 2)[0].dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_what_is_kept_is_bounded(monkeypatch):
    monkeypatch.setattr(descriptions, "KEPT", 3)
    for size in range(1, 20):
        described(ADD, fake(size), 1)
        assert len(descriptions._known) <= 3


def test_a_capture_that_meets_what_another_has_left_gives_the_same():
    def f(x):
        y = x + 1
        if y.sum() > 3:
            y = y * 2.5
        return y - 7

    for x in (torch.ones(3), torch.ones(3, dtype=torch.int64), torch.ones(2, 3).t()):
        for _ in range(2):
            assert torch.equal(stator.to_static(f)(x), f(x))
            assert stator.to_static(f)(x).dtype == f(x).dtype
