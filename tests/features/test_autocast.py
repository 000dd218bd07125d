"""Autocast, inside and outside, and custom ops."""

import copy

import pytest
import torch
from torch import nn

import stator
from tests.features.oracle import assert_equal, compare_function, compare_module, compare_pair

X, Y = torch.randn(4, 6), torch.randn(5, 6)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.first(x)
            if x.sum() > 0:
                x = torch.relu(self.second(x))
            with torch.autocast("cpu", enabled=False):
                x = x.float() @ self.first.weight
            y = x @ self.second.weight
        return y, self.second(x.float())


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x):
        x = self.first(x)
        if x.sum() > 0:
            x = x.softmax(-1) * 2
        return self.second(x)


@pytest.mark.feature("autocast", "autocast inside: nested, and disabled again")
def test_autocast_inside_equals_eager():
    compare_module(Mixed(), (X,), (Y,), (-X,))


@pytest.mark.feature("autocast", "autocast around the call, on and off, two dtypes")
def test_autocast_outside_equals_eager():
    eager = Plain()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype=dtype):
            compare_pair(eager, static, (X,), (Y,))
    compare_pair(eager, static, (X,), (Y,))
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        compare_pair(eager, static, (X,))


@pytest.mark.feature("autocast", "autocast around a function that sets its own")
def test_autocast_in_both_places_equals_eager():
    eager = Mixed()
    static = stator.to_static(copy.deepcopy(eager))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        compare_pair(eager, static, (X,), (-X,))
    compare_pair(eager, static, (X,), (-X,))


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x):
    return x @ x.mT


@pytest.mark.feature("autocast", "autocast as a decorator; `torch.is_autocast_enabled()`")
def test_autocast_as_a_decorator_equals_eager():
    def product(x):
        return decorated(x), x @ x.mT, torch.is_autocast_enabled("cpu")

    compare_function(product, (X,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        compare_function(product, (X,))


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16, cache_enabled=False):
            return self.layer(self.layer(x))


@pytest.mark.feature("autocast", "a weight used twice under autocast")
def test_a_weight_that_is_cast_once_has_the_gradient_of_eager():
    compare_module(Cached(), (X,))
    eager = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
    eager.append(eager[0])
    static = stator.to_static(copy.deepcopy(eager))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        compare_pair(eager, static, (X,), (Y,))


class Twice(nn.Module):
    """Between two contexts the weight is cast again: its gradients are summed as float32."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            x = self.layer(self.layer(x))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.layer(x)


@pytest.mark.feature("autocast", "several autocast contexts in sequence")
def test_each_autocast_context_casts_the_weights_again():
    compare_module(Twice(), (X,), (Y,))


@pytest.mark.feature("autocast", "`model.half()` inputs cast inside by hand")
def test_casts_by_hand_equal_eager():
    def cast(x):
        y = x.half()
        if y.sum() > 0:
            y = y.to(torch.bfloat16)
        return y.float() * 2, y.dtype == torch.half

    compare_function(cast, (X,), (-X,))


# ---- custom ops


@torch.library.custom_op("stator_features::shifted_sine", mutates_args=())
def shifted_sine(x: torch.Tensor, shift: float) -> torch.Tensor:
    return torch.sin(x + shift)


@shifted_sine.register_fake
def _(x, shift):
    return torch.empty_like(x)


def _setup(ctx, inputs, output):
    x, shift = inputs
    ctx.save_for_backward(x)
    ctx.shift = shift


def _backward(ctx, gradient):
    (x,) = ctx.saved_tensors
    return gradient * torch.cos(x + ctx.shift) * 2, None  # twice the true one, to be told from it


shifted_sine.register_autograd(_backward, setup_context=_setup)


@torch.library.custom_op("stator_features::fill_ones", mutates_args=("x",))
def fill_ones(x: torch.Tensor) -> None:
    x.fill_(1)


@torch.library.custom_op("stator_features::nonzeros", mutates_args=())
def nonzeros(x: torch.Tensor) -> torch.Tensor:
    return x.nonzero()


@nonzeros.register_fake
def _(x):
    count = torch.library.get_ctx().new_dynamic_size()
    return x.new_empty([count, x.dim()], dtype=torch.int64)


@torch.library.custom_op("stator_features::without_fake", mutates_args=())
def without_fake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def calls_custom(x):
    if x.sum() > 0:
        x = shifted_sine(x, 0.5)
    return torch.ops.stator_features.shifted_sine(x, 1.0)


def calls_mutating(x):
    y = x.clone()
    fill_ones(y[0])
    return y


def calls_dynamic(x):
    found = nonzeros((x > 0).float())
    return found.shape[0], found.sum(0)


@pytest.mark.feature(
    "custom ops", "`torch.library.custom_op`: custom gradient, mutation, data-dependent sizes"
)
@pytest.mark.parametrize("function", [calls_custom, calls_mutating, calls_dynamic])
def test_a_custom_op_equals_eager(function):
    leaf = X.clone().requires_grad_()
    compare_function(function, (leaf,), ((-X).requires_grad_(),))


@pytest.mark.feature("custom ops", "an op without a fake kernel", refused="ST204")
def test_an_op_without_a_fake_kernel_is_refused_with_the_line():
    with pytest.raises(stator.StatorError) as refusal:
        stator.to_static(lambda x: without_fake(x))(X)
    text = str(refusal.value)
    assert "stator_features::without_fake" in text
    assert "register_fake" in text
    assert "lambda x: without_fake(x)" in text


@pytest.mark.feature("custom ops", "ops of `torch.library.Library`, defined by schema")
def test_an_op_defined_by_schema_equals_eager():
    library = torch.library.Library("stator_features_schema", "DEF")
    library.define("twice(Tensor x, int times=2) -> (Tensor, Tensor)")
    library.impl("twice", lambda x, times=2: (x * times, x + times), "CompositeExplicitAutograd")
    torch.library.register_fake(
        "stator_features_schema::twice",
        lambda x, times=2: (torch.empty_like(x), torch.empty_like(x)),
        lib=library,
    )
    compare_function(lambda x: torch.ops.stator_features_schema.twice(x, times=3), (X,))


@pytest.mark.feature("custom ops", "a custom op in a saved model")
def test_a_saved_model_calls_the_custom_op(tmp_path):
    spec = [stator.InputSpec([None, 6], "float32")]
    stator.save(calls_custom, tmp_path / "model", input_spec=spec)
    loaded = stator.load(tmp_path / "model")
    for x in (X, -X, Y):
        assert_equal(calls_custom(x), loaded(x))


def test_a_custom_op_defined_again_is_captured_as_it_is_now():
    """As by a notebook cell that is edited and run again."""

    @torch.library.custom_op("stator_features::edited", mutates_args=())
    def before(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    before.register_fake(torch.empty_like)
    static = stator.to_static(lambda x: torch.ops.stator_features.edited(x) + 1)
    assert static(torch.ones(2)).tolist() == [3, 3]

    @torch.library.custom_op("stator_features::edited", mutates_args=("x",))
    def after(x: torch.Tensor, by: float = 3.0) -> torch.Tensor:
        x.add_(1)
        return x * by

    after.register_fake(lambda x, by=3.0: torch.empty_like(x))
    x = torch.ones(2)
    assert static(x).tolist() == [7, 7]
    assert x.tolist() == [2, 2]
    static = stator.to_static(lambda x: torch.ops.stator_features.edited(x, 4.0) + x)
    assert static(x).tolist() == [15, 15]
    assert x.tolist() == [3, 3]
