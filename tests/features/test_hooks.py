"""Hooks on modules and tensors: as often, in the same order, with the same effect as in eager."""

import copy

import pytest
import torch
from torch import nn
from torch.nn.modules import module as torch_module

import stator
from tests.features.oracle import compare_function, compare_module, compare_pair

X, Y = torch.randn(4, 6), torch.randn(5, 6)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x, *, scale=1.0):
        return self.second(torch.relu(self.first(x))) * scale


def pair(prepare, model=None):
    """An eager model and a static one, prepared alike."""
    eager = Model() if model is None else model
    static = stator.to_static(copy.deepcopy(eager))
    return [(one, prepare(one)) for one in (eager, static)]


def compare_prepared(prepare):
    (eager, _), (static, _) = pair(prepare)
    compare_pair(eager, static, (X,), (Y,), (-X,))


@pytest.mark.feature("hooks", "forward hooks that only read")
def test_a_forward_hook_sees_what_eager_shows_it():
    seen = {}

    def prepare(model):
        log = seen.setdefault(id(model), [])
        return model.first.register_forward_hook(
            lambda module, args, result: log.append((type(module).__name__, result.sum().item()))
        )

    (eager, _), (static, _) = pair(prepare)
    compare_pair(eager, static, (X,), (Y,))
    assert len(seen[id(eager)]) == 2
    assert seen[id(eager)] == seen[id(static)]


def grown(module, args, result):
    if result.sum() > 0:
        return result * 2
    return None


@pytest.mark.feature("hooks", "forward hooks that change the result, also on a data-dependent path")
def test_a_forward_hook_changes_the_result():
    compare_prepared(lambda model: model.first.register_forward_hook(grown))


@pytest.mark.feature("hooks", "forward pre-hooks, with and without keyword arguments")
def test_a_forward_pre_hook_changes_the_arguments():
    compare_prepared(lambda model: model.second.register_forward_pre_hook(lambda m, a: a[0] + 1))

    def scaled(module, args, kwargs):
        return args, {**kwargs, "scale": 3.0}

    model = nn.Sequential(nn.Tanh(), Model())
    model[1].register_forward_pre_hook(scaled, with_kwargs=True)
    model[1].register_forward_hook(lambda m, a, k, r: r + k["scale"], with_kwargs=True)
    compare_module(model, (X,), (Y,))


@pytest.mark.feature("hooks", "hooks of the converted module itself")
def test_hooks_of_the_outermost_module_run():
    compare_prepared(lambda model: model.register_forward_hook(grown))
    compare_prepared(lambda model: model.register_forward_pre_hook(lambda m, a: (a[0] * 2,)))


@pytest.mark.feature("hooks", "hooks added and removed between calls")
def test_hooks_come_and_go():
    eager = Model()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    handles = [model.first.register_forward_hook(grown) for model in (eager, static)]
    compare_pair(eager, static, (X,))
    for handle in handles:
        handle.remove()
    compare_pair(eager, static, (X,))
    for model, factor in ((eager, 3), (static, 3)):
        model.first.register_forward_hook(lambda m, a, r, factor=factor: r * factor)
    compare_pair(eager, static, (X,))


@pytest.mark.feature("hooks", "hooks replaced between calls")
def test_a_hook_that_takes_the_place_of_another_is_seen():
    eager = Model()
    static = stator.to_static(copy.deepcopy(eager))
    handles = [m.first.register_forward_hook(lambda m, a, r: r * 2) for m in (eager, static)]
    compare_pair(eager, static, (X,))
    for model, handle in zip((eager, static), handles, strict=True):
        handle.remove()
        model.first.register_forward_hook(lambda m, a, r: r * 5)
    compare_pair(eager, static, (X,))


@pytest.mark.feature("hooks", "global forward hooks")
def test_global_hooks_run():
    eager = Model()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    with torch_module.register_module_forward_hook(
        lambda m, a, r: r * 2 if isinstance(m, nn.Linear) else None
    ):
        compare_pair(eager, static, (X,))
    compare_pair(eager, static, (X,))


@pytest.mark.feature("hooks", "forward hooks with `always_call` and `prepend`")
def test_prepended_hooks_run_first():
    def prepare(model):
        model.first.register_forward_hook(lambda m, a, r: r * 2)
        model.first.register_forward_hook(lambda m, a, r: r + 1, prepend=True, always_call=True)

    compare_prepared(prepare)


@pytest.mark.feature("hooks", "full backward hooks of the converted module itself")
def test_a_full_backward_hook_of_the_outermost_module_runs():
    x = X.clone().requires_grad_()

    def prepare(model):
        model.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))

    (eager, _), (static, _) = pair(prepare)
    compare_pair(eager, static, (x,), (x,))


class Twin(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x, factor, mask=None):
        if x.sum() > 0:
            x = x * 2
        return self.layer(x) * factor, x + 1


class Deep(nn.Module):
    """Modules with hooks in a list, in a Sequential, in a loop, with several inputs and results."""

    def __init__(self):
        super().__init__()
        self.first, self.twin = nn.Linear(6, 6), Twin()
        self.rest = nn.Sequential(nn.Linear(6, 6), nn.Sequential(nn.Tanh(), nn.Linear(6, 2)))

    def forward(self, x):
        x = self.first(x)
        while x.abs().sum() < 50:
            left, right = self.twin(x, 2.0)
            x = left + right * 2
        return self.rest(x)


def note_gradients(model):
    """Full backward hooks and pre-hooks in many places; what they were given, in order."""
    seen = []

    def copies(gradients):
        return [None if one is None else one.tolist() for one in gradients]

    def hook(module, inputs, outputs):
        seen.append((type(module).__name__, copies(inputs), copies(outputs)))
        return tuple(None if one is None else one * 0.5 for one in inputs)

    def pre_hook(module, outputs):
        seen.append((type(module).__name__, copies(outputs)))
        return tuple(None if one is None else one * 3 for one in outputs)

    for module in (model.first, model.twin, model.rest[0], model.rest[1]):
        module.register_full_backward_hook(hook)
    for module in (model.twin, model.rest, model.rest[1][1]):
        module.register_full_backward_pre_hook(pre_hook)
    return seen


@pytest.mark.feature("hooks", "full backward hooks of modules inside")
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_full_backward_hooks_of_modules_inside_run():
    (eager, expected), (static, seen) = pair(note_gradients, Deep())
    leaf = X.clone().requires_grad_()
    compare_pair(eager, static, (leaf,), (X,), (leaf * 0.1,), (-leaf,))
    assert expected == seen
    assert len(seen) > 20


def test_backward_hooks_come_and_go():
    eager = Model()
    static = stator.to_static(copy.deepcopy(eager))
    leaf = X.clone().requires_grad_()
    compare_pair(eager, static, (leaf,))
    handles = [
        model.first.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
        for model in (eager, static)
    ]
    compare_pair(eager, static, (leaf,))
    for handle in handles:
        handle.remove()
    compare_pair(eager, static, (leaf,))


def test_global_backward_hooks_run():
    leaf = X.clone().requires_grad_()
    handle = torch_module.register_module_full_backward_hook(lambda m, gi, go: (gi[0] * 2, *gi[1:]))
    try:
        model = nn.Sequential(nn.Linear(6, 6), nn.Tanh())
        compare_pair(model, stator.to_static(copy.deepcopy(model)), (leaf,))
    finally:
        handle.remove()
        torch_module._global_is_full_backward_hook = None


def test_a_backward_hook_of_the_old_kind_is_refused():
    static = stator.to_static(Model())
    static.first.register_backward_hook(lambda *gradients: None)
    with pytest.raises(stator.StatorError, match=r"ST204.*of the deprecated kind"):
        static(X)


def test_backward_hooks_are_not_saved(tmp_path):
    model = Model()
    handle = model.first.register_full_backward_hook(lambda *gradients: None)
    with pytest.raises(stator.StatorError, match=r"ST200.*has backward hooks, which are Python"):
        stator.save(model, tmp_path / "model", [stator.InputSpec([None, 6])])
    handle.remove()
    stator.save(model, tmp_path / "model", [stator.InputSpec([None, 6])])


@pytest.mark.feature("hooks", "tensor hooks on parameters, also after-accumulation hooks")
def test_hooks_on_parameters_run():
    def tripled(parameter):
        parameter.grad.mul_(3)

    def prepare(model):
        model.first.weight.register_hook(lambda gradient: gradient * 2)
        model.second.weight.register_post_accumulate_grad_hook(tripled)

    compare_prepared(prepare)


def hooked(x):
    y = x * 2
    y.register_hook(lambda gradient: gradient.clamp(max=0.75))
    return y * 3


def hooked_in_a_branch(x):
    y = x * 2
    if x.sum() > 0:
        y.register_hook(lambda gradient: gradient * 10)
    return y * 3


def hooked_and_removed(x):
    y = x * 2
    handle = y.register_hook(lambda gradient: gradient * 10)
    z = y * 3
    handle.remove()
    return z


@pytest.mark.feature("hooks", "`register_hook` on a tensor inside the function")
@pytest.mark.parametrize("function", [hooked, hooked_in_a_branch])
def test_a_hook_on_a_tensor_inside_changes_its_gradient(function):
    x = X.clone().requires_grad_()
    compare_function(function, (x,), (x.detach().abs().requires_grad_(),))


def hooked_with_effects(x):
    seen = []
    y = x * 2
    y.register_hook(lambda gradient: seen.append(gradient))
    return y, seen


@pytest.mark.feature(
    "hooks", "a tensor hook inside that is removed or changes Python objects", refused="ST204"
)
@pytest.mark.parametrize("function", [hooked_and_removed, hooked_with_effects])
def test_a_tensor_hook_with_effects_is_refused(function):
    with pytest.raises(stator.StatorError, match="ST204"):
        stator.to_static(function)(X.clone().requires_grad_())


@pytest.mark.feature("hooks", "hooks on the result of a static function")
def test_a_hook_on_the_result_runs():
    def double(x):
        return x * 2

    static = stator.to_static(double)
    for function in (double, static):
        x = X.clone().requires_grad_()
        y = function(x)
        y.register_hook(lambda gradient: gradient * 5)
        y.sum().backward()
        assert torch.equal(x.grad, torch.full_like(x, 10))
