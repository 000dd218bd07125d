"""Autograd: modes inside, gradients of gradients, accumulation, clipping, custom functions."""

import copy

import pytest
import torch
from torch import nn
from torch.autograd import Function
from torch.utils.checkpoint import checkpoint

import stator
from tests.features.oracle import assert_equal, compare_function, compare_module

X = torch.randn(4, 6).requires_grad_()
Y = torch.randn(5, 6).requires_grad_()


def negated(x):
    """The same as a leaf, on the other path of branches."""
    return (-x).detach().requires_grad_()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        x = torch.tanh(self.first(x))
        if x.sum() > 0:
            x = x * 2
        return self.second(x)


def without(x):
    with torch.no_grad():
        scale = x.abs().max()
    return x / scale


@torch.no_grad()
def decorated(x):
    return x * 3


def calls_decorated(x):
    return x + decorated(x)


def nested(x):
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 3
        if x.sum() > 0:
            y = y + 1
    return y * z


def switched(x):
    torch.set_grad_enabled(False)
    y = x * 2
    torch.set_grad_enabled(True)
    with torch.set_grad_enabled(x.dim() > 5):
        y = y + x
    return y * x, torch.is_grad_enabled()


def in_a_branch(x):
    if x.sum() > 0:
        with torch.no_grad():
            x = x * 2
    return x * 3


def detached(x):
    y = x.detach() * x + x.clone()
    return y, y.requires_grad, x.detach().requires_grad


MODES = [without, calls_decorated, nested, switched, in_a_branch, detached]


@pytest.mark.feature("autograd", "`no_grad`, `enable_grad`, `set_grad_enabled`, `detach` inside")
@pytest.mark.parametrize("function", MODES)
def test_grad_modes_inside_are_those_of_eager(function):
    compare_function(function, (X,), (negated(X),))
    with torch.no_grad():
        compare_function(function, (X,), (negated(X),))


class InnerModes(nn.Module):
    """Code with gradients off, on by itself, and as the caller has them."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x):
        with torch.no_grad():
            scale = (x * self.weight).abs().max()
            with torch.enable_grad():
                inner = x * self.weight
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad((leaf**2 * self.weight).sum(), leaf, create_graph=True)
            with torch.no_grad():
                step = slope * 0.5
            again = leaf * self.weight
        if x.sum() > 0:
            with torch.set_grad_enabled(False):
                scale = scale * self.weight.sum()
            y = x * self.weight
        else:
            y = self.decorated(x) + self.weight
        return scale, inner, slope, step, again, y, x * self.weight

    @torch.enable_grad()
    def decorated(self, x):
        return x * self.weight


@pytest.mark.feature("autograd", "grad modes inside a saved model, whatever mode it is called in")
@pytest.mark.parametrize("backend", ["interpreter", None])
def test_a_saved_model_records_gradients_where_eager_does(tmp_path, backend):
    model = InnerModes()
    stator.save(model, tmp_path / "m", input_spec=[stator.InputSpec([None, 6], "float32")])
    loaded = stator.load(tmp_path / "m", backend=backend)
    for records in (False, True, False):
        for x in (X.detach(), -X.detach()):
            with torch.set_grad_enabled(records):
                for eager, given in zip(model(x), loaded(x), strict=True):
                    assert torch.equal(eager, given)
                    assert eager.requires_grad == given.requires_grad


def inferring(x):
    with torch.inference_mode():
        scale = (x * 2).amax()
        if scale > 1:
            scale = scale + 1
    return x.detach() * scale.clone()


def made_in_inference(x):
    with torch.inference_mode():
        return x * 2


def inference_used(x):
    with torch.inference_mode():
        y = x * 2
    return x * y


@torch.inference_mode()
def inferred(x):
    if x.sum() > 0:
        x = x * 2
    return x + 1


@pytest.mark.feature("autograd", "`inference_mode` inside and outside")
@pytest.mark.parametrize("function", [inferring, made_in_inference, inferred])
def test_inference_mode_is_that_of_eager(function):
    static = compare_function(function, (X,), (negated(X),))
    assert static(X).is_inference() == function(X).is_inference()
    with torch.inference_mode():
        assert_equal(function(X), static(X))
        assert static(X).is_inference()


@pytest.mark.feature("autograd", "an inference tensor that is needed for a gradient is an error")
def test_an_inference_tensor_cannot_be_saved_for_a_gradient():
    for function in (inference_used, stator.to_static(inference_used)):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            function(X)


@pytest.mark.feature("autograd", "double backward")
def test_second_gradients_equal_eager():
    def penalty(function, x):
        (first,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x)
        return first, second

    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    for x in (X, Y, negated(X)):
        assert_equal(penalty(model, x), penalty(static, x))


@pytest.mark.feature(
    "autograd", "`torch.autograd.grad` of a static result; `grad_outputs`, `retain_graph`"
)
def test_gradients_taken_outside_equal_eager():
    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    taken = []
    for one in (model, static):
        out = one(X)
        wanted = (X, *one.parameters())
        first = torch.autograd.grad(out, wanted, torch.ones_like(out), retain_graph=True)
        again = torch.autograd.grad(out.sum(), wanted)
        assert all(map(torch.equal, first, again))
        taken.append(again)
    assert_equal(*taken)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")  # torch's own, in jvp
@pytest.mark.feature("autograd", "`torch.autograd.functional.jacobian`, `torch.func.grad`, `vmap`")
def test_function_transforms_of_a_static_function_equal_eager():
    def energy(x):
        return (x.sin() * x).sum()

    static = stator.to_static(energy)
    one = torch.autograd.functional.hessian(energy, X.detach()[0])
    other = torch.autograd.functional.hessian(static, X.detach()[0])
    assert_equal(one, other)
    x = X.detach()
    assert_equal(torch.func.grad(energy)(x), torch.func.grad(static)(x))
    assert_equal(torch.func.vmap(energy)(x), torch.func.vmap(static)(x))
    tangent = torch.ones_like(x)
    assert_equal(torch.func.jvp(energy, (x,), (tangent,)), torch.func.jvp(static, (x,), (tangent,)))


def force(x):
    energy = (x.sin() * x).sum()
    (gradient,) = torch.autograd.grad(energy, x, create_graph=True)
    return gradient * 2


def force_in_a_branch(x):
    x = x * 1
    if x.sum() > 0:
        (gradient,) = torch.autograd.grad((x * x).sum(), x)
        x = x - 0.1 * gradient
    return x


def descent(x):
    """An inner optimisation, as in meta learning."""
    for _ in range(3):
        (gradient,) = torch.autograd.grad((x.cos() * x).sum(), x, create_graph=True)
        x = x - 0.1 * gradient
    return x


INSIDE = [force, force_in_a_branch, descent]


@pytest.mark.feature(
    "autograd", "`torch.autograd.grad` inside the function, `create_graph` included"
)
@pytest.mark.parametrize("function", INSIDE)
def test_gradients_taken_inside_equal_eager(function):
    compare_function(function, (X,), (Y,), (negated(X),))


def backward_inside(x):
    (x * x).sum().backward()
    return x


def gradient_that_may_be_none(x):
    x = x.detach().requires_grad_()
    other, doubled = torch.ones(3, requires_grad=True), x * 2
    total = (doubled**2).sum()
    return torch.autograd.grad(total, [x, other, doubled, x.clone()], allow_unused=True)


@pytest.mark.feature("autograd", "`torch.autograd.grad(allow_unused=True)`: None for unused inputs")
def test_a_gradient_of_what_is_not_used_is_none():
    compare_function(gradient_that_may_be_none, (X,), (Y,))


@pytest.mark.feature("autograd", "`backward()` inside", refused="ST204")
def test_a_backward_inside_is_refused():
    with pytest.raises(stator.StatorError, match="ST204"):
        stator.to_static(backward_inside)(X)


@pytest.mark.feature("autograd", "gradient accumulation over several backward passes")
def test_gradients_accumulate_as_in_eager():
    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    for one in (model, static):
        for x in (X, Y, negated(X)):
            (one(x).square().mean() / 3).backward()
    for a, b in zip(model.parameters(), static.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


@pytest.mark.feature("autograd", "gradient clipping by norm and by value")
def test_clipped_gradients_equal_eager():
    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    norms = []
    for one in (model, static):
        one(X).square().sum().backward()
        norms.append(nn.utils.clip_grad_norm_(one.parameters(), 0.5))
        nn.utils.clip_grad_value_(one.parameters(), 0.05)
    assert torch.equal(*norms)
    for a, b in zip(model.parameters(), static.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


@pytest.mark.feature("autograd", "`retain_grad` on a result, `backward(inputs=...)`")
def test_gradients_are_retained_and_chosen():
    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    kept = []
    for one in (model, static):
        out = one(X)
        out.retain_grad()
        out.square().sum().backward(inputs=[out, one.first.weight])
        kept.append((out.grad, one.first.weight.grad, one.second.weight.grad))
    assert_equal(*kept)


class Straight(Function):
    """Rounds; its gradient passes straight through, clipped."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x)
        ctx.limit = limit
        return x.round()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= ctx.limit), None


class Product(Function):
    """Several inputs and outputs, set up in a method of its own; its backward looks at data."""

    @staticmethod
    def forward(a, b):
        return a * b, a + b

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, product, total):
        a, b = ctx.saved_tensors
        if product.sum() > 0:
            product = product * 0.5
        return product * b + total, product * a + total


def rounded(x):
    return Straight.apply(x * 3, 1.5) * x


def producing(x):
    product, total = Product.apply(x, x.sin())
    return product - total * 0.5


def custom_in_a_loop(x):
    iterations = 0
    while x.abs().max() > 0.6 and iterations < 5:
        x = Straight.apply(x * 2, 2.0) * 0.3
        iterations += 1
    return x, iterations


class Doubtful(Function):
    """Looks at what needs a gradient, and has a result without one."""

    @staticmethod
    def forward(ctx, a, b):
        place = a.argmax()
        ctx.mark_non_differentiable(place)
        ctx.save_for_backward(a, b)
        return (a * b).exp(), place

    @staticmethod
    def backward(ctx, gradient, _):
        a, b = ctx.saved_tensors
        one = gradient * b * (a * b).exp() if ctx.needs_input_grad[0] else None
        other = gradient * a * (a * b).exp() if ctx.needs_input_grad[1] else None
        return one, other


def doubtful(x):
    result, place = Doubtful.apply(x, torch.ones_like(x) * 0.5)
    return result, place


@pytest.mark.feature("autograd", "`needs_input_grad`, `mark_non_differentiable`")
def test_a_custom_function_knows_what_needs_a_gradient():
    compare_function(doubtful, (X,), (Y,))


@pytest.mark.feature("autograd", "a custom function in a saved model, trained after loading")
def test_a_saved_custom_function_keeps_its_gradient(tmp_path):
    stator.save(rounded, tmp_path / "model", input_spec=[stator.InputSpec([None, 6], "float32")])
    loaded = stator.load(tmp_path / "model")
    for x in (X, Y):
        compare = [x.detach().clone().requires_grad_() for _ in range(2)]
        for function, leaf in zip((rounded, loaded), compare, strict=True):
            function(leaf).sum().backward()
        assert torch.equal(compare[0].grad, compare[1].grad)


@pytest.mark.feature("autograd", "the second gradient of a custom function")
def test_the_second_gradient_of_a_custom_function_equals_eager():
    def penalty(function):
        x = X.detach().clone().requires_grad_()
        (first,) = torch.autograd.grad(function(x).square().sum(), x, create_graph=True)
        first.square().sum().backward()
        return first.detach(), x.grad

    for function in (rounded, producing):
        assert_equal(penalty(function), penalty(stator.to_static(function)))


class Changing(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


seen = []


class Telling(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        seen.append(gradient.sum())
        return gradient * 2


@pytest.mark.feature(
    "autograd", "a backward that changes Python objects, `mark_dirty`", refused="ST204"
)
@pytest.mark.parametrize("cls", [Changing, Telling])
def test_a_custom_function_with_effects_is_refused(cls):
    with pytest.raises(stator.StatorError, match="ST204"):
        stator.to_static(lambda x: cls.apply(x * 1))(X)


@pytest.mark.feature("autograd", "a custom `autograd.Function`")
@pytest.mark.parametrize("function", [rounded, producing, custom_in_a_loop])
def test_a_custom_function_has_its_own_gradient(function):
    compare_function(function, (X,), (Y,), (negated(X),))
    with torch.no_grad():
        compare_function(function, (X,))


class Checkpointed(nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.inner, self.drop, self.options = Model(), nn.Dropout(0.3), options

    def forward(self, x):
        def part(y):
            return self.drop(self.inner(y))

        return checkpoint(part, x, **self.options) * 2


@pytest.mark.feature("autograd", "`torch.utils.checkpoint`, reentrant and not, with dropout")
@pytest.mark.parametrize("options", [{"use_reentrant": False}, {"use_reentrant": True}])
def test_a_checkpointed_part_equals_eager(options):
    compare_module(Checkpointed(**options), (X,), (Y,), (negated(X),))


@pytest.mark.feature("autograd", "a checkpoint around a static block")
def test_a_checkpoint_around_a_static_block_equals_eager():
    model = Model()
    static = stator.to_static(copy.deepcopy(model))
    for x in (X, Y, X):
        for one in (model, static):
            one.zero_grad()
            checkpoint(one, x, use_reentrant=False).square().sum().backward()
        for a, b in zip(model.parameters(), static.parameters(), strict=True):
            assert torch.equal(a.grad, b.grad)


def leaf_made_inside(x):
    """Finds a step by gradient descent on a tensor of its own."""
    with torch.enable_grad():
        step = torch.zeros(6, requires_grad=True)
        point = x.detach().clone().requires_grad_()
        (down,) = torch.autograd.grad((point * point + step).sum(), step)
        (slope,) = torch.autograd.grad((point**3).sum(), point)
    if slope.sum() > 0:
        slope = slope * 2
    return slope + down, point.requires_grad


@pytest.mark.feature("autograd", "leaf tensors created inside: `requires_grad_()`, `requires_grad`")
def test_a_leaf_made_inside_has_gradients():
    compare_function(leaf_made_inside, (X.detach(),), (-X.detach(),))
    with torch.no_grad():
        compare_function(leaf_made_inside, (X.detach(),), (Y.detach(),))


def saving_otherwise(x):
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        return x * x


@pytest.mark.feature(
    "autograd",
    "`torch.func.grad`, `vmap` and `jvp` inside the function",
    "`saved_tensors_hooks` inside",
    refused="ST204",
)
@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.func.grad(lambda y: (y**2).sum())(x),
        lambda x: torch.func.vmap(torch.sum)(x),
        lambda x: torch.func.jvp(torch.sin, (x,), (x,)),
        saving_otherwise,
    ],
)
def test_what_a_program_would_lose_is_refused(function):
    with pytest.raises(stator.StatorError, match="ST204"):
        stator.to_static(function)(X.detach())


def forking(x):
    with torch.random.fork_rng():
        noise = torch.rand(6)
    return x + noise


@pytest.mark.feature("autograd", "`fork_rng` inside")
def test_random_numbers_after_a_fork_are_those_of_eager():
    static = stator.to_static(forking)
    for function in (forking, static, static):
        torch.manual_seed(3)
        drawn = function(X.detach()), torch.rand(2)
        torch.manual_seed(3)
        expected = forking(X.detach()), torch.rand(2)
        assert all(map(torch.equal, drawn, expected))


@pytest.mark.feature("autograd", "`torch.func.functional_call` on and inside a static function")
def test_functional_call_equals_eager():
    model, other = Model(), Model()
    static = stator.to_static(copy.deepcopy(model))
    weights = dict(other.named_parameters())
    for x in (X, Y):
        assert_equal(
            torch.func.functional_call(model, weights, (x,)).detach(),
            torch.func.functional_call(static, weights, (x,)).detach(),
        )
        assert_equal(model(x).detach(), static(x).detach())
    results = []
    for one in (model, static):
        other.zero_grad()
        torch.func.functional_call(one, weights, (X,)).square().sum().backward()
        results.append([p.grad.clone() for p in other.parameters()])
    assert_equal(*results)


@pytest.mark.feature("autograd", "`functional_call` inside the function")
def test_functional_call_inside_equals_eager():
    model, other = Model(), Model()
    weights = {name: p.detach() for name, p in other.named_parameters()}

    def call(x):
        scaled = {name: w * 2 for name, w in weights.items()}
        return torch.func.functional_call(model, scaled, (x,)) + model(x)

    compare_function(call, (X,), (Y,), (negated(X),))
