"""Modules as users write and change them: modes, buffers, shared weights, state, dtypes."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import parametrizations, parametrize

import stator
from tests.features.oracle import assert_equal, compare_module, compare_pair

X, Y = torch.randn(4, 6), torch.randn(5, 6)


class Normed(nn.Module):
    """Batch norm, dropout and a branch on data."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.3))
        self.out = nn.Linear(6, 2)

    def forward(self, x):
        x = self.layers(x)
        if x.sum() > 0:
            x = functional.dropout(x, 0.5, self.training)
        return self.out(x)


@pytest.mark.feature("modules", "`train()` and `eval()`")
def test_train_and_eval_switch_as_in_eager():
    eager = Normed()
    static = stator.to_static(copy.deepcopy(eager))
    for training in (True, False, True, False):
        eager.train(training)
        static.train(training)
        compare_pair(eager, static, (X,), (Y,), (-X,))


@pytest.mark.feature("modules", "`train()` of one submodule only")
def test_a_part_alone_is_switched():
    eager = Normed()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    for model in (eager, static):
        model.layers[1].eval()
    compare_pair(eager, static, (X,), (Y,))
    for model in (eager, static):
        model.layers[1].train()
        model.layers[3].eval()
    compare_pair(eager, static, (X,), (Y,))


@pytest.mark.feature("modules", "`BatchNorm`: batch statistics, running statistics")
@pytest.mark.parametrize("options", [{}, {"track_running_stats": False}, {"affine": False}])
def test_batch_norm_keeps_its_statistics(options):
    compare_module(nn.BatchNorm2d(3, **options), *((torch.randn(n, 3, 4, 4),) for n in (2, 3, 5)))


@pytest.mark.feature("modules", "`BatchNorm` with `momentum=None`")
def test_batch_norm_with_a_momentum_that_data_gives():
    eager = nn.BatchNorm1d(6, momentum=None)
    static = stator.to_static(copy.deepcopy(eager))
    for step in range(4):
        compare_pair(eager, static, (X * step,))
        assert torch.equal(eager.running_mean, static.running_mean)
        assert torch.equal(eager.running_var, static.running_var)
    assert len(static.forward.concrete_programs) == 1


@pytest.mark.feature("modules", "train and eval modes of torch's own modules")
def test_the_parts_of_a_sequential_of_torch_alone_are_watched():
    eager = nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6), nn.Dropout(0.5))
    static = stator.to_static(copy.deepcopy(eager))
    for training in (True, False, True):
        eager.train(training)
        static.train(training)
        compare_pair(eager, static, (X,))
    for model in (eager, static):
        model[2].p = 0.9
    compare_pair(eager, static, (X,))


@pytest.mark.feature("modules", "`Dropout`: the random stream of eager from the same seed")
@pytest.mark.parametrize(
    "kind", [nn.Dropout, nn.Dropout1d, nn.AlphaDropout, nn.FeatureAlphaDropout]
)
def test_dropout_draws_the_numbers_of_eager(kind):
    model = nn.Sequential(nn.Linear(6, 8), kind(0.4), nn.Linear(8, 3), kind(0.2))
    compare_module(model, (X,), (X,), (Y,))


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop, self.step = nn.Dropout(0.5), nn.Linear(6, 6)

    def forward(self, x):
        iterations = 0
        while x.abs().max() > 0.5 and iterations < 9:
            x = self.drop(self.step(x).tanh()) * 0.7
            x = x + 0.01 * torch.rand(())
            iterations += 1
        return x, iterations


@pytest.mark.feature("modules", "`Dropout` in a data-dependent loop")
def test_dropout_in_a_loop_draws_the_numbers_of_eager():
    compare_module(Looped(), (X,), (Y,), (torch.zeros(2, 6),))


class Counting(nn.Module):
    """Buffers written in each of the ways there are."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("calls", torch.tensor(0))
        self.register_buffer("seen", None)
        self.register_buffer("hidden", torch.zeros(()), persistent=False)

    def forward(self, x):
        self.calls += 1
        self.mean = 0.9 * self.mean + 0.1 * x.mean(0).detach()
        self.hidden.add_(x.sum().detach())
        if x.sum() > 0:
            self.mean.mul_(2)
            self.seen = x.amax(0).detach()
        return x - self.mean + self.hidden


@pytest.mark.feature("modules", "buffers: written in place, reassigned, None at first")
def test_buffers_are_written_as_in_eager():
    eager = Counting()
    static = stator.to_static(copy.deepcopy(eager))
    x = X.abs()
    compare_pair(eager, static, (x,), (-x,), (x,), (x[:2],))
    assert_equal(dict(eager.named_buffers()), dict(static.named_buffers()))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.read = nn.Embedding(7, 6), nn.Linear(6, 7, bias=False)
        self.read.weight = self.embed.weight

    def forward(self, tokens):
        return self.read(self.embed(tokens).cumsum(1))


@pytest.mark.feature("modules", "tied weights")
def test_tied_weights_stay_tied():
    tokens = torch.randint(7, (2, 5))
    static = compare_module(Tied(), (tokens,), (tokens[:, :3],))
    assert len(static.forward.program.stored) == 1


@pytest.mark.feature("modules", "weights tied after the first call")
def test_weights_tied_later_are_tied():
    eager = Tied()
    eager.read.weight = nn.Parameter(torch.randn(7, 6))
    static = stator.to_static(copy.deepcopy(eager))
    tokens = torch.randint(7, (2, 5))
    compare_pair(eager, static, (tokens,))
    for model in (eager, static):
        model.zero_grad()
        model.read.weight = model.embed.weight
    compare_pair(eager, static, (tokens,))


PARAMETRIZED = {
    "weight_norm": parametrizations.weight_norm,
    "spectral_norm": parametrizations.spectral_norm,
    "orthogonal": parametrizations.orthogonal,
}


@pytest.mark.feature("modules", "parametrizations: `weight_norm`, `spectral_norm`, `orthogonal`")
@pytest.mark.parametrize("name", PARAMETRIZED)
def test_parametrized_weights_are_computed_on_each_call(name):
    model = nn.Sequential(PARAMETRIZED[name](nn.Linear(6, 6)), nn.Tanh())
    eager, static = model, stator.to_static(copy.deepcopy(model))
    for training in (True, False, True):
        eager.train(training)
        static.train(training)
        compare_pair(eager, static, (X,), (Y,))


class Symmetric(nn.Module):
    def forward(self, weight):
        if weight.sum() > 0:
            return weight.triu() + weight.triu(1).mT
        return weight.tril() + weight.tril(-1).mT


@pytest.mark.feature("modules", "user-defined parametrizations, also with data-dependent branches")
def test_a_parametrization_of_the_users_own_may_branch():
    linear = nn.Linear(6, 6)
    parametrize.register_parametrization(linear, "weight", Symmetric())
    eager = nn.Sequential(linear)
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    for model in (eager, static):
        with torch.no_grad():
            model[0].parametrizations.weight.original.neg_()
    compare_pair(eager, static, (X,))


@pytest.mark.feature("modules", "`parametrize.cached()` and removing a parametrization")
def test_a_parametrization_is_cached_and_removed():
    eager, other = (nn.Sequential(parametrizations.weight_norm(nn.Linear(6, 6))) for _ in "ab")
    other.load_state_dict(eager.state_dict())
    static = stator.to_static(other)  # no copy: torch lets copies share the class that is changed
    with parametrize.cached():
        compare_pair(eager, static, (X,))
    for model in (eager, static):
        parametrize.remove_parametrizations(model[0], "weight")
        model.zero_grad()
    compare_pair(eager, static, (X,))


@pytest.mark.feature("modules", "the older `torch.nn.utils.weight_norm`")
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm`:FutureWarning")  # torch's own
def test_the_older_weight_norm_is_computed_on_each_call():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.utils.weight_norm(nn.Linear(6, 6))

        def forward(self, x):
            return self.one(x)

    eager = Model()
    static = stator.to_static(Model())
    static.load_state_dict(eager.state_dict())
    compare_pair(eager, static, (X,), (Y,))


class Powers(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([torch.randn(6) for _ in range(3)])
        self.table = nn.ParameterDict({"a": torch.randn(6), "b": torch.randn(6)})
        self.layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(2)])
        self.named = nn.ModuleDict({"tanh": nn.Tanh(), "relu": nn.ReLU()})

    def forward(self, x):
        for k, weight in enumerate(self.weights):
            x = x + weight ** (k + 1)
        for name, weight in self.table.items():
            x = x * weight if name == "a" else x - weight
        for layer, (_, activation) in zip(self.layers, self.named.items(), strict=True):
            x = activation(layer(x))
        return x + self.weights[-1] + self.table["b"] + len(self.weights)


@pytest.mark.feature("modules", "`ParameterList`, `ParameterDict`, `ModuleList`, `ModuleDict`")
def test_containers_of_parameters_and_modules():
    eager = Powers()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,), (Y,))
    extra = torch.randn(6)
    for model in (eager, static):
        model.weights.append(extra.clone())
        model.layers[1] = nn.Identity()
    compare_pair(eager, static, (X,))


class Sliced(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 8), nn.Dropout(0.1))
        self.read = nn.Linear(8, 2)

    def forward(self, x):
        early = self.layers[:2](x)
        late = self.layers[2:](early)
        for layer in self.layers[1:3]:
            late = layer(late)
        return self.read(early + late), len(self.layers), self.layers[-1](early)


@pytest.mark.feature("modules", "`Sequential`: slicing, indexing, length, iteration")
def test_a_sequential_is_sliced():
    compare_module(Sliced(), (X,), (Y,))


@pytest.mark.feature("modules", "`state_dict` and `load_state_dict` after conversion")
@pytest.mark.parametrize("assign", [False, True])
def test_state_is_loaded_after_conversion(assign):
    eager, other = Normed(), Normed()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    assert list(static.state_dict()) == list(eager.state_dict())
    state = copy.deepcopy(other.state_dict())
    for model in (eager, static):
        model.load_state_dict(copy.deepcopy(state), assign=assign)
        model.zero_grad()
    compare_pair(eager, static, (X,), (Y,))
    assert_equal(dict(eager.state_dict()), dict(static.state_dict()))


@pytest.mark.feature("modules", "`deepcopy` of a converted model: independent weights")
def test_a_copy_of_a_static_model_has_weights_of_its_own():
    eager = Normed()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    again = copy.deepcopy(static)
    with torch.no_grad():
        for parameter in again.parameters():
            parameter.mul_(2)
    compare_pair(eager, static, (X,))
    doubled = copy.deepcopy(eager)
    doubled.load_state_dict(again.state_dict())
    doubled.zero_grad()
    again.zero_grad()
    compare_pair(doubled, again, (X,), (Y,))


@pytest.mark.feature("modules", "`deepcopy` of a model of a class whose `forward` is decorated")
def test_a_copy_of_a_decorated_model_has_weights_of_its_own():
    class Decorated(Normed):
        forward = stator.to_static(Normed.forward)

    eager, static = Normed(), Decorated()
    static.load_state_dict(eager.state_dict())
    compare_pair(eager, static, (X,))
    again = copy.deepcopy(static)
    with torch.no_grad():
        for parameter in again.parameters():
            parameter.mul_(2)
    compare_pair(eager, static, (X,))
    doubled = copy.deepcopy(eager)
    doubled.load_state_dict(again.state_dict())
    doubled.zero_grad()
    again.zero_grad()
    compare_pair(doubled, again, (X,))


@pytest.mark.feature("modules", "moving between dtypes: `double`, `half`, `bfloat16`, `to`")
def test_a_model_moves_between_dtypes():
    eager = Normed().eval()
    static = stator.to_static(copy.deepcopy(eager))
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.float32):
        for model in (eager, static):
            model.to(dtype)
            model.zero_grad()
        compare_pair(eager, static, (X.to(dtype),), (Y.to(dtype),))


@pytest.mark.feature("modules", "`requires_grad_(False)`: freezing and unfreezing")
def test_parameters_are_frozen_and_unfrozen():
    eager = Normed()
    static = stator.to_static(copy.deepcopy(eager))
    for frozen in (False, True, False):
        for model in (eager, static):
            model.layers.requires_grad_(not frozen)
            model.zero_grad()
        compare_pair(eager, static, (X,))
    for model in (eager, static):
        model.requires_grad_(False)
        model.zero_grad()
    compare_pair(eager, static, (X,))


class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(6))
        self.shift = None
        self.extra = None

    def forward(self, x):
        x = x * self.scale
        if self.shift is not None:
            x = x + self.shift
        return x if self.extra is None else self.extra(x)


@pytest.mark.feature("modules", "adding, replacing and removing parameters and modules")
def test_parameters_and_modules_are_added_replaced_and_removed():
    eager = Growing()
    static = stator.to_static(copy.deepcopy(eager))
    compare_pair(eager, static, (X,))
    shift, extra = torch.randn(6), nn.Linear(6, 3)
    changes = (
        lambda model: setattr(model, "shift", nn.Parameter(shift.clone())),
        lambda model: setattr(model, "extra", copy.deepcopy(extra)),
        lambda model: setattr(model, "scale", nn.Parameter(shift * 3)),
        lambda model: setattr(model, "shift", None),
        lambda model: model.register_parameter("shift", nn.Parameter(shift * 2)),
        lambda model: setattr(model, "extra", None),
        lambda model: setattr(model.scale, "data", shift * 4),
    )
    for change in changes:
        for model in (eager, static):
            change(model)
            model.zero_grad()
        compare_pair(eager, static, (X,), (Y,))


@pytest.mark.feature("modules", "lazy modules, initialized by a first eager call")
def test_a_lazy_module_is_made_before_it_is_converted():
    eager = nn.Sequential(nn.LazyLinear(5), nn.ReLU(), nn.LazyLinear(2))
    eager(X)
    compare_module(eager, (X,), (Y,))
