"""What torch's own Python does inside a program: seeds, functional control flow, own gradients."""

from __future__ import annotations

import warnings

import numpy
import torch
from torch import nn
from torch.distributions import Dirichlet, Normal
from torch.nn import functional as F

from tests.zoo.programs import f, i, program, r


@program((f(1.0, 2.0),), (f(-1.0, 3.0, 4.0),), dynamic=({0},))
def seeded(x):
    """A seed is set in the middle: each run draws the same numbers."""
    torch.manual_seed(3)
    return x + torch.rand(2).sum()


@program((f(1.0, 2.0), i(3)), (f(1.0, 2.0), i(5)))
def seeded_by_data(x, seed):
    """The seed is a number that only a run knows."""
    torch.manual_seed(int(seed))
    return x + torch.rand(2)


@program((f(1.0, 2.0),), (f(1.0, 3.0),))
def forked_random_state(x):
    """Numbers drawn inside `fork_rng` do not move the state outside."""
    torch.manual_seed(1)
    with torch.random.fork_rng():
        y = torch.rand(2)
    return x + y, torch.rand(2)


@program((f(1.0, 2.0),), (f(-1.0, -3.0),))
def random_state_put_back(x):
    """The state is kept on one path and put back on every path."""
    torch.manual_seed(1)
    state = torch.get_rng_state()
    if x.sum() > 0:
        x = x + torch.rand(2)
    torch.set_rng_state(state)
    return x, torch.rand(2)


@program((f(1.0, 2.0),), (f(-1.0, -3.0),), trains=True)
def functional_cond(x):
    """`torch.cond`, nested, with a closure."""

    def grown(z):
        return torch.cond(z.max() > 1, lambda w: w * x, lambda w: w + 1, (z,))

    return torch.cond(x.sum() > 0, grown, lambda z: z - 1, (x,))


@program((f(1.0, 2.0), i(3)), (f(5.0), i(0)), dynamic=({0}, None))
def functional_while(x, n):
    """`torch.while_loop`: some iterations, and none."""
    return torch.while_loop(lambda k, _: k < n, lambda k, y: (k + 1, y * 2), (torch.tensor(0), x))


@program((r(3, 2),), (r(5, 2),), dynamic=({0},), trains=True)
def gradient_of_a_sampled_function(x):
    """`Dirichlet.rsample` applies an `autograd.Function` of torch's own."""
    torch.manual_seed(0)
    return Dirichlet(x.exp()).rsample()


@program((r(1, 4, 2, 2),), (r(1, 4, 2, 2, seed=1),), trains=True)
class LocalNorm(nn.Module):
    """`CrossMapLRN2d` is an `autograd.Function` written in Python."""

    def __init__(self):
        super().__init__()
        self.norm, self.scale = nn.CrossMapLRN2d(2), nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.scale + self.norm(x * self.scale)


class Straight(torch.autograd.Function):
    """Looks at which inputs need a gradient."""

    @staticmethod
    def forward(ctx, x, y):
        if ctx.needs_input_grad[1]:
            raise RuntimeError("no gradient for y")
        ctx.save_for_backward(y)
        return x.round() * y

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * y, None


@program((f(1.4, 2.6),), (f(-1.2, 3.3),), trains=True)
def inputs_that_need_a_gradient(x):
    """The forward of a Function is told which of its inputs require a gradient now."""
    return Straight.apply(x, torch.tensor(2.0))


@program((f(1.0, 2.0),), (f(3.0, 4.0),), trains=True)
def data_is_read(x):
    """`.data` has no gradient."""
    return x * x.data


@program((f(1.0, 2.0),), (f(3.0, 4.0),))
def data_is_written(x):
    """A write to `.data` is one to the tensor."""
    y = x.clone()
    y.data[0] = 5
    y.data.mul_(2)
    return y


@program((f(1.0, 2.0), None), (f(3.0, 4.0), None))
def locals_on_a_path_that_is_not_taken(x, extra):
    """`locals()` is refused only where it is called."""
    if extra is not None:
        return extra(**locals())
    return x * 2


@program((f([1.0, 2.0]),), (f([3.0, 4.0, 5.0]),), dynamic=({0},))
def unsqueezed_in_place(x):
    """A tensor of the program gets another rank in place."""
    y = x * 2
    same = y
    y.unsqueeze_(0)
    return y, same.sum(0), y.shape[1], y.transpose_(0, 1) + 1


@program((r(2, 3),), (r(4, 3),), dynamic=({0},))
class FirstParameter(nn.Module):
    """The first parameter tells the device; all of them are counted."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(3, 3)

    def forward(self, x):
        device = next(self.parameters()).device
        if x.sum() > 0:
            x = x + torch.ones(3, device=next(self.buffers(), torch.zeros(1)).device)
        sizes = [p.numel() for _, p in self.named_parameters()]
        return self.line(x) + torch.ones(3, device=device), sizes, len(list(self.modules()))


def _sized(x):
    if bool(x.sum() > 0):
        return x + torch.arange(x.size(0))
    return x - 1


with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # old code has scripted functions
    SCRIPTED = torch.jit.script(_sized)


@program((f(1.0, 2.0),), (f(-1.0, -2.0, -3.0),), dynamic=({0},), trains=True)
def scripted_function(x):
    """A function that `torch.jit.script` has compiled, with a branch and a size."""
    return SCRIPTED(x) * 2


@program((f(1.0, 2.0),), (f(1.0, 2.0, 3.0),), dynamic=({0},))
def no_generator(x):
    """Random numbers of a dynamic size, with `generator=None`."""
    torch.manual_seed(0)
    return x + torch.randn(x.shape, generator=None)


@program((r(3, 5), r(5, seed=1).abs()), (r(2, 4), r(4, seed=2).abs()), dynamic=({0, 1}, {0}))
def weighted_covariance(x, weights):
    """Torch checks the weights by their values."""
    return torch.cov(x, aweights=weights), torch.cov(x[0]), torch.cov((x * 9).int())


@program(
    (r(2, 2, 3, 4), r(2, 1, 3, 4, seed=1), f(1.0)),
    (r(2, 2, 3, 4), r(2, 1, 3, 4, seed=1), f(-1.0)),
)
def heads_repeated_on_one_path(query, key, flag):
    """Attention that repeats the heads of its keys itself, where the code has not done so."""
    options = {}
    if flag.sum() > 0:
        key = key.repeat_interleave(2, 1)
    else:
        options["enable_gqa"] = True
    return F.scaled_dot_product_attention(query, key, key, **options)


@program((f(1.0, 2.0, 3.0),), (f(-1.0, 2.0, -3.0),))
def layer_made_inside(x):
    """The result of a new layer requires gradients, unless a branch has frozen it."""
    layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
    if x.sum() > 0:
        layer.requires_grad_(False)
        other.weight.requires_grad = False
    return layer(x), other(x), other.weight * 2


@program((f(1.0, 2.0),), (f(-1.0, 2.0),))
def parameter_made_inside(x):
    """A new Parameter is one, inside and outside, whichever path uses it first."""
    weight = nn.Parameter(x * 2)
    if x[0] > 0:
        y = weight * 3
    else:
        y = x
    return weight, y, type(weight).__name__, isinstance(weight, nn.Parameter)


@program((f(1.0, 2.0),), (f(-1.0, 2.0),), (f(-9.0, 2.0),))
class ModeChangedInABranch(nn.Module):
    """`train()` and `eval()` on one path change every module of the tree, on that path only."""

    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.9)))

    def forward(self, x):
        if x.sum() > 0:
            self.eval()
        elif x.sum() < -3:
            self.train()
        return self.parts(x), self.parts[1][0].training


@program(
    (r(3, 2), r(3, seed=1)), (r(5, 2, seed=2), r(5, seed=3)), (r(4, 2), r(4)),
    dynamic=({0}, {0}), trains=True,
)  # fmt: skip
def density_of_two_inputs(x, y):
    """Library code that raises if two open sizes differ: they are taken to be equal."""
    mean, scale = x.chunk(2, -1)
    return torch.distributions.Normal(mean, scale.exp()).log_prob(y[:, None]).sum()


@program((i(1, 2, 0),), (i(4, 1, 0),), (i(0, 0),), dynamic=({0},))
def sizes_that_tensors_give(x):
    """`one_hot` and `linspace`, which want a plain int, take a tensor with one."""
    count = x.max() + 1
    return F.one_hot(x, max(count, 3)), F.one_hot(x, num_classes=count), torch.linspace(0, 1, count)


@program((f(1.0, 2.0),), (f(3.0, -1.0, 2.0),), dynamic=({0},))
def dtypes_of_captured_arrays(x):
    """The dtype of an array is one of numpy's, for its functions, comparisons and tables."""
    dtype = x.numpy().dtype
    size = {numpy.dtype("float32"): 4}[dtype] if dtype == numpy.float32 else 0
    is_float = numpy.issubdtype(dtype, numpy.floating) and dtype.kind == "f"
    ones = torch.from_numpy(numpy.ones_like(x.numpy(), dtype=dtype))
    return ones * size, is_float, dtype.itemsize


class Wrapped(nn.Module):
    """A module whose constructor looks at the data."""

    def __init__(self, inner, x):
        super().__init__()
        self.inner = inner
        self.register_buffer("mean", x.mean())
        self.factor = 2.0
        if x.sum() > 0:
            self.factor = 3.0

    def forward(self, x):
        return self.inner(x) * self.factor + self.mean


class Negated(nn.Module):
    def __init__(self, inner, by=-1.0):
        super().__init__()
        self.inner, self.by = inner, by

    def forward(self, x):
        return self.inner(x) * self.by


@program((f(1.0, 2.0, 3.0),), (f(-1.0, -2.0, 0.5),), trains=True)
class ModulesMadeInside(nn.Module):
    """Modules made by the call, around one that depends on the path taken."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        inner = self.layer
        if x[0] > 0:
            inner = Negated(inner)
            inner.extra = 4
        inner = Negated(inner, getattr(inner, "extra", 5))
        return Wrapped(inner, x * 2)(x)


class Checked(type):
    def __call__(cls, *args, **kwargs):
        return super().__call__(*args, **kwargs)


class OwnNormal(Normal, metaclass=Checked):
    """A distribution of torch's whose class has a metaclass of the user's."""


class Point(torch.distributions.Distribution):
    """One value, with a weight: a parameter and a support that depend on the object."""

    arg_constraints = {  # noqa: RUF012  # as torch's distributions have it
        "value": torch.distributions.constraints.dependent,
        "weight": torch.distributions.constraints.positive,
    }

    def __init__(self, value, weight):
        self.value, self.weight = value, weight
        super().__init__(value.shape)

    @torch.distributions.constraints.dependent_property
    def support(self):
        """Every number."""
        return torch.distributions.constraints.independent(torch.distributions.constraints.real, 0)


@program((f(0.5, 1.0, 2.0),), (f(-0.5, 1.0, -2.0),))
def distributions_that_check_what_depends(x):
    """Supports with bounds from the data, discrete parameters, a dependent constraint."""
    point = Point(x, x.abs() + 0.1)
    point._validate_sample(x * 2)
    spread = torch.distributions.Uniform(x, x + 1).log_prob(x + 0.5)
    counts = torch.distributions.Binomial(x.abs().floor() + 1, logits=x).log_prob(x.abs().floor())
    waits = torch.distributions.Geometric(torch.sigmoid(x)).log_prob(torch.ones_like(x))
    try:
        wrong = torch.distributions.Binomial(x.floor(), logits=x).log_prob(x)
    except ValueError:
        wrong = None
    texts = f"{torch.distributions.Normal(x, 1.0)} {torch.distributions.Uniform(x, x + 1).support}"
    return point.weight, spread, counts, waits, wrong, texts


@program((r(2, 3),), (r(3, 3, seed=3),), (r(1, 3),), dynamic=({0},))
def distribution_with_a_metaclass(x):
    """The constructor is torch's, which looks at values; the batch may be 1."""
    return OwnNormal(x, 1.0).log_prob(x * 2)


@program((r(2, 3),), (r(2, 3, seed=3),))
def gradients_of_rows(x):
    """A Jacobian by `is_grads_batched`."""
    x = x.clone().requires_grad_()
    with torch.enable_grad():
        y = torch.tanh(x) * x.sum()
    rows = torch.eye(3).expand(2, 3, 3).movedim(1, 0)
    return torch.autograd.grad(y, x, rows, is_grads_batched=True)


@program(
    (f(1.0, -2.0, 3.0), f(-1.0, 2.0)), (f(-1.0, 2.0), f(1.0, 2.0, 3.0)), (f([1.0]), f([1.0])),
    (f([-1.0]), f(-1.0, -2.0)), dynamic=({0}, {0}), trains=True,
)  # fmt: skip
def padded_sequences_of_chosen_rows(a, b):
    """The data decide which sequence is the longest."""
    parts = [a[a > 0], b[b > 0], b[b < -1]]
    left = torch.nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=-1.0)
    right = torch.nn.utils.rnn.pad_sequence([b, a * 2], padding_side="left")
    masks = torch.nn.utils.rnn.pad_sequence([part > 1 for part in parts])
    return left, right, masks, left.shape[1] > right.shape[0]


@program((f(1.0, 2.0),), (f(-1.0, 3.0),))
def random_state_of_a_path(x):
    """A state that was taken on one path, and is otherwise None."""
    torch.manual_seed(5)
    state = torch.get_rng_state() if x[0] > 0 else None
    first = torch.rand(2)
    if state is None:
        state = first if x[1] > 5 else torch.get_rng_state()
    torch.set_rng_state(state)
    return x + first, torch.rand(2)


@program((f(1.0, 2.0),), (f(-1.0, 3.0),), may_raise=True)
def random_state_that_may_be_none(x):
    """To set it raises, on one path."""
    state = torch.get_rng_state() if x[0] > 0 else None
    torch.set_rng_state(state)
    return x * 2
